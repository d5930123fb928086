"""Code runs on a namespace of its own, under one time limit for a job."""

from __future__ import annotations

from typing import Any

import pytest
from rowtui.core.mapping.code.expressions import compile_block, compile_execute
from rowtui.core.mapping.code.time_limit import TimeLimit
from rowtui.core.mapping.engine.evaluate import Evaluator, StopMapping
from rowtui.core.mapping.galaxy.modules import expression_builtins
from rowtui.core.mapping.model.dialect import DIALECTS
from rowtui.core.mapping.model.entities import Tool
from rowtui.core.mapping.model.origin import Origin

ORIGIN = Origin("tool", "t")


def evaluator(dialect: str = "seed", seconds: float = 20.0) -> Evaluator:
    return Evaluator(DIALECTS[dialect], TimeLimit(seconds))


def names(**more: Any) -> dict[str, Any]:
    return {"__builtins__": expression_builtins(), **more}


@pytest.mark.parametrize(
    "text",
    [
        "x = 9\nx", "import os\n1", "(x := 5)", "for i in (1, 2): pass\ni", "def f(): pass\n1",
        "class A: pass\n1", "globals()['x'] = 1\n2", "exec('x = 1')\n3", "'words'\n4",
        "x: int = 5\nx",
        "try:\n  1/0\nexcept Exception as e:\n  1\n5", "vars()['q'] = 1\n1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_what_code_binds_does_not_leak_out_of_it(dialect: str, text: str) -> None:
    namespace = names(y=1)
    before = dict(namespace)

    for code in (compile_block(text), compile_execute(text)):
        evaluator(dialect).value(code, namespace, ORIGIN)

    assert namespace == before


@pytest.mark.parametrize(
    "text",
    [
        "entity.params.update(x=1)", "self.params.update(x=1)", "setattr(entity, 'cores', 3)",
        "locals()['entity'].params.update(x=1)", "eval('ent' + 'ity').params.update(x=1)",
    ],
)  # fmt: skip
def test_only_execute_changes_the_entity(text: str) -> None:
    entity = Tool("t")
    namespace = names(entity=entity, self=entity)

    evaluator().value(compile_block(text), namespace, ORIGIN)
    assert (entity.params, entity.cores) == ({}, None)

    evaluator().value(compile_execute(text), namespace, ORIGIN)
    assert (entity.params, entity.cores) != ({}, None)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_code_sees_copies_of_entity_and_of_self(dialect: str) -> None:
    namespace = names(entity=Tool("destination"), self=Tool("job"))
    code = compile_block("self.params.update(x=1)\n(entity.id, self.id, len(self.params))")

    for _ in range(2):
        value = evaluator(dialect).value(code, namespace, ORIGIN)
        assert value == ("destination", "job", 1)

    assert namespace["self"].params == {}


@pytest.mark.parametrize(
    "text",
    [
        "while True: pass",
        "class E(Exception):\n  def __str__(self):\n    while True: pass\nraise E",
    ],
)
def test_all_code_of_a_job_has_one_time_limit(text: str) -> None:
    limited = evaluator(seconds=0.1)
    code = compile_execute(text)
    turns: list[int] = []

    def job() -> None:
        turns.append(1)
        limited.value(compile_block("1 + x"), names(x=1), ORIGIN)
        limited.value(code, names(), ORIGIN)

    for _ in range(2):
        with pytest.raises(StopMapping, match=r"used more than 0\.1 seconds of CPU time"):
            limited.job(job)

    assert len(turns) == 3  # the slow code ran once; it was then left out, twice
