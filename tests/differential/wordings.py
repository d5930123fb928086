"""Texts that say the same in other words: what rowtui prints otherwise than Row.

In an order in which no step spoils a later one. See known.py.
"""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING

from tests.differential.model import Command
from tests.differential.rules import TEXTS, enter_wording, has_option, is_command, wording

if TYPE_CHECKING:
    from tests.differential.compare import Context

# Tables, in an order in which no step spoils a later one


def _names_only(text: str, context: Context) -> str:
    names: set[str] = set()
    for step in (*context.past, context.command):
        if isinstance(step, Command):
            words = (step.stdin or b"").decode("utf-8", "surrogateescape").split("\n")
            names.update(word.rstrip("\r") for word in (*words, *step.argv))
    for name in sorted(name for name in names if name.endswith("/")):
        for written in (name, repr(os.fsencode(name))[2:-1]):  # as text, and in a file's bytes
            text = text.replace(written, written.rstrip("/"))
    return text


wording(
    "slash-behind-name",
    "`d0/` on the command line is shown and recorded as the name that it means, `d0`.",
    row=_names_only,
    kinds=TEXTS,
)


def _visible(text: str, context: Context) -> str:
    """What acts on a terminal as an escape; line ends within names count as well."""
    if context.command is None or context.command.argv[:1] == ("scan",):
        return text
    for name in _odd_names(context):
        text = text.replace(name, _escaped(name))
    return "".join(_escaped(char) if char != "\n" else char for char in text)


def _escaped(text: str) -> str:
    from rowtui.core.base.text import visible

    return visible(text)


def _odd_names(context: Context) -> list[str]:
    """Names with line ends, and strings of value files as Row prints them."""
    return [each.name for each in context.case.project.directories if "\n" in each.name]


wording(
    "control-characters",
    "A control character in a name or value is written as an escape, so that it cannot act on the "
    "terminal; Row prints it as it is.",
    row=_visible,
    rowtui=_visible,  # names alone are printed as they are
    kinds=TEXTS,
)


def _no_local(text: str, context: Context) -> str:
    if not has_option(context, "--all"):
        return text
    if is_command(context, "show", "cluster"):
        if has_option(context, "--short"):
            return "\n".join(name for name in text.split() if name != "local")
        return text.partition('\n[[cluster]]\nname = "local"')[0]
    if is_command(context, "show", "launchers"):
        return re.sub(r"'local': \{[^{}]*\}(, )?", "", text).replace(", }", "}")
    return text


wording(
    "cluster-local",
    "rowtui has one more built-in cluster, `local`: a queue on this machine.",
    rowtui=_no_local,
)


def _not_failed(text: str, context: Context) -> str:
    """Directories whose last job failed, ... as eligible ones, and no columns for them."""
    if is_command(context, "show", "directories"):
        return re.sub(r"(?m)^(.*\S *) (?:failed|not reached|cancelled)\b", r"\1 eligible", text)
    if not is_command(context, "show", "status"):
        return text
    return re.sub(r" +\((?:failed|not reached|cancelled|\d[^)]*)\)", "", text)


_COST = re.compile(r"(<?\d+(?:\.\d+)?)([a-zA-Zµ]?) ([CG]PU-hours)")


wording(
    "failed-status",
    "A directory whose last job ended without completing it is shown as failed, not reached or "
    "cancelled. It counts as eligible, as in Row: it is submitted again, and --eligible lists it.",
    rowtui=_not_failed,
)


def _nothing(text: str, context: Context) -> str:
    """Only a header, or nothing: the same as `No matches.`"""
    words = set(text.split())
    pointers = (
        {word.partition("=")[2] for word in context.command.argv} if context.command else set()
    )
    header = {"Directory", "Status", "Job", "ID", "No", "matches."}
    header |= {part for pointer in pointers for part in pointer.split()}
    listing = is_command(context, "show", "directories") or is_command(context, "show", "jobs")
    return "No matches." if listing and words <= header else text


wording(
    "no-matches",
    "Where there is nothing to list, rowtui says `No matches.` once; Row prints only empty lines "
    "when -n is 0 or when several elements of an action are all empty.",
    row=_nothing,
)

_FLOAT = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)")


def _same_floats(row: str, rowtui: str, context: Context) -> tuple[str, str]:
    """Row's floats as rowtui's, where these are a few units in the last place away."""
    row, rowtui = row.replace("\\x00", " "), rowtui.replace("\\x00", " ")
    mine, its = list(_FLOAT.finditer(row)), _FLOAT.findall(rowtui)
    if len(mine) != len(its):
        return row, rowtui
    for found, other in reversed(list(zip(mine, its, strict=True))):
        number = float(found[0])
        if number != float(other) and math.isclose(number, float(other), rel_tol=8e-16):
            row = row[: found.start()] + other + row[found.end() :]
    return row, rowtui


enter_wording(
    "float-rounding",
    "Row reads some decimal numbers one or two units in the last place off; rowtui reads the "
    "nearest double, as Python does.",
    _same_floats,
    TEXTS,
)

_SCALE = {
    "n": 1e-9,
    "u": 1e-6,
    "µ": 1e-6,
    "m": 1e-3,
    "": 1.0,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
}


def _row_costs(text: str, context: Context) -> str:
    """Row's costs as rowtui's, where both are the same number but for the digits shown."""
    if context.rowtui is None or not _COST.search(text):
        return text
    mine = list(_COST.finditer(text))
    its = _COST.findall(context.rowtui.stdout)
    if len(mine) != len(its):
        return text
    for found, (number, unit, noun) in reversed(list(zip(mine, its, strict=True))):
        row = float(found[1]) * _SCALE[found[2]]
        rowtui = float(number.lstrip("<")) * _SCALE[unit]
        last_digit = 10.0 ** -len(number.partition(".")[2]) * _SCALE[unit]
        off = 0.501 * last_digit + 1.001 * _SCALE[found[2]]
        same = row <= rowtui if number.startswith("<") else abs(row - rowtui) <= off
        if found[3] == noun and same:
            text = f"{text[: found.start()]}{number}{unit} {noun}{text[found.end() :]}"
    return text


wording(
    "cost-rounding",
    "Row adds costs up as binary fractions and prints thousandths, `1000m CPU-hours`; rowtui adds "
    "whole seconds up and prints decimals below ten hours: `1`, `0.17`, `2.5`.",
    row=_row_costs,
)
