"""`rowtui run` while a cluster, which asks for a password and a one-time code, needs a login."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
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
        self.log = tmp_path / "log"
        self.processes: list[subprocess.Popen[bytes]] = []

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

    def restarted(self) -> subprocess.Popen[bytes]:
        """Kill the driver, and start one without a terminal, as if days had passed."""
        self.processes[-1].kill()
        self.processes[-1].wait(30)
        [described] = self.home.rglob("clusters/alpha-*.json")
        kept = json.loads(described.read_text())
        described.write_text(json.dumps(kept | {"at": kept["at"] - 5 * 86_400}))
        with self.log.open("wb") as log:
            driver = subprocess.Popen(
                [sys.executable, "-m", "rowtui.cli.main", "--cluster", "alpha", "run", "--resume"],
                cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.processes.append(driver)
        return driver

    def drive(self, *words: str) -> Terminal:
        """Start a driver on a terminal, as in tmux."""
        terminal = Terminal(self, "--cluster", "alpha", *words)
        self.processes.append(terminal.process)
        return terminal

    def is_done(self, printed: str) -> None:
        assert "Done: all directories are complete." in printed
        assert self.messages.read_text().count("Log in with: rowtui connect alpha") == 1
        assert self.ran() == {".a": 1, ".b": 1}
        assert all((self.folder / "workspace" / name / "x").exists() for name in "ab")

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
        for process in away.processes:
            process.kill()
            process.wait(30)
        for path, _ in await shared_logins():
            await end_shared(path)

    async def test_a_run_waits_for_a_new_login_and_loses_nothing(away: Away) -> None:
        away.configure(SHARED)
        driver = await asyncio.to_thread(_lose_the_login, away)
        away.gate.unlink()  # the job ends; the other one cannot be sent
        await asyncio.to_thread(away.connect)
        code = await asyncio.to_thread(driver.end)
        assert code == 0, driver.seen.decode()
        assert driver.seen.count(b"needs a login") == 1
        assert b"Password" not in driver.seen
        away.is_done(driver.seen.decode())

    async def test_a_run_waits_for_a_login_after_the_machine_restarted(away: Away) -> None:
        away.configure("", partitions="")
        await asyncio.to_thread(_lose_the_login, away)
        driver = away.restarted()
        eventually(away.log.read_text, lambda text: "and the run goes on" in text)
        away.gate.unlink()
        await asyncio.to_thread(away.connect)
        code = await asyncio.to_thread(driver.wait, 45)
        assert code == 0, away.log.read_text()
        away.is_done(away.log.read_text())

    def _lose_the_login(away: Away) -> Terminal:
        away.connect()
        driver = away.drive(*RUN)
        eventually(away.ran, what="the first job runs")
        away.node.cut()
        driver.shows(b"alpha needs a login: ")
        driver.shows(b"log in with 'rowtui connect alpha', and the run goes on")
        eventually(away.messages.exists, what="the message")
        return driver
