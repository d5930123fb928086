"""The same by the real TPV; run by `bench.mapping` with the Python of TPV's own environment.

As `bench.mapping_here`, but that nothing is measured that TPV does not have.
"""

from __future__ import annotations

import json
import logging
import os
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LOADS = 3
Json = dict[str, Any]


def main() -> None:
    """Measure and tell."""
    logging.disable(logging.CRITICAL)
    asked = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries may print
    before = time.process_time()
    from tpv.rules import gateway  # type: ignore[import-not-found]

    told: Json = {"imports": time.process_time() - before}
    # Not as tests.differential_mapping: that environment may have a package `tests` of its own.
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "differential_mapping"))
    from tpv_process import (  # type: ignore[import-not-found]
        Holder,
        make_job,
        make_tool,
        make_user,
        write_files,
    )

    with tempfile.TemporaryDirectory(prefix="tpv-bench-") as folder:
        os.chdir(folder)
        names = write_files(asked["files"])
        loads = []
        for _ in range(LOADS):
            began, began_wall = time.process_time(), time.perf_counter()
            mapper = gateway.load_destination_mapper(names)
            loads.append((time.process_time() - began, time.perf_counter() - began_wall))
    told["load"], told["load_wall"] = (min(times) for times in zip(*loads, strict=True))
    told["loaded_mb"] = peak_mb()
    random.seed(1)
    app = Holder(config=Holder(), model=Holder(context=None))
    for name in ("first", "new"):
        made = [
            (make_tool(each["tool_id"]), make_user(each["user"]), make_job(each, n))
            for n, each in enumerate(asked[name], 1)
        ]
        each_ns, answers = [], []
        began = time.process_time()
        for tool, user, job in made:
            start = time.perf_counter_ns()
            try:
                answer = mapper.map_to_destination(app, tool, user, job)
            except Exception as error:
                answer = error
            each_ns.append(time.perf_counter_ns() - start)
            answers.append(answer)
        cpu = (time.process_time() - began) / len(made)
        each_ns.sort()
        told[name] = {
            "cpu": cpu * 1e6,
            "p50": each_ns[len(each_ns) // 2] / 1e3,
            "p95": each_ns[len(each_ns) * 95 // 100] / 1e3,
            "number": len(made),
        }
        if name == "first":
            told["answers"] = [answer_of(each) for each in answers]
    told["peak_mb"] = peak_mb()
    json.dump(told, out, default=repr)
    out.flush()


def answer_of(answer: Any) -> Json:
    """As `bench.mapping_here` has it."""
    if isinstance(answer, Exception):
        return {"error": type(answer).__name__}
    return {
        "destination": answer.id,
        "runner": answer.runner,
        "env": answer.env,
        "params": answer.params,
    }


def peak_mb() -> float:
    """The most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
