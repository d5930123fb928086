"""The differential tester itself: cases can be made again, are sound, and differences are found."""

from __future__ import annotations

import copy
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from tests.differential_mapping import compare, snippets
from tests.differential_mapping.compare import Difference, Known, differences, ours
from tests.differential_mapping.generate import Case, case, documents_of
from tests.differential_mapping.mistakes import MISTAKES
from tests.differential_mapping.tpv_process import GIB, make_job, make_tool, make_user, write_files

ANSWER: dict[str, Any] = {
    "ok": True,
    "destination": "d",
    "runner": "r",
    "cores": 4,
    "mem": 8.0,
    "gpus": None,
    "env": [{"name": "A", "value": "1"}],
    "params": {"a": "x", "b": [1, 2]},
    "resubmit": [],
    "handler_tags": [],
    "entity": {
        "id": "tpv_rule_7, Rule: tpv_rule_7",
        "cores": 4,
        "mem": 8.0,
        "gpus": None,
        "tags": {"require": ["x", "y"], "prefer": [], "accept": [], "reject": []},
    },
    "ranked": [{"id": "d", "score": 3}, {"id": "e", "score": 3}],
    "matched_entities": ["Tool:t", "User:.*"],
}
FAILED: dict[str, Any] = {
    "ok": False,
    "phase": "map",
    "error": {"class": "JobMappingException", "message": "no"},
    "matched_entities": ["Tool:t"],
}


LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Read = tuple[Case, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [case(seed) for seed in range(150)]


@pytest.fixture(scope="module")
def read(cases: list[Case]) -> list[Read]:
    """Cases whose text is as it was made, with their files read."""
    return [
        (each, [yaml.load(text, LOADER) for text in each.files.values()])
        for each in cases
        if each.mistake != "duplicate key"
    ]


def test_a_case_is_always_the_same_for_one_seed(cases: list[Case]) -> None:
    assert [case(seed) for seed in range(20)] == cases[:20]
    assert len({str(each.files) for each in cases}) == len(cases)


def test_files_are_yaml_and_every_case_has_destinations_and_requests(read: list[Read]) -> None:
    for each, documents in read:
        assert 3 <= len(each.requests) <= 6
        assert any(document.get("destinations") for document in documents), each.seed


def test_most_cases_are_sound_and_all_their_entities_are_maps(read: list[Read]) -> None:
    sound = [documents for each, documents in read if not each.mistake]
    assert len(sound) > len(read) * 0.8
    for document in (document for documents in sound for document in documents):
        for kind in ("tools", "roles", "users", "destinations"):
            assert all(isinstance(entity, dict) for entity in document.get(kind, {}).values())


def test_parents_of_sound_cases_exist_in_the_same_or_an_earlier_file(read: list[Read]) -> None:
    for each, documents in read:
        known: dict[str, set[str]] = {}
        for document in documents if not each.mistake else ():
            for kind in ("tools", "roles", "users", "destinations"):
                entities = document.get(kind, {})
                known.setdefault(kind, set()).update(entities)
                parents = {entity.get("inherits") for entity in entities.values()} - {None}
                assert parents <= known[kind], each.seed


def test_all_that_the_format_has_turns_up(cases: list[Case]) -> None:
    text = "\n".join("\n".join(each.files.values()) for each in cases)
    for word in (
        *("default_inherits", "context", "abstract", "inherits", "cores", "mem", "gpus", "env"),
        *("min_cores", "max_cores", "min_mem", "max_mem", "min_gpus", "max_gpus", "params"),
        *("rank", "resubmit", "require", "prefer", "accept", "reject", "rules", "if", "execute"),
        *("fail", "id", "max_accepted_cores", "max_accepted_mem", "max_accepted_gpus", "runner"),
        *("min_accepted_cores", "min_accepted_mem", "min_accepted_gpus", "tags", "file"),
        *("destination_name_override", "users", "roles", "tools", "destinations", "global"),
    ):
        assert f"{word}:" in text, word
    assert {len(each.files) for each in cases} >= {1, 2, 3}
    assert {bool(request["user"]) for each in cases for request in each.requests} == {True, False}


def test_every_mistake_turns_up_and_is_named() -> None:
    found = {documents_of(Random(seed))[1] for seed in range(1200)}
    assert found == {"", *MISTAKES}


@pytest.mark.parametrize(
    "code",
    [
        *(*snippets.CORES, *snippets.MEM, *snippets.GPUS, *snippets.MINIMA, *snippets.MAXIMA),
        *(*snippets.CONDITIONS, *snippets.DESTINATION_CONDITIONS, *snippets.EXECUTES),
        *(*snippets.RANKS, snippets.NEXT_OR_FAIL, snippets.NEXT_OR_WAIT, snippets.NEXT_IF_LARGE),
        *(f"f'''{text}'''" for text in (*snippets.TEXTS, *snippets.FAILS)),
    ],
)
def test_pieces_of_code_that_are_not_odd_compile(code: str) -> None:
    compile(code, "<piece>", "exec")


def test_equal_answers_do_not_differ_whatever_the_numbers_of_rules_without_id() -> None:
    other = copy.deepcopy(ANSWER)
    other["entity"]["id"] = "tpv_rule_123, Rule: tpv_rule_123"
    other["entity"]["tags"]["require"] = ["y", "x"]
    other["params"] = {"b": [1, 2], "a": "x"}
    assert differences(ANSWER, other) == []


@pytest.mark.parametrize(
    ("path", "value", "kind"),
    [
        (("destination",), "e", "destination"),
        (("runner",), None, "runner"),
        (("cores",), 4.0, "cores"),
        (("cores",), "4", "cores"),
        (("gpus",), 0, "gpus"),
        (("env",), [], "env"),
        (("params", "b"), [2, 1], "params"),
        (("params", "a"), "y", "params"),
        (("resubmit",), [{"condition": "c"}], "resubmit"),
        (("handler_tags",), ["h"], "handler_tags"),
        (("ranked",), [{"id": "e", "score": 3}, {"id": "d", "score": 3}], "ranked"),
        (("ranked", 1, "score"), 2, "ranked"),
        (("matched_entities",), ["Tool:t"], "matched_entities"),
        (("entity", "id"), "t", "entity: id"),
        (("entity", "cores"), 5, "entity: cores"),
        (("entity", "tags", "require"), ["x"], "entity: tags require"),
        (("entity", "tags", "reject"), ["q"], "entity: tags reject"),
        (("entity",), None, "entity: reached or not"),
    ],
)
def test_a_change_of_any_part_is_found(path: tuple[Any, ...], value: Any, kind: str) -> None:
    other = copy.deepcopy(ANSWER)
    part = other
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    assert [each.kind for each in differences(ANSWER, other)] == [kind]


def test_errors_are_compared_by_phase_and_class_and_mapping_errors_by_message() -> None:
    def failed(**changes: Any) -> dict[str, Any]:
        error = FAILED["error"] | changes.pop("error", {})
        return FAILED | changes | {"error": error}

    def kinds(tpv: dict[str, Any], own: dict[str, Any]) -> list[str]:
        return [each.kind for each in differences(tpv, own)]

    assert kinds(FAILED, failed()) == []
    assert kinds(FAILED, failed(phase="load")) == ["error: phase"]
    assert kinds(FAILED, failed(error={"class": "NameError"})) == ["error: class"]
    assert kinds(FAILED, failed(error={"message": "yes"})) == ["error: message"]
    name_error = failed(error={"class": "NameError"})
    assert kinds(name_error, failed(error={"class": "NameError", "message": "other"})) == []
    assert kinds(FAILED, ANSWER) == ["mapped or not"]


def test_of_an_abstract_entity_only_the_sentence_counts() -> None:
    sentence = "This entity is abstract and cannot be mapped"
    messages = (f"{sentence} : id='t' evaluator=<object at 0x7f01>", sentence)
    one, other = (
        FAILED | {"error": {"class": "JobMappingException", "message": text}} for text in messages
    )
    assert differences(one, other) == []


def test_a_difference_that_is_meant_carries_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_runner(tpv: dict[str, Any], _files: object, difference: Difference) -> bool:
        return difference.kind == "runner" and bool(tpv["ok"])

    monkeypatch.setattr(compare, "KNOWN", (Known("runners have other names", of_runner),))
    other = ANSWER | {"runner": "z", "cores": 5}
    found = differences(ANSWER, other, {})
    assert {each.kind: each.reason for each in found} == {
        "runner": "runners have other names",
        "cores": "",
    }


def test_every_reason_is_one_of_the_documented_differences() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "mapping.md").read_text(encoding="utf-8")
    _, _, table = documented.partition("## Differences from TPV")
    assert [each.reason for each in compare.KNOWN if each.reason not in table] == []


def test_a_syntax_error_that_a_later_file_replaces_is_a_difference_with_a_reason() -> None:
    told = "f-string: empty expression not allowed (<unknown>, line 1)"
    failed = FAILED | {"phase": "load", "error": {"class": "SyntaxError", "message": told}}
    first = "destinations: {d: {runner: r, params: {a: '{}'}}}"
    later = "destinations: {d: {params: {a: x}}}"
    [found] = differences(failed, ANSWER, {"a.yml": first, "b.yml": later})
    assert found.reason == "code that a later file replaces is not checked"
    [found] = differences(failed, ANSWER, {"a.yml": later, "b.yml": first})
    assert found.reason == ""


BARE = """
global: {default_inherits: default}
tools: {t: {rank: "[d for d in mapper.destinations.values() if not d.abstract]"}}
destinations: {default: {abstract: true, params: {a: x}}, d: {runner: r}, e: {runner: r}}
"""


def test_destinations_that_rank_takes_from_the_mapper_may_differ_by_their_defaults() -> None:
    scores = {"ranked": [{"id": "d", "score": 2}, {"id": "e", "score": 2}]}
    [found] = differences(ANSWER, ANSWER | scores, {"a.yml": BARE})
    assert (found.kind, "mapper.destinations" in found.reason) == ("ranked", True)
    [found] = differences(ANSWER, ANSWER | {"params": {}}, {"a.yml": BARE})
    assert (found.kind, "mapper.destinations" in found.reason) == ("params", True)


def test_destinations_that_rank_takes_from_the_mapper_come_in_the_same_order() -> None:
    turned = {"ranked": ANSWER["ranked"][::-1]}
    [found] = differences(ANSWER, ANSWER | turned, {"a.yml": BARE})
    assert found.reason == ""
    no_default = BARE.replace("default_inherits: default", "context: {}")
    [found] = differences(ANSWER, ANSWER | {"params": {}}, {"a.yml": no_default})
    assert found.reason == ""


def test_a_crash_of_ours_is_an_answer_that_agrees_with_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def crash(_files: dict[str, str], _request: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError("boom")

    monkeypatch.setattr(compare, "answer_with_rowtui", crash)
    (own,) = ours({}, [{"tool_id": "t"}])
    assert differences(ANSWER, own)[0].kind == "mapped or not"
    assert next(each.kind for each in differences(FAILED, own)) == "error: phase"


def test_the_stand_ins_have_what_expressions_look_at() -> None:
    job = make_job({"input_size": 2.5, "params": {"mode": "fast"}}, 7)
    assert [each.dataset.dataset.get_size() for each in job.input_datasets] == [2.5 * GIB]
    assert (job.id, job.get_param_values(None)) == (7, {"mode": "fast"})
    assert make_job({"input_size": None}, 1).input_datasets == []
    assert make_tool("shed/iuc/fastqc/0.9+galaxy1").version == "0.9+galaxy1"
    assert make_tool("bwa").version is None
    user = make_user({"email": "a@x.org", "roles": ["r1", "r2"]})
    assert user is not None
    assert [role.name for role in user.all_roles()] == ["r1", "r2"]
    assert make_user(None) is None


def test_files_are_written_in_order_and_only_inside_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    assert write_files({"z/b.yml": "tools: {}", "a.yml": "ü"}) == ["z/b.yml", "a.yml"]
    assert (inside / "a.yml").read_text(encoding="utf-8") == "ü"
    for name in ("../out.yml", str(tmp_path / "out.yml"), "z/../../out.yml"):
        with pytest.raises(ValueError, match="inside the folder"):
            write_files({name: "x"})
    assert list(tmp_path.iterdir()) == [inside]
