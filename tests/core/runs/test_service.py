"""The unit of systemd, of which systemd reads what was meant; and the jobs that drive a run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import NotSavedError, RowtuiError
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs import service
from rowtui.core.runs.service import (
    DriverJob,
    quoted_argument,
    quoted_word,
    service_name,
    service_path,
    service_unit,
)
from rowtui.core.submission.plan.model import Plan
from rowtui.core.submission.plan.record import JobRecord

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
HARD = Path("/a b/100%h/$HOME/${x}/\"q'/back\\slash/é/;")


def read_by_the_rules(text: str) -> str:
    """Return the word that systemd.syntax(7) and systemd.service(5) give to a quoted word."""
    assert text[0] == text[-1] == '"'
    assert "\n" not in text
    plain = re.sub(
        r'\\(x[0-9a-f]{2}|[\\"])',
        lambda it: chr(int(it[1][1:], 16)) if it[1][0] == "x" else it[1],
        text[1:-1],
    )
    assert not re.search(r"(?<!%)(%%)*%(?!%)", plain)
    return plain.replace("%%", "%")


@given(WORDS)
def test_a_quoted_word_is_read_back_by_the_rules(word: str) -> None:
    assert read_by_the_rules(quoted_word(word)) == word


@given(WORDS)
def test_no_variable_is_replaced_in_an_argument(word: str) -> None:
    argument = read_by_the_rules(quoted_argument(word))
    assert not re.search(r"(?<!\$)(\$\$)*\$(?!\$)", argument)
    assert argument.replace("$$", "$") == word


def test_a_path_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(RowtuiError, match="not valid UTF-8"):
        service_unit(Path(os.fsdecode(b"/\xff")), ["rowtui"], {})


def test_each_folder_has_its_own_unit() -> None:
    assert service_name(Path("/a/study")) != service_name(Path("/b/study"))
    assert re.fullmatch(r"rowtui-100-h-[0-9a-f]{8}\.service", service_name(Path("/x/100%h ")))
    assert service_path(Path("/s"), {"XDG_CONFIG_HOME": "/c"}).parent == Path("/c/systemd/user")


def verify(unit: Path, tmp_path: Path) -> list[str]:
    """Return the complaints of systemd about a unit; those about the machine's own are left out."""
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    environment = os.environ | {"XDG_RUNTIME_DIR": str(runtime), "LC_ALL": "C.UTF-8"}
    environment["SYSTEMD_UNIT_PATH"] = f"{unit.parent}:"
    done = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", str(unit)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )
    return [line for line in done.stderr.splitlines() if unit.name in line]


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / service_name(HARD)
    unit.write_text(service_unit(HARD, ["rowtui", "run", "%n", "$x"], {"PATH": "/a b:/%h:/\\"}))
    assert verify(unit, tmp_path) == []


def test_systemd_reads_the_word_that_was_quoted(tmp_path: Path) -> None:
    unit = tmp_path / "hard.service"
    unit.write_text(f"[Service]\nType=oneshot\nExecStart={quoted_word(str(HARD))}\n")
    # systemd refuses to run a program of this name, and names it as it was read
    assert any(line.endswith(f": {HARD}") for line in verify(unit, tmp_path))


async def test_a_successor_that_cannot_be_submitted_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "workflow.toml").write_text("")
    project = OpenProject.open(tmp_path, cluster="local")
    failures = [RowtuiError("the controller is away"), NotSavedError("the disk is full", "")]

    def plan() -> Plan:
        raise failures.pop(0)

    job = DriverJob(project, JobRecord("driver-1-0", "alpha"), 0.0, plan)
    monkeypatch.setattr(service, "AGAIN_SECONDS", 0.0)
    assert await job.follow() == [
        "no job takes over from the driver: the controller is away",
    ]
    with pytest.raises(NotSavedError):  # the driver waits, as for its own records
        await job.follow()
    assert (job.limit, failures) == (0.0, [])
