"""Find the problems of a workflow after inheritance.

`check_structure` finds problems that make the file unusable, as in Row. `check_actions` finds
problems that Row would only report when a script is built, or never: these concern single actions,
and the project can still be opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError, WorkflowError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import has_control, visible
from rowtui.core.workflow.find import WORKFLOW_FILE
from rowtui.core.workflow.inherit import FromError, Inherited, inherit
from rowtui.core.workflow.model import SubmitOptions, Workflow
from rowtui.core.workflow.parse import WORKFLOW_KEYS, RawWorkflow, parse_tables
from rowtui.core.workflow.template import TemplateError, parse_command
from rowtui.core.workflow.toml_file import TomlFile, did_you_mean

# Load workflow.toml as a Workflow, or report all its problems at once.


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
        toml = TomlFile(data, file, WORKFLOW_KEYS)
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


def check_structure(file: TomlFile, inherited: Sequence[Inherited]) -> None:
    """Check for missing names and commands, unknown previous actions and unequal duplicates."""
    for item in inherited:
        path = item.chain[0].path
        if not item.has("name"):
            file.problem(path, f"the action at index {item.action.index} is missing `name`")
        if not item.has("command"):
            file.problem(path, f"the action {_title(item)} is missing `command`")
    names = {item.action.name for item in inherited}
    for item in inherited:
        for index, name in enumerate(item.action.previous_actions):
            if name not in names:
                where = item.path_of("previous_actions", index)
                message = f"the previous action '{visible(name)}' of action {_title(item)}"
                hint = did_you_mean(name, names)
                file.problem(where, f"{message} is not in this file", hint)
        _check_products(file, item)
    _check_same_name(file, inherited)


def _check_products(file: TomlFile, item: Inherited) -> None:
    for index, product in enumerate(item.action.products):
        if reason := _refused_product(product):
            message = f"the product '{visible(product)}' of action {_title(item)} {reason}"
            hint = "products are files in the directory: `filename` or `some/dir/filename`"
            file.problem(item.path_of("products", index), message, hint)


def _refused_product(product: str) -> str:
    """Return why a product is no valid path inside a directory; "" if it is (Row 1.1's rules)."""
    if product.startswith("/"):
        return "is an absolute path"
    if "\\" in product:
        return "has a backslash"
    if "\0" in product:
        return "has a NUL character"
    if "//" in product or "./" in product:
        return "has './', '../' or '//' in it"
    if ".." in product.split("/"):
        return "leads out of the directory"
    return ""


def _check_same_name(file: TomlFile, inherited: Sequence[Inherited]) -> None:
    first: dict[str, Inherited] = {}
    for item in inherited:
        other = first.setdefault(item.action.name, item)
        if other is item or not item.has("name") or item.cut_off or other.cut_off:
            continue
        for key, mine, its in (
            ("products", item.products_set(), other.products_set()),
            ("previous_actions", item.previous_set(), other.previous_set()),
        ):
            if mine != its:
                line, _ = file.locate(other.chain[0].path)
                file.problem(
                    item.path_of(key),
                    f"duplicate actions {_title(item)} must have the same `{key}`",
                    f"see the element at line {line}; an empty list is not the same as none",
                )


def check_actions(
    file: TomlFile, inherited: Sequence[Inherited], value_file: str | None
) -> tuple[Problem, ...]:
    """Return the problems of single actions, with severity and action index."""
    check = _Check(file, inherited, value_file)
    for item in inherited:
        check.text(item)
        check.command(item)
        check.resources(item)
        check.pointers(item)
        check.operands(item)
        check.products(item)
    check.cycles()
    check.never_complete()
    return tuple(check.problems)


_MOST_IN_RING = 6  # actions that wait for each other, in one message


class _Check:
    def __init__(
        self, file: TomlFile, inherited: Sequence[Inherited], value_file: str | None
    ) -> None:
        self.file = file
        self.inherited = inherited
        self.value_file = value_file
        self.problems: list[Problem] = []

    def note(
        self,
        item: Inherited,
        keys: tuple[str | int, ...],
        message: str,
        hint: str = "",
        severity: str = "error",
    ) -> None:
        line, column = self.file.locate(item.path_of(*keys))
        text = f"action {_title(item)}: {message}"
        self.problems.append(
            Problem(self.file.file, line, column, text, hint, severity, item.action.index)
        )

    def text(self, item: Inherited) -> None:
        """Check for control characters, which would break a line of the script's header in two."""
        if not item.action.name:
            self.note(item, ("name",), "the name is empty", "give the action a descriptive name")
        if has_control(item.action.name):
            self.note(item, ("name",), "the name has control characters")
        if "\0" in item.action.command:
            self.note(item, ("command",), "the command has a NUL character")
        for cluster, options in item.action.submit_options.items():
            for key, texts in _one_line_texts(options).items():
                if any(has_control(text) for text in texts):
                    where = ("submit_options", cluster, key)
                    self.note(item, where, f"`{key}` has control characters")
            if options.setup is not None and "\0" in options.setup:
                where = ("submit_options", cluster, "setup")
                self.note(item, where, "`setup` has a NUL character")

    def command(self, item: Inherited) -> None:
        try:
            pointers = parse_command(item.action.command).pointers
        except TemplateError as error:
            self.note(item, ("command",), error.message, error.hint)
            return
        for pointer in pointers:
            self.needs_value(item, ("command",), pointer)

    def resources(self, item: Inherited) -> None:
        resources = item.action.resources
        if resources.processes.value == 0:
            hint = "ask for at least 1, or omit `resources.processes`"
            self.note(item, ("resources", "processes"), "it asks for 0 processes", hint)
        for key, noun in (("threads_per_process", "threads"), ("gpus_per_process", "GPUs")):
            if next((n for raw in item.chain if (n := getattr(raw, key)) is not None), None) == 0:
                hint = f"omit `{key}`: Row 1.1 refuses the whole file"
                message = f"0 {noun} per process is taken as not set"
                self.note(item, ("resources", key), message, hint, "warning")
        if resources.walltime.seconds == 0:
            message = "the walltime is 0"
            self.note(item, ("resources", "walltime"), message, "", "warning")
        if item.action.group.maximum_size == 0:
            hint = "use at least 1, or omit it for no limit"
            self.note(item, ("group", "maximum_size"), "`maximum_size` is 0", hint)

    def pointers(self, item: Inherited) -> None:
        group = item.action.group
        for index, pointer in enumerate(group.sort_by):
            self.pointer(item, ("group", "sort_by", index), pointer)
        for index, selector in enumerate(group.include):
            for condition in selector.conditions:
                self.pointer(item, ("group", "include", index), condition.pointer)

    def pointer(self, item: Inherited, where: tuple[str | int, ...], pointer: str) -> None:
        if pointer and not pointer.startswith("/"):
            message = f"'{visible(pointer)}' is not a JSON pointer"
            self.note(item, where, message, f"did you mean '/{visible(pointer)}'?")
        else:
            self.needs_value(item, where, pointer)

    def needs_value(self, item: Inherited, where: tuple[str | int, ...], pointer: str) -> None:
        if pointer and self.value_file is None:
            message = f"no directory has a value at '{visible(pointer)}': `value_file` is not set"
            hint = 'set value_file = "..." in [workspace]'
            self.note(item, where, message, hint)

    def operands(self, item: Inherited) -> None:
        for index, selector in enumerate(item.action.group.include):
            where = ("group", "include", index)
            for condition in selector.conditions:
                if isinstance(condition.operand, dict):
                    message = (
                        f"a table or date cannot be compared with '{visible(condition.pointer)}'"
                    )
                    self.note(item, where, message, "compare strings, numbers, booleans or arrays")
                elif condition.operand is None:
                    message = "inf and nan are compared as null"
                    self.note(item, where, message, "", "warning")

    def products(self, item: Inherited) -> None:
        products = item.action.products
        for index, product in enumerate(products):
            where = ("products", index)
            if product in products[:index]:
                message = f"the product '{visible(product)}' is named twice"
                self.note(item, where, message, "", "warning")
            if product in {"", "."} or product.endswith(("/", "/.")):
                message = f"the product '{visible(product)}' is not the name of a file"
                self.note(item, where, message, "", "warning")

    def cycles(self) -> None:
        """Report actions that wait for themselves and never become eligible."""
        before = {item.action.name: item.action.previous_actions for item in self.inherited}
        stuck = _never_first(before)
        reported: set[str] = set()
        for item in self.inherited:
            name = item.action.name
            if name in stuck and name not in reported and (circle := _circle(before, name)):
                reported.update(circle)
                shown = " after ".join(f"'{visible(name)}'" for name in circle[:_MOST_IN_RING])
                if len(circle) > _MOST_IN_RING:
                    shown += f" and so on, {len(circle) - 1} actions in all"
                message = f"it waits for itself: {shown}"
                hint = "take one of them out of `previous_actions`"
                self.note(item, ("previous_actions",), message, hint)

    def never_complete(self) -> None:
        waiting: dict[str, str] = {}
        for item in self.inherited:
            for name in item.action.previous_actions:
                if name != item.action.name:
                    waiting.setdefault(name, item.action.name)
        found = set()
        for item in self.inherited:
            name = item.action.name
            if name in waiting and name not in found and not item.action.products:
                found.add(name)
                message = f"it has no products, so it never completes and {_quoted(waiting[name])}"
                hint = "name the files that it makes in `products`"
                self.note(item, ("name",), f"{message} waits for ever", hint, "warning")


def _never_first(before: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the actions that are on a cycle or depend on one, so that they are never eligible."""
    after: dict[str, list[str]] = {name: [] for name in before}
    open_ = {name: len(earlier) for name, earlier in before.items()}
    for name, earlier in before.items():
        for other in earlier:
            after[other].append(name)
    ready = [name for name, number in open_.items() if number == 0]
    while ready:
        for name in after[ready.pop()]:
            open_[name] -= 1
            if open_[name] == 0:
                ready.append(name)
    return {name for name, number in open_.items() if number > 0}


def _circle(before: Mapping[str, Sequence[str]], name: str) -> list[str]:
    """Return the shortest cycle from an action back to itself through `before`; [] if none."""
    came_from: dict[str, str] = {}
    edge = [name]
    while edge:
        following = []
        for here in edge:
            for earlier in before.get(here, ()):
                if earlier == name:
                    way = [here]
                    while way[-1] != name:
                        way.append(came_from[way[-1]])
                    return [*reversed(way), name]
                if earlier not in came_from:
                    came_from[earlier] = here
                    following.append(earlier)
        edge = following
    return []


def _one_line_texts(options: SubmitOptions) -> dict[str, tuple[str, ...]]:
    return {
        "account": (options.account or "",),
        "custom": options.custom,
        "partition": (options.partition or "",),
        "output_file_path": (options.output_file_path or "",),
        "output_file_name": (options.output_file_name or "",),
    }


def _title(item: Inherited) -> str:
    return _quoted(item.action.name) if item.has("name") else f"at index {item.action.index}"


def _quoted(name: str) -> str:
    return f"'{visible(name)}'"
