"""Whatever people and disks do: a clear line, the right exit code, and nothing lost."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.cli import row_records
from tests.cli.conftest import Shell
from tests.cli.terminal import on_a_terminal
from tests.eventually import eventually

ONE = """\
[[action]]
name = "one"
command = "echo {directory} >> runs.txt; touch {workspace_path}/{directory}/x"
products = ["x"]
[action.resources]
walltime.per_submission = "00:10:00"
"""
WITH_VALUES = '[workspace]\nvalue_file = "v.json"\n\n' + ONE


def project(shell: Shell, *names: str, workflow: str = ONE) -> Path:
    """A project with these directories."""
    (shell.folder / "workspace").mkdir()
    for name in names:
        (shell.folder / "workspace" / name).mkdir()
    (shell.folder / "workflow.toml").write_text(workflow)
    return shell.folder


def counts(shell: Shell, *words: str, **options: str) -> dict[str, int]:
    """The counts of action `one`."""
    answer = json.loads(shell.succeed("show", "status", "--all", "--json", *words, **options))
    row = next(row for row in answer["actions"] if row["name"] == "one")
    return {key: row[key] for key in ("completed", "submitted", "eligible", "waiting")}


def expect(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """This exit code, these words on standard error, and nothing that people cannot read."""
    assert done.returncode == code, done.stderr
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert "something unexpected" not in done.stderr


# What people write


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[action]]\nname = "one\n', ["workflow.toml:2:12: not valid TOML"]),
        ("[[action]]\nname = ", ["workflow.toml:2:"]),
        ("[[action", ["workflow.toml:1:9: not valid TOML"]),
        (
            '[[action]]\nname = 5\ncommand = ["x {directory}"]\nproducts = "x"\n',
            [
                "workflow.toml:2:1: `name` must be a string, not an integer",
                "workflow.toml:3:1: `command` must be a string, not an array",
                "workflow.toml:4:1: `products` must be an array of strings, not a string",
            ],
        ),
        (
            ONE + 'threads_per_proces = 2\n[[action]]\nnam = "two"\n',
            [
                "workflow.toml:7:1: unknown key `threads_per_proces`",
                "did you mean 'threads_per_process'?",
                "workflow.toml:9:1: unknown key `nam`",
                "did you mean 'name'?",
            ],
        ),
        (ONE.replace('"00:10:00"', '"ten minutes"'), ["workflow.toml:6:10: ", "ten minutes"]),
        (ONE + "processes.per_directory = -1\n", ["workflow.toml:7:11: "]),
    ],
)
def test_a_workflow_that_is_wrong_is_refused_with_every_place(
    text: str, words: list[str], empty_folder: Shell
) -> None:
    project(empty_folder, "a", workflow=text)
    done = empty_folder("show", "status", cluster=None)
    expect(done, 1, *words)
    assert done.stdout == ""
    expect(empty_folder("submit", "--yes", cluster="local"), 1, *words)


def test_a_workflow_that_is_no_text_is_refused(empty_folder: Shell) -> None:
    folder = project(empty_folder, "a")
    (folder / "workflow.toml").write_bytes(b'[[action]]\nname = "\xff"\n')
    expect(empty_folder("show", "status"), 1, "workflow.toml:2:9: byte 0xff is not UTF-8")


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a link to nothing", "200 MB"])
def test_a_workflow_that_is_no_usable_file_is_refused(kind: str, empty_folder: Shell) -> None:
    path = project(empty_folder, "a") / "workflow.toml"
    path.unlink()
    if kind == "a folder":
        path.mkdir()
    elif kind == "a pipe":
        os.mkfifo(path)
    elif kind == "200 MB":
        path.touch()
        os.truncate(path, 200_000_000)
    else:
        path.symlink_to("nowhere")
    expect(empty_folder("show", "status"), 1, "workflow.toml")


def test_a_broken_workflow_loses_nothing(empty_folder: Shell) -> None:
    folder = project(empty_folder, "a", "b")
    empty_folder.succeed("submit", "--yes")
    (folder / "workflow.toml").write_text(ONE[:40])
    expect(empty_folder("show", "status"), 1, "workflow.toml:")
    (folder / "workflow.toml").write_text(ONE)
    assert counts(empty_folder)["completed"] == 2


def test_a_broken_cluster_file_names_its_place_and_stops_what_needs_it(
    empty_folder: Shell,
) -> None:
    project(empty_folder, "a")
    folder = Path(empty_folder.environment["ROW_HOME"]) / ".config/row"
    folder.mkdir(parents=True)
    (folder / "clusters.toml").write_text(
        '[[cluster]]\nname = "mine"\nidentify.always = true\nscheduler = "slrm"\n'
        'partitions = [{ name = "p" }]\n'
    )
    words = ("clusters.toml:4:1: ", "slurm")
    expect(empty_folder("submit", "--yes", cluster=None), 1, *words)
    # What is known of the project can be seen all the same.
    assert empty_folder("show", "status", cluster=None).returncode == 0


# What values are


def test_a_bad_value_sets_one_directory_aside_with_the_reason(empty_folder: Shell) -> None:
    folder = project(empty_folder, *"abcdefg", workflow=WITH_VALUES) / "workspace"
    (folder / "a/v.json").write_text('{"v": 1}')
    (folder / "b/v.json").touch()
    os.truncate(folder / "b/v.json", 200_000_000)  # takes no space
    (folder / "c/v.json").write_bytes(b'{"v": "\xff"}')
    (folder / "d/v.json").write_text('{"v": ')
    os.mkfifo(folder / "e/v.json")
    (folder / "f/v.json").write_text("[" * 100_000)

    done = empty_folder("show", "status")
    expect(
        done,
        0,
        "6 directories are not counted",
        "b: v.json has 200,000,000 bytes, more than",
        "c: v.json is not valid JSON: line 1, column 8: byte 0xff is not UTF-8",
        "d: v.json is not valid JSON: line 1, column 7",
        "e: v.json is not a regular file",
        "1 more is listed by 'rowtui show directories --json'",
    )
    assert counts(empty_folder)["eligible"] == 1
    listed = json.loads(empty_folder.succeed("show", "directories", "--json"))
    assert set(listed["bad"]) == set("bcdefg")
    assert "has no value file" in listed["bad"]["g"]
    expect(empty_folder("show", "directories", "-a", "one", "--value", "/v"), 0)

    # The others go on, and a directory that is mended is one of them.
    empty_folder.succeed("submit", "--yes")
    (folder / "d/v.json").write_text('{"v": 2}')
    assert counts(empty_folder) == {"completed": 1, "submitted": 0, "eligible": 1, "waiting": 0}


def test_directories_that_vanish_while_they_are_read_stop_nothing(empty_folder: Shell) -> None:
    folder = project(empty_folder, *(f"stays{n}" for n in range(50)), workflow=WITH_VALUES)
    workspace = folder / "workspace"
    for path in workspace.iterdir():
        (path / "v.json").write_text("1")
    ended = threading.Event()
    deadline = time.monotonic() + 50

    def come_and_go() -> None:
        while not ended.is_set() and time.monotonic() < deadline:
            for number in range(200):
                path = workspace / f"goes{number}"
                path.mkdir()
                (path / "v.json").write_text("1")
            for number in range(200):
                shutil.rmtree(workspace / f"goes{number}")

    restless = threading.Thread(target=come_and_go)
    restless.start()
    try:
        for words in (("show", "status"), ("scan",), ("show", "directories", "-a", "one")) * 2:
            expect(empty_folder(*words), 0)
    finally:
        ended.set()
        restless.join()
    assert counts(empty_folder)["eligible"] == 50


# What names are

HOSTILE = [
    b"plain",
    b"c d",
    b"a'; touch pwned #",
    b"$(touch pwned)",
    b"`touch pwned`",
    b"new\nline",
    b"-rf",
    b"--help",
    b"-",
    b"esc\x1b[31m\x1b]0;title\x07",
    b'quote"d',
    b"back\\slash",
    b"bytes\xff\xfe",
    b"*",
    b"~",
    b"\xc2\x9b31m",  # CSI in one character
    "rtl\u202egnp".encode(),
    "é日本".encode(),
    b"x" * 255,
]
TWO = (
    ONE
    + """\
[[action]]
name = "two"
command = '''for d in {directories}; do touch "workspace/$d/y"; done'''
products = ["y"]
previous_actions = ["one"]
"""
)


def test_directories_of_any_name_go_all_the_way(empty_folder: Shell) -> None:
    folder = project(empty_folder, workflow=TWO)
    for name in HOSTILE:
        os.mkdir(os.fsencode(folder / "workspace") + b"/" + name)
    names = sorted(HOSTILE)

    # They are listed byte by byte for programs, in whatever locale.
    rowtui = [sys.executable, "-m", "rowtui.cli.main"]
    for encoding in ("utf-8:strict", "utf-8:surrogateescape"):
        listed = subprocess.run(
            [*rowtui, "show", "directories", "-a", "one", "--short"],
            cwd=folder,
            env={**empty_folder.environment, "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=True,
        )
        assert listed.stdout == b"".join(name + b"\n" for name in names)

    # They run, complete and are recorded.
    for _ in range(2):
        expect(empty_folder("submit", "--yes", cluster="local"), 0)
    for name in HOSTILE:
        where = os.fsencode(folder / "workspace") + b"/" + name
        assert sorted(os.listdir(where)) == [b"x", b"y"]
    assert counts(empty_folder)["completed"] == len(HOSTILE)
    assert not (folder / "pwned").exists()
    document = json.loads(empty_folder.succeed("show", "directories", "-a", "two", "--json"))
    entries = [entry for group in document["groups"] for entry in group["directories"]]
    assert {entry["status"] for entry in entries} == {"completed"}
    assert sorted(os.fsencode(entry["name"]) for entry in entries) == names

    # Row's own files hold those whose names are text; we hold all.
    text = set()
    for name in HOSTILE:
        with contextlib.suppress(UnicodeDecodeError):
            text.add(name.decode())
    assert row_records.completed(folder) == {"one": text, "two": text}
    shutil.rmtree(folder / "workspace/plain")
    assert counts(empty_folder)["completed"] == len(HOSTILE) - 1

    # A name that looks like an option can be given, and found by its job.
    table = empty_folder.succeed("show", "directories", "-a", "one", "--", "-rf", "--help")
    assert re.findall(r"^(\S+) +completed", table, re.MULTILINE) == ["--help", "-rf"]
    assert empty_folder.succeed("logs", "--path", "--", "-rf", cluster="local")


def test_no_name_steers_the_terminal(empty_folder: Shell) -> None:
    folder = project(empty_folder, workflow=TWO.replace('"two"', '"two\\u001b[2J\\u009b"'))
    for name in HOSTILE:
        os.mkdir(os.fsencode(folder / "workspace") + b"/" + name)
    allowed = re.compile(r"[^\x00-\x1f\x7f-\x9f\u202e]")
    for words in (
        ("show", "status"),
        ("show", "status"),  # the second is answered from what was kept
        ("show", "directories"),
        ("show", "directories", "-a", "one"),
        ("show", "directories", "-a", "one", "--short"),
        ("show", "status", "no\x1b[2Jsuch"),
        ("show", "jobs", "-a", "\x1b[2J"),
        ("plan",),
        ("plan", "--scripts"),
        ("submit", "--dry-run"),
        ("submit", "--yes", "--cluster", "local"),
        ("show", "jobs", "--long"),
        ("logs", "-a", "one", "plain"),
        ("scan", "-a", "\x1b[2J"),
    ):
        code, seen = on_a_terminal(empty_folder, "--no-progress", *words, NO_COLOR="1")
        text = seen.decode().replace("\r\n", "")
        # `submit` leaves out the action whose name cannot be used.
        assert code == (1 if "submit" in words else 0), text
        assert allowed.sub("", text) == "", words
    code, seen = on_a_terminal(empty_folder, "show", "directories", "-a", "\x1b[2J")
    assert code == 1
    assert b"\x1b[2J" not in seen


def test_nothing_is_sent_before_a_person_says_yes(empty_folder: Shell) -> None:
    folder = project(empty_folder, "a")
    code, seen = on_a_terminal(empty_folder, "submit", "--cluster", "local", typed=b"n\n")
    assert code == 0
    assert b"Nothing was submitted." in seen
    code, seen = on_a_terminal(empty_folder, "submit", "--json", "--cluster", "local")
    assert code == 1
    assert b"add --yes" in seen
    assert not (folder / "runs.txt").exists()
    code, _ = on_a_terminal(empty_folder, "submit", "--cluster", "local", typed=b"y\n")
    assert code == 0
    assert (folder / "runs.txt").read_text() == "a\n"


# What disks do


def without_special_rights() -> tuple[str, ...]:
    """As root: a program that takes the right to ignore file modes away from what it runs."""
    if os.geteuid() != 0:
        return ()
    return ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner")


def set_writable(folder: Path, writable: bool) -> None:
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | 0o200 if writable else mode & ~0o222)


def test_a_project_that_cannot_be_written_can_be_looked_at(empty_folder: Shell) -> None:
    folder = project(empty_folder, "a", "b")
    empty_folder.succeed("submit", "--yes", "-n", "1", "a")
    (folder / "workspace/c").mkdir()
    set_writable(folder, False)
    empty_folder.prefix = without_special_rights()
    known = {"completed": 1, "submitted": 0, "eligible": 2, "waiting": 0}
    try:
        done = empty_folder("show", "status")
        expect(done, 0, "nothing can be saved in", "the project is shown as it is now")
        assert counts(empty_folder) == known
        for words in (("show", "directories"), ("show", "jobs", "--long"), ("plan",)):
            expect(empty_folder(*words), 0)
        for cluster in ("local", "none"):
            done = empty_folder("submit", "--yes", cluster=cluster)
            expect(done, 1, "Permission denied", "no job was submitted")
        expect(empty_folder("clean"), 1, "Permission denied")
    finally:
        set_writable(folder, True)
    assert not (folder / "workspace/b/x").exists()
    assert counts(empty_folder) == known


def test_a_project_that_never_could_be_written_can_be_looked_at(empty_folder: Shell) -> None:
    folder = project(empty_folder, "a", "b")
    set_writable(folder, False)
    empty_folder.prefix = without_special_rights()
    try:
        expect(empty_folder("show", "status"), 0, "nothing can be saved in")
        assert counts(empty_folder)["eligible"] == 2
        assert not (folder / ".row").exists()
    finally:
        set_writable(folder, True)


def test_who_may_only_look_sees_jobs_that_have_ended(empty_folder: Shell) -> None:
    folder = project(empty_folder, "a", "b")
    empty_folder.succeed("submit", "--yes", "--detach", cluster="local")
    ended = folder / ".row/rowtui/ended"
    eventually(lambda: ended.exists() and any(path.suffix != ".tmp" for path in ended.iterdir()))
    set_writable(folder, False)
    empty_folder.prefix = without_special_rights()
    try:
        expect(empty_folder("show", "status", cluster="local"), 0, "nothing can be saved in")
        assert counts(empty_folder, cluster="local")["completed"] == 2
        expect(empty_folder("show", "jobs", "--long", cluster="local"), 0)
    finally:
        set_writable(folder, True)
    after = {"completed": 2, "submitted": 0, "eligible": 0, "waiting": 0}
    assert counts(empty_folder, cluster="local") == after


def test_where_no_file_may_grow_nothing_is_lost(empty_folder: Shell) -> None:
    project(empty_folder, "a", "b", "c")
    check_with_a_limit(empty_folder, 64)


def check_with_a_limit(empty_folder: Shell, size: int) -> None:
    folder = empty_folder.folder
    empty_folder.succeed("submit", "--yes", "-n", "1", "a")
    (folder / "workspace/d").mkdir()
    empty_folder.prefix = ("prlimit", f"--fsize={size}")
    done = empty_folder("show", "status")
    expect(done, 0, "nothing can be saved in", "File too large")
    assert counts(empty_folder) == {"completed": 1, "submitted": 0, "eligible": 3, "waiting": 0}
    expect(empty_folder("submit", "--yes"), 1, "File too large", "no job was submitted")
    assert not list(folder.rglob("*.tmp"))

    empty_folder.prefix = ()
    assert counts(empty_folder) == {"completed": 1, "submitted": 0, "eligible": 3, "waiting": 0}
    empty_folder.succeed("submit", "--yes")
    assert sorted((folder / "runs.txt").read_text().split()) == list("abcd")


FULL = """\
mount -t tmpfs -o size=300k none "$1" || exit 77
cp -r "$2/." "$1" && cd "$1" || exit 78
export py="$3"
rowtui() { "$py" -m rowtui.cli.main --cluster none "$@"; }
rowtui submit --yes -n 1 a >out || exit 79
mkdir workspace/d
cat /dev/zero > filler 2>/dev/null
echo "full: $(rowtui show status --json 2>"$4" | tr -d ' \\n')"; cat "$4"
rowtui submit --yes >/dev/null 2>"$4"; echo "submit: $?"; cat "$4"
rowtui show status >/dev/null 2>err; echo "said nowhere: $?"
ls -A .row/rowtui | grep -c tmp
rm filler
echo "free: $(rowtui show status --json | tr -d ' \\n')"
rowtui submit --yes >/dev/null; echo "submit: $?"
sort runs.txt | tr '\\n' ' '
"""


def test_on_a_full_disk_nothing_is_lost(empty_folder: Shell, tmp_path: Path) -> None:
    project(empty_folder, "a", "b", "c")
    small = tmp_path / "small"
    small.mkdir()
    places = (small, empty_folder.folder, sys.executable, tmp_path / "errors")
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", FULL, "sh", *places],
        env=empty_folder.environment,
        capture_output=True,
        text=True,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        # Some containers let nobody mount anything: there another limit has to do.
        check_with_a_limit(empty_folder, 300)
        return
    assert done.returncode == 0, done.stderr
    out = done.stdout
    assert '"completed":1,"submitted":0,"eligible":3' in out.split("full:")[1].split("\n")[0]
    assert "No space left on device; the project is shown as it is now" in out
    assert "submit: 1" in out
    assert "said nowhere: 0" in out
    assert "no job was submitted" in out
    assert "Traceback" not in out
    assert '"completed":1,"submitted":0,"eligible":3' in out.split("free:")[1].split("\n")[0]
    assert out.endswith("submit: 0\na b c d ")


# What happens at the same time


def test_many_rowtui_at_once_send_one_job_for_each_directory(empty_folder: Shell) -> None:
    names = [f"d{number}" for number in range(12)]
    project(empty_folder, *names, workflow=ONE + "[action.group]\nmaximum_size = 1\n")
    submit = ("submit", "--yes", "--cluster", "local")
    commands = [submit] * 4 + [("show", "status"), ("scan",), ("show", "directories", "-a", "one")]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "rowtui.cli.main", *words],
            cwd=empty_folder.folder,
            env=empty_folder.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in commands
    ]
    said = ""
    for process in running:
        out, errors = process.communicate(timeout=120)
        said += out
        assert process.returncode == 0, errors
        assert "Traceback" not in errors
    ids = re.findall(r"^Row submitted job (?:\S+/)?(\d+)\.$", said, re.MULTILINE)
    assert len(ids) == len(set(ids)) == len(names)
    runs = (empty_folder.folder / "runs.txt").read_text().split()
    assert sorted(runs) == sorted(names)
    after = {"completed": 12, "submitted": 0, "eligible": 0, "waiting": 0}
    assert counts(empty_folder, cluster="local") == after


@pytest.mark.parametrize("shift", [+10 * 365 * 86400, -10 * 365 * 86400], ids=["future", "past"])
def test_a_clock_that_jumps_hides_nothing(shift: int, empty_folder: Shell) -> None:
    folder = project(empty_folder, "a", "b", workflow=WITH_VALUES)
    for name in "ab":
        (folder / f"workspace/{name}/v.json").write_text("1")
    empty_folder.succeed("submit", "--yes", "a")
    then = time.time() + shift

    def date_all() -> None:
        for path in [folder, *folder.rglob("*")]:
            os.utime(path, (then, then), follow_symlinks=False)

    date_all()
    assert counts(empty_folder) == {"completed": 1, "submitted": 0, "eligible": 1, "waiting": 0}
    # What comes afterwards is seen, whatever its date.
    (folder / "workspace/c").mkdir()
    (folder / "workspace/c/v.json").write_text("3")
    (folder / "workspace/b/v.json").write_text("22")
    os.utime(folder / "workspace/c", (then - 5, then - 5))
    os.utime(folder / "workspace", (then - 7, then - 7))
    assert counts(empty_folder)["eligible"] == 2
    table = empty_folder.succeed("show", "directories", "-a", "one", "--value", "", "b")
    assert table.splitlines()[1].endswith(" 22")
    empty_folder.succeed("submit", "--yes")
    date_all()
    assert counts(empty_folder)["completed"] == 3
    assert sorted((folder / "runs.txt").read_text().split()) == list("abc")


@pytest.mark.parametrize("file", ["clusters.toml", "launchers.toml"])
def test_a_broken_configuration_is_noticed_by_what_only_shows(
    file: str, empty_folder: Shell
) -> None:
    project(empty_folder, "a")
    folder = Path(empty_folder.environment["ROW_HOME"]) / ".config/row"
    folder.mkdir(parents=True)
    assert empty_folder("show", "status", cluster=None).stderr == ""
    (folder / file).write_text("[[cluster]\n")
    shown = "show cluster" if file == "clusters.toml" else "show launchers"
    for _ in range(2):  # the second is not answered from what was kept
        expect(empty_folder("show", "status", cluster=None), 0, f"{file}:1:")
    done = empty_folder(*shown.split(), cluster=None)
    expect(done, 1, f"{file}:1:")
    assert done.stdout == ""
    expect(empty_folder(*shown.split(), "--all", cluster=None), 1, f"{file}:1:")
    expect(empty_folder("show", "launchers", cluster=None), 1, f"{file}:1:")
    (folder / file).unlink()
    assert empty_folder("show", "status", cluster=None).stderr == ""
