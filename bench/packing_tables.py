"""The figures of `bench.packing` as tables. A row that failed says why in its cells."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]


def cases_table(rows: Sequence[Json]) -> list[str]:
    """A line for each packing."""
    if not rows:
        return []
    title = {
        "plain": "Without time, 32 node types",
        "timed": "With run times (log-normal, median an hour), paid until the last request ends",
        "types": "Many node types",
    }[rows[0]["section"]]
    lines = [
        f"## {title}",
        "",
        "| distribution | requests | types | classes | packer | user s | MB | cost / bound "
        "| / assignment bound | says at most | cost / seed's | nodes |",
        "|---|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        case = f"| {row['distribution']} | {row['size']:,} | {row['types']:,} "
        trouble = row.get("error") or "; ".join(row["wrong"])
        if trouble:
            shown = trouble.replace("|", "/")[:100]
            lines.append(
                f"{case}| {row.get('classes', '')} | {row['packer']} | {shown} | | | | | |"
            )
            continue
        cells = (
            f"{row['classes']:,}",
            row["packer"],
            f"{row['user']:.2f}",
            f"{row['peak_mb']:,.0f}",
            over(row["cost"], row["best_bound"]),
            over(row["cost"], row["assignment"]),
            over(row["cost"], row["bound"]),
            over(row["cost"], row["seed_cost"]),
            f"{row['nodes']:,}",
        )
        lines.append(f"{case}| {' | '.join(cells)} |")
    return [*lines, ""]


def small_table(rows: Sequence[Json]) -> list[str]:
    """A line for each kind of small case: median and worst of the seeds."""
    if not rows:
        return []
    packers = rows[0]["packers"]
    lines = [
        f"## Small cases: cost / proven optimum, median and worst of {rows[0]['seeds']} seeds",
        "",
        f"| distribution | requests | proven | user s for the proof | {' | '.join(packers)} "
        "| bound of the last |",
        f"|---|--:|--:|--:|{'--:|' * len(packers)}--:|",
    ]
    for row in rows:
        case = f"| {row['distribution']} | {row['size']} "
        trouble = row.get("error") or "; ".join(row["wrong"])
        if trouble:
            lines.append(f"{case}| {trouble.replace('|', '/')[:100]} | | {'| ' * len(packers)}|")
            continue
        ratios = row["ratios"]
        cells = [
            f"{len(ratios['bound'])} of {len(row['times'])}",
            both(row["times"], "{:.3f}"),
            *(both(ratios[name], "{:.3f}") for name in packers),
            f"{statistics.median(ratios['bound']):.3f}" if ratios["bound"] else "",
        ]
        lines.append(f"{case}| {' | '.join(cells)} |")
    return [*lines, ""]


def published_table(rows: Sequence[Json]) -> list[str]:
    """A line for each recipe and size."""
    if not rows:
        return []
    packers = rows[0]["packers"]
    lines = [
        f"## Instances by published recipes (see `packing_recipes`), {rows[0]['seeds']} of each",
        "",
        "Cost / optimum where it is known, else cost / bound; user seconds for one instance.",
        "",
        f"| recipe | known | {' | '.join(f'{name} | s' for name in packers)} |",
        f"|---|---|{'--:|--:|' * len(packers)}",
    ]
    for row in rows:
        name = row.get("name") or f"{row['recipe']}, {row['size']}"
        trouble = row.get("error") or "; ".join(row["wrong"])
        if trouble:
            lines.append(f"| {name} | {trouble.replace('|', '/')[:100]} {'| | ' * len(packers)}|")
            continue
        known = row["optimum"] or row["bound"]
        cells = [
            f"{over(row['cost'][packer], known)} | {row['user'][packer]:.2f}" for packer in packers
        ]
        what = "optimum" if row["optimum"] else "bound"
        lines.append(f"| {name} | {what} {known:,.6g} | {' | '.join(cells)} |")
    return [*lines, ""]


def over(cost: float, floor: float | None) -> str:
    """How many times as much, for a table."""
    return f"{cost / floor:.4f}" if floor else ""


def both(values: Sequence[float], form: str) -> str:
    """Median and worst."""
    if not values:
        return ""
    return f"{form.format(statistics.median(values))} / {form.format(max(values))}"


TABLES = {
    "plain": cases_table,
    "timed": cases_table,
    "types": cases_table,
    "small": small_table,
    "published": published_table,
}
