"""Check the names in expressions of mapping files, and the modules that the expressions import.

The input is compiled code with the names that it reads; nothing is run or imported. The known names
are the names of the namespace, the context variables, amounts that are already computed, and the
names that the code itself binds. Variables that no code reads, variables that hide a name, and
modules that are missing or wait for a network are found too.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rowtui.core.mapping.code.model import Code, ExpressionKind
from rowtui.core.mapping.code.snippets import CodeSnippet, syntax_of, unique_pieces
from rowtui.core.mapping.engine.namespace import INPUTS, KNOWN_NAMES, NEVER_HIDDEN
from rowtui.core.mapping.galaxy.modules import has_in_module, tpv_names
from rowtui.core.mapping.lint.attributes import attribute_findings, stored_attributes
from rowtui.core.mapping.lint.findings import LintFinding, Severity, shortened, whose
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.dialect import Dialect
from rowtui.core.mapping.model.entities import Entity
from rowtui.core.mapping.model.fields import AMOUNTS, BOUNDS
from rowtui.core.mapping.model.origin import FilePosition, Said
from rowtui.core.workflow.toml_file import did_you_mean

_BUILTINS = frozenset(dir(builtins))
_OF_AMOUNTS = (*BOUNDS, *AMOUNTS)  # in the order of evaluation
_CANDIDATES = "candidate_destinations"
# Fields that are filled in late, in this order; each may read the fields before it.
_FILLED = ("env", "params", "resubmit", "destination_name_override", "tags")
_LATER = frozenset({*AMOUNTS, *BOUNDS, "candidate_destinations", "env", "params"})
_ANOTHER = "Choose another name"

_NETWORK = frozenset(
    (
        *("aiohttp", "ftplib", "http", "httpx", "requests", "urllib", "urllib3"),
        *("influxdb", "influxdb_client", "psycopg", "psycopg2", "pymysql", "redis", "sqlalchemy"),
        *("ldap", "ldap3", "paramiko", "smtplib", "socket", "ssl", "subprocess"),
    )
)
_OF_TPV = frozenset({"galaxy", "tpv"})
# Packages whose name differs from the name of their module.
_PACKAGES = {
    "dateutil": "python-dateutil",
    "influxdb_client": "influxdb-client",
    "ldap": "python-ldap",
    "psycopg2": "psycopg2-binary",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}


class Variables(NamedTuple):
    """All variables of a configuration: name -> where each is first defined.

    `in_code`: some code sets or reads variables in other ways than by their names.
    """

    said: Mapping[str, Said]
    in_code: bool


def code_findings(configuration: Configuration) -> Iterator[LintFinding]:
    """Yield all findings M5xx."""
    as_tpv = configuration.dialect.text_as_tpv
    everything = [
        (kind, piece)
        for kind in ("tools", "roles", "users", "destinations")
        for piece in unique_pieces(configuration.of_kind(kind).values(), text_as_tpv=as_tpv)
    ]
    codes = [piece.code for _, piece in everything]
    in_code = any(".context" in code.text or code.looks_at_its_names() for code in codes)
    context = Variables(variables_of(configuration), in_code)
    known = _known(configuration, context)
    hidden = frozenset(context.said)
    sound = {code for code in codes if not code.constant and code.syntax_error is None}
    stored = frozenset(name for code in sound for name in stored_attributes(code, as_tpv=as_tpv))
    for kind, piece in everything:
        if piece.code.constant or piece.code.syntax_error is not None:
            continue
        yield from _names(kind, piece, known, context, configuration.dialect)
        yield from import_findings(piece)
        yield from attribute_findings(piece, hidden, stored, as_tpv=as_tpv)
    read = frozenset().union(*(code.names for code in codes))
    yield from hiding_findings(context.said)
    if not context.in_code:
        unknown = read - known - frozenset(_OF_AMOUNTS)
        yield from unread_findings(context.said, read, unknown)


def _known(configuration: Configuration, context: Variables) -> frozenset[str]:
    known = KNOWN_NAMES | _BUILTINS | frozenset(context.said) | {"__builtins__"}
    if configuration.dialect.input_size_by_text:
        known |= frozenset(tpv_names())
    return known


def _names(
    kind: str, piece: CodeSnippet, known: frozenset[str], context: Variables, dialect: Dialect
) -> Iterator[LintFinding]:
    code = piece.code
    doubtful = code.names - known
    if not doubtful or code.looks_at_its_names():
        return
    missing = doubtful - _there(kind, piece)
    if not missing:
        return
    read, only_caught = _read_names(piece, as_tpv=dialect.text_as_tpv)
    for name in sorted(missing & read.keys()):
        place = piece.place_of(read[name])
        if name in _OF_AMOUNTS:
            yield _too_early(piece, name, place)
            continue
        where = f"{piece.field} of {whose(piece.origin)}"
        near = known | frozenset(_OF_AMOUNTS) if _has_amounts(kind, piece) else known
        hint = _hint(name, near)
        harmless = name in only_caught or (
            # after a failed rank function, the score decides
            piece.field == "rank" and not dialect.fail_ends_all
        )
        severity: Severity = "warning" if context.in_code or harmless else "error"
        yield LintFinding(
            "M501", place, f"name {shortened(name)} is not defined in {where}", hint, severity
        )


def _hint(name: str, known: frozenset[str]) -> str:
    if name == _CANDIDATES:
        return "only `rank` has it"
    meant = did_you_mean(name, sorted(known - _BUILTINS))
    if meant:
        return meant
    if name[:1].isupper() and not name.isupper():
        return "a class has to be imported first"
    return "a variable of one's own goes into `context`"


def _has_amounts(kind: str, piece: CodeSnippet) -> bool:
    """Whether cores, mem and gpus are computed before this piece runs."""
    if kind == "destinations":
        return True
    return piece.field not in {*_OF_AMOUNTS, "if", "execute", "fail"}


def _there(kind: str, piece: CodeSnippet) -> frozenset[str]:
    """Return the amounts that exist when a piece runs, and the names that only ranks have."""
    if _has_amounts(kind, piece):
        field = piece.field.partition(".")[0]
        extra = {_CANDIDATES} if field == "rank" else set()
        if field in _FILLED:
            extra |= set(_FILLED[: _FILLED.index(field)]) & {"env", "params", "resubmit"}
        return frozenset({*_OF_AMOUNTS, *extra})
    if piece.field in _OF_AMOUNTS:
        return frozenset(_OF_AMOUNTS[: _OF_AMOUNTS.index(piece.field)])
    return frozenset()


def _too_early(piece: CodeSnippet, name: str, place: FilePosition) -> LintFinding:
    where = f"`{piece.field}` of {whose(piece.origin)}"
    if piece.field in {"if", "execute", "fail"}:
        what = f"{name}, which is worked out only after all rules"
        hint = f"Write `entity.{name}` for its value so far (a number, or its expression)"
    elif name == piece.field:
        what = f"{name} itself, which is not there yet"
        hint = "It replaces the earlier expression: write the whole expression again"
    else:
        what = f"{name}, which is worked out later"
        hint = "The order is: bounds (min_*, then max_*), gpus, cores, mem; each may read those "
        hint += "before it"
    return LintFinding("M502", place, f"{where} reads {what}", hint, "error")


def _read_names(
    piece: CodeSnippet, *, as_tpv: bool
) -> tuple[dict[str, tuple[int, int]], frozenset[str]]:
    """Return the names that code reads and never binds, with their first place in its text.

    The second result is the names that only occur in `except` clauses, which are read only when an
    exception is raised.
    """
    tree, source = syntax_of(piece.code, as_tpv=as_tpv)
    bound: set[str] = set()
    read: dict[str, tuple[int, int]] = {}
    caught: set[int] = set()
    elsewhere: set[str] = set()
    for node in ast.walk(tree):  # from the outside in
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            caught |= {id(each) for each in ast.walk(node.type)}
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if id(node) not in caught:
                elsewhere.add(node.id)
            at = (node.lineno, node.col_offset + 1)
            read[node.id] = min(at, read.get(node.id, at))
        elif isinstance(node, ast.Name):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            bound.add(node.name)
    places = {name: source.position_of_node(*at) for name, at in read.items() if name not in bound}
    return places, frozenset(places.keys() - elsewhere)


def variables_of(configuration: Configuration) -> dict[str, Said]:
    """Return every variable of files, entities and rules, with its first definition."""
    found = {name: said for file in configuration.files for name, said in file.context.items()}
    for kind in ("tools", "roles", "users", "destinations"):
        for entity in configuration.of_kind(kind).values():
            for holder in (entity, *entity.rules.values()):
                for name in holder.context:
                    found.setdefault(name, _said(holder, name))
    return found


def _said(holder: Entity, name: str) -> Said:
    """Return the first definition of a variable, which is that of the lowest entity."""
    chain = holder.said.get(f"context.{name}", ())
    return chain[-1] if chain else Said(holder.context[name], holder.origin)


def hiding_findings(variables: Mapping[str, Said]) -> Iterator[LintFinding]:
    """Yield M503."""
    for name, said in variables.items():
        of_all = said.origin.kind == "global"
        shown = shortened(name)
        message = ""
        if name in NEVER_HIDDEN or (of_all and name in KNOWN_NAMES):
            message = f"the variable {shown} is never seen: expressions have that name already"
        elif name in KNOWN_NAMES or name in _LATER:
            message = f"the variable {shown} hides the name that expressions use"
        elif name in _BUILTINS:
            message = f"the variable {shown} hides Python's own {name}"
        if message:
            yield LintFinding("M503", said.origin.place, message, _ANOTHER)


def unread_findings(
    variables: Mapping[str, Said], read: frozenset[str], unknown: frozenset[str]
) -> Iterator[LintFinding]:
    """Yield M504. `unknown`: unknown names that code reads, which may be misspelt variables."""
    for name, said in variables.items():
        if name not in read and name not in KNOWN_NAMES and name != INPUTS:
            message = f"nothing reads the variable {shortened(name)}"
            hint = did_you_mean(name, sorted(unknown))
            yield LintFinding("M504", said.origin.place, message, hint, "note")


class _Import(NamedTuple):
    """A module that code imports, with one name of it or "", and its place."""

    module: str
    name: str
    at: tuple[int, int]


def import_findings(piece: CodeSnippet) -> Iterator[LintFinding]:
    """Yield M505 and M508."""
    code = piece.code
    if code.form is ExpressionKind.TEXT or ("import" not in code.text and "sleep" not in code.text):
        return
    imports, sleeps = _imports(code)
    waiting: set[str] = set()
    where = f"`{piece.field}` of {whose(piece.origin)}"
    severity: Severity = "warning" if "except" in code.text else "error"
    for each in imports:
        root = each.module.partition(".")[0]
        missing = f"{each.module}.{each.name}" if each.name else each.module
        if root in _OF_TPV:
            if not has_in_module(each.module, each.name):
                message = f"{where} imports {shortened(missing)}, which rowtui does not have"
                hint = "docs/mapping.md lists the possible imports from TPV and Galaxy"
                yield LintFinding("M508", piece.place_of(each.at), message, hint, severity)
        elif not _is_installed(root):
            message = f"{where} imports {shortened(root)}, which is not installed"
            package = _PACKAGES.get(root, root)
            hint = f"Install {package} beside rowtui: {sys.executable} -m pip install {package}"
            if not _is_installed("pip"):  # as from uv, and in the offline bundle
                hint = f"Install rowtui with {package}: uv tool install --with {package} rowtui"
            yield LintFinding("M508", piece.place_of(each.at), message, hint, severity)
        elif root in _NETWORK:
            waiting.add(root)
    if not waiting and not sleeps:
        return
    does = f"uses {', '.join(sorted(waiting))}" if waiting else "calls time.sleep"
    yield LintFinding(
        "M505",
        piece.origin.place,
        f"{where} {does}: it runs under a time limit",
        "While it waits, nothing else is mapped; rank by `load` and `expected_wait` instead, or "
        "give its requests a short time-out",
        "note",
    )


def _imports(code: Code) -> tuple[list[_Import], bool]:
    imports: list[_Import] = []
    sleeps = False
    tree, source = syntax_of(code, as_tpv=False)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            at = source.position_of_node(node.lineno, node.col_offset + 1)
            imports += [_Import(alias.name, "", at) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            at = source.position_of_node(node.lineno, node.col_offset + 1)
            imports += [_Import(node.module or "", alias.name, at) for alias in node.names]
            sleeps = sleeps or any(alias.name == "sleep" for alias in node.names)
        elif isinstance(node, ast.Attribute) and node.attr == "sleep":
            sleeps = True
    return imports, sleeps


@functools.lru_cache
def _is_installed(module: str) -> bool:
    """Whether Python finds a module. Nothing is imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return module in sys.modules
