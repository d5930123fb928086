"""`rowtui run` while a cluster, which asks for a password and a one-time code, needs a login."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from rowtui.core.clusters.transports.shared.calls import end_shared, shared_logins

from tests.cli.conftest import Shell
from tests.cli.on_clusters import configure
from tests.cli.submit.test_run import messages_to_a_file
from tests.cli.terminal import Terminal
from tests.eventually import eventually
from tests.rig.login import LoginNode
from tests.rig.slurm import SlurmRig

pytestmark = pytest.mark.slurm

WORKFLOW = """\
[[action]]
name = "one"
command = "echo >> {runs}.{{directory}}; while [ -e {gate} ]; do sleep 0.1; done; touch {product}"
products = ["x"]
group.maximum_size = 1
resources.walltime.per_submission = "00:01:00"
"""
CLUSTERS = """\
[[cluster]]
name = "alpha"
scheduler = "slurm"
{partitions}
[cluster.ssh]
host = "expiring"
config = ["{config}"]
{paths}
"""
PARTITIONS = 'partition = [{ name = "cpu" }]'
SHARED = 'paths = [{ local = "/", remote = "/" }]'
RUN = ("run", "--yes", "--max-cpu-hours", "10", "--max-jobs", "1")


class Away(Shell):
    """A project of directories a and b, whose jobs wait while `gate` exists."""

    def __init__(self, node: LoginNode, tmp_path: Path) -> None:
        super().__init__(node.cluster.work / tmp_path.name, tmp_path / "home")
        self.node, self.home = node, tmp_path / "home"
        self.gate, self.runs = tmp_path / "gate", tmp_path / "runs"
        self.gate.touch()
        for name in "ab":
            (self.folder / "workspace" / name).mkdir(parents=True)
        text = WORKFLOW.format(gate=self.gate, runs=self.runs, product="workspace/{directory}/x")
        (self.folder / "workflow.toml").write_text(text)
        self.environment.pop("SSH_AUTH_SOCK", None)
        self.environment["ROWTUI_POLL"] = "0"
        self.messages = messages_to_a_file(self.home)
        self.drivers: list[Terminal] = []

    def configure(self, paths: str, partitions: str = PARTITIONS) -> None:
        given = {"config": self.node.ssh_config, "paths": paths, "partitions": partitions}
        configure(self.home, CLUSTERS.format(**given))

    def connect(self) -> None:
        codes = self.node.codes
        assert codes is not None
        terminal = Terminal(self, "connect", "alpha")
        terminal.answer(b"Password: ", f"{codes.password}\n".encode())
        terminal.answer(b"': ", f"{codes.code()}\n".encode())
        assert terminal.end() == 0, terminal.seen

    def drive(self, *words: str) -> Terminal:
        """Start a driver on a terminal, as in tmux."""
        self.drivers.append(Terminal(self, "--cluster", "alpha", *words))
        return self.drivers[-1]

    def ran(self) -> dict[str, int]:
        """How often each job ran."""
        found = self.runs.parent.glob("runs.*")
        return {path.suffix: len(path.read_bytes()) for path in found}


if os.geteuid() == 0:  # nobody else can give sshd another PAM

    @pytest.fixture(scope="module")
    def node(slurm_rig: SlurmRig) -> Iterator[LoginNode]:
        """A login node where a password and a code are the only way in."""
        node = LoginNode(slurm_rig.keeper, slurm_rig.cluster, name="expiring", one_time_codes=True)
        yield node
        node.kill()
        node.cut()

    @pytest.fixture
    async def away(
        node: LoginNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> AsyncIterator[Away]:
        runtime = tmp_path / "run"
        runtime.mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        away = Away(node, tmp_path)
        away.environment["XDG_RUNTIME_DIR"] = str(runtime)
        yield away
        for driver in away.drivers:
            driver.process.kill()
            driver.process.wait(30)
        for path, _ in await shared_logins():
            await end_shared(path)

    @pytest.mark.parametrize("paths", [SHARED, ""], ids=["shared", "copied"])
    async def test_a_run_waits_for_a_new_login_and_loses_nothing(away: Away, paths: str) -> None:
        away.configure(paths)
        await asyncio.to_thread(_lose_the_login, away)

    def _lose_the_login(away: Away) -> None:
        away.connect()
        driver = away.drive(*RUN)
        eventually(away.ran, what="the first job runs")

        away.node.cut()
        driver.shows(b"alpha needs a login: ")
        driver.shows(b"log in with 'rowtui connect alpha', and the run goes on")
        eventually(away.messages.exists, what="the message")
        away.gate.unlink()  # the job ends; the other one cannot be sent
        away.connect()
        assert driver.end() == 0, driver.seen.decode()

        assert b"Done: all directories are complete." in driver.seen
        assert driver.seen.count(b"needs a login") == 1
        assert b"Password" not in driver.seen
        assert away.messages.read_text().count("Log in with: rowtui connect alpha") == 1
        assert away.ran() == {".a": 1, ".b": 1}
        assert all((away.folder / "workspace" / name / "x").exists() for name in "ab")
