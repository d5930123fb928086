"""The differential tester itself: networks can be made again, are planned, and differences seen."""

from __future__ import annotations

import copy
import functools
import itertools
from typing import Any

from tests.core.network.fastr_run import Run
from tests.differential_network.compare import TOOLS, Planned, compare
from tests.differential_network.generate import MOST, network


def answer(described: dict[str, Any]) -> dict[str, Any]:
    """Ours, as Fastr's process would tell it."""
    planned = Planned(described, TOOLS)
    assert not planned.refused[0]
    nodes = {
        name: {"dims": list(map(list, run.columns.dimensions)), "jobs": planned.jobs_of(name)}
        for name, run in planned.nodes.items()
    }
    return {"nodes": nodes, "error": None}


@functools.cache
def sound() -> list[dict[str, Any]]:
    made = [network(seed) for seed in range(36)]
    return [each for each in made if not Planned(each, TOOLS).refused[0]]


@functools.cache
def answers() -> list[dict[str, Any]]:
    return [answer(each) for each in sound()]


def test_a_network_is_always_the_same_for_one_seed() -> None:
    made = [network(seed) for seed in range(40)]
    assert [network(seed) for seed in range(40)] == made
    assert len({str(each) for each in made}) > 35


def test_most_networks_are_sound_and_small_and_every_stage_is_reached() -> None:
    every = sound()
    links = [link for each in every for link in each["links"]]

    assert len(every) > 18
    assert any(link["collapse"] for link in links)
    assert any(link["expand"] for link in links)
    assert any(link["src"].count("/") > 2 for link in links)
    assert any(link["dst"].endswith("/1") for link in links)
    for each in every:
        planned: Run = Planned(each, TOOLS)
        assert all(planned.count(name) <= 10 * MOST for name in planned.nodes)


def test_what_is_the_same_is_found_the_same() -> None:
    assert {compare(each, told).outcome for each, told in zip(sound(), answers(), strict=True)} == {
        "same"
    }


def test_one_value_from_elsewhere_one_job_or_one_need_less_is_seen() -> None:
    changes = itertools.cycle((_other_value, _job_less, _need_more))
    for described, told, change in zip(sound(), answers(), changes, strict=False):
        name = next(name for name, node in told["nodes"].items() if node["jobs"])
        wrong = copy.deepcopy(told)
        change(wrong["nodes"][name]["jobs"])
        found = compare(described, wrong)
        assert found.difference is not None
        assert found.difference.node == name


def _other_value(jobs: list[dict[str, Any]]) -> None:
    jobs[0]["given"]["in0"] = [*jobs[0]["given"]["in0"], -1]


def _job_less(jobs: list[dict[str, Any]]) -> None:
    jobs.pop()


def _need_more(jobs: list[dict[str, Any]]) -> None:
    jobs[0]["needs"] = [*jobs[0]["needs"], jobs[0]["name"]]
