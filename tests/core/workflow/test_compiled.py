from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import Problem
from rowtui.core.workflow.model import (
    Action,
    Condition,
    GroupRule,
    Processes,
    Resources,
    Selector,
    SubmitOptions,
    Walltime,
    Workflow,
    workflow_from_json,
    workflow_to_json,
)

text = st.text("ab/ä\n\"'\\\x00😀", max_size=4)
texts = st.lists(text, max_size=3).map(tuple)
number = st.integers(0, 2**63 - 1)
maybe = st.none() | number
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | text | st.floats(-9, 9),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(text, inner, max_size=2),
    max_leaves=4,
)
conditions = st.builds(Condition, text, st.sampled_from(["<", "!="]), json_values)
selectors = st.builds(Selector, st.lists(conditions, max_size=2).map(tuple))
groups = st.builds(
    GroupRule,
    st.lists(selectors, max_size=2).map(tuple),
    texts,
    st.booleans(),
    st.booleans(),
    maybe,
    st.booleans(),
)
resources = st.builds(
    Resources,
    st.builds(Processes, number, st.booleans()),
    maybe,
    maybe,
    st.builds(Walltime, number, st.booleans()),
    maybe,
    maybe,
)
maybe_text = st.none() | text
options = st.builds(
    SubmitOptions, maybe_text, maybe_text, texts, maybe_text, maybe_text, maybe_text
)
actions = st.builds(
    Action,
    number,
    text,
    text,
    texts,
    texts,
    texts,
    resources,
    groups,
    st.dictionaries(text, options, max_size=2),
)
problems = st.builds(
    Problem, text, number, number, text, text, st.sampled_from(["error", "warning"]), maybe
)
workflows = st.builds(
    Workflow,
    st.just(Path("/p")),
    text,
    maybe_text,
    st.lists(actions, max_size=2).map(tuple),
    st.lists(problems, max_size=2).map(tuple),
)


@given(workflows)
def test_a_workflow_survives_json_exactly(workflow: Workflow) -> None:
    data = json.loads(json.dumps(workflow_to_json(workflow)))
    assert data == workflow_to_json(workflow)
    again = workflow_from_json(data, Path("/p"))
    assert again == workflow
    assert repr(again) == repr(workflow)  # 1, 1.0 and True are equal but not the same


@pytest.mark.parametrize("data", [None, {}, [], {"version": 99}, "x", {"version": 1}])
def test_anything_else_is_a_value_error(data: Any) -> None:
    with pytest.raises(ValueError):
        workflow_from_json(data, Path("/p"))
