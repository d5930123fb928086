"""Dialect tpv3 gives the answers that TPV 3.3.0 gave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.core.mapping.answers import answer

CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("tpv_cases.jsonl").read_text().splitlines()
]
# The job's amounts in this record are those of the second evaluation, which sees leftovers of the
# first; what is submitted (compared above) is the same.
RECORDED_LATE = {"eval-twice-stale"}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["deterministic"]], ids=lambda case: case["id"]
)
def test_the_answer_is_that_of_tpv(case: dict[str, Any]) -> None:
    expected = case["answer"]
    ours = answer(case["files"], case["request"])

    assert ours["ok"] == expected["ok"]
    if not expected["ok"]:
        assert ours["phase"] == expected["phase"]
        if expected["phase"] == "load":
            return
        assert ours["error"]["class"] == expected["error"]["class"]
        if "message" in ours["error"] and case["id"] in {"fail-fstring", "dest-rule-fail"}:
            assert ours["error"]["message"] == expected["error"]["message"]
    else:
        for key in (
            "destination", "runner", "cores", "mem", "gpus", "env", "params", "resubmit",
            "handler_tags",
        ):  # fmt: skip
            assert ours[key] == expected[key], key
    if "ranked" in expected:
        assert ours["ranked"] == expected["ranked"]
    if "entity" in expected and case["id"] not in RECORDED_LATE:
        if "tpv_rule_" in expected["entity"]["id"]:  # rules without ids are numbered otherwise
            expected["entity"]["id"] = ours["entity"]["id"]
        assert ours["entity"] == expected["entity"]


def test_every_recorded_case_is_asked() -> None:
    assert len(CASES) == 166
    assert [case["id"] for case in CASES if not case["deterministic"]] == ["weighted"]


def test_weighted_sampling_draws_with_replacement_in_tpv3() -> None:
    (case,) = [case for case in CASES if case["id"] == "weighted"]
    drawn = [answer(case["files"], {**case["request"], "seed": n})["ranked"] for n in range(40)]
    names = [[each["id"] for each in ranked] for ranked in drawn]

    assert all("c" not in ranked for ranked in names)  # weight 0
    assert {"a", "b"} >= {ranked[0] for ranked in names} >= {"b"}
    assert any(len(ranked) < 3 for ranked in names)  # some are drawn again, others never
