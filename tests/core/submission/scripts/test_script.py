"""Job scripts, run by a real bash."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.workflow.model import Processes, Resources, SubmitOptions

from tests.core.submission.conftest import HOSTILE, SmallProject


@pytest.mark.parametrize(
    "command",
    [
        "touch workspace/{directory}/out",
        "touch {workspace_path}/{directory}/out # the end",
        'cd "workspace/{directory}" && touch out',
        "cat > workspace/{directory}/out <<'END'\n{directory} $HOME\nEND",
        "if true; then\n  cat\n  touch workspace/{directory}/out\nfi\n",
        "\n# first\n\nfalse\ntouch workspace/'{directory}'/out\n\n",
    ],
)
def test_every_name_runs_its_own_command_and_is_reported(
    project: SmallProject, command: str
) -> None:
    project.add(*HOSTILE)

    code, _, errors = project.run(project.script(command))

    assert (code, errors) == (0, "")
    assert all((project.root / "workspace" / name / "out").exists() for name in HOSTILE)
    assert project.reported() == {"one": set(HOSTILE)}
    assert not (project.root / "pwned").exists()
    assert project.ended()[:3] == ["0", "exit", "local:7"]


def test_all_directories_go_to_one_command(project: SmallProject) -> None:
    project.add(*HOSTILE)
    script = project.script('for d in {directories}; do touch "workspace/$d/out"; done')

    code, _, errors = project.run(script)

    assert (code, errors) == (0, "")
    assert project.reported() == {"one": set(HOSTILE)}


def test_values_are_words_of_their_own(project: SmallProject) -> None:
    project.add("a", "b")
    values = [{"s": "x 'y'\n$z", "n": 1.0, "l": [1, "a b"]}, {"s": "", "n": None, "l": {}}]
    script = project.script("printf '<%s>' {directory} {/s} {/n} {/l} {}", values=values)

    code, out, _ = project.run(script)

    assert code == 0
    assert out == (
        "<a><x 'y'\n$z><1.0><[1,\"a b\"]>"
        '<{"l":[1,"a b"],"n":1.0,"s":"x \'y\'\\n$z"}>'
        '<b><><null><{}><{"l":{},"n":null,"s":""}>'
    )


def test_a_value_that_is_missing_or_no_text_names_its_directory(project: SmallProject) -> None:
    project.add("good", "bad\n")

    for value in ({"y": 1}, {"x": "a\0b"}):
        with pytest.raises(RowtuiError, match=r"bad\\n"):
            project.script("echo {directory} {/x}", values=[{"x": 1}, value])


def test_only_numbers_may_stand_in_arithmetic(project: SmallProject) -> None:
    project.add("a", "b")
    command = "echo {directory} $(( {/x} * 2 ))"

    assert project.run(project.script(command, values=[{"x": 4}, {"x": -1}]))[1] == "a 8\nb -2\n"
    with pytest.raises(RowtuiError, match="not a number"):
        project.script(command, values=[{"x": 4}, {"x": "a[$(touch pwned)]"}])


def test_cd_and_variables_do_not_leak_to_the_next_directory(project: SmallProject) -> None:
    project.add("a", "b")
    script = project.script('echo "$PWD $X"; X=1; cd workspace/{directory}', products=())

    assert project.run(script)[1] == f"{project.root} \n" * 2


def test_a_command_that_reads_its_input_does_not_eat_the_script(project: SmallProject) -> None:
    project.add("a", "b")
    script = project.script("cat; echo {directory}", setup="cat\n")
    (project.root / "job.sh").write_text(script)

    with open(project.root / "job.sh", "rb") as text:
        done = subprocess.run(["bash"], stdin=text, cwd=project.root, capture_output=True)

    assert (done.returncode, done.stdout) == (0, b"a\nb\n")


@pytest.mark.parametrize("bad", ["a", "b", "c"])
def test_the_first_failure_stops_the_job_and_keeps_what_is_done(
    project: SmallProject, bad: str
) -> None:
    project.add("a", "b", "c")
    command = f"touch ran-{{directory}}; [ {{directory}} != {bad} ] || exit 9\n"
    script = project.script(command + "touch workspace/{directory}/out")

    code, _, errors = project.run(script)

    before = {name for name in "abc" if name < bad}
    assert code == 2
    assert f"failed in directory {bad} (exit code 9)" in errors
    assert project.reported() == ({"one": before} if before else {})
    assert {name for name in "abc" if (project.root / f"ran-{name}").exists()} == before | {bad}
    assert project.ended()[:2] == ["2", "exit"]
    assert project.ended()[4:6] == ["9", str("abc".index(bad))]


def test_a_command_over_all_directories_fails_with_1(project: SmallProject) -> None:
    project.add("a")

    code, _, errors = project.run(project.script("touch workspace/{directories}/out; exit 4"))

    assert code == 1
    assert "exit code 4" in errors
    assert project.reported() == {"one": {"a"}}


@pytest.mark.parametrize("setup", ["false", "exit 1", "set -e\nfalse", "(exit 5) # it's over"])
def test_a_failing_setup_ends_the_job_with_1(project: SmallProject, setup: str) -> None:
    project.add("a")

    code, out, _ = project.run(project.script("echo {directory}", setup=setup))

    assert (code, out) == (1, "")
    assert project.ended()[:2] == ["1", "exit"]


@pytest.mark.parametrize(
    "setup",
    [
        "set -eu -o pipefail -o noclobber",
        "set -f; IFS=/; cd /; PATH=/nowhere; trap 'echo mine' EXIT",
        "shopt -s nullglob failglob; mv() { false; }; unset -f mv",
        "sleep 1 >/dev/null 2>&1 & export X=1",
        "   \n\n",
        "cat <<E\nE",
        "trap : USR2",
    ],
)
def test_what_a_setup_changes_does_not_stop_the_report(project: SmallProject, setup: str) -> None:
    project.add("a", "b*")
    command = f"PATH={os.environ['PATH']}; cd {{directory}}; touch out"
    workspace = project.root / "workspace"

    code, _, errors = project.run(
        project.script(
            f"cd '{str(workspace).replace(chr(39), chr(39) + chr(92) + chr(39) + chr(39))}';"
            + command,
            setup=setup,
        )
    )

    assert (code, errors) == (0, "")
    assert project.reported() == {"one": {"a", "b*"}}


def test_what_a_setup_exports_reaches_the_command(project: SmallProject) -> None:
    project.add("a")
    script = project.script("greet {directory} $X", setup='export X=1\ngreet() { echo "hi $*"; }')

    assert project.run(script)[1] == "hi a 1\n"


@pytest.mark.parametrize(
    ("number", "code", "reason"),
    [
        (signal.SIGTERM, 143, "signal TERM"),
        (signal.SIGINT, 130, "signal INT"),
        (signal.SIGHUP, 129, "signal HUP"),
    ],
)
def test_a_signal_stops_the_command_and_reports_at_once(
    project: SmallProject, number: int, code: int, reason: str
) -> None:
    project.add("a", "b", "c")
    command = (
        "touch workspace/{directory}/out; [ {directory} = a ] && exit 0; rm workspace/b/out\n"
        "trap 'touch told; exit 0' TERM\n"
        "sleep 1000 & touch started; wait"
    )
    process = project.start(project.script(command))

    assert project.stop_when(process, "started", number) == code
    assert (project.root / "told").exists()
    assert project.reported() == {"one": {"a"}}
    assert project.ended()[:2] == [str(code), reason]
    assert project.ended()[5] == "1"
    left = subprocess.run(["ps", "-s", str(process.pid), "-o", "args="], capture_output=True)
    assert left.stdout == b""


def test_a_command_that_ignores_the_request_is_killed_and_the_rest_reported(
    project: SmallProject,
) -> None:
    project.add("a", "b")
    command = (
        "if [ {directory} = a ]; then touch workspace/a/out; else\n"
        "trap '' TERM; touch started; while :; do sleep 1000; done; fi"
    )
    process = project.start(project.script(command))

    assert project.stop_when(process, "started", signal.SIGTERM) == 143
    assert project.reported() == {"one": {"a"}}


def test_a_signal_as_the_script_begins_to_listen_is_no_good_end(project: SmallProject) -> None:
    # Given a script that takes its time over each trap,
    project.add("a")
    slow = 'trap() { builtin trap "$@"; [ "$1" != rowtui_end ] || { touch listens; sleep 1; }; }\n'
    process = project.start(slow + project.script("sleep 1000 # {directory}"))
    # when it is stopped as soon as it would report its end,
    assert project.stop_when(process, "listens", signal.SIGTERM) == 143
    # then it does not say that it ended well.
    assert project.ended()[:2] == ["143", "signal TERM"]


def test_a_signal_while_the_setup_runs_is_reported(project: SmallProject) -> None:
    project.add("a")
    script = project.script("echo {directory}", setup="touch started; sleep 0.3")

    assert project.stop_when(project.start(script), "started", signal.SIGTERM) == 143
    assert project.ended()[:2] == ["143", "signal TERM"]


def test_the_warning_before_the_limit_reports_what_is_finished_and_goes_on(
    project: SmallProject,
) -> None:
    # given a job that is at its second directory, whose product is there but half written
    project.add("a", "b", "c")
    command = (
        "touch workspace/{directory}/out\n"
        "if [ {directory} = b ]; then touch started\n"
        "while ! [ -e go-on ]; do sleep 0.02; done; fi"
    )
    process = project.start(project.script(command))
    # when it is warned
    project.wait_for("started")
    process.send_signal(signal.SIGUSR1)
    project.wait_for_report()
    # then the first directory is reported, and the job goes on to its end
    assert project.reported() == {"one": {"a"}}
    (project.root / "go-on").touch()
    assert process.wait(30) == 0
    assert project.reported() == {"one": {"a", "b", "c"}}
    assert project.ended()[:2] == ["0", "exit"]


def test_the_limit_after_the_warning_is_called_the_time_limit(project: SmallProject) -> None:
    project.add("a", "b")
    command = "[ {directory} = a ] && exec touch workspace/a/out\ntouch started; sleep 1000"
    process = project.start(project.script(command))

    project.wait_for("started")
    process.send_signal(signal.SIGUSR1)
    project.wait_for_report()
    process.send_signal(signal.SIGTERM)

    assert process.wait(30) == 138
    assert project.ended()[:2] == ["138", "time limit"]
    assert project.reported() == {"one": {"a"}}


def test_a_warning_does_not_hide_that_the_command_failed(project: SmallProject) -> None:
    project.add("a")
    command = "touch started; while ! [ -e go-on ]; do sleep 0.02; done; exit 7 # {directory}"
    process = project.start(project.script(command))

    project.wait_for("started")
    process.send_signal(signal.SIGUSR1)
    (project.root / "go-on").touch()

    assert process.wait(30) == 2
    assert project.ended()[4] == "7"


def test_a_second_job_with_the_same_token_does_nothing(project: SmallProject) -> None:
    project.add("a")
    script = project.script("echo {directory} >> runs")

    assert project.run(script, job_id=7)[0] == 0
    code, _, errors = project.run(script, job_id=8)

    assert code == 0
    assert "local:7" in errors
    assert (project.root / "runs").read_text() == "a\n"
    assert project.ended()[2] == "local:7"


def test_the_same_job_put_back_into_the_queue_runs_again(project: SmallProject) -> None:
    project.add("a")
    script = project.script("echo {directory} >> runs")

    assert project.run(script, job_id=7)[0] == 0
    assert project.run(script, job_id=7)[0] == 0

    assert (project.root / "runs").read_text() == "a\na\n"


def test_an_abandoned_job_does_nothing(project: SmallProject) -> None:
    project.add("a")
    (project.root / ".row/rowtui/fence").mkdir(parents=True)
    (project.root / ".row/rowtui/fence/t-0").symlink_to("abandoned")

    code, out, errors = project.run(project.script("echo {directory}"))

    assert (code, out) == (0, "")
    assert "given up" in errors
    assert not list((project.root / ".row/rowtui/ended").iterdir())


def test_a_job_that_lands_in_another_folder_does_nothing(project: SmallProject) -> None:
    project.add("a")
    (project.root / "workflow.toml").unlink()

    code, out, errors = project.run(project.script("echo {directory}"))

    assert (code, out) == (3, "")
    assert "nothing was run" in errors
    assert not (project.root / ".row").exists()


def test_a_report_that_cannot_be_written_ends_the_job_with_3(project: SmallProject) -> None:
    project.add("a")
    script = project.script(
        "touch workspace/{directory}/out; rmdir .row/completed; touch .row/completed"
    )

    code, _, errors = project.run(script)

    assert code == 3
    assert "cannot write" in errors
    assert project.ended()[:2] == ["3", "exit"]


def test_products_may_be_links_folders_and_in_folders(project: SmallProject) -> None:
    project.add("all", "some")
    script = project.script(
        "cd workspace/{directory}; mkdir -p 'su b' -- -d; touch 'su b/x'\n"
        "[ {directory} = some ] || ln -s nowhere link",
        products=("su b/x", "link", "-d"),
        name="é " * 100,
    )

    assert project.run(script)[0] == 0
    assert project.reported() == {"é " * 100: {"all"}}


@pytest.mark.parametrize("products", [(), ("out/",), ("",), ("out", "")])
def test_an_action_whose_products_cannot_exist_is_never_complete(
    project: SmallProject, products: tuple[str, ...]
) -> None:
    project.add("a")
    script = project.script("mkdir workspace/{directory}/out", products=products)

    assert project.run(script)[0] == 0
    assert project.reported() == {}


def test_an_absolute_workspace_and_an_empty_action_name_work(project: SmallProject) -> None:
    project.add("a", "b\udcff")
    path = str(project.root / "workspace")
    script = project.script("touch {workspace_path}/{directory}/out", name="", workspace_path=path)

    assert project.run(script)[0] == 0
    assert project.reported() == {"": {"a", "b\udcff"}}


def test_ten_thousand_directories_are_reported_without_a_process_for_each(
    project: SmallProject,
) -> None:
    project.add(*(f"d{number}" for number in range(10_000)))
    script = project.script("for d in {directories}; do : > workspace/$d/out; done")
    (project.root / "bin").mkdir()
    for program in ("mkdir", "ln", "rm", "sync", "mv", "readlink"):
        tool = project.root / "bin" / program
        tool.write_text(
            f'#!/bin/sh\necho {program} >> counted\nexec {shutil.which(program)} "$@"\n'
        )
        tool.chmod(0o755)

    code, _, _ = project.run(f"PATH=$PWD/bin:$PATH\n{script}")

    assert code == 0
    assert len(project.reported()["one"]) == 10_000
    assert len((project.root / "counted").read_text().splitlines()) < 10


def test_the_preamble_is_rows(project: SmallProject) -> None:
    # Given what Row 1.1 prints for the same action and directories.
    project.add("a", "b", "c d")
    expected = """#!/bin/bash

directories=(
a
b
$'c d'
)

export ACTION_WORKSPACE_PATH=workspace
export ACTION_CLUSTER=local
export ACTION_NAME=$'two x\\'y'
export ACTION_PROCESSES=6
export ACTION_WALLTIME_IN_MINUTES=180
export ACTION_PROCESSES_PER_DIRECTORY=2
export ACTION_THREADS_PER_PROCESS=4
"""
    resources = Resources(processes=Processes(2, True), threads_per_process=4)

    script = project.script("echo {directory}", name="two x'y", resources=resources)

    assert script.startswith(expected)


TEXT = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=20)


@given(
    st.lists(st.binary(min_size=1, max_size=9), min_size=1, max_size=4),
    TEXT,
    TEXT,
    st.sampled_from(
        ["echo {directory} {/s}", "echo '{/s}' {directory} #", 'x "{directory}"\n<<E cat\n{}\nE\n']
    ),
    st.lists(st.text("ab/' \n$", min_size=1, max_size=5), max_size=2).map(tuple),
)
@settings(max_examples=60, deadline=None)
def test_scripts_are_always_well_formed(
    names: list[bytes], name: str, value: str, command: str, products: tuple[str, ...]
) -> None:
    clean = [os.fsdecode(raw.replace(b"\0", b"x").replace(b"/", b"x")) for raw in names]
    project = SmallProject(Path("/"), clean)

    script = project.script(
        command,
        values=[{"s": value}] * len(names),
        name=name,
        products=products,
        workspace_path=name or "w",
        options=SubmitOptions(setup="# only a comment"),
    )

    done = subprocess.run(["bash", "-n"], input=script.encode(), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
