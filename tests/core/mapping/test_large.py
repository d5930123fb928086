"""Configurations of the size of Galaxy's shared database and of a large site: load, lint, map."""

from __future__ import annotations

import pytest
from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.lint.lint import lint
from rowtui.core.mapping.model.decision import MappingOutcome
from rowtui.core.mapping.model.request import MappingRequest, Person

from bench.mapping_cases import Case, shared, site


@pytest.mark.parametrize(
    ("case", "tools"), [(shared(), 930), (site(), 1250)], ids=["shared-930", "site-1250"]
)
def test_a_large_configuration_loads_lints_and_maps(case: Case, tools: int) -> None:
    files = [parse_mapping(b"global: {dialect: tpv3}", "dialect.yml")]
    files += [parse_mapping(text.encode(), name) for name, text in case.files.items()]
    configuration = merge_files(files)
    assert len(configuration.of_kind("tools")) >= tools
    assert [each for each in configuration.problems if each.severity == "error"] == []

    findings = lint(configuration)
    assert [each for each in findings if each.severity == "error"] == []

    mapper = Mapper(configuration)
    outcomes = set()
    for number, tool in enumerate(case.tools):
        name, roles = case.users[number % len(case.users)]
        request = MappingRequest(tool, Person(name, roles, name), input_size=number / 10)
        placement = mapper.place(request)
        outcomes.add(placement.outcome)
        if number % 50 == 0:
            decision = decide(mapper, request)
            assert decision.chosen.outcome is placement.outcome
            assert len(decision.candidates) + len(decision.refusals) >= 1 or decision.rules
    assert MappingOutcome.CHOSEN in outcomes
    assert outcomes <= {
        MappingOutcome.CHOSEN,
        MappingOutcome.NOWHERE,
        MappingOutcome.FAILED,
        MappingOutcome.WAITS,
    }
