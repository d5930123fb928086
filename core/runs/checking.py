"""Find all errors of a network, file by file, without stopping at the first.

Takes a project's folder, and the project if its workflow is valid; gives problems with their
places, notices about entries that sources left out, and the number of jobs if nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.network.definition.check import check_against_workflow
from rowtui.core.network.definition.load import NETWORK_FILE, load_network
from rowtui.core.network.definition.spec import Place, SourceRows
from rowtui.core.network.samples.shape import Home, homes_of
from rowtui.core.runs.directories.source_files import read_source
from rowtui.core.runs.execution.never_ready import never_ready
from rowtui.core.runs.study import make_study

if TYPE_CHECKING:
    from rowtui.core.project.project import Project


class Checked(NamedTuple):
    """The result of a check.

    `jobs`: how many are known before anything runs; None if errors prevent counting. `homes`: whose
    directories each node uses, and why; empty if the network has errors.
    """

    problems: tuple[Problem, ...]
    notices: tuple[str, ...] = ()
    jobs: int | None = None
    homes: Mapping[str, Home] = {}


def check_network(root: Path, project: Project | None) -> Checked:
    """Return all problems of a network.

    With `project` None, only network.toml itself is checked.
    """
    file = visible(str(root / NETWORK_FILE))
    try:
        loaded = load_network(root)
    except InvalidFileError as error:
        return Checked(error.problems)
    except RowtuiError as error:
        return Checked((Problem(file, 0, 0, error.message, error.hint),))
    found = list(loaded.problems)
    if project is None:
        return Checked(tuple(found))
    of_workflow = project.workflow.problems
    found += check_against_workflow(loaded.network, project.workflow, file)
    rows: dict[str, SourceRows] = {}
    notices: list[str] = []
    for source in loaded.network.sources:
        try:
            read = read_source(project, source)
        except RowtuiError as error:
            found.append(_at(file, source.place, error))
        else:
            rows[source.name] = read.rows
            notices += read.notices
    jobs = None
    homes: dict[str, Home] = {}
    if len(rows) == len(loaded.network.sources) and not any(it.severity == "error" for it in found):
        try:
            flow = make_study(project, loaded.network, rows).flow
        except InvalidFileError as error:
            found += error.problems
        except RowtuiError as error:
            found.append(_at(file, Place(), error))
        else:
            jobs = sum(run.columns.count for run in flow.runs.values())
            every = homes_of(loaded.network)
            homes = {node.name: every[node.name] for node in loaded.network.nodes}
            found += never_ready(project, flow, file)
    found.sort(key=lambda it: (it.line, it.column))
    return Checked((*of_workflow, *dict.fromkeys(found)), tuple(notices), jobs, homes)


def _at(file: str, place: Place, error: RowtuiError) -> Problem:
    message = error.message.removeprefix(f"{file}: ")
    return Problem(file, place.line, place.column, message, error.hint)
