"""A what-if that becomes so: workflow.toml changed after a yes, and changed back."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.groups.model import Status
from rowtui.core.mapping.files.places import user_places
from rowtui.core.mapping.files.trust import TrustStore
from rowtui.core.mapping.model.request import Amounts, WhatIf
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.views.views import Edit, EditRequest, WhatIfRequest

WORKFLOW = """\
[[action]]  # ä
name = "relax"
command = "run {directory}"
group.maximum_size = 2
[action.resources]
threads_per_process = 2  # of 8
memory_per_cpu_mb = 1000
"""
MAPPING = """\
tools: {default: {cores: 1}}
destinations:
  small: {runner: local, max_accepted_cores: 4}
  large: {runner: local}
"""
ELIGIBLE = (Status.ELIGIBLE,)


class Place:
    """A project with a mapping file that is trusted, and its engine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = root / "workflow.toml"
        self.environment = {"HOME": str(root.parent), "PATH": "/usr/bin:/bin"}
        for number in range(5):
            (root / "workspace" / f"d{number}").mkdir(parents=True)
        self.file.write_text(WORKFLOW)
        self.map(MAPPING)
        self.engine = self.opened()

    def map(self, text: str) -> None:
        path = self.root / "mapping.yml"
        path.write_text(text)
        TrustStore(user_places(self.environment).trust).trust(str(path), path.read_bytes(), 0.0)

    def opened(self) -> InProcessEngine:
        project = OpenProject.open(self.root, cluster="local", environment=self.environment)
        return InProcessEngine(project)

    async def edit(
        self, *, walltime: int | None = None, confirmed: str = "", undo: str = "", **amounts: Any
    ) -> Edit:
        what_if = WhatIfRequest(WhatIf(Amounts(**amounts), walltime))
        asked = EditRequest(0, ELIGIBLE, 0, None if undo else what_if, undo, confirmed)
        return await self.engine.mapping.edit_workflow(asked)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    place = Place(tmp_path / "project")
    await place.engine.refresh()
    yield place
    await place.engine.close()


async def test_what_was_shown_is_written_and_taken_back_to_the_byte(place: Place) -> None:
    # given a file with a mode of its own, behind a link
    elsewhere = place.root.parent / "kept.toml"
    place.file.rename(elsewhere)
    place.file.symlink_to(elsewhere)
    elsewhere.chmod(0o664)
    # when somebody looks
    shown = await place.edit(walltime=1800)
    # then nothing is written yet
    assert elsewhere.read_text() == WORKFLOW
    assert shown.diff[-1] == '+walltime.per_directory = "00:15:00"'
    assert shown.fields == ("walltime",)
    assert "All 3 eligible groups of relax ask for it then." in shown.notes[0]
    assert len(shown.notes) == 1
    # when they say yes
    old = os.umask(0o077)
    try:
        done = await place.edit(walltime=1800, confirmed=shown.token)
    finally:
        os.umask(old)
    # then it is so, for everybody who could read it before
    assert done.written
    assert elsewhere.read_text() == WORKFLOW + 'walltime.per_directory = "00:15:00"\n'
    assert place.file.is_symlink()
    kept = place.root / ".row" / "rowtui" / "workflow.before.toml"
    assert [it.stat().st_mode & 0o777 for it in (elsewhere, kept)] == [0o664, 0o664]
    assert kept.read_text() == WORKFLOW
    await place.engine.refresh()
    found = await place.engine.mapping.explain(0, ELIGIBLE, 0)
    assert found.decision is not None
    assert found.decision.request.totals is not None
    assert found.decision.request.totals.walltime_seconds == 1800
    # and can be taken back, and then taken back again
    back = await place.edit(undo=done.token)
    assert '-walltime.per_directory = "00:15:00"' in back.diff
    assert (await place.edit(undo=done.token, confirmed=back.token)).written
    assert elsewhere.read_text() == WORKFLOW
    assert (await place.edit(undo=done.token)).refused == "workflow.toml has changed since"
    assert (await place.edit(undo=back.token)).token == done.token


async def test_another_content_than_the_one_that_was_shown_is_not_written(place: Place) -> None:
    shown = await place.edit(cores=6)
    place.file.write_text("# new\n" + WORKFLOW)
    with pytest.raises(RowtuiError, match="differs from the one shown"):
        await place.edit(cores=6, confirmed=shown.token)
    place.file.write_text(WORKFLOW.replace("= 1000", "= 2000"))
    assert "changed meanwhile" in (await place.edit(cores=6)).refused
    with pytest.raises(RowtuiError, match="changed meanwhile"):
        await place.edit(cores=6, confirmed=shown.token)
    assert place.file.read_text() == WORKFLOW.replace("= 1000", "= 2000")


async def test_a_change_back_is_refused_once_the_file_is_another(place: Place) -> None:
    shown = await place.edit(cores=6)
    done = await place.edit(cores=6, confirmed=shown.token)
    place.file.write_text(place.file.read_text() + "# mine\n")
    assert (await place.edit(undo=done.token)).refused == "workflow.toml has changed since"
    with pytest.raises(RowtuiError, match="changed since"):
        await place.edit(undo=done.token, confirmed="x")
    assert place.file.read_text().endswith("# mine\n")


async def test_what_else_would_be_different_is_said(place: Place) -> None:
    # memory is by CPU, so more of them have more of it; and it goes elsewhere then
    edit = await place.edit(cores=6)
    assert edit.notes[1:] == ("Its memory is 5.859 GB then, 1.953 GB in the what-if.",)
    place.file.write_text(WORKFLOW + "processes.per_submission = 4\n")
    await place.engine.refresh()
    edit = await place.edit(cores=6)
    assert "+processes.per_submission = 3" in edit.diff
    assert "It runs 3 processes then, not 4." in edit.notes
    place.file.write_text(WORKFLOW)
    await place.engine.refresh()
    edit = await place.edit(mem=1)
    assert "+memory_per_cpu_mb = 512" in edit.diff


async def test_what_the_mapping_files_decide_is_left_out(place: Place) -> None:
    place.map(MAPPING.replace("tools: {", "tools: {relax: {mem: cores * 4}, "))
    edit = await place.edit(mem=64, cores=8)
    assert edit.fields == ("cores",)
    assert "Its memory is 32 GB then, 64 GB in the what-if." not in edit.notes  # it stays a what-if
    assert "mem stays as set by the mapping files." in edit.notes
    assert not any("memory" in line for line in edit.diff if line[0] in "+-")
    alone = await place.edit(mem=64)
    assert alone.refused == "mem is decided by the mapping files, whatever workflow.toml says"


async def test_why_nothing_can_be_written_is_said(place: Place) -> None:
    assert (await place.edit(cores=2)).refused == "workflow.toml already has these values"
    assert "7.5 cores" in (await place.edit(cores=7.5)).refused
    tags = WhatIfRequest(WhatIf(add_tags=(("x", "prefer"),)))
    edit = await place.engine.mapping.edit_workflow(EditRequest(0, ELIGIBLE, 0, tags))
    assert "tags" in edit.refused
    edit = await place.engine.mapping.edit_workflow(EditRequest(0, ELIGIBLE, 99, tags))
    assert edit.refused == "there is no such job now"
    os.link(place.file, place.root / "other.toml")
    assert "hard links" in (await place.edit(cores=6)).refused
    (place.root / "other.toml").unlink()
    place.file.chmod(0o444)
    assert (await place.edit(cores=6)).refused == "workflow.toml is read-only for you"
    place.file.chmod(0o644)
    place.file.write_text("[[action]\n")
    assert "errors" in (await place.edit(cores=6)).refused
    place.file.write_text(WORKFLOW + '[[action]]\nname = "b"\nfrom = "relax"\n')
    await place.engine.refresh()
    assert "b takes its resources from this action" in (await place.edit(cores=6)).refused
    place.file.unlink()
    assert "cannot be read" in (await place.edit(cores=6)).refused
