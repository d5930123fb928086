"""What packing should reach, and what was reached: a line for each goal that was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

Json = dict[str, Any]


class Reached(NamedTuple):
    """`found`: what counts, of the worst case; `where`: which one that was. Less is better."""

    goal: str
    most: float
    found: float
    where: str


def goals(rows: Sequence[Json]) -> list[str]:
    """A table of all goals about which the rows say something."""
    sound = [row for row in rows if not row.get("error") and not row.get("wrong")]
    lines = ["## Goals", "", "| goal | at most | worst | where | |", "|---|--:|--:|---|---|"]
    found = list(_reached(sound))
    for one in found:
        met = "" if one.found <= one.most else "**missed**"
        lines.append(f"| {one.goal} | {one.most:g} | {one.found:.4g} | {one.where} | {met} |")
    failed = len(rows) - len(sound)
    if failed:
        lines.append(f"| rows that failed | 0 | {failed} | | **missed** |")
    return [*lines, ""] if found or failed else []


def _reached(rows: Sequence[Json]) -> Iterator[Reached]:
    for goal, most, which, value in _GOALS:
        chosen = [row for row in rows if which(row)]
        if chosen:
            worst = max(chosen, key=value)
            yield Reached(goal, most, value(worst), _where(worst))


def _where(row: Json) -> str:
    parts = [f"{row['size']:,}" if "size" in row else "", row.get("distribution", "")]
    parts += [row.get("packer", "")]
    if row.get("types", 32) != 32:
        parts.append(f"{row['types']:,} types")
    return " ".join(part for part in parts if part)


def _plain(packer: str, distribution: str = "", least: int = 0, most: int = 10**9) -> _Which:
    def which(row: Json) -> bool:
        return bool(
            row["section"] == "plain"
            and row["packer"] == packer
            and distribution in {"", row["distribution"]}
            and least <= row["size"] <= most
        )

    return which


def _in(section: str, packer: str, **there: Any) -> _Which:
    def which(row: Json) -> bool:
        return bool(
            row["section"] == section
            and row.get("packer", "") == packer
            and all(row.get(name) == value for name, value in there.items())
        )

    return which


def _user(row: Json) -> float:
    return float(row["user"])


def _over_bound(row: Json) -> float:
    return float(row["cost"] / row["best_bound"]) if row["best_bound"] else float("inf")


def _over_lp(row: Json) -> float:
    return float(row["cost"] / row["assignment"]) if row["assignment"] else _over_bound(row)


def _over_seed(row: Json) -> float:
    return float(row["cost"] / row["seed_cost"]) if row["seed_cost"] else 0.0


def _against_seed(row: Json) -> bool:
    return row["section"] in {"plain", "timed", "types"} and row["packer"] != "seed"


def _best(row: Json) -> bool:
    return row["section"] in {"plain", "timed", "types"} and row["packer"] == "best"


def _over_least(row: Json) -> float:
    return float(row["cost"] / row["least_cost"]) if row["least_cost"] else 0.0


def _exact(row: Json) -> bool:
    return bool(row["section"] == "small" and row["size"] <= 12)


def _unproven(row: Json) -> float:
    return float(len(row["times"]) - len(row["ratios"]["bound"]))


_Which = Callable[[Json], bool]
_MILLION = 1_000_000
_GOALS: tuple[tuple[str, float, _Which, Callable[[Json], float]], ...] = (
    ("seed's, 1M requests, 35 classes: s", 1, _plain("seed", "actions", _MILLION), _user),
    ("seed's, 1M requests, 20k classes: s", 20, _plain("seed", "hpcmix", _MILLION), _user),
    ("best, up to 100 classes: cost / bound", 1.003, _plain("best", "actions"), _over_bound),
    ("best, up to 100 classes: s", 10, _plain("best", "actions"), _user),
    ("best, 1k requests: cost / assignment", 1.02,
     _plain("best", "", 1000, 9999), _over_lp),
    ("best, 10k requests or more: cost / assignment", 1.015,
     _plain("best", "", 10_000), _over_lp),
    ("best, 1M requests, 20k classes: s", 10, _plain("best", "hpcmix", _MILLION), _user),
    ("best, 1M requests, 120k classes: s", 25, _plain("best", "uniform", _MILLION), _user),
    ("any packer: cost / seed's", 1, _against_seed, _over_seed),
    ("best: cost / cheapest of all packers", 1.0005, _best, _over_least),
    ("400 node types, 20k requests, best: s", 3, _in("types", "best", types=400), _user),
    ("400 node types, 20k requests, fill: s", 3, _in("types", "fill", types=400), _user),
    ("up to 12 requests: seconds for the proof", 1, _exact, lambda row: max(row["times"])),
    ("up to 12 requests: not proven", 0, _exact, _unproven),
    ("with run times, 100k: cost / assignment", 1.1,
     _in("timed", "best", size=100_000), _over_lp),
)  # fmt: skip
