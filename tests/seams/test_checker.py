"""The checker finds what contradicts, and nothing else."""

from __future__ import annotations

from tests.seams.checker import check, compared, in_brief
from tests.seams.facts import COUNTS, Fact, Subject
from tests.seams.projects import Ran

ONE: Subject = ("directory", "one", "a")
LISTED = Fact(ONE, "job", None, "show directories")
JOB: Subject = ("job", "t-0")


def job(state: str, directory: str = "a") -> list[Fact]:
    """The facts of a job."""
    fields = {"action": "one", "state": state, "directories": (directory,), "id": "7", "age": 0}
    return [Fact(JOB, name, value, "show jobs") for name, value in fields.items()]


def broken(*facts: Fact, ran: tuple[Ran, ...] = ()) -> list[str]:
    """The fields of all contradictions."""
    return [it.field for it in check(facts, ran)]


def test_two_sources_with_two_values_contradict_and_both_are_named() -> None:
    facts = [
        Fact(JOB, "cpus", 2, "plan"),
        Fact(JOB, "cpus", 1, "view 2"),
        Fact(JOB, "cpus", 2, "explain"),
        Fact(JOB, "gpus", 0, "plan"),
    ]
    (found,) = check(facts, laws=())
    assert str(found) == "job t-0, cpus: 2 (plan, explain) but 1 (view 2)"


def test_what_only_one_source_states_is_no_comparison() -> None:
    facts = [
        Fact(JOB, "cpus", 2, "plan"),
        Fact(JOB, "cpus", 1, "view 2"),
        Fact(JOB, "gpus", 0, "plan"),
    ]
    assert compared(facts) == {"plan": 1, "view 2": 1}


def test_none_is_a_value_and_a_rounding_error_is_not() -> None:
    other = [Fact(JOB, "gpus", None, "explain"), Fact(JOB, "gpus", 0, "plan")]
    same = [Fact(JOB, "cost", 0.1 + 0.2, "plan"), Fact(JOB, "cost", 0.3, "view 5")]
    assert [it.field for it in check(other + same, laws=())] == ["gpus"]


def test_contradictions_of_a_kind_are_one_line() -> None:
    facts = [
        Fact(("job", str(number)), "cpus", value, source)
        for number in range(3)
        for value, source in ((1, "plan"), (2, "view 2"))
    ]
    assert in_brief(check(facts, laws=())) == ["job 0, cpus: 1 (plan) but 2 (view 2) and 2 more"]


def test_counts_that_do_not_add_up_are_found() -> None:
    facts = [Fact(("action", "one"), f"count.{name}", 0, "show status") for name in COUNTS]
    assert broken(*facts) == []
    assert broken(*facts, LISTED, Fact(ONE, "status", "waiting", "list")) == ["counts add up"]


def test_a_submitted_directory_has_an_active_job() -> None:
    submitted = Fact(ONE, "status", "submitted", "show directories")
    assert broken(submitted, *job("running")) == []
    assert broken(submitted, *job("completed")) == ["submitted means an active job"]
    assert "submitted means an active job" in broken(submitted)


def test_an_end_is_that_of_the_newest_job() -> None:
    failed = Fact(ONE, "status", "failed", "show directories")
    planned = Fact(("request", "one", "a"), "directories", ("a",), "plan")
    assert broken(failed, planned, *job("timeout")) == []
    assert broken(failed, planned, *job("cancelled")) == ["its newest job"]


def test_what_is_eligible_is_planned_or_refused_once() -> None:
    eligible = Fact(ONE, "status", "eligible", "show directories")
    planned = Fact(("request", "one", "a"), "directories", ("a",), "plan")
    assert broken(eligible, LISTED, planned) == []
    assert broken(eligible, LISTED) == ["eligible = planned + refused"]
    assert broken(planned, LISTED, Fact(ONE, "status", "waiting", "show directories")) != []


def test_what_ran_twice_without_a_record_or_without_inputs_is_found() -> None:
    line = Ran("7", "one", "a", "there")
    assert broken(*job("completed"), ran=(line,)) == []
    assert broken(*job("completed"), ran=(line, line)) == ["ran once", "ran once"]
    assert "ran once" in broken(ran=(line,))
    assert broken(*job("failed"), ran=(line._replace(inputs="missing"),)) == [
        "ran before its inputs"
    ]


def test_a_network_counts_what_its_action_counts_and_what_was_edited_out_of_it() -> None:
    counts = {"completed": 1, "submitted": 0, "failed": 1, "unusable": 1}
    node = [Fact(("node", "one"), f"count.{it}", counts[it], "network show") for it in counts]
    sample = Fact(("sample", "one", "a"), "state", "completed", "network show")
    completed = Fact(("action", "one"), "count.completed", 1, "show status")
    assert broken(*node, sample, Fact(ONE, "status", "completed", "list"), completed) == []
    assert broken(*node, sample, completed._replace(value=0)) == []
    assert broken(*node, sample, completed) == ["a network's counts"]


def test_a_sample_that_waits_for_inputs_is_not_eligible() -> None:
    run = Fact(("project", "run"), "status", "running", "network show")
    sample = Fact(("sample", "one", "a"), "state", "waiting", "network show")
    planned = Fact(("request", "one", "a"), "directories", ("a",), "plan")
    eligible = Fact(ONE, "status", "eligible", "show directories")
    assert broken(run, sample) == []
    assert broken(run, sample, eligible, planned) == ["a sample's state"]
