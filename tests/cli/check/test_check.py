"""`rowtui check`: five mistakes in five files at once, in the forms that other programs read."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from rowtui.cli.check.check import github_lines, sarif
from rowtui.cli.check.files import KINDS, kind_of, schema_of
from rowtui.core.base.errors import Problem

from tests.cli.in_process import Here, prepared

ROOT = Path(__file__).parents[3]
WORKFLOW = """\
[[action]]
name = "one"
command = "touch workspace/{directory}/x"
products = ["x"]
"""
MISTAKES = {
    "workflow.toml": (WORKFLOW + "comand = 'x'\n", 5, "unknown key `comand`"),
    "mirror.toml": ("largest_mb = 0\n", 1, "`largest_mb` is 0 but must be at least 1"),
    "rowtui.toml": ("[[retry]]\non = 3\n", 2, "`on` must be an array of strings"),
    "mapping.yml": ("tools:\n  a:\n    context: 3\n", 3, "`context`"),
    "network.toml": ('[[node]]\nname = "one"\nfrom = []\n', 3, "`from` is an empty list"),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Here:
    return prepared(tmp_path, monkeypatch, capsys, WORKFLOW)


@pytest.fixture
def wrong(here: Here) -> Here:
    for name, (text, _, _) in MISTAKES.items():
        (here.folder / name).write_text(text)
    return here


def test_five_mistakes_in_five_files_are_found_in_one_call(wrong: Here) -> None:
    found = wrong.json("check", code=1)
    assert not found["ok"]
    assert {it["file"] for it in found["files"]} == MISTAKES.keys()
    places = {(it["file"], it["line"]): it["message"] for it in found["problems"]}
    for name, (_, line, message) in MISTAKES.items():
        assert message in places[name, line]
    text = wrong("check")
    assert text.code == 1
    assert text.out.endswith("5 files, 5 errors.\n")
    assert "workflow.toml:5:1: error: unknown key `comand` in `action`\n" in text.out
    assert not (wrong.folder / ".row").exists()


@pytest.mark.parametrize("name", MISTAKES)
def test_a_named_file_is_checked_alone_and_its_schema_finds_the_mistake_too(
    wrong: Here, name: str
) -> None:
    import tomli
    import yaml

    found = wrong.json("check", name, code=1)
    assert [it["file"] for it in found["problems"]] == [name]
    data = (wrong.folder / name).read_text()
    document = yaml.safe_load(data) if name.endswith(".yml") else tomli.loads(data)
    kind = kind_of(Path(name))
    assert kind is not None
    assert not Draft202012Validator(schema_of(kind)).is_valid(document)


def test_files_without_a_problem_are_counted_and_named_on_request(here: Here) -> None:
    (here.folder / "mirror.toml").write_text("largest_mb = 5\n")
    assert here("check").out == "2 files, no problem.\n"
    assert here("check", "-v").out.splitlines()[:2] == [
        "workflow.toml: no problem (workflow)",
        "mirror.toml: no problem (mirror)",
    ]
    assert here("check", "..").out == "0 files, no problem.\n"
    assert here("check", ".").out == "2 files, no problem.\n"


def test_warnings_alone_are_no_failure(here: Here) -> None:
    (here.folder / "workflow.toml").write_text(WORKFLOW + "resources.threads_per_process = 0\n")
    done = here("check")
    assert done.code == 0
    assert done.out.endswith("1 file, 1 warning.\n")


def test_outside_of_a_project_the_users_own_files_are_checked(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, row = here.home / ".config/rowtui", here.home / "nowhere/.config/row"
    (own / "themes").mkdir(parents=True)
    row.mkdir(parents=True)
    for path, text in (
        (own / "clusters.toml", '[[cluster]]\nname = "a"\nssh.host = "a"\nssh.port = 0\n'),
        (own / "messages.toml", "[[channel]]\nkind = 'slak'\n"),
        (own / "keys.toml", '"queue.cancel" = "hyperspace"\n'),
        (own / "commands.toml", '[[command]]\nkey = "f5"\nname = "x"\n'),
        (own / "themes/mine.toml", 'name = "mine"\nprimary = "nonsense"\n'),
        (row / "clusters.toml", "[[cluster]]\nname = 1\n"),
        (row / "launchers.toml", "[mpi.default]\nexecutable = 1\n"),
    ):
        path.write_text(text)
    monkeypatch.chdir(here.home)
    found = here.json("check", code=1)
    assert found["project"] is None
    kinds = {it["kind"] for it in found["files"]}
    assert kinds == KINDS.keys() - {"workflow", "network", "mapping", "rowtui", "mirror"}
    assert {it["file"] for it in found["problems"]} == {it["file"] for it in found["files"]}
    assert all(it["line"] for it in found["problems"])
    assert "There is no project here" in here("check").err


def test_files_that_are_none_of_ours_or_not_there_are_reported(here: Here) -> None:
    (here.folder / "notes.toml").write_text("")
    found = here.json("check", "notes.toml", "network.toml", code=1)
    assert [it["message"] for it in found["problems"]] == [
        "this is not the name of a file that rowtui reads",
        "there is no such file",
    ]
    os.mkfifo(here.folder / "mirror.toml")
    assert "not a regular file" in here("check", "mirror.toml").out


def test_schemas_are_printed_by_name(here: Here) -> None:
    assert json.loads(here("schema", "workflow").out) == schema_of("workflow")
    assert here("mapping", "schema").out == here("schema", "mapping").out
    assert [line.split()[0] for line in here("schema").out.splitlines()[1:]] == [*KINDS]
    assert "did you mean 'workflow'?" in here("schema", "workflo").err


@pytest.mark.parametrize("kind", KINDS)
def test_editors_have_a_sentence_for_each_key(kind: str) -> None:
    def bare(schema: Any, at: str) -> list[str]:
        if isinstance(schema, list):
            return [it for index, each in enumerate(schema) for it in bare(each, f"{at}/{index}")]
        if not isinstance(schema, dict):
            return []
        named = schema.get("properties", {})
        found = [f"{at}.{name}" for name, each in named.items() if not _has_words(each)]
        return found + [it for word, each in schema.items() for it in bare(each, f"{at}/{word}")]

    assert bare(schema_of(kind), "") == []


def _has_words(schema: Any) -> bool:
    return bool(schema.get("description") or schema.get("deprecated"))


def test_the_hook_is_given_every_kind_of_file_and_no_other(here: Here) -> None:
    import yaml

    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    pattern = re.compile(hook["files"])
    for kind in KINDS.values():
        place = kind.place.replace("~/", "").replace("*", "mine")
        assert pattern.search(place)
        assert pattern.search(f"some/where/{place}")
    for other in (
        "src/keys.toml",
        "a.toml",
        "workflow.toml.bak",
        "xworkflow.toml",
        "themes/a.toml",
    ):
        assert not pattern.search(other)
    (here.folder / "mirror.toml").write_text("largest_mb = 0\n")
    assert here(*hook["entry"].split()[1:], "workflow.toml", "mirror.toml").code == 1


HOSTILE = Problem("a,b:c%/ö x.toml", 3, 4, "100 % wrong", "one\r\ntwo", "warning")


def test_annotations_are_escaped_for_github() -> None:
    assert list(github_lines([HOSTILE, HOSTILE._replace(line=0, hint="")])) == [
        "::warning file=a%2Cb%3Ac%25/ö x.toml,line=3,col=4::100 %25 wrong%0Aone%0D%0Atwo",
        "::warning file=a%2Cb%3Ac%25/ö x.toml::100 %25 wrong",
    ]


def test_a_report_has_what_sarif_requires(wrong: Here) -> None:
    done = wrong("check", "--format", "sarif")
    assert done.code == 1
    report = json.loads(done.out)
    assert report["version"] == "2.1.0"
    (run,) = report["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "rowtui"
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules)
    assert len(run["results"]) == 5
    for result in run["results"]:
        assert result["ruleId"] in rules
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        (place,) = result["locations"]
        assert place["physicalLocation"]["artifactLocation"]["uri"] in MISTAKES
        assert place["physicalLocation"]["region"]["startLine"] >= 1
        assert place["physicalLocation"]["region"]["startColumn"] >= 1
    (odd,) = sarif([HOSTILE._replace(line=0)], {})["runs"][0]["results"]
    place = odd["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "a%2Cb%3Ac%25/%C3%B6%20x.toml"}}
    assert "ruleId" not in odd
