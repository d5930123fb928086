"""No way of merging a trusted file with an untrusted one runs the code of the latter."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.decision import MappingOutcome
from rowtui.core.mapping.model.request import MappingRequest, Person

TRUSTED = """
tools:
  base: {cores: 1}
  t:
    cores: limit
    context: {limit: 1}
    rules: [{id: same, if: true, mem: 1}]
roles: {chem: {mem: 2, rules: [{id: same, if: true, mem: 1}]}}
users: {ada: {mem: 2, rules: [{id: same, if: true, mem: 1}]}}
destinations:
  d: {runner: r, params: {p: "{limit}"}, rules: [{id: same, if: true, mem: 1}]}
"""
FIELDS = [
    "cores: CODE", "mem: CODE", "max_cores: CODE", "rank: CODE", "env: {A: TEXT}",
    "env: [{file: TEXT}, {execute: TEXT}]", "params: {p: TEXT, q: [TEXT], r: {s: TEXT}}",
    "resubmit: {a: {condition: TEXT, delay: TEXT}}", "context: {limit: CODE}", "inherits: base",
    "rules: [{id: same, if: CODE}]", "rules: [{id: same, if: true, execute: CODE}]",
    "rules: [{id: same, if: true, fail: TEXT}]", "rules: [{id: same, if: true, cores: CODE}]",
]  # fmt: skip


@pytest.mark.parametrize("dialect", ["seed", "tpv3"])
@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    ("kind", "keys"),
    [("tools", ("t", ".*", "base", "default")), ("roles", ("chem", "default")),
     ("users", ("ada", "default")), ("destinations", ("d", "other", "default"))],
)  # fmt: skip
def test_code_of_an_untrusted_file_never_runs_whatever_it_is_merged_with(
    kind: str, keys: tuple[str, ...], field: str, dialect: str, tmp_path: Path
) -> None:
    hit = tmp_path / "hit"
    code = f"__import__('pathlib').Path('{hit}').touch() or 1"
    field = field.replace("CODE", f'"{code}"').replace("TEXT", f'"{{{code}}}"')
    head = parse_mapping(f"global: {{dialect: {dialect}, default_inherits: default}}".encode(), "g")
    for key in keys:
        own = parse_mapping(TRUSTED.encode(), "own.yml")
        text = f"{kind}:\n  '{key}':\n    {field}\n"
        other = parse_mapping(text.encode(), "other.yml", sealed=True)
        for files in ([head, own, other], [head, other, own]):
            mapper = Mapper(merge_files(files))
            request = MappingRequest("t", Person("ada", ("chem",)))
            decision = decide(mapper, request)
            mapper.pools_of(request)

            assert not hit.exists()
            assert mapper.place(request).outcome == decision.chosen.outcome
            if key == "t":
                assert decision.chosen.outcome in {MappingOutcome.UNTRUSTED, MappingOutcome.BROKEN}
