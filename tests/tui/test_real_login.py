"""The dashboard logs in to a real SSH server that wants a password and a one-time code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.project.open_project import OpenProject
from rowtui.tui.shell.app import RowtuiApp

from tests.rig.faults import Prompt
from tests.rig.faulty import faulty_login
from tests.tui.test_real_engine import Person

PASSWORD = "pl4nted-s3cret"
ROUNDS = [[Prompt("Password: ", PASSWORD)], [Prompt("Code: ", "123456", echo=True, once=True)]]
CLUSTERS = """\
[[cluster]]
name = "alpha"
scheduler = "slurm"
identify.always = false
[[cluster.partition]]
name = "cpu"
[cluster.ssh]
host = "{host}"
config = ["{config}"]
paths = [{{ local = "/", remote = "/" }}]
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / ".config/rowtui").mkdir(parents=True)
    (tmp_path / "run").mkdir(mode=0o700)
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    root = tmp_path / "project"
    (root / "workspace" / "d").mkdir(parents=True)
    (root / "workflow.toml").write_text(
        '[[action]]\nname = "one"\ncommand = "true {directory}"\nproducts = ["x"]\n'
    )
    return root


def empty_queue(folder: Path) -> Path:
    """A folder with a squeue that lists nothing."""
    folder.mkdir()
    (folder / "squeue").write_text("#!/bin/sh\n")
    (folder / "squeue").chmod(0o755)
    return folder


@pytest.mark.usefixtures("enter_at_once")
async def test_a_machine_never_seen_a_password_and_a_code_from_the_queue_view(
    root: Path, tmp_path: Path
) -> None:
    options = {"keys": False, "rounds": ROUNDS, "instructions": "Be\x1b[1m kind"}
    async with faulty_login(tmp_path / "node", **options) as node:
        node.known_hosts.write_text("")
        node.env["PATH"] = f"{empty_queue(tmp_path / 'bin')}:{node.env['PATH']}"
        config = tmp_path / "home/.config/rowtui/clusters.toml"
        config.write_text(CLUSTERS.format(host=node.name, config=node.ssh_config))
        engine = InProcessEngine(OpenProject.open(root, cluster="local"))
        app = RowtuiApp(engine)
        try:
            async with app.run_test(size=(100, 30), notifications=True) as pilot:
                person = Person(app, pilot)
                await person.sees("one: 1 eligible")
                await person.press("6")
                await person.sees("alpha ▲ log in: L", "local ● now")

                await person.press("L")
                await person.sees("Is this alpha?", "SHA256:")
                await person.press("enter")  # no
                await person.sees("No connection to alpha", "is unknown: its")
                await person.press("escape", "L")
                await person.sees("Is this alpha?")
                await person.press("right", "enter")

                await person.sees("Log in to alpha", "Be\\x1b[1m kind", "Password:")
                await person.press(*PASSWORD, "enter")
                await person.sees("Code:")
                await person.press(*"123456", "enter")
                await person.sees("logged in to alpha", "alpha ● now")
                assert [attempt.accepted for attempt in node.logins] == [True]
                assert PASSWORD not in repr(app.session) + app.export_screenshot()
                await person.press("q")
        finally:
            await engine.close()
