"""What was measured, as Markdown: what is to be reached, growth, the commands, all other rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from bench.growth import MOST, Growth
from bench.line import ANY, Line, Outcome
from bench.measured import Measured

ROW = ("row", "row (reference)")


def number(value: float) -> str:
    """Three digits that mean something."""
    size = abs(value)
    if size >= 100 or value == 0:
        return f"{value:,.0f}"
    if size < 0.01:
        return f"{value:.2g}"
    return f"{value:.{1 if size >= 10 else 2 if size >= 2 else 3}f}"


def cell(text: str, most: int = 90) -> str:
    """A text that can't end its cell."""
    flat = " ".join(text.split()).replace("|", "/")
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def row(cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


# -- what is to be reached -------------------------------------------------------------------------


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """A table of all lines, as it can stand in a README, and how many were reached."""
    counts = Counter(one.state for one in outcomes)
    said = ", ".join(f"{counts[state]} {state}" for state in ("reached", "not reached",
                                                              "not measured"))  # fmt: skip
    lines = [
        "## What is to be reached",
        "",
        f"{len(outcomes)} lines: {said}. Best run, the median in brackets; a size is named where",
        "there are several. **Bold** misses. Floor: what nobody can be faster than.",
        "",
        "| what | reach | measured | floor | others | |",
        "|---|--:|--:|--:|--:|---|",
    ]
    for one in outcomes:
        state = f"**{one.state}**" if one.missed else one.state
        if one.state == "not measured":
            state = f"not measured: {cell(one.why)}"
        elif one.why:
            state += f" ({one.why})"
        lines.append(
            row(
                (
                    ", ".join(filter(None, (one.line.name, one.line.unit))),
                    reach(one.line),
                    measured(one),
                    several(one.floor),
                    others(one),
                    state,
                )
            )
        )
    return [*lines, ""]


def reach(line: Line) -> str:
    """What is to be reached, by size if it differs."""
    if line.against:
        (share,) = set(line.reach.values())
        times = "faster" if share == 1 else f"{1 / share:.3g} times faster"
        return f"{times} than {names(line.against)}"
    if len(set(line.reach.values())) == 1:
        least = "at least " if line.more_is_better else ""
        return least + number(next(iter(line.reach.values()))) + at_sizes(line)
    return " / ".join(number(value) for value in line.reach.values()) + at_sizes(line)


def at_sizes(line: Line) -> str:
    """The sizes for which it is, in short."""
    sizes = [short(size) for size in line.reach if size != ANY]
    return f" ({' / '.join(sizes)})" if sizes else ""


def measured(one: Outcome) -> str:
    """All sizes, the missed ones bold."""
    cells = []
    for size, value in one.best.items():
        text = number(value)
        middle = one.median.get(size)
        if middle is not None and number(middle) != text:
            text += f" ({number(middle)})"
        if size in one.missed:
            text = f"**{text}**"
        alone = len(one.best) == 1 and (size in one.line.reach or not size)
        cells.append(text if alone else f"{short(size)}: {text}")
    return "; ".join(cells)


def others(one: Outcome) -> str:
    """The peer's figures, measured or known."""
    if one.peer:
        origin = " (reference)" if one.reference else ""
        text = f"{names(one.line.against or one.line.peer)}{origin} {several(one.peer)}"
        if one.line.against:
            times = {size: value / one.best[size] for size, value in one.peer.items()
                     if one.best.get(size)}  # fmt: skip
            text += f": {' / '.join(f'{value:.2g}' for value in times.values())} times ours"
        return text
    return cell(one.line.known)


def several(values: Mapping[int, float]) -> str:
    """By size; once if they are the same."""
    if len({number(value) for value in values.values()}) == 1:
        return number(next(iter(values.values())))
    return " / ".join(number(value) for value in values.values())


def names(tool: str) -> str:
    """A tool as it calls itself."""
    return {"row": "Row", "tpv": "TPV", "fastr": "Fastr"}.get(tool, tool)


def short(size: int) -> str:
    """10k, 1M."""
    if size and size % 1_000_000 == 0:
        return f"{size // 1_000_000}M"
    return f"{size // 1000}k" if size and size % 1000 == 0 else f"{size:,}"


# -- growth ----------------------------------------------------------------------------------------


def growth_table(found: Sequence[Growth]) -> list[str]:
    """The exponents of growth; those over the most first."""
    if not found:
        return []
    over = sum(one.exponent > MOST for one in found)
    lines = [
        "## Growth",
        "",
        "The exponent of the size in the cost, by the best runs: 1 is proportional to the size,",
        f"and {MOST:g} is 11.2 times the cost for ten times the size. It is at most {MOST:g}, or",
        f"the last column says why. {over} of {len(found)} are over it.",
        "",
        "| bench | what | figure | from | to | exponent | why |",
        "|---|---|---|--:|--:|--:|---|",
    ]
    for one in sorted(found, key=lambda one: (one.exponent <= MOST, one.suite)):
        exponent = f"{one.exponent:.2f}"
        lines.append(
            row(
                (
                    one.suite,
                    cell(" ".join(filter(None, (one.what, one.variant)))),
                    one.figure,
                    f"{short(one.smaller)}: {number(one.from_value)}",
                    f"{short(one.larger)}: {number(one.to_value)}",
                    f"**{exponent}**" if one.exponent > MOST else exponent,
                    (one.reason or "no reason is known") if one.exponent > MOST else "",
                )
            )
        )
    return [*lines, ""]


# -- rows ------------------------------------------------------------------------------------------


def command_tables(rows: Sequence[Measured]) -> list[str]:
    """A table for each workload: rowtui, Row, and the floors."""
    lines = []
    for size, variant in dict.fromkeys((one.size, one.variant) for one in rows):
        its = [one for one in rows if (one.size, one.variant) == (size, variant)]
        what = variant or "10 keys, 10 actions"
        runs = {one.runs for one in its if one.tool == "rowtui"}
        between = f"{min(runs)} to {max(runs)}" if len(runs) > 1 else str(max(runs, default=0))
        lines += [
            f"### {size:,} directories, {what}; runs: {between}",
            "",
            "| command | rowtui: wall s | CPU s | MB | Row: wall s | CPU s | MB | Row / ours |",
            "|---|--:|--:|--:|--:|--:|--:|--:|",
        ]
        for ours in (one for one in its if one.tool == "rowtui"):
            theirs = next((o for o in its if o.tool in ROW and o.what == ours.what), None)
            ratio = ""
            if theirs and theirs.best and ours.best:
                ratio = f"{theirs.best['cpu s'] / ours.best['cpu s']:,.1f}"
            lines.append(row((ours.what, *cost(ours), *cost(theirs), ratio)))
        for floor in (one for one in its if one.tool == "floor"):
            lines.append(row((f"floor: {floor.what}", *cost(floor), "", "", "", "")))
        lines.append("")
    return lines


def cost(one: Measured | None) -> tuple[str, str, str]:
    """Wall, CPU, peak: best and median; an error is in the first cell."""
    if one is None:
        return "", "", ""
    if one.error:
        return cell(one.error.split("] ")[-1], 60), "", ""
    wall, cpu, peak = (both(one, name) for name in ("wall s", "cpu s", "peak MB"))
    return wall, cpu, peak


def both(one: Measured, name: str) -> str:
    """Best, and the median in brackets if it is another."""
    text = number(one.best[name])
    middle = number(one.median.get(name, one.best[name]))
    return text if middle == text else f"{text} ({middle})"


def other_rows(rows: Sequence[Measured]) -> list[str]:
    """All figures of the other benches, one row for each thing."""
    lines = []
    for suite in dict.fromkeys(one.suite for one in rows):
        lines += [f"### {suite}", "", "| what | size | of | figures |", "|---|--:|---|---|"]
        for one in (one for one in rows if one.suite == suite):
            figures = ", ".join(f"{name} {both(one, name)}" for name in one.best)
            what = " ".join(filter(None, (one.what, one.variant)))
            size = f"{one.size:,}" if one.size else ""
            lines.append(row((cell(what), size, one.tool, cell(one.error) or figures)))
        lines.append("")
    return lines
