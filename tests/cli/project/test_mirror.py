"""`rowtui mirror`, and what plan and submit say of copies, on a cluster that sees no project."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rowtui.cli.main import main
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.commands import LocalTransport
from rowtui.core.mirror.compare import Side
from rowtui.core.mirror.mirror import Mirror
from rowtui.core.project.context.copies import Copies
from rowtui.core.project.context.copy_by_hand import CopyByHand
from rowtui.core.project.open_project import OpenProject
from rowtui.core.submission.reconcile.reconcile_state import ReconciledJob

from tests.cli.conftest import Shell
from tests.cli.terminal import Terminal
from tests.eventually import eventually
from tests.rig.login import LoginNode
from tests.schemas import printed

WORKFLOW = """\
[[action]]
name = "one"
command = "sh tools/run.sh workspace/{directory}"
products = ["out"]
"""
CLUSTERS = """\
[[cluster]]
name = "alpha"
partition = [{{ name = "cpu" }}]
[cluster.ssh]
host = "alpha"
config = ["{config}"]
mirror = "{mirror}"
"""
NAMES = ("a", "b c", "it's $HOME")


class Copied:
    """A project in whose folder the command line runs; `there` is its copy."""

    def __init__(self, tmp_path: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.home, self.folder = tmp_path / "home", tmp_path / "study"
        self.mirrors = tmp_path / "far"
        self.capture = capture

    @property
    def there(self) -> Path:
        (found,) = self.mirrors.iterdir()
        return found

    def __call__(self, *words: str, code: int = 0) -> tuple[str, str]:
        self.capture.readouterr()
        ended = main([*words])
        out, err = self.capture.readouterr()
        assert ended == code, out + err
        assert "unexpected" not in err
        assert "\x1b" not in out + err
        printed(words, out)
        return out, err

    def differences(self) -> dict[str, str]:
        (told,) = json.loads(self("mirror", "alpha", "--json")[0])["copies"]
        assert told["place"] == str(self.there)
        return {it["path"]: it["kind"] for it in told["differences"]}

    def run_all(self) -> None:
        """Every directory's job has ended, and its results are here."""
        self("submit", "--yes")

        def over() -> bool:
            (row,) = json.loads(self("show", "status", "--json")[0])["actions"]
            return bool(row["completed"] == len(NAMES))

        eventually(over, what="the job to end", every=0.1)

    def terminal(self, *words: str) -> Terminal:
        shell = Shell(self.folder, self.home)
        shell.environment |= {"ROWTUI_POLL": "0", "ROWTUI_CLUSTER": "alpha"}
        return Terminal(shell, *words)


@pytest.fixture
def copied(
    login: LoginNode,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Copied:
    copied = Copied(tmp_path, capsys)
    (copied.home / ".config/rowtui").mkdir(parents=True)
    (copied.home / ".config/rowtui/clusters.toml").write_text(
        CLUSTERS.format(config=login.ssh_config, mirror=copied.mirrors)
    )
    for name in [name for name in os.environ if name.startswith(("XDG_", "ROW", "SLURM"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(copied.home))
    monkeypatch.setenv("ROWTUI_POLL", "0")
    monkeypatch.setenv("ROWTUI_CLUSTER", "alpha")
    copied.mirrors.mkdir()
    make_project(copied.folder)
    monkeypatch.chdir(copied.folder)
    return copied


def make_project(folder: Path) -> None:
    for name in NAMES:
        (folder / "workspace" / name).mkdir(parents=True)
        (folder / "workspace" / name / "value").write_text(name)
    (folder / "tools").mkdir()
    (folder / "tools/run.sh").write_text('cat "$1/value" > "$1/out"\n')
    (folder / "workflow.toml").write_text(WORKFLOW)


def test_from_the_plan_to_the_end_of_a_copy(copied: Copied) -> None:
    # given a plan, which says what will be copied and makes nothing
    out, _ = copied("plan")
    size = sum(map(len, (WORKFLOW, 'cat "$1/value" > "$1/out"\n', *NAMES)))
    assert f"alpha: 5 files ({size} B) are copied to alpha:{copied.mirrors}/study-" in out
    assert "; out and the logs come back." in out
    (transfer,) = json.loads(copied("plan", "--json")[0])["transfers"]
    assert (transfer["cluster"], transfer["files"], transfer["size"]) == ("alpha", 5, size)
    assert not list(copied.mirrors.iterdir())
    assert "alpha has no copy of this project" in copied("mirror", "alpha", code=1)[1]
    # when it was carried out, the same is on both sides
    copied.run_all()
    assert copied.differences() == {}
    # and when either side changes things
    there = copied.there
    (there / "tools/run.sh").write_text("echo theirs\n")
    (there / "workspace/a/trajectory").write_text("of the job")
    (there / "workspace/b c/trajectory").write_text("of the job")
    (there / "workspace/b c/out").unlink()
    (copied.folder / "tools/run.sh").write_text("echo mine, longer\n")
    (copied.folder / "workspace/a/value").write_text("another")
    (copied.folder / "workspace/b c/value").unlink()
    # then all of it is told
    assert copied.differences() == {
        "tools/run.sh": "conflict",
        "workspace/a/value": "newer here",
        "workspace/a/trajectory": "only there",
        "workspace/b c/trajectory": "only there",
        "workspace/b c/value": "deleted here",
        "workspace/b c/out": "deleted there",
    }
    out, _ = copied("mirror")
    assert "1 conflict, 1 newer here, 2 only there, 1 deleted here, 1 deleted there" in out
    assert "rowtui mirror alpha --keep here|there FILE...  decides conflicts" in out
    # and a person fetches one directory, sends, and decides
    copied("mirror", "alpha", "--fetch", "a")
    assert (copied.folder / "workspace/a/trajectory").read_text() == "of the job"
    assert not (copied.folder / "workspace/b c/trajectory").exists()
    _, err = copied("mirror", "alpha", "--send")
    assert "1 conflict was left alone" in err
    assert (there / "workspace/a/value").read_text() == "another"
    assert (there / "workspace/b c/out").read_text() == "b c"
    assert (there / "tools/run.sh").read_text() == "echo theirs\n"
    copied("mirror", "alpha", "--keep", "there", "tools", "workspace/b c/value")
    assert (copied.folder / "tools/run.sh").read_text() == "echo theirs\n"
    assert (copied.folder / "workspace/b c/value").read_text() == "b c"
    # and what is newer there keeps the copy, which then goes once its name was typed
    terminal = copied.terminal("mirror", "alpha", "--remove")
    assert terminal.end() == 1
    assert b"1 file is newer there: workspace/b c/trajectory" in terminal.seen
    copied("mirror", "alpha", "--fetch")
    assert "only the cluster's name" in copied("mirror", "alpha", "--remove", code=1)[1]
    for typed, left in ((b"yes\n", True), (b"alpha\n", False)):
        terminal = copied.terminal("mirror", "alpha", "--remove")
        terminal.answer(b"Type alpha to delete it: ", typed)
        assert terminal.end() == 0
        assert bool(list(copied.mirrors.iterdir())) == left
    assert "No cluster has a copy" in copied("mirror")[1]


def test_the_queue_is_printed_before_results_are_fetched(
    copied: Copied, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied("submit", "--yes")
    ends = copied.there / ".row/rowtui/ended"
    eventually(lambda: [*ends.glob("*")], what="the job to end", every=0.1)
    printed_before: list[str] = []
    fetched = Copies.fetched

    async def fetch(copies: Copies, settled: Sequence[ReconciledJob]) -> tuple[ReconciledJob, ...]:
        if any(map(copies.has_results, settled)):
            printed_before.append(copied.capture.readouterr().out)
        return await fetched(copies, settled)

    monkeypatch.setattr(Copies, "fetched", fetch)
    for _ in range(20):
        copied("queue")
        if printed_before:
            break
    (row,) = json.loads(copied("show", "status", "--json")[0])["actions"]

    assert printed_before[0].startswith("alpha")
    assert row["completed"] == len(NAMES)


def test_a_conflict_stops_plan_and_submission_before_anything_is_asked(copied: Copied) -> None:
    copied("mirror", "alpha", "--send")
    (copied.there / "tools/run.sh").write_text("echo theirs\n")
    (copied.folder / "tools/run.sh").write_text("echo mine, longer\n")
    for command in (("plan",), ("submit",), ("submit", "--yes", "--json")):
        _, err = copied(*command, code=1)
        assert "1 file has changed here and on alpha:\n      tools/run.sh\n" in err
        assert "'rowtui mirror alpha' shows both sides" in err
    copied("mirror", "alpha", "--keep", "here", "tools/run.sh")
    assert (copied.there / "tools/run.sh").read_text() == "echo mine, longer\n"
    copied("plan")


def test_ctrl_c_while_copying_says_that_trying_again_goes_on(
    copied: Copied, login: LoginNode
) -> None:
    (copied.folder / "tools/run.sh").write_text("sleep 600\n")
    terminal = copied.terminal("submit")
    terminal.shows(b"Proceed? ")
    login.stop()
    os.write(terminal.outer, b"y\n")
    terminal.shows(b"comparing with the copy on alpha")
    terminal.process.send_signal(signal.SIGINT)
    login.go_on()
    assert terminal.end() == 130
    assert b"no job was submitted" in terminal.seen
    assert json.loads(copied("show", "jobs", "--json")[0])["jobs"] == []
    out, _ = copied("submit", "--yes")
    assert "Row submitted job" in out
    # and a copy that jobs work in stays
    terminal = copied.terminal("mirror", "--remove")
    assert terminal.end() == 1
    assert b"1 job of this project is on alpha" in terminal.seen
    copied("cancel", "--all", "--yes")


def test_without_a_connection_the_login_says_why(copied: Copied, login: LoginNode) -> None:
    copied("mirror", "alpha", "--send")
    login.kill()
    login.cut()
    _, err = copied("mirror", code=1)
    assert "refused the connection" in err
    assert "refused the connection" in copied("submit", "--yes", code=1)[1]
    assert "refused the connection" in copied("plan")[1]


def test_much_is_copied_only_after_asking(copied: Copied, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rowtui.cli.project.mirror.MUCH", 20)
    _, err = copied("mirror", "alpha", "--send", code=1)
    assert "? [y/N]: " in err
    assert "add --yes" in err
    told = json.loads(copied("mirror", "alpha", "--send", "--yes", "--json")[0])
    assert told["notices"] == []
    assert told["size"] > 20
    assert (copied.there / "workspace/a/value").read_text() == "a"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nosuch",), "there is no cluster 'nosuch'"),
        (("local",), "is this machine"),
        (("alpha", "--keep", "mine", "x"), "--keep needs a side"),
        (("alpha", "--keep", "here"), "--keep needs a side"),
        (("alpha", "--fetch", "../x"), "is not the name of a directory"),
        (("alpha", "--keep", "here", "/etc/passwd"), "is not a path in the project"),
        (("alpha", "--keep", "here", "tools/run.sh"), "alpha has no copy of this project"),
    ],
)
def test_what_cannot_be_meant_is_refused(copied: Copied, words: tuple[str, ...], said: str) -> None:
    assert said in copied("mirror", *words, code=1)[1]


def test_a_workspace_elsewhere_is_refused_with_what_to_do(copied: Copied, tmp_path: Path) -> None:
    (tmp_path / "elsewhere/x").mkdir(parents=True)
    text = f'[workspace]\npath = "{tmp_path}/elsewhere"\n{WORKFLOW}'
    (copied.folder / "workflow.toml").write_text(text)
    for words, code in ((("submit", "--yes"), 1), (("plan",), 0), (("mirror", "alpha"), 1)):
        _, err = copied(*words, code=code)
        assert "is not a folder inside the project" in err
        assert "`paths` in clusters.toml" in err
    assert not list(copied.mirrors.iterdir())


# A person decides about some conflicts; nothing else is touched, whatever else differs.

PATHS = ("tools/a", "tools/b", "workspace/x/one", "workspace/x/two", "top")
CHANGES = st.sampled_from(("", "here", "there", "both", "gone here", "gone there"))


@given(
    changes=st.tuples(*[CHANGES] * len(PATHS)),
    base=st.sampled_from((*PATHS, "tools", "workspace", ".")),
    side=st.sampled_from(Side),
)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_keep_never_touches_other_paths(
    tmp_path_factory: pytest.TempPathFactory, changes: tuple[str, ...], base: str, side: Side
) -> None:
    tmp_path = tmp_path_factory.mktemp("keep")
    copy, here, there = await _copy(tmp_path)
    for path, change in zip(PATHS, changes, strict=True):
        _change(here / path, change in ("here", "both"), "mine", gone=change == "gone here")
        _change(there / path, change in ("there", "both"), "theirs!", gone=change == "gone there")
    before = {it: (_content(here / it), _content(there / it)) for it in PATHS}

    try:
        compared = await copy.decide(side, [base])
        steps = copy.send_now if side is Side.HERE else copy.fetch_now
        _ = [step async for step in steps(compared.transfer)]
        decided = True
    except RowtuiError:
        decided = False

    for path, change in zip(PATHS, changes, strict=True):
        meant = base == "." or path == base or path.startswith(f"{base}/")
        after = (_content(here / path), _content(there / path))
        other = "gone there" if side is Side.HERE else "gone here"
        if decided and meant and (change == "both" or (path == base and change == other)):
            kept = before[path][0 if side is Side.HERE else 1]
            assert after == (kept, kept)
        else:
            assert after == before[path]
    assert decided or "both" not in [
        change
        for path, change in zip(PATHS, changes, strict=True)
        if base == "." or path == base or path.startswith(f"{base}/")
    ]


async def _copy(tmp_path: Path) -> tuple[CopyByHand, Path, Path]:
    """A project and a copy of it on this machine, both equal."""
    here, there = tmp_path / "here", tmp_path / "there"
    for path in PATHS:
        (here / path).parent.mkdir(parents=True, exist_ok=True)
        (here / path).write_text("same")
    (here / "workflow.toml").write_text(WORKFLOW)
    project = OpenProject.open(here, cluster="none")
    mirror = Mirror(here, "alpha", LocalTransport(), str(there))
    project.connections.mirror = lambda cluster: mirror  # type: ignore[method-assign]
    copy = CopyByHand(project, project.cluster)
    compared = await copy.compare(make=True)
    _ = [step async for step in copy.send_now(copy.to_send(compared))]
    return copy, here, there


def _change(path: Path, changed: bool, text: str, *, gone: bool) -> None:
    if changed:
        path.write_text(text)
    if gone:
        path.unlink()


def _content(path: Path) -> Any:
    return path.read_text() if path.exists() else None
