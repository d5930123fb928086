"""`rowtui explain`: where, why, why not, and what if, as text, as JSON and as an exit code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import Shell
from tests.cli.in_process import Here, prepared

if TYPE_CHECKING:
    from tests.rig.slurm import SlurmCluster

WORKFLOW = """\
[[action]]
name = "sample"
command = "touch workspace/{directory}/x"
products = ["x"]
[action.group]
maximum_size = 2
[action.resources]
threads_per_process = 4
walltime.per_submission = "00:10:00"

[[action]]
name = "fit"
command = "touch workspace/{directory}/y"
products = ["y"]
previous_actions = ["sample"]
"""
MAPPING = """\
global: {default_inherits: default}
tools:
  default:
    abstract: true
    cores: 2
    mem: cores * 4
    rules:
      - id: many
        if: len(directories) > 1
        cores: 16
        scheduling: {require: [highmem]}
  sam.*:
    params: {nice: "{cores}"}
    scheduling: {prefer: [fast]}
  fit:
    rules:
      - if: user.name == "student"
        fail: students do not fit
roles:
  physics:
    scheduling: {require: [highmem]}
destinations:
  base: {abstract: true, runner: none}
  small:
    inherits: base
    max_accepted_cores: 8
    scheduling: {accept: [fast]}
  large:
    inherits: base
    max_accepted_cores: 64
    scheduling: {accept: [highmem]}
  slow:
    inherits: base
    scheduling: {accept: [highmem, slow]}
"""


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    """A project of two actions and three directories; its mapping file is trusted."""
    here = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    here.mapping(MAPPING)
    return here


def names(destinations: list[dict[str, Any]]) -> list[str]:
    return [each["destination_id"] for each in destinations]


def test_it_says_where_the_first_group_goes_and_who_said_every_value(here: Here) -> None:
    done = here("explain", "sample")

    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "Group 1 of 2 (2 eligible directories, from a on)"
    assert lines[1] == "  goes to large"
    job = next(line for line in lines if "walltime" in line)
    assert job.startswith("  16 CPUs, 64 GB, no GPUs, walltime 00:10:00")
    matched = [line.strip() for line in lines if line.startswith("  tool ")]
    assert matched == [
        "tool default in mapping.yml:3: inherited by all others",
        "tool sam.* in mapping.yml:12: matches sample",
    ]
    at = lines.index("  cores = 16, set by rule many of tool default in mapping.yml:10")
    assert lines[at + 1 : at + 3] == [
        "      instead of 4, set by the action itself",
        "      instead of 2, set by tool default in mapping.yml:5",
    ]
    assert "  mem = 64, written 'cores * 4', set by tool default in mapping.yml:6" in lines
    assert "  prefers fast, set by tool sam.* in mapping.yml:14" in lines
    table = [line.split() for line in lines if line.strip()[:2] in {"1 ", "2 "}]
    assert [row[:3] for row in table] == [["1", "large", "0"], ["2", "slow", "0"]]
    refused = done.out.partition("Destinations that do not:")[2]
    assert "asks 16 CPUs, accepts at most 8" in refused
    assert "lacks the tag highmem, which the job requires" in refused
    assert "what it takes: 8 CPUs instead of 16, without the tag highmem" in refused


def test_the_changes_that_would_admit_a_job_do_admit_it(here: Here) -> None:
    (refusal,) = here.json("explain", "sample")["decisions"][0]["refusals"]
    assert refusal["destination_id"] == "small"
    (change,) = refusal["changes"]
    assert change["would_be_first"] is True

    asked = change["what_if"]
    words = ["--cores", str(asked["cpus"])]
    words += [f"--tag=-{tag}" for tag in asked["drop_tags"]]
    (decision,) = here.json("explain", "sample", *words)["decisions"]
    assert decision["destination_id"] == "small"
    assert decision["request"]["what_if"]["cpus"] == 8


def test_every_distinct_decision_is_told_once_with_its_groups(here: Here) -> None:
    for name in ("d", "e", "f", "g"):
        (here.folder / "workspace" / name).mkdir()

    done = here("explain", "sample", "--all")
    titles = [line for line in done.out.splitlines() if line.startswith("Group")]
    assert titles == [
        "Groups 1-3 of 4, decided alike (the first: 2 eligible directories, from a on)",
        "Group 4 of 4 (1 eligible directory, from g on)",
    ]
    data = here.json("explain", "sample", "--all")
    assert [each["groups"] for each in data["decisions"]] == [[[1, 3]], [[4, 4]]]
    assert [each["destination_id"] for each in data["decisions"]] == ["large", "small"]


def test_groups_that_an_expression_tells_apart_are_decided_apart(here: Here) -> None:
    here.mapping(MAPPING.replace("len(directories) > 1", "\"'c' in directories\""))
    data = here.json("explain", "sample", "--all")
    assert [each["destination_id"] for each in data["decisions"]] == ["small", "large"]


def test_directories_choose_the_groups_whatever_their_status(here: Here) -> None:
    (here.folder / "workspace/a/x").touch()
    data = here.json("explain", "sample", "a", "c")
    assert data["about"] == "given"
    (decision,) = data["decisions"]
    assert (decision["directory_count"], decision["first_directory"]) == (2, "a")

    done = here("explain", "sample", "nix")
    assert done.code == 1
    assert "'nix' not found" in done.err
    assert "none of these directories belongs to action 'sample'" in done.err


def test_options_may_stand_between_directories(here: Here) -> None:
    (decision,) = here.json("explain", "sample", "--cores", "3", "b", "--tag", "-fast", "c")[
        "decisions"
    ]
    assert decision["first_directory"] == "b"
    assert decision["directory_count"] == 2
    assert decision["request"]["what_if"]["drop_tags"] == ["fast"]
    assert decision["job"]["cpus"] == 3


def test_where_nothing_is_eligible_all_directories_are_explained_and_it_is_said(
    here: Here,
) -> None:
    done = here("explain", "fit")
    assert done.code == 0
    assert "Nothing is eligible" in done.err
    assert here.json("explain", "fit")["about"] == "all"


def test_without_any_directory_there_is_nothing_to_explain(here: Here) -> None:
    for name in "abc":
        (here.folder / "workspace" / name).rmdir()
    done = here("explain", "sample")
    assert done.code == 1
    assert "action 'sample' has no directories" in done.err


def test_an_unknown_action_has_a_suggestion(here: Here) -> None:
    done = here("explain", "sampel")
    assert done.code == 1
    assert "did you mean 'sample'?" in done.err
    assert "'rowtui queue' prints the reason" in here("explain", "37").err


@pytest.mark.parametrize(
    ("destination", "words"),
    [
        ("small", "small: does not take the job, which fails 2 of 3 checks"),
        ("slow", "would take the job, but comes after large, which has the same score 0"),
        ("base", "base: is abstract: it is only there to inherit from"),
        ("large", "large: takes the job"),
    ],
)
def test_why_not_says_everything_about_one_destination(
    here: Here, destination: str, words: str
) -> None:
    done = here("explain", "sample", "--why-not", destination)
    assert done.code == 0
    assert words in done.out
    assert "written in mapping.yml:" in done.out
    others = {"small", "slow", "large", "base"} - {destination}
    assert not any(line.startswith(tuple(others)) for line in done.out.splitlines())


def test_why_not_compares_scores(here: Here) -> None:
    done = here("explain", "sample", "--why-not", "slow", "--tag", "+fast=reject", "c")
    assert "comes after" in done.out
    here.mapping(MAPPING.replace("{accept: [highmem, slow]}", "{prefer: [highmem, slow]}"))
    done = here("explain", "sample", "--why-not", "large")
    assert "comes after slow by score (0 against 1)" in done.out


def test_why_not_in_json_keeps_only_that_destination(here: Here) -> None:
    data = here.json("explain", "sample", "--why-not", "slow")
    assert data["why_not"] == "slow"
    (decision,) = data["decisions"]
    assert names(decision["candidates"]) == ["slow"]
    assert decision["refusals"] == []


def test_an_unknown_destination_has_a_suggestion(here: Here) -> None:
    done = here("explain", "sample", "--why-not", "lrge")
    assert done.code == 1
    assert "there is no destination 'lrge'" in done.err
    assert "did you mean 'large'?" in done.err


def test_another_user_with_other_roles_may_go_elsewhere(here: Here) -> None:
    def destination(*words: str) -> str:
        (decision,) = here.json("explain", "sample", "c", *words)["decisions"]
        return str(decision["destination_id"])

    assert destination() == "small"
    assert destination("--roles", "physics") == "large"
    assert destination("--user", "nobody-here-at-all") == "small"
    assert destination("--user", "nobody-here-at-all", "--roles", "music,physics") == "large"


def test_a_job_without_a_place_gives_exit_code_1_and_the_reason(here: Here) -> None:
    done = here("explain", "fit", "--user", "student")
    assert done.code == 1
    assert "refused: students do not fit" in done.out
    done = here("explain", "sample", "--tag", "+submarine")
    assert done.code == 1
    assert "nowhere to go" in done.out
    (decision,) = here.json("explain", "fit", "--user", "student", code=1)["decisions"]
    assert decision["outcome"] == "failed"


@pytest.mark.parametrize(
    "words",
    [("--cores", "many"), ("--mem", "-3"), ("--cores", "nan"), ("--tag", "x"), ("--tag", "+a=b")],
    ids=" ".join,
)
def test_a_what_if_that_means_nothing_is_wrong_usage(here: Here, words: tuple[str, ...]) -> None:
    assert here("explain", "sample", *words).code == 2


def test_an_untrusted_file_is_not_run_and_says_what_to_do(here: Here) -> None:
    proof = here.folder / "ran"
    code = f"__import__('pathlib').Path({str(proof)!r}).touch() or 3"
    here.mapping(MAPPING.replace("cores * 4", json.dumps(code)), trusted=False)
    done = here("explain", "sample")
    assert done.code == 1
    assert "waits for trust: mapping.yml is not trusted yet" in done.out
    assert "rowtui mapping trust mapping.yml" in done.out
    assert not proof.exists()


def test_a_broken_mapping_file_is_a_warning_and_not_the_end(here: Here) -> None:
    here.mapping(MAPPING.replace("sam.*", "'sam(*'") + "colours: blue\n")
    done = here("explain", "sample")
    assert "mapping.yml:12:" in done.err
    assert "unknown key `colours`" in done.err
    assert done.code == 0
    assert "goes to" in done.out
    data = here.json("explain", "sample")
    assert {each["line"] for each in data["problems"]} >= {12}


def test_a_file_of_the_other_dialect_is_explained_by_its_rules(here: Here) -> None:
    here.mapping(
        MAPPING.replace("global: {", "global: {dialect: tpv3, ").replace(
            "    scheduling: {accept: [highmem, slow]}", "    cores: 5\n    max_accepted_cores: 100"
        )
    )
    (decision,) = here.json("explain", "sample")["decisions"]
    tags = {each["tag"]: each["strength"] for each in decision["tags"]}
    assert tags["tool_type_default"] == "accept"
    assert decision["destination_id"] == "large"


def test_names_that_steer_terminals_are_made_visible(here: Here) -> None:
    name = "a'; \x1b[2Jb\n"
    (here.folder / "workspace" / name).mkdir()
    (here.folder / "workspace" / os.fsdecode(b"\xff")).mkdir()
    hostile = MAPPING.replace("  slow:\n", '  "sl\\e[2Jow\\n":\n').replace(
        "[highmem, slow]", '[highmem, "t\\e]0;x"]'
    )
    here.mapping(hostile)

    done = here("explain", "sample", name)  # the fixture refuses ESC in what is printed
    assert done.code == 0
    assert "a'; \\x1b[2Jb\\n" in done.out
    done = here("explain", "sample", "--why-not", "sl\x1b[2Jow\n", os.fsdecode(b"\xff"))
    assert done.code == 0
    assert "sl\\x1b[2Jow\\n: would take" in done.out or "does not take" in done.out
    data = here.json("explain", "sample", os.fsdecode(b"\xff"))
    assert data["decisions"][0]["first_directory"] == "\udcff"
    assert "sl\x1b[2Jow\n" in names(data["decisions"][0]["refusals"]) + names(
        data["decisions"][0]["candidates"]
    )


def test_without_mapping_files_the_cluster_itself_is_the_destination(here: Here) -> None:
    (here.folder / "mapping.yml").unlink()
    (decision,) = here.json("explain", "sample")["decisions"]
    assert decision["destination_id"] == "none"
    assert names(decision["candidates"]) == ["none"]
    assert "reported by the cluster" in here("explain", "sample", "--why-not", "none").out


def test_what_the_cluster_says_of_its_load_is_in_the_table(here: Here) -> None:
    (here.folder / "mapping.yml").unlink()
    done = here("explain", "sample", "--cluster", "local")
    assert "# Destination Score" in done.out
    assert "Wait Free CPUs" in done.out
    too_large = here("explain", "sample", "--cluster", "local", "--cpus", "9999")
    assert "Destinations that were tried, by score" in too_large.out
    (decision,) = here.json("explain", "sample", "--cluster", "local", code=done.code)["decisions"]
    (destination,) = [*decision["candidates"], *decision["refusals"]]
    assert destination["destination_id"] == "local"
    assert destination["free_cpus"] >= 0


def test_partitions_of_a_cluster_are_explained_with_their_limits(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here.folder / "mapping.yml").unlink()
    own = here.home / "row" / ".config" / "row"
    own.mkdir(parents=True)
    (own / "clusters.toml").write_text("""\
[[cluster]]
name = "hpc"
identify.always = true
scheduler = "slurm"
[[cluster.partition]]
name = "tiny"
maximum_cpus_per_job = 2
[[cluster.partition]]
name = "wide"
""")
    monkeypatch.setenv("ROW_HOME", str(here.home / "row"))
    data = here.json("explain", "sample", "--cluster", "hpc")
    (decision,) = data["decisions"]
    assert decision["destination_id"] == "hpc/wide"
    (refusal,) = decision["refusals"]
    assert refusal["failed"][0]["constraint"] == "maximum_cpus_per_job"
    assert [each["words"] for each in refusal["changes"]] == ["2 CPUs instead of 4"]
    # A partition may be named by itself.
    done = here("explain", "sample", "--why-not", "tiny", "--cluster", "hpc")
    assert "hpc/tiny: does not take the job" in done.out


def test_plan_and_submit_say_what_is_wrong_with_mapping_files(here: Here) -> None:
    here.mapping(MAPPING.replace("cores * 4", '"cores * * 4"'))
    for code, words in ((0, ("plan",)), (1, ("submit", "--dry-run"))):
        done = here(*words)
        assert done.code == code
        assert "mapping.yml:6:10: mem of tool default: invalid syntax" in done.err
        assert "2 jobs left out, from a on: cannot be mapped" in done.err


def test_a_value_that_cannot_be_written_is_reported_once_with_its_line(here: Here) -> None:
    line = MAPPING.count("\n") + 3
    for field, words in (
        ('env: {A: "{chr(0)}"}', "the value of A in env: \\x00 holds a NUL"),
        ('params: {account: "x\\ny"}', "the parameter account has control characters"),
    ):
        here.mapping(f"{MAPPING}users:\n  .*:\n    {field}\n")
        (told,) = [text for text in here("plan").err.splitlines() if words in text]
        assert "2 jobs left out" in told
        assert told.endswith(f"(user .* in mapping.yml:{line})")


def test_plan_gives_the_reasons_of_the_mapping(here: Here) -> None:
    done = here("plan")
    assert done.code == 0
    assert "large: it is the first of 2 with the highest score (0)" in done.out
    assert "not small: asks 16 CPUs, accepts at most 8" in done.out
    # With --json too.
    jobs = here.json("plan")["jobs"]
    assert any("not small" in reason for reason in jobs[0]["reasons"])


def test_doctor_tells_of_mapping_files_and_their_trust(here: Here) -> None:
    done = here("doctor")
    assert "mapping.yml, you trusted this content on" in done.out
    here.mapping(MAPPING + "colours: blue\n", trusted=False)
    findings = [each for each in here.json("doctor")["findings"] if each["topic"] == "mapping"]
    assert [each["verdict"] for each in findings] == ["warning", "warning"]
    assert findings[0]["text"] == "mapping.yml is not trusted"
    assert findings[1]["text"] == "1 problem in mapping files, 0 errors"
    (here.folder / "mapping.yml").unlink()
    assert "no mapping file" in here("doctor").out


@pytest.mark.slurm
def test_on_slurm_it_says_what_each_partition_could_give_now(
    empty_folder: Shell, slurm: SlurmCluster
) -> None:
    empty_folder.environment["SLURM_CONF"] = str(slurm.conf)
    (empty_folder.folder / "workspace" / "a").mkdir(parents=True)
    (empty_folder.folder / "workflow.toml").write_text(WORKFLOW)

    data = json.loads(empty_folder.succeed("explain", "sample", "--json", cluster=None))
    (decision,) = data["decisions"]
    everywhere = [*decision["candidates"], *decision["refusals"]]
    assert {each["cluster"] for each in everywhere} == {slurm.name}
    assert all(each["free_cpus"] is not None for each in everywhere)
    plan = json.loads(empty_folder.succeed("plan", "--json", cluster=None))
    planned = plan["jobs"][0]
    assert decision["destination_id"] == f"{slurm.name}/{planned['partition']}"
    text = empty_folder.succeed("explain", "sample", cluster=None)
    assert "Wait Free CPUs" in text


def test_code_stands_as_it_is_and_not_as_quoted_text(here: Here) -> None:
    rank = "    rank: |\n      found = candidate_destinations\n      sorted(found, key=str)\n"
    here.mapping(MAPPING.replace("  default:\n", f"  default:\n{rank}", 1))
    lines = here("explain", "sample").out.splitlines()
    [line] = [line for line in lines if line.startswith("  rank = ")]
    assert line.startswith(
        "  rank = found = candidate_destinations sorted(found, key=str), set by "
    )


def test_a_destination_elsewhere_is_refused_in_words(here: Here) -> None:
    here.mapping(MAPPING + "  far: {runner: faraway}\n  lost: {}\n")
    done = here("explain", "sample")
    assert "it is on faraway, not on " in done.out
    assert "it has no runner (jobs can be sent to " in done.out
