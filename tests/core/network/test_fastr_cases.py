"""What Fastr made of small networks, our flow makes of them, or there is a reason why not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rowtui.core.network.definition.load import parse_network
from rowtui.core.network.definition.spec import Require
from rowtui.core.network.definition.structure import needed_by_sinks
from rowtui.core.network.samples.combine import cross, zipped
from rowtui.core.network.samples.domain import Domain
from rowtui.core.network.samples.link import LinkStage, SubInput
from rowtui.core.network.samples.model import DimensionError
from rowtui.core.network.samples.node_run import InputGroup, InputStage, NodeRun
from rowtui.core.network.samples.output import UNKNOWN, Entries, NodeOutput

from tests.core.network.fastr_run import Run, single_table
from tests.core.network.sample_names import sample_name
from tests.core.network.sample_view import SampleState, View
from tests.differential_network.compare import TOOLS, Planned

CASES: dict[str, Any] = {
    case["name"]: case
    for case in json.loads((Path(__file__).parent / "fastr_cases.json").read_text())["cases"]
}
SAME = sorted(it for it in CASES if CASES[it]["agree_with_fastr"] == "same")
EXTENDED = ["c29_failure_collapse"]  # the default is Fastr's; what we add has a test of its own


def run_case(name: str) -> Run:
    return Run(CASES[name]["network"])


def fastr(name: str) -> Any:
    return CASES[name]["fastr_3_4_0"]


def job_name(node: str, parts: tuple[str, ...], value: int | None = None) -> str:
    """What Fastr calls a job."""
    ending = "" if value is None else f"___{value}"
    return f"{node}___{'__'.join(parts)}{ending}"


# The same as Fastr


@pytest.mark.parametrize("name", [*SAME, *EXTENDED])
def test_dimensions_ids_and_values_are_those_of_fastr(name: str) -> None:
    run = run_case(name)

    for node, wanted in fastr(name)["nodes"].items():
        for output_name, of_fastr in wanted.get("outputs", {}).items():
            output = View(run.outputs[node][output_name])
            samples = output.items()
            assert [list(dimension) for dimension in output.dimensions] == of_fastr["dims"]
            assert list(output.size) == of_fastr["size"]
            assert [list(index) for index, _ in samples] == [
                it["index"] for it in of_fastr["samples"]
            ]
            for (index, sample), its in zip(samples, of_fastr["samples"], strict=True):
                assert list(sample.id) == its["id_parts"]
                assert "__".join(sample.id) == its["id"]
                assert sample.state.name == its["status"]
                if sample.state is SampleState.VALID:
                    assert list(sample.data) == its["values"]
                assert output[sample.id] == output[index] == sample
                if "failed_jobs" in its:
                    roots = run.done[node, sample.id].roots
                    assert sorted(job_name(*root) for root in roots) == sorted(its["failed_jobs"])
        if "sample_ids" in wanted:
            sink = View(run.nodes[node])
            assert [list(dimension) for dimension in sink.dimensions] == wanted["dims"]
            assert ["__".join(label) for label in sink.ids] == wanted["sample_ids"]
            values = [dict(sample.data)["input"] for _, sample in sink.items()]
            assert [len(each) for each in values] == wanted["cardinality"]


@pytest.mark.parametrize("name", [*SAME, *EXTENDED])
def test_jobs_and_what_they_wait_for_are_those_of_fastr(name: str) -> None:
    run = run_case(name)
    wanted = fastr(name)

    assert Counter(job.node for job in run.jobs) == wanted["job_count"]
    jobs = {job_name(job.node, job.id, job.value): job for job in run.jobs}
    assert len(jobs) == len(run.jobs)
    assert sorted(jobs) == sorted(it["id"] for it in wanted["jobs"])
    for its in wanted["jobs"]:
        job = jobs[its["id"]]
        assert list(job.index) == its["index"]
        assert sorted(job_name(*each) for each in job.depends_on) == sorted(its["depends_on"])
        # What works on absent data is skipped: Fastr notes that as a failure of the first job.
        assert its["final"] == ("failed" if job.final == "missing" else job.final)


@pytest.mark.parametrize("name", [*SAME, *EXTENDED])
def test_a_run_ends_as_in_fastr(name: str) -> None:
    run = run_case(name)
    wanted = fastr(name)

    for node, results in wanted["sink_results"].items():
        ended = {"__".join(key): its for (of, key), its in run.done.items() if of == node}
        assert set(ended) == set(results)
        for label, its in results.items():
            assert ended[label].state.name == its["sample"]
            assert ended[label].final == its["job"]
            roots = [job_name(*root) for root in ended[label].roots]
            assert sorted(roots) == sorted(its["failed"])
    sinks = [it for it in wanted["nodes"] if wanted["nodes"][it]["kind"] == "SinkNodeRun"]
    states = [its.state for (node, _), its in run.done.items() if node in sinks]
    assert (SampleState.FAILED not in states) == wanted["run_result"]


@pytest.mark.parametrize(
    ("name", "sides"),
    [
        ("c05_size_mismatch", ["left (3)", "right (2)"]),
        ("c08_broadcast_unknown_dim", ["fixed (2) x moving (3)", "other (2)"]),
        ("c24_multi_link_conflict", ["source (3)", "other (2)"]),
    ],
)
def test_what_fastr_refuses_is_refused_with_both_sides_named(name: str, sides: list[str]) -> None:
    assert CASES[name]["agree_with_fastr"] == "same-error"

    with pytest.raises(DimensionError) as refused:
        run_case(name)

    for side in sides:
        assert side in str(refused.value)


def test_a_bare_tuple_as_a_source_is_a_detail_of_the_interface_of_fastr() -> None:
    case = CASES["c03b_bare_tuple_rejected"]
    assert (case["agree_with_fastr"], case["comment"]) == ("skip", "API detail of fastr")
    assert "Invalid source data" in case["fastr_3_4_0"]["error"]

    # What it refuses to take is one sample of three values, which a list of one says as well.
    one = {**case["network"], "source_data": {"source": [[1, 2, 3]]}}
    assert Run(one).values("add") == {("id_0",): (11, 22, 33)}


def test_no_case_is_passed_over() -> None:
    tested = {
        name
        for name in globals()
        if name.startswith("test_c") and name.split("_")[1][1:3].isdigit()
    }
    apart = [it for it in CASES if CASES[it]["agree_with_fastr"] in ("differ", "extend")]

    assert len(CASES) == 38
    for name in apart:
        assert any(test.split("_")[1] == name.split("_")[0] for test in tested), name
    kinds = Counter(case["agree_with_fastr"] for case in CASES.values())
    assert kinds == {"same": 23, "same-error": 3, "differ": 9, "extend": 2, "skip": 1}


# Not as in Fastr, and why

C41 = """
[[source]]
name = "source"
values = { letter = ["a", "b"] }

[[node]]
name = "add"
from = "source"

[[node]]
name = "unused"
from = "source"

[[sink]]
name = "sink"
from = "add"
output = "result"
publish = "{sample}"
"""


def test_c04_samples_of_unrelated_sources_are_paired_only_if_asked_for() -> None:
    # Fastr adds x to a because both come first: a sample more on one side, and all pairs change.
    with pytest.raises(DimensionError, match=r"right \(3\).*left \(3\)"):
        run_case("c04_pair_by_position")

    left, right = single_table("left", "a", "b", "c"), single_table("right", "x", "y", "z")
    pairs = zipped([left, right])
    assert [pairs.columns.id(row) for row in range(3)] == [("a",), ("b",), ("c",)]
    assert [rows.tolist() for rows in pairs.rows] == [[0, 1, 2], [0, 1, 2]]


def test_c20_a_list_of_dimensions_to_merge_works() -> None:
    # Fastr crashes (KeyError): it looks for the input groups before they are there.
    run, wanted = run_case("c20_merge_list"), fastr("c19_merge_all")

    result = wanted["nodes"]["z"]["outputs"]["result"]
    assert [list(it) for it in View(run.nodes["z"]).dimensions] == result["dims"]
    assert [list(label) for label in View(run.nodes["z"]).ids] == [
        it["id_parts"] for it in result["samples"]
    ]
    assert [list(it) for it in run.values("z").values()] == [
        it["values"] for it in result["samples"]
    ]
    assert Counter(job.node for job in run.jobs) == wanted["job_count"]


def test_c25b_a_slice_of_the_cardinality_is_taken() -> None:
    # Fastr takes it for valid, and crashes when the run begins.
    run = run_case("c25b_suboutput_slice")

    assert run.values("one") == {("a",): (1 + 2,), ("b",): (4 + 5,)}
    assert Counter(job.node for job in run.jobs) == {"add": 2, "one": 2, "s1": 2}


def test_c29_a_collapse_can_do_with_some_of_its_members() -> None:
    # Fastr has all or nothing, which is the default here as well (see above).
    run = run_case("c29_failure_collapse")
    (job,) = (job for job in run.jobs if job.node == "sum")
    members = [run.done[each].state for each in sorted(job.depends_on)]

    assert members == [SampleState.VALID, SampleState.FAILED, SampleState.VALID]
    good = members.count(SampleState.VALID)
    assert good < Require().least(len(members))
    assert good >= Require(number=2).least(len(members))
    assert good >= Require(share=0.5).least(len(members))


def test_c33_outputs_of_a_flow_node_have_samples_of_their_own() -> None:
    # In Fastr the outputs stay empty, and the run is called a success.
    run = run_case("c33_flow_node")

    train, test = View(run.outputs["cv"]["train"]), View(run.outputs["cv"]["test"])
    assert (train.dimnames, train.size) == (("numbers_train", "cv"), (5, 3))
    assert (test.dimnames, test.size) == (("numbers_test", "cv"), (5, 3))
    assert run.values("cv", "test") == {
        ("a", "0"): (1,),
        ("b", "0"): (2,),
        ("c", "1"): (3,),
        ("d", "1"): (4,),
        ("e", "2"): (5,),
    }
    assert set(train.ids) == {(item, fold) for item in "abcde" for fold in "012"} - set(test.ids)
    assert Counter(job.node for job in run.jobs) == {"cv": 1, "sink1": 10, "sink2": 5}
    assert all(job.depends_on == {("cv", ("FLOW",))} for job in run.jobs if job.node != "cv")
    assert run.rounds > 1  # before the job has run, nobody knows of any sample


def test_c33b_train_and_test_are_merged_on_their_fold() -> None:
    # Fastr's own example, which fails there.
    run = run_case("c33b_flow_merge")

    fold = "crossvalidtion"
    assert View(run.nodes["multiply"]).dimnames == ("numbers_train", "numbers_test", fold)
    assert View(run.nodes["sum"]).dimnames == ("numbers_test", fold)
    assert Counter(job.node for job in run.jobs) == {
        fold: 1,
        "multiply": 3 * 2 + 3 * 2 + 4 * 1,
        "sum": 5,
        "sink": 5,
    }
    assert run.values("sum") == {
        ("id_0", "0"): (0 * (2 + 3 + 4),),
        ("id_1", "0"): (1 * (2 + 3 + 4),),
        ("id_2", "1"): (2 * (0 + 1 + 4),),
        ("id_3", "1"): (3 * (0 + 1 + 4),),
        ("id_4", "2"): (4 * (0 + 1 + 2 + 3),),
    }


def test_c36_equal_sizes_do_not_hide_that_dimensions_are_the_other_way_round() -> None:
    # Fastr looks at sizes before names, and adds b0__a1 to a0__b1: 33 twice, and nobody is told.
    run = run_case("c36_permuted_equal")

    assert View(run.nodes["z"]).dimnames == ("A", "B")
    assert run.values("z") == {
        ("a0", "b0"): (22,),
        ("a0", "b1"): (42,),
        ("a1", "b0"): (24,),
        ("a1", "b1"): (44,),
    }
    needs = {job.id: job.depends_on for job in run.jobs if job.node == "z"}
    assert needs["a0", "b1"] == {("p", ("a0", "b1")), ("q", ("b1", "a0"))}
    assert Counter(job.node for job in run.jobs) == fastr("c36_permuted_equal")["job_count"]


def test_c39_what_a_job_lists_becomes_samples_that_are_called_after_the_data() -> None:
    # Fastr counts them (id_1_0, ...), so that another order of the list means other samples.
    lists = {"id_0": [1], "id_1": [7, 1, 12, 9]}
    table = single_table("source", *lists)

    def flow(*, ran: bool) -> NodeRun:
        cards = [len(it) for it in lists.values()] if ran else [UNKNOWN, UNKNOWN]
        members = Domain("member", dict.fromkeys(it for those in lists.values() for it in those))
        codes = [members.code(it) for those in lists.values() for it in those] if ran else []
        starts = np.concatenate(([0], np.cumsum(np.maximum(cards, 0))))
        entries = Entries(members, starts, np.array(codes, dtype=np.int32))
        output = NodeOutput(
            table, 0, cards=np.array(cards, dtype=np.int32), lists={"member": entries}
        )
        part = InputStage("left_hand", [SubInput(LinkStage(output, expand="member"))])
        return NodeRun(1, "add", [InputGroup("default", [part])])

    assert View(flow(ran=False)).ids == []
    assert flow(ran=False).opens.rows.tolist() == [0, 1]
    run = View(flow(ran=True))
    assert set(run.ids) == {(one, str(value)) for one, those in lists.items() for value in those}
    assert len(run.ids) == fastr("c39_source_url_list")["job_count"]["add"]
    assert all(sample.jobs == {(0, index[0])} for index, sample in run.items())


def test_c41_a_node_that_no_sink_needs_is_not_run_and_named_in_a_warning() -> None:
    # Fastr calls the whole network invalid.
    run = run_case("c41_unused_node")
    assert Counter(job.node for job in run.jobs) == {"add": 2, "sink": 2}

    loaded = parse_network(C41.encode(), "network.toml", "case")
    assert needed_by_sinks(loaded.network) == {"source", "add"}
    (problem,) = loaded.problems
    assert problem.severity == "warning"
    assert "'unused'" in problem.message


def test_c45_two_samples_never_have_the_same_id() -> None:
    # Fastr joins the parts with `__`, so that a, b__c and a__b, c share a job and a result.
    run = run_case("c45_id_collision")

    assert run.values("register") == {
        ("a", "b__c"): (11,),
        ("a", "c"): (21,),
        ("a__b", "b__c"): (12,),
        ("a__b", "c"): (22,),
    }
    names = {
        sample_name("register", ("fixed", "moving"), label)
        for label in View(run.nodes["register"]).ids
    }
    assert len(names) == 4
    assert Counter(job.node for job in run.jobs) == fastr("c45_id_collision")["job_count"]


def test_c48_an_empty_source_has_no_samples_and_no_jobs() -> None:
    # Fastr crashes (ValueError).
    run = run_case("c48_empty_source")

    assert run.jobs == []
    assert View(run.nodes["add"]).size == (0,)
    assert View(run.nodes["sink"]).ids == []


# What is known of Fastr beyond the recorded networks


@pytest.mark.parametrize("third", ["in0", "in1", "in2"])
def test_ragged_lists_that_meet_twice_make_no_job_for_a_missing_entry(third: str) -> None:
    # Fastr 3.4.0 plans these six jobs, too, whichever input is the third, and runs them.
    first, second = (name for name in ("in0", "in1", "in2") if name != third)
    links = [("A", first, True), ("A", second, True), ("C", third, False)]
    described = {
        "nodes": {
            "A": {"kind": "SourceNode"},
            "C": {"kind": "SourceNode"},
            "n": {"kind": "Node", "tool": "One3:1.0", "input_groups": {third: "other"}},
            "sink": {"kind": "SinkNode"},
        },
        "links": [
            {"src": f"{source}/outputs/output", "dst": f"n/inputs/{name}/0", "collapse": [],
             "expand": expands}
            for source, name, expands in links
        ] + [{"src": "n/outputs/result", "dst": "sink/inputs/input/0", "collapse": [],
              "expand": False}],
        "source_data": {"A": [["a", [1, 2]], ["b", [3]]], "C": [["c0", 4], ["c1", 5]]},
    }  # fmt: skip
    jobs = Planned(described, TOOLS).jobs_of("n")
    assert sorted(job["given"][first] for job in jobs) == [[1], [1], [2], [2], [3], [3]]
    assert all(job["given"][first] == job["given"][second] for job in jobs)


def test_the_cross_product_has_no_limit_of_two() -> None:
    tables = [single_table(name, f"{name}0", f"{name}1") for name in "ABC"]
    together = cross(tables)
    assert together.columns.names == ("A", "B", "C")
    assert together.columns.id(5) == ("A1", "B0", "C1")
