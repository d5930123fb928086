"""Find modules that expressions import and that are missing or wait for a network.

The input is compiled code; nothing is imported.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import sys
from collections.abc import Iterator
from typing import NamedTuple

from rowtui.core.mapping.code.model import Code, ExpressionKind
from rowtui.core.mapping.code.snippets import CodeSnippet, syntax_of
from rowtui.core.mapping.galaxy.modules import has_in_module
from rowtui.core.mapping.lint.findings import LintFinding, Severity, shortened, whose

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
