"""One mapping configuration, loaded and asked in this process by rowtui; run by `bench.mapping`.

Takes an `Asked` as JSON on stdin, gives what it took as JSON on stdout.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from rowtui.core.mapping.code import expressions
from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.decision import Placement
from rowtui.core.mapping.model.request import MappingRequest, Person
from rowtui.core.mapping.yaml.nodes import plain
from rowtui.core.mapping.yaml.text import read_yaml

Json = dict[str, Any]
LOADS = 7  # of which the least counts


def main() -> None:
    """Measure and tell."""
    asked = json.load(sys.stdin)
    began = time.process_time()
    mapper = load(asked["files"])
    told: Json = {"first_load": time.process_time() - began, "loaded_mb": peak_mb()}
    loads = [loading(asked["files"]) for _ in range(LOADS)]
    told["load"], told["load_wall"] = (min(times) for times in zip(*loads, strict=True))
    told["json"] = min(json_floor(asked["files"]) for _ in range(LOADS))

    first, new = (list(map(request_of, asked[name])) for name in ("first", "new"))
    told["first"] = timed(mapper.place, first)
    told["answers"] = [answer_of(mapper.place(request)) for request in first]
    told["new"] = timed(mapper.place, new)
    told["repeated"] = timed(mapper.place, new)
    told["kinds"] = min(of_kinds(asked["files"], new, asked["kinds"]) for _ in range(LOADS))
    some = new[: asked["explained"]]
    told["why"] = timed(lambda each: decide(mapper, each, changes=False), some)
    told["why_changes"] = timed(lambda each: decide(mapper, each), some)
    told["peak_mb"] = peak_mb()
    json.dump(told, sys.stdout)


def load(files: dict[str, str]) -> Mapper:
    """From the bytes of the files to a mapper."""
    tpv3 = parse_mapping(b"global: {dialect: tpv3}", "dialect.yml")
    parsed = [parse_mapping(text.encode(), name) for name, text in files.items()]
    configuration = merge_files([tpv3, *parsed])
    if configuration.problems:
        sys.exit("\n".join(map(str, configuration.problems)))
    return Mapper(configuration, chance=random.Random(1))


def loading(files: dict[str, str]) -> tuple[float, float]:
    """CPU and wall seconds of one load in which nothing has been compiled before."""
    for cached in (
        expressions.compile_block,
        expressions.compile_text,
        expressions.compile_execute,
    ):
        cached.cache_clear()
    began, began_wall = time.process_time(), time.perf_counter()
    load(files)
    return time.process_time() - began, time.perf_counter() - began_wall


def json_floor(files: dict[str, str]) -> float:
    """CPU seconds that Python's json takes for the same data."""
    texts = [json.dumps(plain(read_yaml(text.encode(), name))) for name, text in files.items()]
    began = time.process_time()
    for text in texts:
        json.loads(text)
    return time.process_time() - began


def request_of(asked: Json) -> MappingRequest:
    """As the mapper takes it."""
    user = asked["user"]
    person = Person(user["email"], tuple(user["roles"]), user["email"])
    return MappingRequest(
        asked["tool_id"], person, input_size=asked["input_size"], params=asked["params"]
    )


def timed(call: Callable[[Any], Any], requests: Sequence[Any]) -> Json:
    """Microseconds: CPU of all, p50 and p95 of the wall time of each."""
    clock = time.perf_counter_ns
    each = []
    began = time.process_time()
    for request in requests:
        start = clock()
        call(request)
        each.append(clock() - start)
    cpu = (time.process_time() - began) / len(requests)
    each.sort()
    p50, p95 = each[len(each) // 2], each[len(each) * 95 // 100]
    return {"cpu": cpu * 1e6, "p50": p50 / 1e3, "p95": p95 / 1e3, "number": len(requests)}


def of_kinds(files: dict[str, str], requests: Sequence[MappingRequest], kinds: int) -> float:
    """CPU seconds of as many requests as given, of so many kinds in turn, by a new mapper."""
    mapper = load(files)
    began = time.process_time()
    for at in range(len(requests)):
        mapper.place(requests[at % kinds])
    return time.process_time() - began


def answer_of(placement: Placement) -> Json:
    """What is compared with TPV's answers."""
    if not placement.chosen:
        return {"error": placement.cause}
    return {
        "destination": placement.name,
        "runner": placement.runner,
        "env": list(placement.env),
        "params": placement.params,
    }


def peak_mb() -> float:
    """The most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
