"""Measure the packers: `python -m bench.packing [--sizes 1000,10000] [--save NAME]`.

Each packing is made, checked and measured in a process of its own (`packing_here`), one after
another: the cases of `packing_cases` from 1,000 to 1,000,000 requests, with times, with many node
types; small ones beside a proven optimum; instances of `packing_recipes` beside bound or optimum.
A packing that breaks a rule is an error in its row. At the end the goals are listed, and what was
reached.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.machine import machine
from bench.measured import Measured
from bench.measured import write as write_rows
from bench.packing_cases import DISTRIBUTIONS
from bench.packing_goals import goals
from bench.packing_here import measure
from bench.packing_tables import TABLES

Json = dict[str, Any]

PACKERS = ("seed", "fill", "best", "columns")
MOST_CLASSES = 300  # for more, column generation is not meant
TOO_LONG = 600  # seconds, in which anything is done or has failed
SEEDS = 20  # small cases of each kind
SMALL = (6, 8, 10, 12, 14)


class Chosen(NamedTuple):
    """What is measured. `sections`: which tables."""

    sizes: tuple[int, ...]
    distributions: tuple[str, ...]
    packers: tuple[str, ...]
    sections: tuple[str, ...]
    quick: bool


def main(words: Sequence[str] | None = None) -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.packing", description=__doc__)
    parser.add_argument("--sizes", default="1000,10000,100000,1000000", help="requests")
    parser.add_argument("--distributions", default=",".join(DISTRIBUTIONS))
    parser.add_argument("--packers", default=",".join(PACKERS))
    parser.add_argument("--sections", default=",".join(SECTIONS), help="which tables")
    parser.add_argument("--quick", action="store_true", help="little of everything")
    parser.add_argument(
        "--json", nargs="?", const="", metavar="FILE", help="the figures alone; in a file, as rows"
    )
    parser.add_argument("--note", default="", help="a sentence about the circumstances, to be kept")
    parser.add_argument("--save", metavar="NAME", help="also write bench/results/NAME.md")
    given = parser.parse_args(words)
    chosen = Chosen(
        (200,) if given.quick else tuple(int(size) for size in given.sizes.split(",")),
        tuple(given.distributions.split(",")),
        tuple(given.packers.split(",")),
        tuple(given.sections.split(",")),
        given.quick,
    )
    lines = [f"# {machine()}", "", *([given.note, ""] if given.note else []), *_HEAD]
    rows: list[Json] = []
    for name in chosen.sections:
        found = SECTIONS[name](chosen)
        rows += found
        table = TABLES[name](found)
        lines += table
        if given.json:
            write_rows(Path(given.json), filter(None, map(measured, rows)))
        if given.json != "":
            print("\n".join(table), flush=True)
        if given.save:  # after each: the rest takes minutes, and may be given up
            results = Path(__file__).parent / "results" / f"{given.save}.md"
            results.write_text("\n".join([*lines, *goals(rows)]))
    if given.json == "":
        json.dump(rows, sys.stdout, indent=1)
        print()
    else:
        print("\n".join(goals(rows)))
    if any(row.get("error") or row.get("wrong") for row in rows):
        sys.exit("some packings failed: see the tables")


_HEAD = [
    "User CPU seconds of packing alone, bounds and everything included; making the cases is not.",
    "Bound: the highest that a packer or the solver proved for the case. Assignment bound: with",
    "requests in fractions on fractions of nodes, exact (see `packing_yardstick`). Says at most:",
    "the cost by the packer's own bound. Every packing was checked: each request once, no node",
    "over-committed. Distributions: `actions` is a workflow of 35 classes, `hpcmix` a busy",
    "cluster, `uniform` hostile (see `packing_cases`).",
    "",
]


# -- measuring -----------------------------------------------------------------------------------


def ask(chosen: Chosen, asked: Json, said: str) -> Json:
    """What is told by a process that measures this, with the question; a failure is a value."""
    print(f"{said} ...", end=" ", file=sys.stderr, flush=True)
    told = measure(asked) if chosen.quick else tell(asked)
    user = told.get("user")
    found = f"{user:.2f} s" if isinstance(user, float) else "done"
    print(told.get("error") or "; ".join(told["wrong"]) or found, file=sys.stderr, flush=True)
    return {**asked, **told}


def tell(asked: Json) -> Json:
    """What a process of its own tells."""
    command = [sys.executable, "-m", "bench.packing_here"]
    try:
        done = subprocess.run(
            command, input=json.dumps(asked), capture_output=True, text=True, timeout=TOO_LONG
        )
    except subprocess.TimeoutExpired:
        return {"error": f"more than {TOO_LONG} s"}
    if done.returncode:
        said = done.stderr.strip().rpartition("\n")[2]
        return {"error": said or f"ended with {done.returncode}"}
    # A packer may print what it pleases before.
    told: Json = json.loads(done.stdout.rpartition("\n")[2])
    return told


def measured(row: Json) -> Measured | None:
    """As all benches tell it; other sections than this one are tables alone."""
    wrong = row.get("error") or "; ".join(row.get("wrong", ()))
    if row["section"] != "plain":
        return None
    what = f"{row['packer']}, {row['distribution']}"
    if wrong:
        return Measured(what, row["size"], error=wrong)
    best = {"user s": row["user"]}
    if row.get("best_bound"):
        best["cost / bound"] = row["cost"] / row["best_bound"]
    if row.get("assignment"):
        best["cost / assignment bound"] = row["cost"] / row["assignment"]
    return Measured(what, row["size"], best=best)


def plain(chosen: Chosen) -> list[Json]:
    """Each distribution, size and packer, without time."""
    return [
        row
        for distribution in chosen.distributions
        for size in chosen.sizes
        for row in one_case(chosen, "plain", distribution, size)
    ]


def timed(chosen: Chosen) -> list[Json]:
    """With run times: nodes are paid until their last request ends."""
    sizes = (20,) if chosen.quick else (1_000, 100_000)
    return [
        row
        for distribution in ("actions", "hpcmix")[-1 if chosen.quick else 0 :]
        for size in sizes
        for row in one_case(chosen, "timed", distribution, size, timed=True)
    ]


def types(chosen: Chosen) -> list[Json]:
    """Catalogues of many node types."""
    many, size = ((100,), 200) if chosen.quick else ((400, 10_000), 20_000)
    return [
        row for number in many for row in one_case(chosen, "types", "hpcmix", size, types=number)
    ]


def one_case(
    chosen: Chosen,
    section: str,
    distribution: str,
    size: int,
    *,
    timed: bool = False,
    types: int = 32,
) -> list[Json]:
    """A row for each packer.

    With `best_bound`, the highest that one of them or the solver found, `assignment`, the solver's,
    and `seed_cost`.
    """
    case: Json = {
        "section": section,
        "distribution": distribution,
        "size": size,
        "seed": 1,
        "timed": timed,
        "types": types,
    }
    said = f"{section}: {size:,} {distribution}, {types} types"
    assignment = ask(chosen, {**case, "kind": "yardstick"}, f"{said}, bound")
    rows: list[Json] = []
    for packer in chosen.packers:
        many = any(row.get("classes", 0) > MOST_CLASSES for row in rows)
        if packer == "columns" and (timed or many):
            continue
        seconds = patience(section, distribution, size)
        asked = {**case, "kind": "packed", "packer": packer, "seconds": seconds}
        rows.append(ask(chosen, asked, f"{said}, {packer}"))
    exact = assignment.get("bound") or None
    bounds = [row["bound"] for row in [assignment, *rows] if "bound" in row]
    costs = {row["packer"]: row["cost"] for row in rows if "cost" in row}
    for row in rows:
        if "bound" in row and row["bound"] > min(costs.values()) * (1 + 1e-6):
            row["wrong"].append("the bound is above what another packer needs")
    shared = {
        "best_bound": max(bounds, default=0.0),
        "assignment": exact,
        "seed_cost": costs.get("seed"),
        "least_cost": min(costs.values(), default=None),
    }
    return [{**row, **shared} for row in rows]


def patience(section: str, distribution: str, size: int) -> float:
    """CPU seconds after which a packer is told to come to an end: somewhat less than the goals.

    What it has is then written down, made smaller, compared with the seed's and checked, which is
    not asked about: 2 s for a million requests of 20,000 classes.
    """
    if size < 1_000:
        return 0.05
    if section == "types":
        return 2.0
    if size <= 1_000 and distribution != "actions":
        return 2.0
    if size > 100_000 and distribution != "actions":
        return 20.0 if distribution == "uniform" else 7.5
    return 8.0


def small(chosen: Chosen) -> list[Json]:
    """Few requests, beside the proven optimum."""
    packers = [name for name in chosen.packers if name != "columns"]
    return [
        ask(
            chosen,
            {
                "kind": "small",
                "section": "small",
                "distribution": distribution,
                "size": size,
                "packers": packers,
                "seeds": 3 if chosen.quick else SEEDS,
                "seconds": 0.05 if chosen.quick else 2.0,
            },
            f"small: {size} {distribution}",
        )
        for distribution in (name for name in chosen.distributions if name != "actions")
        for size in ((6,) if chosen.quick else SMALL)
    ]


def published(chosen: Chosen) -> list[Json]:
    """Instances of published recipes."""
    sizes: Iterable[tuple[str | int, int]]
    if chosen.quick:
        sizes = [(1, 10), ("triplets", 4)]
    else:
        sizes = [(kind, size) for kind in range(1, 9) for size in (50, 200)]
        sizes = [*sizes, ("triplets", 20), ("triplets", 67), ("cut bins", 20), ("cut bins", 100)]
    return [
        ask(
            chosen,
            {
                "kind": "published",
                "section": "published",
                "recipe": recipe,
                "size": size,
                "packers": list(chosen.packers),
                "seeds": 1 if chosen.quick else 3,
                "seconds": 0.05 if chosen.quick else 0.5,
            },
            f"published: {recipe}, {size}",
        )
        for recipe, size in sizes
    ]


SECTIONS = {
    "plain": plain,
    "timed": timed,
    "types": types,
    "small": small,
    "published": published,
}


if __name__ == "__main__":
    main()
