"""`rowtui mapping lint | format | test | show | schema` on real files."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest
import yaml
from rowtui.core.mapping.files.load import load_mapping
from rowtui.core.mapping.files.places import MappingSource
from rowtui.core.mapping.files.trust import digest_of
from rowtui.core.mapping.lint.lint import CODES

from tests.cli.in_process import Here, prepared

WORKFLOW = """\
[[action]]
name = "sample"
command = "touch workspace/{directory}/x"
products = ["x"]
"""
GOOD = """\
global:
  default_inherits: default

tools:
  default:
    cores: 2
    mem: cores * 4

  sample:
    mem: 12
    env:
      GREETING: hello {user.name}
    rules:
      - id: late
        if: attempt > 1
        cores: 4
        mem: 16

destinations:
  only:
    runner: none
    cores: 8
"""
SEED_CASES = """\
- name: the usual
  tool: sample
  user: jane
  expect: {destination: only, cores: 2, mem: 12}
- name: again
  tool: sample
  user: jane
  attempt: 2
  expect: {destination: only, cores: 4}
"""


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    """A project of one action without a mapping file."""
    return prepared(tmp_path, monkeypatch, capsys, WORKFLOW)


def write(here: Here, name: str, text: str) -> Path:
    path = here.folder / name
    path.write_text(text)
    return path


# lint


def test_a_good_file_has_nothing_to_lint(here: Here) -> None:
    here.mapping(GOOD, trusted=False)
    done = here("mapping", "lint", "--strict", "--ignore", "T101")
    assert (done.code, done.out) == (0, "No findings in 1 file.\n")


def test_findings_look_like_a_compiler_s_with_the_line_and_a_caret(here: Here) -> None:
    write(here, "x.yml", 'tools:\n  a:\n    mem: 3\n    cores: "1 +"\n')
    done = here("mapping", "lint", "x.yml")
    assert done.code == 1
    assert done.out.splitlines() == [
        "x.yml:4:12: error M001: cores of tool a: invalid syntax",
        '     4 |     cores: "1 +"',
        "       |            ^",
        "1 error in 1 file.",
    ]


def test_warnings_fail_only_when_it_is_strict(here: Here) -> None:
    write(here, "x.yml", "tools:\n  a: {cores: 3}\n")
    assert here("mapping", "lint", "x.yml").code == 0
    assert here("mapping", "lint", "--strict", "x.yml").code == 1
    done = here("mapping", "lint", "x.yml", "--strict", "--ignore", "t102")
    assert (done.code, done.out) == (0, "No findings in 1 file.\n")


def test_lint_in_json_has_the_same_findings(here: Here) -> None:
    write(here, "x.yml", "tools:\n  a: {cores: 3, memm: 4}\n")
    data = here.json("mapping", "lint", "x.yml")
    assert data["files"] == ["x.yml"]
    assert (data["errors"], data["warnings"], data["notes"]) == (0, 2, 0)
    assert {(each["code"], each["line"], each["column"]) for each in data["findings"]} == {
        ("T102", 2, 14),
        ("T104", 2, 17),
    }


def test_only_known_codes_can_be_ignored(here: Here) -> None:
    done = here("mapping", "lint", "--ignore", "T120")
    assert done.code == 2
    assert "there is no code T120; did you mean" in done.err
    assert here.json("mapping", "lint", "--codes")["codes"] == dict(CODES)
    assert "T102" in here("mapping", "lint", "--codes").out


def test_a_file_that_is_not_there_is_a_finding_and_the_others_are_checked(here: Here) -> None:
    write(here, "x.yml", "tools:\n  a: {cores: 3}\n")
    done = here("mapping", "lint", "nix.yml", "x.yml")
    assert done.code == 1
    assert "nix.yml: error M001: cannot be read: No such file or directory" in done.out
    assert "warning T102" in done.out
    assert here("mapping", "lint", "nix.yml").out.splitlines()[-1] == "1 error."


def test_lint_runs_nothing_and_shows_nothing_that_steers(here: Here) -> None:
    proof = here.folder / "ran"
    code = f"__import__('pathlib').Path({str(proof)!r}).touch() or 3"
    text = 'tools:\n  "a\\e[2Jb":\n    cores: {code}\n    zz\x9b: 1\n'
    write(here, "x\n.yml", text.replace("{code}", json.dumps(code)))
    done = here("mapping", "lint", "x\n.yml")
    assert "x\\n.yml:" in done.out
    assert "\x9b" not in done.out
    assert not proof.exists()


def test_lint_works_without_a_project(here: Here, tmp_path: Path) -> None:
    os.chdir(tmp_path)
    done = here("mapping", "lint")
    assert (done.code, done.out) == (0, "There are no mapping files.\n")


def test_the_user_s_own_files_are_checked_before_the_project_s(here: Here) -> None:
    own = here.home / ".config" / "rowtui" / "mapping"
    own.mkdir(parents=True)
    (own / "site.yml").write_text("tools:\n  a: {cores: 3}\n")
    here.mapping("tools:\n  b: {cores: 3}\n", trusted=False)
    data = here.json("mapping", "lint")
    assert data["files"] == ["~/.config/rowtui/mapping/site.yml", "mapping.yml"]
    assert [each["file"] for each in data["findings"] if each["code"] == "T102"] == data["files"]


def test_the_caret_stands_below_wide_and_invisible_characters(here: Here) -> None:
    write(here, "x.yml", 'tools:\n  日本: {cores: 3}\n  "a\tb": {cores: 3}\n')
    lines = here("mapping", "lint", "x.yml").out.splitlines()
    shown = [line for line in lines if " | " in line]
    wide, caret, tabbed, caret_2 = shown
    assert wide.index("3}") + 2 == caret.index("^")  # two characters of double width
    assert "a\\tb" in tabbed
    assert tabbed.index("3}") == caret_2.index("^")


# format


UGLY = "tools:\n  b: {cores: 3}\n  a:\n      mem: 4\n      cores: 2\n"


def test_format_prints_and_changes_nothing(here: Here) -> None:
    path = write(here, "x.yml", UGLY)
    done = here("mapping", "format", "x.yml")
    assert done.code == 0
    assert path.read_text() == UGLY
    assert done.out != UGLY
    assert yaml.safe_load(done.out) == yaml.safe_load(UGLY)


def test_format_write_replaces_once_and_keeps_the_mode(here: Here) -> None:
    path = write(here, "x.yml", UGLY)
    path.chmod(0o640)
    link = here.folder / "link.yml"
    link.symlink_to("x.yml")
    expected = here("mapping", "format", "x.yml").out

    assert here("mapping", "format", "--check", "x.yml").code == 1
    done = here("mapping", "format", "--write", "link.yml")
    assert (done.code, done.out) == (0, "Formatted link.yml.\n")
    assert path.read_text() == expected
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    done = here("mapping", "format", "--check", "x.yml")
    assert (done.code, done.out) == (0, "1 file has the usual form.\n")
    assert sorted(each.name for each in here.folder.glob("*.yml*")) == ["link.yml", "x.yml"]


def test_format_diff_shows_what_would_change(here: Here) -> None:
    path = write(here, "x.yml", UGLY)
    done = here("mapping", "format", "--diff", "x.yml")
    assert done.code == 1
    assert done.out.startswith("--- x.yml (now)\n+++ x.yml (formatted)\n@@")
    assert "-      mem: 4\n" in done.out
    assert path.read_text() == UGLY


def test_a_file_that_is_no_yaml_stops_no_other(here: Here) -> None:
    bad = write(here, "bad.yml", "tools: [\n")
    (here.folder / "bytes.yml").write_bytes(b"tools: \xff\n")
    good = write(here, "good.yml", UGLY)
    done = here("mapping", "format", "--write", "bad.yml", "bytes.yml", "nix.yml", "good.yml")
    assert done.code == 1
    assert "bad.yml:" in done.err
    assert "bytes.yml: byte 7 is not UTF-8" in done.err
    assert "nix.yml cannot be read: No such file or directory" in done.err
    assert bad.read_text() == "tools: [\n"
    assert good.read_text() != UGLY
    data = here.json("mapping", "format", "--check", "bad.yml", "good.yml", code=1)["files"]
    assert [(each["file"], each["changed"], bool(each["error"])) for each in data] == [
        ("bad.yml", False, True),
        ("good.yml", False, False),
    ]


def test_format_reads_standard_input(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    write(here, "x.yml", UGLY)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(UGLY.encode())))
    assert here("mapping", "format", "-").out == here("mapping", "format", "x.yml").out


# test


def test_cases_pass_or_fail_with_what_differs_and_why(here: Here) -> None:
    here.mapping(GOOD)
    write(here, "cases.yml", SEED_CASES)
    done = here("mapping", "test", "cases.yml")
    assert done.code == 0
    assert done.out.splitlines() == [
        "ok   the usual: goes to only",
        "ok   again: goes to only",
        "2 passed, 0 failed.",
    ]
    write(here, "cases.yml", SEED_CASES.replace("cores: 4", "cores: 5"))
    done = here("mapping", "test", "cases.yml")
    assert done.code == 1
    assert "FAIL again (cases.yml:5)" in done.out
    assert "       cores is 4, not 5" in done.out
    assert "       only: it is the only destination that accepts the job" in done.out
    assert "1 passed, 1 failed." in done.out


def test_cases_in_json_carry_the_decision_of_those_that_failed(here: Here) -> None:
    here.mapping(GOOD)
    write(here, "cases.yml", SEED_CASES.replace("cores: 4", "cores: 5"))
    data = here.json("mapping", "test", "cases.yml", code=1)
    assert (data["passed"], data["failed"]) == (1, 1)
    right, wrong = data["cases"]
    assert right["decision"] is None
    assert wrong["differences"] == ["cores is 4, not 5"]
    assert wrong["decision"]["destination_id"] == "only"


def test_other_files_are_tested_only_when_they_are_trusted(here: Here) -> None:
    write(here, "new.yml", GOOD.replace("only", "other"))
    write(here, "cases.yml", SEED_CASES.replace("only", "other"))
    done = here("mapping", "test", "cases.yml", "--file", "new.yml")
    assert done.code == 1
    assert done.out.count("new.yml is not trusted yet") >= 2
    done = here("mapping", "test", "cases.yml", "--file", "new.yml", "--trust-these")
    assert (done.code, done.out.splitlines()[-1]) == (0, "2 passed, 0 failed.")
    # Only this once.
    assert here.json("mapping", "trust", "--list") == {"version": 1, "trusted": []}
    assert here("mapping", "test", "cases.yml", "--trust-these").code == 2


def test_what_a_tested_file_includes_from_disk_is_part_of_it(here: Here) -> None:
    write(here, "base.yml", GOOD)
    write(here, "new.yml", "global: {include: [base.yml]}\ntools:\n  sample: {mem: 13}\n")
    write(here, "cases.yml", SEED_CASES.replace("mem: 12", "mem: 13"))
    done = here("mapping", "test", "cases.yml", "--file", "new.yml", "--trust-these")
    assert done.code == 0, done.out


@pytest.mark.parametrize("dialect", ["seed", "tpv3"])
def test_both_dialects_are_tested_by_their_own_rules(here: Here, dialect: str) -> None:
    text = f"global: {{dialect: {dialect}}}\n" + GOOD.partition("\n\n")[2].replace(
        "tools:\n", "tools:\n  .*:\n    cores: 6\n    mem: 9\n"
    ).replace("cores: 8", "cores: 5")
    write(here, "new.yml", text)
    outcome = "{outcome: nowhere}" if dialect == "seed" else "{destination: only, cores: 5}"
    write(here, "cases.yml", f"- name: six\n  tool: unknown\n  expect: {outcome}\n")
    done = here("mapping", "test", "cases.yml", "--file", "new.yml", "--trust-these")
    assert done.code == 0, done.out


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        (None, "cases.yml: cannot be read: No such file or directory"),
        ("", "cases.yml: there are no cases"),
        ("- {name: x, tool: a, expekt: {}}", "did you mean 'expect'?"),
        ("- [", "cases.yml:1:"),
    ],
)
def test_cases_that_cannot_be_read_fail(here: Here, cases: str | None, words: str) -> None:
    here.mapping(GOOD)
    if cases is not None:
        write(here, "cases.yml", cases)
    done = here("mapping", "test", "cases.yml")
    assert done.code == 1
    assert words in done.err


def test_a_mapping_file_that_cannot_be_read_fails_its_tests(here: Here) -> None:
    write(here, "cases.yml", "- {name: x, tool: a, expect: {outcome: nowhere}}\n")
    done = here("mapping", "test", "cases.yml", "--file", "nix.yml", "--trust-these")
    assert done.code == 1
    assert "nix.yml: cannot be read" in done.err
    assert "it ends as broken: nix.yml" in done.out
    assert "0 passed, 1 failed." in done.out


# show


def test_show_lists_the_files_that_count_and_whether_their_code_runs(here: Here) -> None:
    own = here.home / ".config" / "rowtui" / "mapping"
    own.mkdir(parents=True)
    (own / "site.yml").write_text("global: {dialect: seed}\nroles:\n  a: {cores: 3}\n")
    here.mapping(GOOD + "colours: blue\n", trusted=False)
    done = here("mapping", "show")
    assert done.code == 0
    first, second = (line.split(maxsplit=5) for line in done.out.splitlines()[1:3])
    site = "~/.config/rowtui/mapping/site.yml"
    assert first == ["1", site, "seed", "1", "0", "yes: your own configuration"]
    assert second == ["2", "mapping.yml", "-", "3", "1", "no: not trusted"]
    assert "unknown key `colours`" in done.err
    data = here.json("mapping", "show")
    assert data["files"][1]["entities"]["tools"] == ["default", "sample"]
    assert [each["trusted"] for each in data["files"]] == [True, False]


def test_show_says_who_says_what_of_an_action(here: Here) -> None:
    here.mapping(GOOD)
    done = here("mapping", "show", "sample", "--user", "jane")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "sample for jane (no roles)"
    at = lines.index("  mem = 12, set by tool sample in mapping.yml:10")
    assert lines[at + 1] == "      instead of cores * 4, set by tool default in mapping.yml:7"
    assert "If attempt > 1:  (rule late of tool sample in mapping.yml:15)" in lines
    assert "  cores = 4, set by rule late of tool sample in mapping.yml:16" in lines
    data = here.json("mapping", "show", "sample")
    fields = {each["field"]: each["value"] for each in data["values"]}
    assert fields == {"cores": 2, "mem": 12, "env.GREETING": "hello {user.name}"}
    assert data["rules"][0]["id"] == "late"


def test_an_untrusted_file_is_shown_and_not_run(here: Here) -> None:
    proof = here.folder / "ran"
    code = f"__import__('pathlib').Path({str(proof)!r}).touch() or 3"
    here.mapping(GOOD.replace("cores * 4", json.dumps(code)), trusted=False)
    for words in (("sample",), ("default",), ()):
        done = here("mapping", "show", *words)
        assert done.code == 0
    assert "not trusted" in here("mapping", "show", "default").err
    assert "touch()" in here("mapping", "show", "default").out
    assert not proof.exists()


def test_an_action_that_cannot_be_mapped_says_why(here: Here) -> None:
    here.mapping(GOOD + "users:\n  jane:\n    mem: '1 +'\n")
    done = here("mapping", "show", "sample", "--user", "jane")
    assert done.code == 1
    assert "cannot be mapped" in done.out
    assert "mapping.yml:" in done.out
    assert here("mapping", "show", "sample", "--user", "joe").code == 0


def test_the_yaml_of_everything_loads_back_to_the_same(here: Here) -> None:
    here.mapping(GOOD)
    done = here("mapping", "show", "--yaml")
    assert done.code == 0
    data = done.out.encode()
    again = load_mapping([MappingSource("again.yml", data, digest_of(data), True, "")])
    assert again.problems == ()
    (here.folder / "mapping.yml").write_bytes(data)
    text = here("mapping", "show", "sample", "--json").out
    fields = {each["field"]: each["value"] for each in json.loads(text)["values"]}
    assert fields == {"cores": 2, "mem": 12, "env.GREETING": "hello {user.name}"}
    assert here("mapping", "show", "sample", "--yaml").code == 2


def test_without_mapping_files_show_says_so(here: Here) -> None:
    assert "There are no mapping files" in here("mapping", "show").out
    assert "the mapping files have no entry for it" in here("mapping", "show", "sample").out


# schema and usage


def test_the_schema_is_json_that_knows_the_sections(here: Here) -> None:
    done = here("mapping", "schema")
    assert done.code == 0
    assert {"global", "tools", "roles", "users", "destinations"} <= set(
        json.loads(done.out)["properties"]
    )
    assert "yaml-language-server: $schema=" in here("mapping", "schema", "--help").out


@pytest.mark.parametrize("words", [("--help",), ("mapping", "--help"), ("show", "--help")])
def test_help_lists_commands_and_no_none(here: Here, words: tuple[str, ...]) -> None:
    text = here(*words).out
    assert "Commands:\n" in text
    assert "None" not in text


@pytest.mark.parametrize("verb", ["lint", "format", "test", "show", "trust", "schema"])
def test_every_command_has_examples_in_its_help(here: Here, verb: str) -> None:
    done = here("mapping", verb, "--help")
    assert done.code == 0
    assert f"rowtui mapping {verb}" in done.out.partition("Examples:")[2]


def test_wrong_usage_is_exit_code_2(here: Here) -> None:
    for words in ((), ("lnt",), ("format",), ("test",), ("format", "--check", "--write", "x")):
        assert here("mapping", *words).code == 2
