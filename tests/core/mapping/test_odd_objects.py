"""Objects of an expression's own classes, and what `execute` may leave: explained, never raised."""

from __future__ import annotations

import pytest
from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.decision import MappingOutcome
from rowtui.core.mapping.model.request import MappingRequest

OBJECTS = [
    "class F(float):\n  def __float__(self): raise KeyError\n  __gt__ = __lt__ = __float__\nF(3)",
    "class F:\n  def __float__(self): raise RuntimeError\nF()",
    "class F:\n  def __repr__(self): raise RuntimeError\nF()",
]
LEFT = [
    "entity.env = 5", "entity.env.append('x')", "entity.params = None", "entity.context = 7",
    "entity.resubmit = [1]", "entity.tpv_tags = None", "entity.rules = None", "entity.id = None",
    "entity.params['a'] = entity.params",
]  # fmt: skip


@pytest.mark.parametrize("dialect", ["seed", "tpv3"])
@pytest.mark.parametrize(
    ("field", "code"),
    [*(("cores", code) for code in OBJECTS), *(("execute", code) for code in LEFT)],
)
def test_what_code_leaves_behind_is_an_error_with_its_reason(
    field: str, code: str, dialect: str
) -> None:
    lines = "\n".join(f"          {line}" for line in code.split("\n"))
    text = f"global: {{dialect: {dialect}}}\ntools:\n  t:\n    rules:\n      - if: true\n"
    text += (
        f"        {field}: |\n{lines}\ndestinations: {{d: {{runner: r, max_accepted_cores: 4}}}}\n"
    )
    mapper = Mapper(merge_files([parse_mapping(text.encode(), "site.yml")]))

    decision = decide(mapper, MappingRequest("t"))

    assert decision.chosen.outcome is MappingOutcome.ERROR
    assert mapper.place(MappingRequest("t")) == decision.chosen


@pytest.mark.parametrize("cores", ["10**400", "-(10**400)"])
def test_an_amount_beyond_all_floats_is_an_error(cores: str) -> None:
    text = f"tools: {{t: {{cores: {cores}}}}}\ndestinations: {{d: {{runner: r}}}}\n"
    mapper = Mapper(merge_files([parse_mapping(text.encode(), "site.yml")]))

    assert decide(mapper, MappingRequest("t")).chosen.outcome is MappingOutcome.ERROR


@pytest.mark.parametrize("dialect", ["seed", "tpv3"])
@pytest.mark.parametrize("rank", ["lambda c: 1 / 0", "lambda: 1"])
def test_a_rank_that_gives_a_function_is_run_like_any_code(rank: str, dialect: str) -> None:
    text = f"global: {{dialect: {dialect}}}\ntools: {{t: {{rank: '{rank}'}}}}\n"
    text += "destinations: {d: {runner: r}}\n"
    mapper = Mapper(merge_files([parse_mapping(text.encode(), "site.yml")]))

    found = decide(mapper, MappingRequest("t")).chosen

    assert found.outcome is (MappingOutcome.ERROR if dialect == "tpv3" else MappingOutcome.CHOSEN)
