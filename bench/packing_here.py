"""One packing, checked and measured in this process; run by `bench.packing`.

Takes what is asked for as JSON on stdin, gives what it took as JSON in the last line of stdout.
Times are user CPU seconds of this process and all of its threads, of packing alone: making the
cases is not measured.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from math import ceil
from typing import Any

from rowtui.core.packing import static
from rowtui.core.packing.heuristics.bins import patterns_cost
from rowtui.core.packing.model import GoOn, PackingProblem, PackResult
from rowtui.core.packing.optimal.whole_bins import pack_whole
from rowtui.core.packing.pack import complaints, pack

from bench.packing_cases import cloud, many_node_types, problem
from bench.packing_recipes import Instance, cut_bins, triplets, two_constraint
from bench.packing_yardstick import assignment_bound

Json = dict[str, Any]


def main() -> None:
    """Measure and tell."""
    told = measure(json.load(sys.stdin))
    print()
    json.dump(told, sys.stdout)


def measure(asked: Json) -> Json:
    """What it took, with the peak of this process so far."""
    told = _KINDS[asked["kind"]](asked)
    told["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return told


def user_seconds() -> float:
    """CPU time of this process so far, without what the system does for it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def patience(seconds: float) -> GoOn:
    """Yes for so many CPU seconds from now."""
    end = time.process_time() + seconds
    return lambda: time.process_time() < end


def packed(asked: Json) -> Json:
    """One case by one packer."""
    case = _case(asked)
    return {"classes": len(case.demands), **by(case, asked["packer"], asked["seconds"])}


def yardstick(asked: Json) -> Json:
    """The exact assignment bound of a case, 0 without the solver."""
    began = user_seconds()
    bound = assignment_bound(_case(asked)) or 0.0
    return {"bound": bound, "user": user_seconds() - began, "wrong": []}


def _case(asked: Json) -> PackingProblem:
    return problem(
        asked["distribution"],
        asked["size"],
        seed=asked["seed"],
        timed=asked["timed"],
        node_types=many_node_types(asked["types"]) if asked["types"] > 32 else cloud(),
    )


def by(case: PackingProblem, packer: str, seconds: float) -> Json:
    """What a packer makes of a problem."""
    began = user_seconds(), time.perf_counter()
    result = pack(case, packer, patience(seconds))
    user, wall = user_seconds() - began[0], time.perf_counter() - began[1]
    return {"user": user, "wall": wall, **described(result), "wrong": wrongs(result, packer)}


def wrongs(result: PackResult, packer: str) -> list[str]:
    """What is wrong with a result, at most three lines."""
    lines = list(complaints(result))
    if packer not in {"best", result.packer}:
        lines.append(f"the packing of {packer} was refused, this is one of {result.packer}")
    if result.unplaced:
        lines.append(f"{len(result.unplaced)} classes are unplaced")
    return lines[:3]


def described(result: PackResult) -> Json:
    """The figures of a result."""
    return {
        "winner": result.packer,
        "cost": result.cost,
        "bound": result.bound,
        "nodes": result.nodes,
        "kinds": len(result.bundles),
        "proven": result.proven,
    }


def small(asked: Json) -> Json:
    """Small cases of several seeds: each packer's cost as a share of the proven optimum."""
    ratios: dict[str, list[float]] = {name: [] for name in (*asked["packers"], "bound")}
    times: list[float] = []
    wrong: list[str] = []
    for seed in range(1, asked["seeds"] + 1):
        case = problem(asked["distribution"], asked["size"], seed=seed)
        form = static.form_of(case)
        began = user_seconds()
        best = pack_whole(form.vectors, patience(asked["seconds"]))
        times.append(user_seconds() - began)
        if not best.proven:
            continue
        optimum = patterns_cost(best.patterns, form.vectors)
        wrong += complaints((case, static.bundles_of(best.patterns, form)))
        for name in asked["packers"]:
            result = pack(case, name, patience(asked["seconds"]))
            wrong += wrongs(result, name)
            ratios[name].append(result.cost / optimum)
            if name == asked["packers"][-1]:
                ratios["bound"].append(result.bound / optimum)
    return {"ratios": ratios, "times": times, "wrong": wrong[:3]}


def published(asked: Json) -> Json:
    """Instances of one recipe: all costs together, and the bound or optimum of all."""
    told: Json = {"cost": {}, "user": {}, "wrong": []}
    instances = [_recipe(asked, seed) for seed in range(1, asked["seeds"] + 1)]
    told["name"] = instances[0].name
    bounds = [0.0] * len(instances)
    for name in asked["packers"]:
        costs = []
        began = user_seconds()
        for number, instance in enumerate(instances):
            result = pack(instance.problem, name, patience(asked["seconds"]))
            told["wrong"] += wrongs(result, name)
            costs.append(result.cost)
            bounds[number] = max(bounds[number], in_bins(result.bound, instance.problem))
        told["user"][name] = (user_seconds() - began) / len(instances)
        told["cost"][name] = sum(costs)
    known = [one.optimum for one in instances if one.optimum is not None]
    told["optimum"] = sum(known) if len(known) == len(instances) else None
    told["bound"] = sum(bounds)
    return told


def in_bins(bound: float, case: PackingProblem) -> float:
    """Where every bin costs 1, so does a part of one."""
    if {kind.price for kind in case.node_types} == {1.0}:
        return float(ceil(bound - 1e-6))
    return bound


def _recipe(asked: Json, seed: int) -> Instance:
    kind, size = asked["recipe"], asked["size"]
    if kind == "triplets":
        return triplets(size, seed)
    if kind == "cut bins":
        return cut_bins(size, seed)
    return two_constraint(kind, size, seed)


_KINDS: dict[str, Callable[[Json], Json]] = {
    "packed": packed,
    "yardstick": yardstick,
    "small": small,
    "published": published,
}

if __name__ == "__main__":
    main()
