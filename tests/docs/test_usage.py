"""What docs/usage.md says of the sources of numbers is what the code does and prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from rowtui.core.clusters.model import EnergyFactors
from rowtui.core.clusters.schedulers.measured import MeasuredBy, Used
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.store import UsageStore

from tests.cli.in_process import prepared

PAGE = (Path(__file__).parents[2] / "docs" / "usage.md").read_text(encoding="utf-8")
NUMBERS = {"time": "wall_by", "CPU time": "cpu_by", "memory": "memory_by", "GPU": "gpu_by"}
WORKFLOW = """\
[[action]]
name = "one"
command = "true {directory}"
"""


def table() -> dict[str, dict[str, str]]:
    """The table of sources: its rows by their first cell."""
    section = PAGE.partition("## Where the numbers come from\n")[2]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    headings, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {row[0]: dict(zip(headings, row, strict=True)) for row in rows}


def test_the_default_factors_of_energy_are_those_of_the_table() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([0-9.]+) \| `\w+\.csv`", PAGE, re.M)
    assert {name: float(value) for name, value in rows} == {
        name: value for name, value in EnergyFactors()._asdict().items() if name != "source"
    }


def test_the_table_has_the_sources_that_the_program_names() -> None:
    assert list(table()) == [
        by.words for by in (MeasuredBy.SCRIPT, MeasuredBy.GROUP, MeasuredBy.SCHEDULER)
    ] + [MeasuredBy.UNKNOWN.words]


@pytest.mark.parametrize("by", MeasuredBy)
def test_a_job_is_shown_with_the_sources_that_the_table_has_for_its_numbers(
    by: MeasuredBy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    here = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    row = table()[by.words]
    has = {name: row[name] != "–" for name in NUMBERS}
    used = Used(
        9.0,
        8.0 if has["CPU time"] else None,
        4096 if has["memory"] else None,
        7.0 if has["GPU"] else None,
        node="n1",
        **{field: by for name, field in NUMBERS.items() if has[name]},
    )
    kind = UsageKind("one", "none", "", "me", 1, 1, 1, 1000, 60)
    job = JobUsage("abc-1", kind, 12, 1, read_old_end(0, "", 1.7e9), 1.6e9, used, True)
    UsageStore(here.folder).append([job])

    shown = here("usage", "12")
    assert shown.code == 0, shown.err
    printed = re.findall(r"measured by the ([a-z ]+)$|\(([a-z ]+)\), of", shown.out, re.M)
    names = {one or other for one, other in printed}
    assert names == ({by.words} if any(has.values()) else set())
    lines = {line.split()[0]: line for line in shown.out.splitlines()[1:] if line.strip()}
    for name, word in (("CPU time", "CPU"), ("memory", "memory"), ("GPU", "GPU")):
        assert (MeasuredBy.UNKNOWN.words in lines[word]) != has[name], lines[word]
    [record] = json.loads(here("usage", "12", "--json").out)["jobs"]
    for field in ("cpu_source", "memory_source", "gpu_source"):
        assert record[field] in (None, by.words)
