"""Pools with amounts that dialect tpv3 lets pass."""

from __future__ import annotations

import pytest
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.decision import MappingOutcome
from rowtui.core.mapping.model.request import MappingRequest, Person


@pytest.mark.parametrize(
    ("cores", "outcome"),
    [
        ("'many'", MappingOutcome.ERROR),
        ("object()", MappingOutcome.ERROR),
        ("10**400", MappingOutcome.ERROR),
        ("[]", MappingOutcome.CHOSEN),
        ("'9'", MappingOutcome.FAILED),
    ],
)
def test_an_amount_that_no_pool_can_count_stops_its_job(
    cores: str, outcome: MappingOutcome
) -> None:
    text = f"""
global: {{dialect: tpv3}}
tools: {{t: {{cores: "{cores}"}}}}
pools: {{p: {{max_concurrent_cores: 8}}}}
destinations: {{d: {{runner: r}}}}
"""
    file = parse_mapping(text.encode(), "site.yml")
    assert file.problems == ()

    found = Mapper(merge_files([file])).place(MappingRequest("t", Person("ada")))

    assert found.outcome is outcome
