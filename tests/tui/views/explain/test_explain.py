"""Decisions as text: every mark has its word, every number both sides, and nothing steers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.base.errors import Problem
from rowtui.core.mapping.files.places import FileTrust
from rowtui.core.mapping.model.decision import (
    Candidate,
    ConstraintCheck,
    Contribution,
    Decision,
    LiftingChange,
    MappingOutcome,
    Matched,
    Placement,
    Refusal,
    RuleOutcome,
)
from rowtui.core.mapping.model.origin import FilePosition, Origin
from rowtui.core.mapping.model.request import Amounts, MappingRequest, Person, WhatIf
from rowtui.core.project.views.views import PlacementExplanation
from rowtui.tui.views.explain.destination import destination_lines
from rowtui.tui.views.explain.explain import (
    changed_cells,
    destination_cells,
    destination_columns,
    destination_rows,
    job_lines,
    who,
)
from rowtui.tui.views.explain.match_trace import comparison_lines, story_lines, value_text
from rowtui.tui.widgets.cells import Line, fit, plain, width_of

from tests.tui.sample_mapping import decision_of, mapper_of

HERE = Origin("tool", "t", FilePosition("mapping.yml", 3))


def texts(lines: Sequence[Line]) -> str:
    return "\n".join(plain(one) for one in lines)


def explanation(decision: Decision | None, **more: object) -> PlacementExplanation:
    files = (FileTrust("mapping.yml", True, "it is yours"),)
    return PlacementExplanation(1, 0, 1, 3, 10, "d0", decision, files, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def decision() -> Decision:
    return decision_of(mapper_of(), "equilibrate", ["d"] * 10)


def test_each_refusal_names_what_was_asked_and_what_is_offered(decision: Decision) -> None:
    shared = next(row for row in destination_rows(decision) if row.name == "shared")
    assert shared.why == "asks 16 CPUs, accepts at most 8; 2 more reasons"
    text = texts(destination_lines(shared, decision, 100))
    assert text.startswith("✗ It refuses the job: 3 of 4 checks fail\n")
    assert "✗  16 CPUs      accepts at most 8  mapping.yml:57" in text
    assert "✗  96 GB        accepts at most 64 GB  mapping.yml:58" in text
    assert "✓  tag offline  the job rejects it, not offered here" in text


def test_a_candidate_has_its_limits_and_its_score_tag_by_tag(decision: Decision) -> None:
    standby = next(row for row in destination_rows(decision) if row.name == "standby")
    text = texts(destination_lines(standby, decision, 100))
    assert "○ It would accept it; wholenode comes first\n  16 CPUs      of at most 64" in text
    assert "-1 Its score, from the tags of the job" in text
    assert "-1  slow     not asked by the job" in text


def test_each_value_has_its_place_and_what_it_replaced(decision: Decision) -> None:
    text = texts(story_lines(explanation(decision), 120))
    assert text.startswith("Values of the job\n  CPUs       16         workflow.toml\n")
    assert "memory     96 GB      mapping.yml:16, rule many-directories\n" in text
    assert "instead of cores * 2, mapping.yml:7\n" in text
    assert "requires  highmem  mapping.yml:18, rule many-directories" in text
    assert "✓  many-directories  len(directories) > 4: mem = 96, requires highmem" in text
    assert "1  mapping.yml:5, tool default  applies to every job (default_inherits)" in text


def test_all_destinations_are_compared(decision: Decision) -> None:
    text = texts(comparison_lines(destination_rows(decision), decision, 100))
    assert "total        +1          0        -1" in text
    assert "gpu on anvil refuses the job\n  ✗  tag gpu  the job does not have it, required" in text


def test_the_job_in_short(decision: Decision) -> None:
    outcome = (
        "✓ goes to wholenode on anvil: it accepts the job and has the highest score of the others "
        "(0); highmem passed it on"
    )
    amounts = "16 CPUs   96 GB   no GPUs   4 h   64 CPU-hours at most   10 directories"
    assert texts(job_lines(explanation(decision), 120)) == f"{outcome}\n{amounts}, first d0"
    narrow = texts(job_lines(explanation(decision), 40))
    assert narrow.startswith("✓ goes to wholenode on anvil, score 0\n")
    assert who(decision) == "someone · roles physics, gpu-users"


@pytest.mark.parametrize("outcome", MappingOutcome)
def test_every_outcome_has_a_mark_and_words(outcome: MappingOutcome) -> None:
    placement = Placement(outcome, "d", "d", message="because", origin=HERE)
    text = texts(job_lines(explanation(Decision(MappingRequest("t"), placement)), 100))
    assert text[0] in "✓✗▲·"
    assert ("goes to d" if outcome is MappingOutcome.CHOSEN else "because") in text


def test_an_untrusted_file_comes_with_the_command_that_trusts_it() -> None:
    decision = decision_of(mapper_of(sealed=True), "equilibrate", ["d"])
    text = texts(job_lines(explanation(decision), 100))
    assert "▲ waits for trust: mapping.yml is not trusted yet" in text
    assert "rowtui mapping trust mapping.yml" in text


def test_a_problem_without_a_decision_is_all_there_is() -> None:
    found = explanation(None, problem="analyze has no such group now")
    assert texts(job_lines(found, 80)) == "▲ analyze has no such group now"
    assert destination_rows(None) == []
    assert texts(story_lines(found, 80)) == "Mapping files\n  mapping.yml  trusted: it is yours"
    assert story_lines(found._replace(files=()), 80) == []


def test_what_changed_in_the_table_is_known_by_cell(decision: Decision) -> None:
    rows = destination_rows(decision)
    other = [row._replace(score=7) if row.name == "standby" else row for row in rows]
    assert changed_cells(rows, other) == [("standby", "score")]
    assert changed_cells([], rows) == []


def test_a_long_value_is_cut() -> None:
    assert len(value_text("x" * 10_000)) < 400
    assert value_text({"a": [1, None]}) == '{"a": [1, null]}'
    assert value_text(16.0) == "16"


anything = st.text(max_size=30)
origins = st.builds(
    Origin,
    st.sampled_from(["tool", "rule", "request", "what-if", "destination"]),
    anything,
    st.builds(FilePosition, anything, st.integers(0, 9)),
    anything,
    st.booleans(),
)
checks = st.builds(ConstraintCheck, anything, anything, anything, st.booleans(), anything, origins)
some_checks = st.lists(checks, max_size=3).map(tuple)


@st.composite
def decisions(draw: st.DrawFn) -> Decision:
    """A decision in which every text is hostile."""
    candidate = st.builds(
        Candidate,
        anything, anything, anything, st.none() | st.integers(1, 3), st.integers(-9, 9),
        st.lists(st.tuples(anything, st.integers(-9, 9)), max_size=2).map(tuple),
        some_checks, origins, st.booleans(), anything,
    )  # fmt: skip
    change = st.builds(LiftingChange, anything, st.just(WhatIf()), st.booleans())
    refusal = st.builds(
        Refusal, anything, anything, anything, some_checks, some_checks, origins,
        st.lists(change, max_size=6).map(tuple),
    )  # fmt: skip
    value = anything | st.none() | st.integers() | st.lists(anything, max_size=2)
    contribution = st.builds(
        Contribution, anything, value, value, origins,
        st.lists(st.tuples(value, origins), max_size=2).map(tuple),
    )  # fmt: skip
    placement = Placement(
        draw(st.sampled_from(MappingOutcome)), draw(anything), draw(anything), draw(anything),
        message=draw(anything), origin=draw(origins), cause=draw(anything),
        notices=(draw(anything),),
    )  # fmt: skip
    person = st.none() | st.builds(Person, anything, st.lists(anything, max_size=6).map(tuple))
    return Decision(
        request=MappingRequest(draw(anything), draw(person)),
        chosen=placement,
        matched=tuple(draw(st.lists(st.builds(Matched, origins, anything, anything), max_size=2))),
        rules=tuple(
            draw(
                st.lists(
                    st.builds(RuleOutcome, origins, anything, st.booleans(), anything), max_size=2
                )
            )
        ),
        job=Amounts(None, 4, 2.5),
        tags=tuple(draw(st.lists(st.tuples(anything, anything, origins), max_size=2))),
        contributions=tuple(draw(st.lists(contribution, max_size=2))),
        candidates=tuple(draw(st.lists(candidate, max_size=2))),
        refusals=tuple(draw(st.lists(refusal, max_size=2))),
        ranked_by=draw(anything),
    )


@settings(max_examples=40)
@given(decisions(), anything, st.integers(1, 120))
def test_nothing_from_outside_steers_the_terminal_whatever_its_width(
    decision: Decision, text: str, width: int
) -> None:
    found = explanation(
        decision, problems=(Problem(text, 1, 2, text, text),), notices=(text,), problem=text
    )
    rows = destination_rows(decision)
    lines = job_lines(found, width) + story_lines(found, width)
    lines += comparison_lines(rows, decision, width)
    for row in rows:
        lines += destination_lines(row, decision, width)
        for column in destination_columns(rows, two=width < 40):
            cell = fit(destination_cells(row)[column.id], column.minimum)
            assert width_of(cell) == column.minimum
            lines.append(cell)
    for one in lines:
        assert plain(one).isprintable()
    assert who(decision).isprintable()
