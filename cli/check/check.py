"""`rowtui check`: find the problems of all files of a project and of the user, without any cluster.

Each file is loaded as every other command loads it, and then checked as far as possible without
directories, sources of a network, queues and partitions. Nothing is written and nothing is fetched.
Sources of the reports: OASIS, "Static Analysis Results Interchange Format 2.1.0"; GitHub, "Workflow
commands for GitHub Actions".
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from rowtui.cli.check.files import KINDS, MAPPING, ROW_FOLDER, named_files, own_files
from rowtui.cli.mapping.files import project_root
from rowtui.cli.output.output import Output
from rowtui.core import __version__
from rowtui.core.base.document import TextOrNull
from rowtui.core.base.errors import InvalidFileError, Problem, RowtuiError
from rowtui.core.base.files import own_config_folder, row_config_folder
from rowtui.core.base.text import plural, visible
from rowtui.core.clusters.config.load import load_clusters, read_clusters
from rowtui.core.clusters.config.load_launchers import read_launchers
from rowtui.core.clusters.model import Cluster
from rowtui.core.mapping.files.load import load_mapping
from rowtui.core.mapping.files.places import Fetching, FoundSources, user_places
from rowtui.core.mapping.files.sources import NOT_FETCHED, find_sources, sources_from
from rowtui.core.mapping.lint.lint import lint
from rowtui.core.messages.settings import read_messages
from rowtui.core.mirror.selection import read_rules
from rowtui.core.network.definition.check import check_against_workflow
from rowtui.core.network.definition.load import load_network
from rowtui.core.project.retry_policy import load_policy
from rowtui.core.workflow.load import load_workflow

_SHELL = "rowtui.tui.shell"  # imports Textual, so that only files of the dashboard load it
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_STYLES = {"error": "red bold", "warning": "yellow bold"}


class CheckedFile(NamedTuple):
    """One file that was checked. `kind`: its name for `rowtui schema`."""

    file: str
    kind: str


class CheckedFiles(NamedTuple):
    """`check`. `project`: its folder; null outside of a project, and where files are named.

    `ok`: whether no problem is an error.
    """

    ok: bool
    project: TextOrNull
    files: Sequence[CheckedFile]
    problems: Sequence[Problem]


def run(args: argparse.Namespace, out: Output) -> int:
    """Print every problem; 1 if one of them is an error."""
    root = None if args.paths else project_root()
    found = list(named_files(args.paths) if args.paths else own_files(root))
    files = [CheckedFile(_shown(path), kind) for kind, path in found if kind]
    problems = [problem for kind, path in found for problem in _checked(kind, path)]
    if not args.paths:
        mapping_files, findings = _in_use(root)
        files, problems = [*files, *mapping_files], [*problems, *findings]
    errors = sum(problem.severity == "error" for problem in problems)
    form = "json" if args.json else args.format
    if form == "json":
        out.json(CheckedFiles(not errors, str(root or ""), files, problems))
    elif form == "sarif":
        out.print(json.dumps(sarif(problems, dict(files)), indent=2))
    elif form == "github":
        out.lines(github_lines(problems))
    else:
        if root is None and not args.paths:
            out.note("There is no project here: only your own files are checked.")
        _print(files, problems, out, verbose=bool(getattr(args, "verbose", 0)))
    return 1 if errors else 0


def _print(
    files: Sequence[CheckedFile], problems: Sequence[Problem], out: Output, *, verbose: bool
) -> None:
    for problem in problems:
        place, _, _ = str(problem).partition(f": {problem.message}")
        kind = out.style(problem.severity, _STYLES[problem.severity])
        out.print(f"{out.style(place, 'bold')}: {kind}: {visible(problem.message)}")
        for line in problem.hint.splitlines():
            out.print(f"    {out.style(visible(line), 'cyan')}")
    wrong = {problem.file for problem in problems}
    for file, kind in files if verbose else ():
        if file not in wrong:
            out.print(f"{file}: no problem ({kind})")
    severities = [problem.severity for problem in problems]
    counts = [plural(number, it) for it in _STYLES if (number := severities.count(it))]
    out.print(f"{plural(len(files), 'file')}, {', '.join(counts) or 'no problem'}.")


def sarif(problems: Iterable[Problem], kinds: Mapping[str, str]) -> dict[str, Any]:
    """Return one run as SARIF. `kinds`: the kind of each file, which stands as the rule."""
    rules = [{"id": n, "shortDescription": {"text": it.place}} for n, it in KINDS.items()]
    driver = {"name": "rowtui", "version": __version__, "rules": rules}
    results = [_result(problem, kinds.get(problem.file)) for problem in problems]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(problem: Problem, kind: str | None) -> dict[str, Any]:
    path = Path(problem.file)
    place: dict[str, Any] = {
        "artifactLocation": {"uri": path.as_uri() if path.is_absolute() else quote(problem.file)}
    }
    if problem.line:
        place["region"] = {"startLine": problem.line, "startColumn": problem.column}
    result = {
        "level": problem.severity,
        "message": {"text": problem.sentence},
        "locations": [{"physicalLocation": place}],
    }
    return result if kind is None else {"ruleId": kind, **result}


def github_lines(problems: Iterable[Problem]) -> Iterator[str]:
    """Yield a line for each problem, which GitHub shows at the line of the file."""
    for problem in problems:
        place = {"file": problem.file}
        if problem.line:
            place |= {"line": str(problem.line), "col": str(problem.column)}
        values = ",".join(f"{name}={_property(text)}" for name, text in place.items())
        text = problem.message + (f"\n{problem.hint}" if problem.hint else "")
        yield f"::{problem.severity} {values}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _checked(kind: str, path: Path) -> Iterator[Problem]:
    """Yield the problems of one file, whose kind is "" if it has none."""
    shown = _shown(path)
    try:
        if not kind:
            names = ", ".join(dict.fromkeys(it.place for it in KINDS.values()))
            text = "this is not the name of a file that rowtui reads"
            raise RowtuiError(text, f"there are {names}")
        if not path.exists():
            raise RowtuiError("there is no such file")
        for problem in problems_of(kind, path):
            if kind == "network" and problem.file != visible(str(path)):  # a node is in this file
                yield problem._replace(file=_shown(Path(problem.file)))
            else:
                yield problem if kind == MAPPING else problem._replace(file=shown)
    except RowtuiError as error:
        yield Problem(shown, 0, 0, error.message, error.hint)


def _in_use(root: Path | None) -> tuple[list[CheckedFile], list[Problem]]:
    """Return the mapping files of the user and the project, and the problems of all of them."""
    places = user_places(os.environ)
    found = find_sources(root, places=places, now=time.time(), fetching=_NOTHING_FETCHED)
    clusters = {cluster.name: cluster for cluster in load_clusters(os.environ).clusters}
    files = [CheckedFile(_shown(Path(it.place)), MAPPING) for it in found.sources]
    return files, list(_of_sources(found, clusters))


def _shown(path: Path) -> str:
    """Return a path relative to the current folder if it is inside, else in full."""
    inside = os.path.relpath(path)
    return visible(os.path.abspath(path) if inside.startswith("..") else inside)


def _network(path: Path) -> Sequence[Problem]:
    loaded = load_network(path.parent)
    try:
        workflow = load_workflow(path.parent)
    except RowtuiError:  # the problems of that file are its own
        return loaded.problems
    file = visible(str(path))
    return (*loaded.problems, *check_against_workflow(loaded.network, workflow, file))


def _own_clusters(path: Path) -> Sequence[Problem]:
    """Return the problems of rowtui's file, whose entries may add to clusters of Row's file."""
    path = path.absolute()
    row: Path | None = path.parent.parent / ROW_FOLDER
    if path.parent == own_config_folder(os.environ):
        row = row_config_folder(os.environ)
    file = visible(str(path))
    found = read_clusters(row and row / path.name, path).problems
    return tuple(problem for problem in found if problem.file == file)


def _commands(path: Path) -> Sequence[Problem]:
    keys = import_module(f"{_SHELL}.keymap").load_keymap(path.parent).keys
    _, found = import_module(f"{_SHELL}.own_commands").load_own_commands(path.parent, keys)
    return tuple(found)


_NOTHING_FETCHED = Fetching(allowed=False)


def _mapping(path: Path) -> Sequence[Problem]:
    """Return the findings of one file with its includes, by itself."""
    found = sources_from(
        [str(path)],
        base=Path.cwd(),
        places=user_places(os.environ),
        now=time.time(),
        fetching=_NOTHING_FETCHED,
    )
    return tuple(_of_sources(found, None))


def _of_sources(found: FoundSources, clusters: Mapping[str, Cluster] | None) -> Iterator[Problem]:
    """Yield the errors and warnings that `mapping lint` finds. An include that was never fetched
    is a warning.
    """
    places = {it.name: _shown(Path(it.place)) for it in found.sources if it.place[:1] == "/"}
    problems = [
        it._replace(severity="warning") if NOT_FETCHED in it.message else it
        for it in found.problems
    ]
    for finding in lint(load_mapping(found.sources, problems), clusters=clusters):
        if finding.severity != "note":
            file, line, column = finding.place
            message = f"{finding.message} ({finding.code})"
            place = (places.get(file, file), line, column)
            yield Problem(*place, message, finding.hint, finding.severity)


_LOADERS: Mapping[str, Callable[[Path], object]] = {
    "workflow": lambda path: load_workflow(path.parent),
    "network": _network,
    "mapping": _mapping,
    "rowtui": lambda path: load_policy(path.parent),
    "mirror": lambda path: read_rules(path.parent),
    "clusters": _own_clusters,
    "row-clusters": lambda path: read_clusters(path, None),
    "launchers": read_launchers,
    "messages": read_messages,
    "keys": lambda path: import_module(f"{_SHELL}.keymap").load_keymap(path.parent),
    "commands": _commands,
    "theme": lambda path: import_module(f"{_SHELL}.themes").load_theme(path),
}
"""Each raises `InvalidFileError`, or returns problems, or a record that may have some."""


def problems_of(kind: str, path: Path) -> tuple[Problem, ...]:
    """Return the problems of one file. Raises: RowtuiError if it cannot be read."""
    try:
        found = _LOADERS[kind](path)
    except InvalidFileError as error:
        return error.problems
    problems = found if type(found) is tuple else getattr(found, "problems", ())
    return tuple(it for it in problems if isinstance(it, Problem))
