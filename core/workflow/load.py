"""Load workflow.toml as a Workflow, or report all its problems at once."""

from __future__ import annotations

from pathlib import Path

from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError, WorkflowError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import visible
from rowtui.core.workflow.check import check_actions, check_structure
from rowtui.core.workflow.find import WORKFLOW_FILE
from rowtui.core.workflow.inherit import FromError, Inherited, inherit
from rowtui.core.workflow.model import Workflow
from rowtui.core.workflow.parse import RawWorkflow, parse_tables
from rowtui.core.workflow.toml_file import TomlFile, did_you_mean

LARGEST_FILE = 64 << 20  # bytes; a thousand actions have less than one MB


def load_workflow(root: Path) -> Workflow:
    """Return the workflow of the project at `root`.

    Raises: WorkflowError with every structural problem; RowtuiError if it cannot be read.
    """
    path = root / WORKFLOW_FILE
    file = visible(str(path))
    try:
        data = read_bounded(path, LARGEST_FILE)
    except OSError as error:
        raise RowtuiError(f"cannot read {file}: {error.strerror}") from None
    return parse_workflow(data, root, file)


def parse_workflow(data: bytes, root: Path, file: str) -> Workflow:
    """Return the workflow that `data` describes; `file` is the name shown in problems.

    Raises: WorkflowError with every structural problem.
    """
    try:
        toml = TomlFile(data, file)
        raw = parse_tables(toml)
        inherited = _inherit_all(toml, raw)
        check_structure(toml, inherited)
        toml.raise_if_errors()
    except InvalidFileError as error:
        problems = sorted(error.problems, key=_place)
        raise WorkflowError(tuple(problems)) from None
    problems = [*toml.problems, *check_actions(toml, inherited, raw.value_file)]
    return Workflow(
        root,
        raw.workspace_path,
        raw.value_file,
        tuple(item.action for item in inherited),
        tuple(sorted(problems, key=_place)),
    )


def _inherit_all(toml: TomlFile, raw: RawWorkflow) -> list[Inherited]:
    inherited = []
    for index, action in enumerate(raw.actions):
        try:
            inherited.append(inherit(raw, index))
        except FromError as error:
            names = [other.name for other in raw.actions if other.name is not None]
            hint = (
                "" if action.from_action in names else did_you_mean(action.from_action or "", names)
            )
            toml.problem((*action.path, "from"), visible(str(error)), hint)
            inherited.append(inherit(raw, index, cut_off=True))
    return inherited


def _place(problem: Problem) -> tuple[int, int]:
    return problem.line, problem.column
