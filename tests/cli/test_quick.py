"""The stored text of `show status` is printed only by the code that made it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rowtui.cli import main as quick
from rowtui.cli.output.output import Output

from tests.cli.in_process import prepared

WORKFLOW = """
[[action]]
name = "one"
command = "touch workspace/{directory}/one"
products = ["one"]
"""


def test_a_changed_table_never_shows_the_old_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    here.cluster = ""
    # A listing of a folder that changed a moment ago is not relied on.
    os.utime(here.folder / "workspace", (1_000_000_000, 1_000_000_000))
    code = tmp_path / "table.py"
    code.write_text("first\n")
    monkeypatch.setattr(quick, "RENDERING", (str(code),))
    printed = here("show", "status").out
    assert quick.stored_status(Output()) == printed

    code.write_text("second, longer\n")

    assert quick.stored_status(Output()) is None


# In a process of its own: with a profile function in that of the tests the interpreter did not
# return from a call.
SEEN = """
import sys
from rowtui.cli.show.status import status_lines
from rowtui.cli.output.output import Output
from rowtui.core.groups.model import ActionStatus
from rowtui.core.groups.status import StatusCounts
from rowtui.core.base.text import Cost
from rowtui.core.workflow.model import Action

row = ActionStatus(Action(0, "one", "true"), remaining_cost=Cost(1.0, 2.0))
counts = StatusCounts(1, 0, 1, 0, 1, 1, 1)
ran = set()
sys.setprofile(lambda frame, event, arg: ran.add(frame.f_code.co_filename))
for color in ("never", "always"):
    status_lines([(row, counts)], Output(color=color), header=True)
sys.setprofile(None)
print(*ran, sep="\\n")
"""


def test_the_identity_of_the_table_covers_all_code_that_makes_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SEEN], capture_output=True, text=True, timeout=30, check=True
    )
    folder = Path(quick.__file__).parent
    known = {(folder / name).resolve() for name in quick.RENDERING}
    ours = {Path(name).resolve() for name in done.stdout.split("\n") if "/rowtui/" in name}
    assert ours <= known
    assert len(ours) > 1
