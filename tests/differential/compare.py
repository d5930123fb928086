"""Runs one case on both copies and tells where they differ."""

from __future__ import annotations

import difflib
import re
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.differential.model import Case, Change, Command
from tests.differential.records import Records
from tests.differential.run import Outcome, Side
from tests.differential.scripts import (
    comparable_header,
    evaluate,
    run_copies,
    split_scripts,
    take_apart,
)

# More scripts than this are not run: a case should take a fraction of a second.
RUN_SCRIPTS_UP_TO = 3


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same. `rule`: the known difference that explains it."""

    step: int
    kind: str
    row: str
    rowtui: str
    rule: str = ""


@dataclass
class Context:
    """What a rule may look at to judge a difference."""

    case: Case
    step: int
    command: Command | None
    row: Outcome | None
    rowtui: Outcome | None
    past: list[Command | Change]
    row_side: Side
    rowtui_side: Side
    before: tuple[Records, Records]
    after: tuple[Records, Records] | None = None
    notes: set[str] = field(default_factory=set)  # of the whole case


@dataclass
class Result:
    """What became of a case."""

    number: int
    commands: int = 0
    scripts: int = 0
    differences: list[Difference] = field(default_factory=list)
    ended_early: bool = False
    error: str = ""
    folder: str = ""
    seconds: float = 0.0

    @property
    def unexplained(self) -> list[Difference]:
        """What no rule explains."""
        return [difference for difference in self.differences if not difference.rule]


def run_case(case: Case, base: Path, programs: Path, row: str) -> Result:
    """Run a case below `base`, which is left as it is at the end."""
    from tests.differential.known import explain

    result = Result(case.number)
    sides = (
        Side(base / "row", case.project, programs, row),
        Side(base / "tui", case.project, programs, row),
    )
    past: list[Command | Change] = []
    notes: set[str] = set()
    added = False  # a directory that Row has not looked at yet
    before = (sides[0].records(), sides[1].records())
    for number, step in enumerate(case.steps):
        context = Context(case, number, None, None, None, past, *sides, before, notes=notes)
        if isinstance(step, Change):
            added = added or step.kind == "add"
            found = _change(context, step)
        else:
            context.command = step
            context.row = sides[0].run_row(step)
            by_rowtui = step.turn or not case.turns
            context.rowtui = (sides[1].run_rowtui if by_rowtui else sides[1].run_row)(step)
            result.commands += 1
            if step.argv[0] != "scan":
                added = False
            elif by_rowtui and (added or before[0].modified is None):
                notes.add("scan before Row knew directories")
            context.after = (sides[0].records(), sides[1].records())
            found = list(_compare_command(context, by_rowtui=by_rowtui))
            if (
                "--dry-run" in step.argv
                and context.row.code == 0 == context.rowtui.code
                and by_rowtui
            ):
                scripts, more = _compare_scripts(context)
                result.scripts += scripts
                found += more
        after = context.after or (sides[0].records(), sides[1].records())
        found += _compare_records(context, after)
        before = after
        ends = False
        for difference in found:
            rules = explain(difference, context)
            if rules:
                ids = "+".join(rule.id for rule in rules)
                difference = Difference(
                    number, difference.kind, difference.row, difference.rowtui, ids
                )
            ends = ends or not rules or any(rule.ends for rule in rules)
            result.differences.append(difference)
        if any(each.rule == "saved-at-once" for each in found_here(result, number)):
            # What Row has not saved it would learn later, and then know more than rowtui.
            sides[0].run_row(Command(("show", "status", "--action", "", "--cluster", "none")))
            before = (sides[0].records(), before[1])
        past.append(step)
        if ends:
            result.ended_early = number < len(case.steps) - 1
            break
    return result


def found_here(result: Result, step: int) -> list[Difference]:
    """The differences of one step."""
    return [each for each in result.differences if each.step == step]


def _change(context: Context, change: Change) -> list[Difference]:
    done = (context.row_side.change(change), context.rowtui_side.change(change))
    found = []
    codes = [[outcome.code for outcome in outcomes] for outcomes in done]
    if codes[0] != codes[1]:
        found.append(_difference(context, "exit codes of jobs", *map(str, codes)))
    if done[0] or done[1]:
        found += _compare_trees(context, context.row_side.tree(), context.rowtui_side.tree())
    return found


def _difference(context: Context, kind: str, row: str, rowtui: str) -> Difference:
    return Difference(context.step, kind, row, rowtui)


def _compare_command(context: Context, *, by_rowtui: bool) -> Iterator[Difference]:
    row, rowtui, command = context.row, context.rowtui, context.command
    assert row is not None
    assert rowtui is not None
    assert command is not None
    if row.code != rowtui.code:
        yield _difference(
            context,
            "exit code",
            f"{row.code}\n{row.stderr}",
            f"{rowtui.code}\n{rowtui.stderr}",
        )
    texts = [
        _comparable(command, outcome.stdout, side)
        for outcome, side in ((row, context.row_side), (rowtui, context.rowtui_side))
    ]
    if texts[0] != texts[1]:
        yield _difference(context, "stdout", texts[0], texts[1])
    elif (row.stdout != texts[0]) != (rowtui.stdout != texts[1]) and texts[0]:
        yield _difference(context, "colours", row.stdout, rowtui.stdout)
    if "Traceback" in rowtui.stderr or "something unexpected" in rowtui.stderr:
        yield _difference(context, "crash", row.stderr, rowtui.stderr)
    if by_rowtui:
        for level in ("ERROR", "WARN"):
            said = any(f"[{each}" in rowtui.stderr for each in (level, "ERROR"))
            if f"[{level}" in row.stderr and not said and row.code == rowtui.code:
                yield _difference(context, f"no {level}", row.stderr, rowtui.stderr)
        if "[ERROR" in rowtui.stderr and "[ERROR" not in row.stderr and row.code == rowtui.code:
            yield _difference(context, "more ERROR", row.stderr, rowtui.stderr)
    if command.argv[0] in ("submit", "init") and "--dry-run" not in command.argv:
        yield from _compare_trees(context, context.row_side.tree(), context.rowtui_side.tree())
    if command.argv[0] == "init":
        folders = [
            side.tree(side.base / "elsewhere") for side in (context.row_side, context.rowtui_side)
        ]
        yield from _compare_trees(context, *folders)


_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def _comparable(command: Command, stdout: str, side: Side) -> str:
    """Standard output without what may differ: paths, times, scripts, the order of tables."""
    text = stdout.replace(str(side.base), "<BASE>")
    if "always" in command.argv:
        text = _COLOURS.sub("", text)
    if command.argv[0] == "submit":
        if "--dry-run" in command.argv:
            return ""  # compared script by script
        text = re.sub(r"\([0-9.]+ ?[nµm]?s\)\.$", "(time).", text, flags=re.MULTILINE)
        text = re.sub(r"\([0-9smhd. ]+\)\.$", "(time).", text, flags=re.MULTILINE)
    if command.argv[:2] == ("show", "launchers"):
        if "--short" in command.argv:
            return "\n".join(sorted(text.split()))
        try:
            return repr(_sorted(tomllib.loads(text)))
        except tomllib.TOMLDecodeError:
            return text
    if {"--help", "-h", "--version", "help"} & set(command.argv):
        return ""
    return text


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return value


def _compare_trees(
    context: Context, row: dict[str, bytes], rowtui: dict[str, bytes]
) -> list[Difference]:
    if row == rowtui:
        return []
    shown = []
    for tree, other in ((row, rowtui), (rowtui, row)):
        shown.append(
            "\n".join(
                f"{path}: {what!r}"
                for path, what in sorted(tree.items())
                if other.get(path) != what
            )
        )
    return [_difference(context, "effects", *shown)]


def _compare_scripts(context: Context) -> tuple[int, list[Difference]]:
    assert context.row is not None
    assert context.rowtui is not None
    texts = [split_scripts(context.row.stdout), split_scripts(context.rowtui.stdout)]
    if len(texts[0]) != len(texts[1]):
        return 0, [
            _difference(context, "number of scripts", context.row.stdout, context.rowtui.stdout)
        ]
    if not texts[0]:
        if context.row.stdout != context.rowtui.stdout:
            return 0, [_difference(context, "stdout", context.row.stdout, context.rowtui.stdout)]
        return 0, []
    found = []
    parts = [[take_apart(text) for text in side] for side in texts]
    values = evaluate(parts[0] + parts[1])
    half = len(parts[0])
    for at, (row, rowtui) in enumerate(zip(*parts, strict=True)):
        headers = [comparable_header(row.header), comparable_header(rowtui.header)]
        if headers[0] != headers[1]:
            found.append(_difference(context, "script header", *map("\n".join, headers)))
        if len(values) != 2 * half:
            found.append(_difference(context, "script arrays", row.array, rowtui.array))
            break
        for what, index in (("directories", 0), ("exports", 1)):
            if values[at][index] != values[half + at][index]:
                pair = (repr(values[at][index]), repr(values[half + at][index]))
                found.append(_difference(context, f"script {what}", *pair))
        if row.prefix != rowtui.prefix:
            found.append(_difference(context, "launcher prefix", row.prefix, rowtui.prefix))
    if not found and half <= RUN_SCRIPTS_UP_TO:
        found += _compare_runs(context, texts)
    return half, found


def _compare_runs(context: Context, texts: list[list[str]]) -> list[Difference]:
    sides = (context.row_side, context.rowtui_side)
    done = [run_copies(side, scripts, "copy") for side, scripts in zip(sides, texts, strict=True)]
    codes = [[outcome.code for outcome in each[0]] for each in done]
    found = []
    if codes[0] != codes[1]:
        shown = [
            f"{code}\n" + "\n".join(outcome.stderr for outcome in each[0])
            for code, each in zip(codes, done, strict=True)
        ]
        found.append(_difference(context, "exit codes of scripts", *shown))
    outputs = ["".join(outcome.stdout for outcome in each[0]) for each in done]
    if outputs[0] != outputs[1]:
        found.append(_difference(context, "output of scripts", *outputs))
    found += _compare_trees(context, done[0][1], done[1][1])
    if done[0][2] != done[1][2]:
        found.append(
            _difference(context, "completion by scripts", str(done[0][2]), str(done[1][2]))
        )
    return found


def _compare_records(context: Context, after: tuple[Records, Records]) -> list[Difference]:
    row, rowtui = after
    found = []
    for kind in ("modified", "values", "completed", "submitted", "staged"):
        mine, its = getattr(row, kind), getattr(rowtui, kind)
        before = tuple(getattr(each, kind) for each in context.before)
        if mine != its and (mine, its) != before:  # not what was told before
            found.append(_difference(context, f"record {kind}", _shown(mine), _shown(its)))
    return found


def _shown(value: object) -> str:
    if isinstance(value, dict):
        lines = []
        for key in sorted(value):
            entry = value[key]
            lines.append(f"{key!r}: {sorted(entry) if isinstance(entry, frozenset) else entry}")
        return "\n".join(lines)
    return repr(value)


def diff_text(difference: Difference) -> str:
    """A unified diff of a difference."""
    lines = difflib.unified_diff(
        difference.row.splitlines(),
        difference.rowtui.splitlines(),
        "Row",
        "rowtui",
        lineterm="",
        n=2,
    )
    text = "\n".join(lines)
    return text or f"Row:    {difference.row!r}\nrowtui: {difference.rowtui!r}"


def remove(base: Path) -> None:
    """Delete a case's folder."""
    shutil.rmtree(base, ignore_errors=True)
