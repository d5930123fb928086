"""The differential tester itself: its cases can be made again, are sound, and its list is told."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from rowtui.core.base.errors import InvalidFileError
from rowtui.core.clusters.schedulers.slurm.queue import QueueForm
from rowtui.core.workflow.load import load_workflow

from tests.differential.commands import make_case
from tests.differential.fake_slurm import install, make_queue, take_jobs
from tests.differential.known import RULES
from tests.differential.model import Change, Command
from tests.differential.run import Side
from tests.differential.toml_text import Raw, toml_text

DOCUMENT = Path(__file__).parents[2] / "docs" / "differences-from-row.md"
SOME = range(150)


def test_a_case_is_always_the_same_for_one_seed() -> None:
    assert [make_case(3, number) for number in SOME] == [make_case(3, number) for number in SOME]
    assert make_case(3, 1) != make_case(4, 1) != make_case(4, 2)


def test_projects_parse_unless_a_mistake_was_put_into_them(tmp_path: Path) -> None:
    sound = 0
    for number in SOME:
        case = make_case(5, number)
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "workflow.toml").write_text(toml_text(case.project.workflow))
        if "invalid workflow" in case.oddities:
            with pytest.raises(InvalidFileError):
                load_workflow(folder)
            continue
        workflow = load_workflow(folder)
        elements = case.project.workflow.get("action", [])
        assert len(workflow.actions) == len(elements)
        assert workflow.workspace_path == case.project.workspace
        sound += 1
    assert sound > len(SOME) * 0.9


def test_values_are_json_unless_a_bad_one_was_put_in() -> None:
    for number in SOME:
        case = make_case(6, number)
        for directory in case.project.directories:
            if directory.value is not None and "bad value" not in case.oddities:
                json.loads(directory.value)


def test_cases_have_every_command_option_and_kind_of_change() -> None:
    words: set[str] = set()
    changes: set[str] = set()
    for number in range(600):
        for step in make_case(1, number).steps:
            if isinstance(step, Command):
                words.update(word.partition("=")[0] for word in step.argv)
            else:
                changes.add(step.kind)
    assert words >= {
        *("show", "status", "directories", "jobs", "cluster", "launchers", "scan", "clean"),
        *("submit", "init", "--completed", "--submitted", "--eligible", "--waiting", "--all"),
        *("--no-header", "--short", "--no-separate-groups", "--value", "--n-groups", "-n", "-a"),
        *("--action", "--directory", "--force", "--dry-run", "--yes", "--signac", "-w", "-"),
        *("--cluster", "--color", "--io-threads", "--no-progress", "-q", "-v", "none", "anvil"),
        *("delta", "greatlakes", "frontier", "andes"),
    }
    kinds = {"add", "remove", "touch", "delete_product", "edit_value", "workflow"}
    assert changes == kinds | {"run_jobs", "drop_jobs"}


def test_two_copies_of_a_project_are_alike_also_after_changes(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    install(programs)
    case = make_case(7, 11)
    sides = [Side(tmp_path / name, case.project, programs, "row") for name in ("a", "b")]
    for step in case.steps:
        if isinstance(step, Change) and step.kind != "run_jobs":
            for side in sides:
                side.change(step)
    assert sides[0].tree() == sides[1].tree()
    times = [side.workspace.stat().st_mtime_ns for side in sides]
    assert times[0] == times[1]


def test_toml_that_was_written_is_read_back() -> None:
    document = {
        "top": 1,
        "table": {"text": 'a "quoted"\n\x00line', "deep": {"list": [1, [2.5, True], "x"]}},
        "elements": [{"name": "a b", "inline": {"key with blank": -1, "empty": {}}}, {}],
    }
    assert tomllib.loads(toml_text(document)) == document
    assert tomllib.loads(toml_text({"at": Raw("2020-01-01")}))["at"].isoformat() == "2020-01-01"


def test_the_fake_slurm_gives_each_job_an_id_and_forgets_what_was_taken(tmp_path: Path) -> None:
    import subprocess

    install(tmp_path / "bin")
    make_queue(tmp_path / "slurm")

    def run(*argv: str, stdin: str = "") -> str:
        environment = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "FAKE_SLURM": f"{tmp_path}/slurm"}
        return subprocess.run(
            argv, input=stdin, env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert run("sbatch", "--parsable", stdin="#!/bin/bash\n") == "1001\n"
    assert run("sbatch", "--parsable", "--comment=mine", stdin="#!/bin/sh\n") == "1002\n"
    assert run("squeue", "--jobs", "1,1002", "-o", "%A", "--noheader") == "1002\n"
    assert run("squeue", "--me", "-h", "-t", "all", "-o", "%A %k") == "1001 \n1002 mine\n"
    form = QueueForm.new()
    assert [job.id for job in form.read(run("squeue", "-o", form.option).encode()).jobs] == [
        1001,
        1002,
    ]
    assert take_jobs(tmp_path / "slurm", 1) == [(1001, "#!/bin/bash\n")]
    assert run("squeue", "-o", "%A") == "1002\n"


def test_every_known_difference_is_in_the_document_and_no_other() -> None:
    listed = re.findall(r"^\| `([a-z-]+)` \|", DOCUMENT.read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(rule.id for rule in RULES)
    assert all(rule.reason for rule in RULES)
