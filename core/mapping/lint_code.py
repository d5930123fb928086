"""What the expressions of mapping files read, and whether it will be there.

Takes compiled code with the names that it reads; nothing is run. Which names there are: the
namespace's, those of contexts, amounts once they are worked out, and what the code binds itself.
Source: reference tpv.md A9 (order), A16 (names), A22.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rowtui.core.mapping.codes import Piece, pieces
from rowtui.core.mapping.configuration import Configuration
from rowtui.core.mapping.entities import AMOUNTS, BOUNDS, Entity, Said
from rowtui.core.mapping.expressions import Form
from rowtui.core.mapping.lint_findings import Finding, Severity, shortened, whose
from rowtui.core.mapping.namespace import KNOWN_NAMES, NEVER_HIDDEN
from rowtui.core.mapping.place import Place
from rowtui.core.mapping.stand_ins import tpv_names
from rowtui.core.mapping.static_values import looks_at_its_names
from rowtui.core.mapping.text_source import text_source
from rowtui.core.workflow.toml_file import did_you_mean

_BUILTINS = frozenset(dir(builtins))
_OF_AMOUNTS = (*BOUNDS, *AMOUNTS)  # in the order in which they are worked out
_CANDIDATES = "candidate_destinations"
_NETWORK = frozenset(
    (
        *("aiohttp", "ftplib", "http", "httpx", "requests", "urllib", "urllib3"),
        *("influxdb", "influxdb_client", "psycopg", "psycopg2", "pymysql", "redis", "sqlalchemy"),
        *("ldap", "ldap3", "paramiko", "smtplib", "socket", "ssl", "subprocess"),
    )
)
# What is filled in late, in this order; each may read those before it.
_FILLED = ("env", "params", "resubmit", "destination_name_override", "tags")


class _Context(NamedTuple):
    """All variables of a configuration: name -> where each is first said.

    `in_code`: some code sets or reads variables by other ways than by their names.
    """

    variables: Mapping[str, Said]
    in_code: bool


def code_findings(configuration: Configuration) -> Iterator[Finding]:
    """All findings M5xx."""
    as_tpv = configuration.dialect.text_as_tpv
    everything = [
        (kind, piece)
        for kind in ("tools", "roles", "users", "destinations")
        for entity in configuration.of_kind(kind).values()
        for piece in pieces(entity, text_as_tpv=as_tpv)
    ]
    codes = [piece.code for _, piece in everything]
    in_code = any(".context" in code.text or looks_at_its_names(code) for code in codes)
    context = _Context(_variables(configuration), in_code)
    known = _known(configuration, context)
    for kind, piece in everything:
        if piece.code.constant or piece.code.syntax_error is not None:
            continue
        yield from _names(kind, piece, known, context, as_tpv=as_tpv)
        yield from _waiting(piece)
    yield from _hiding(context)
    yield from _unread(configuration, context, [piece for _, piece in everything])


def _variables(configuration: Configuration) -> dict[str, Said]:
    found = {name: said for file in configuration.files for name, said in file.context.items()}
    for kind in ("tools", "roles", "users", "destinations"):
        for entity in configuration.of_kind(kind).values():
            for holder in (entity, *entity.rules.values()):
                for name in holder.context:
                    found.setdefault(name, _said(holder, name))
    return found


def _said(holder: Entity, name: str) -> Said:
    """Where a variable is first said: by the lowest of those that say it."""
    chain = holder.said.get(f"context.{name}", ())
    return chain[-1] if chain else Said(holder.context[name], holder.origin)


def _known(configuration: Configuration, context: _Context) -> frozenset[str]:
    known = KNOWN_NAMES | _BUILTINS | frozenset(context.variables) | {"__builtins__"}
    if configuration.dialect.input_size_by_text:
        known |= frozenset(tpv_names())
    return known


# Names


def _names(
    kind: str, piece: Piece, known: frozenset[str], context: _Context, *, as_tpv: bool
) -> Iterator[Finding]:
    code = piece.code
    doubtful = code.names - known
    if not doubtful or looks_at_its_names(code):
        return
    missing = doubtful - _there(kind, piece)
    if not missing:
        return
    read = _read_names(piece, as_tpv=as_tpv)
    for name in sorted(missing & read.keys()):
        place = _place(piece, read[name])
        if name in _OF_AMOUNTS:
            yield _too_early(piece, name, place)
            continue
        where = f"{piece.field} of {whose(piece.origin)}"
        if name == _CANDIDATES:
            hint = "only `rank` has it"
        else:
            near = known | frozenset(_OF_AMOUNTS) if _has_amounts(kind, piece) else known
            hint = did_you_mean(name, sorted(near - _BUILTINS)) or (
                "a variable of one's own goes into `context`"
            )
        severity: Severity = "warning" if context.in_code else "error"
        yield Finding(
            "M501", place, f"name {shortened(name)} is not known in {where}", hint, severity
        )


def _has_amounts(kind: str, piece: Piece) -> bool:
    """Whether cores, mem and gpus have been worked out when this runs."""
    if kind == "destinations":
        return True
    return piece.field not in {*_OF_AMOUNTS, "if", "execute", "fail"}


def _there(kind: str, piece: Piece) -> frozenset[str]:
    """The amounts that are there when a piece runs, and what only ranks have."""
    if _has_amounts(kind, piece):
        field = piece.field.partition(".")[0]
        extra = {_CANDIDATES} if field == "rank" else set()
        if field in _FILLED:
            extra |= set(_FILLED[: _FILLED.index(field)]) & {"env", "params", "resubmit"}
        return frozenset({*_OF_AMOUNTS, *extra})
    if piece.field in _OF_AMOUNTS:
        return frozenset(_OF_AMOUNTS[: _OF_AMOUNTS.index(piece.field)])
    return frozenset()


def _too_early(piece: Piece, name: str, place: Place) -> Finding:
    where = f"`{piece.field}` of {whose(piece.origin)}"
    if piece.field in {"if", "execute", "fail"}:
        return Finding(
            "M502",
            place,
            f"{where} reads {name}, which is worked out only after all rules",
            f"Write `entity.{name}` for what the entity says so far (a number, or its expression)",
            "error",
        )
    return Finding(
        "M502",
        place,
        f"{where} reads {name}, which is worked out later",
        "The order is: bounds (min_*, then max_*), gpus, cores, mem; each may read those before it",
        "error",
    )


def _read_names(piece: Piece, *, as_tpv: bool) -> dict[str, tuple[int, int]]:
    """Names that code reads and never binds: where it first does, in its text."""
    code = piece.code
    is_text = code.form is Form.TEXT
    source = text_source(code.text, as_tpv=as_tpv) if is_text else None
    tree = ast.parse(source.source if source is not None else code.text)
    bound: set[str] = set()
    read: dict[str, tuple[int, int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
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
    return {
        name: source.position(*at) if source is not None else at
        for name, at in read.items()
        if name not in bound
    }


def _place(piece: Piece, at: tuple[int, int]) -> Place:
    place = piece.origin.place
    return place._replace(line=place.line + at[0] - 1, column=at[1]) if at[0] > 1 else place


# Waiting


def _waiting(piece: Piece) -> Iterator[Finding]:
    text = piece.code.text
    if "import" not in text and "sleep" not in text:
        return
    modules, sleeps = _imports(text, is_text=piece.code.form is Form.TEXT)
    what = sorted(modules & _NETWORK)
    if not what and not sleeps:
        return
    does = "calls time.sleep" if sleeps and not what else f"uses {', '.join(what)}"
    yield Finding(
        "M505",
        piece.origin.place,
        f"{piece.field} of {whose(piece.origin)} {does}: it runs under a time limit",
        "While it waits, nothing else is mapped; rank by `load` and `expected_wait` instead, or "
        "give its requests a short time-out",
        "note",
    )


def _imports(text: str, *, is_text: bool) -> tuple[set[str], bool]:
    if is_text:
        return set(), False
    modules: set[str] = set()
    sleeps = False
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add((node.module or "").partition(".")[0])
            sleeps = sleeps or any(alias.name == "sleep" for alias in node.names)
        elif isinstance(node, ast.Attribute) and node.attr == "sleep":
            sleeps = True
    return modules, sleeps


# Context variables


def _hiding(context: _Context) -> Iterator[Finding]:
    for name, said in context.variables.items():
        place, of_all = said.origin.place, said.origin.kind == "global"
        if name in NEVER_HIDDEN or (of_all and name in KNOWN_NAMES):
            yield Finding(
                "M503",
                place,
                f"the variable {shortened(name)} is never seen: expressions have that name already",
                "Choose another name",
            )
        elif name in KNOWN_NAMES or name in _OF_AMOUNTS or name == _CANDIDATES:
            yield Finding(
                "M503",
                place,
                f"the variable {shortened(name)} hides what expressions call so",
                "Choose another name",
            )
        elif name in _BUILTINS:
            yield Finding(
                "M503",
                place,
                f"the variable {shortened(name)} hides Python's own {name}",
                "Choose another name",
            )


def _unread(
    configuration: Configuration, context: _Context, everything: list[Piece]
) -> Iterator[Finding]:
    read = frozenset().union(*(piece.code.names for piece in everything))
    if context.in_code:
        return
    for name, said in context.variables.items():
        if name not in read and name not in KNOWN_NAMES:
            yield Finding(
                "M504",
                said.origin.place,
                f"nothing reads the variable {shortened(name)}",
                did_you_mean(name, sorted(_unknown(read, configuration, context))),
                "note",
            )


def _unknown(
    read: frozenset[str], configuration: Configuration, context: _Context
) -> frozenset[str]:
    """What is read and not known: a variable that nothing reads may be meant."""
    return read - _known(configuration, context) - frozenset(_OF_AMOUNTS)
