"""The report of a project: the same sums in every form, and a page that a browser shows well."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from rowtui.cli.usage.report_pictures import TimeAxis, round_ticks
from rowtui.core import __version__
from rowtui.core.clusters.schedulers.local.machine import user_name
from rowtui.core.clusters.schedulers.measured import Used
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.report import CHOSEN_BARS
from rowtui.core.usage.store import UsageStore

from tests.cli.conftest import Shell
from tests.rig.browser import Tab, opened

WORKFLOW = """\
[[action]]
name = "one<&>"
command = "[ {directory} != c ] && touch workspace/{directory}/out"
products = ["out"]
group.maximum_size = 1
"""


@pytest.fixture
def ended(empty_folder: Shell) -> Shell:
    """A project whose four jobs have ended, one of them badly."""
    for name in "abcd":
        (empty_folder.folder / "workspace" / name).mkdir(parents=True)
    (empty_folder.folder / "workflow.toml").write_text(WORKFLOW)
    assert empty_folder("submit", "--yes", cluster="local").returncode == 1
    return empty_folder


def test_all_forms_have_the_sums_of_the_journal(ended: Shell) -> None:
    ended.succeed("report", "--trace", "trace.csv", cluster="local")
    rows = list(csv.DictReader(io.StringIO((ended.folder / "trace.csv").read_text())))
    text = ended.succeed("report", "--markdown", cluster="local")
    ended.succeed("report", cluster="local")
    page = (ended.folder / "report.html").read_text()
    jobs = json.loads(ended.succeed("show", "jobs", "--json", "--long", cluster="local"))["jobs"]
    assert {row["token"] for row in rows} == {job["token"] for job in jobs}
    assert sum(row["reason"] != "" for row in rows) == 1
    assert "4 jobs ended between" in text
    assert ": 3 completed, 1 failed." in text
    assert re.search(r"^\| one<&> \| 4 \| 1 \|", text, re.M)
    assert re.search(r"^\| exit code 1 \| 1 \| 1 \|", text, re.M)
    assert "4 jobs ended between" in page
    assert "one&lt;&amp;&gt;</th><td>4</td><td>1</td>" in page
    assert "<&>" not in page


def test_the_head_names_when_who_and_where_and_which_jobs(ended: Shell) -> None:
    ended.succeed("report", "all.html", cluster=None)
    whole = (ended.folder / "all.html").read_text()
    ended.succeed("report", "part.html", "-a", "one*", "--since", "2d", cluster="local")
    part = (ended.folder / "part.html").read_text()
    text = ended.succeed("report", "--markdown", "-a", "two*", cluster=None)
    for page in (whole, part):
        assert re.search(r"Written <b>\d{4}-\d\d-\d\d \d\d:\d\d</b>", page)
        assert re.search(r"Time zone <b>\S+, UTC[+-]\d{4}</b>", page)
        assert f"By <b>{user_name()} on " in page
        assert f"With <b>rowtui {__version__}</b>" in page
        assert f"Project <b>{ended.folder}</b>" in page
    assert "Only a part" not in whole
    assert re.search(
        r"Only a part of the project&#x27;s jobs is shown: actions that match one\*, jobs on local,"
        r" jobs that ended since \d{4}-\d\d-\d\d \d\d:\d\d\.",
        part,
    )
    assert f"- Project: {ended.folder}" in text
    assert "jobs is shown: actions that match two*." in text
    assert "No such job has ended yet." in text


def of_jobs(folder: Path, number: int) -> None:
    """Store jobs of two actions; every twentieth failed."""
    kinds = [UsageKind(name, "alpha", "p", "jane", 1, 4, 0, 512, 600) for name in ("melt", "cool")]
    UsageStore(folder).append(
        JobUsage(
            f"abc-{it}", kinds[it % 2], it + 1, 1,
            read_old_end(it % 20 == 0, "cause" if it % 20 == 0 else "", 1_700_000_900 + it * 60),
            1_700_000_000 + it * 60, Used(300.0 + it, 90.0, 1 << 18, node="n1"),
        )
        for it in range(number)
    )  # fmt: skip


@pytest.mark.parametrize(("jobs", "drawn"), [(5, 5), (60, 60), (500, CHOSEN_BARS)])
def test_each_drawn_job_has_its_name_and_the_mark_of_its_action(
    empty_folder: Shell, jobs: int, drawn: int
) -> None:
    (empty_folder.folder / "workspace").mkdir()
    (empty_folder.folder / "workflow.toml").write_text(WORKFLOW)
    of_jobs(empty_folder.folder, jobs)
    empty_folder.succeed("report", cluster=None)
    page = (empty_folder.folder / "report.html").read_text()
    named = re.findall(r'text-anchor="end">(\d+) (?:melt|cool)</text>', page)
    assert len(set(named)) == drawn
    assert {str(it + 1) for it in range(0, jobs, 20)} <= set(named)
    assert (f"Of {jobs} jobs, {drawn} are drawn" in page) == (drawn < jobs)
    assert page.count("<pattern ") == 2
    assert page.count('<text class="failed" x=') == len(range(0, jobs, 20))


@given(some.floats(0, 1e9), some.booleans())
def test_an_axis_of_numbers_has_round_ticks_from_zero(most: float, whole: bool) -> None:
    ticks = round_ticks(most, whole=whole)
    assert 3 <= len(ticks) <= 5
    assert ticks[0] == 0
    assert ticks[-1] >= most * (1 - 1e-9)
    assert not whole or all(tick == int(tick) for tick in ticks)


@given(some.floats(1e9, 2e9), some.floats(0, 3e8))
def test_an_axis_of_time_has_ticks_within_it(first: float, span: float) -> None:
    axis = TimeAxis(first, first + span)
    ticks = list(axis.ticks())
    assert 3 <= len(ticks) <= 9
    assert [at for at, *_ in ticks] == sorted({at for at, *_ in ticks})
    assert all(first <= at <= first + max(span, 4) for at, *_ in ticks)
    assert ticks[0][2]  # The day, or the year.


def test_no_cell_of_a_trace_is_a_formula(empty_folder: Shell) -> None:
    (empty_folder.folder / "workspace" / "a").mkdir(parents=True)
    action = '[[action]]\nname = "=1+1"\ncommand = "true {directory}"\nproducts = ["x"]\n'
    (empty_folder.folder / "workflow.toml").write_text(action)
    empty_folder("submit", "--yes", cluster="local")
    empty_folder.succeed("report", "--trace", "trace.csv", cluster="local")
    for text in (
        (empty_folder.folder / "trace.csv").read_text(),
        empty_folder.succeed("usage", "--csv", cluster="local"),
    ):
        [row] = csv.DictReader(io.StringIO(text))
        assert row["action"] == "'=1+1"


def test_jobs_that_were_never_measured_are_counted(ended: Shell) -> None:
    ended.succeed("clean", "--usage", cluster="local")
    assert ended.succeed("usage", cluster="local") == (
        "No job was measured.\n"
        "4 older jobs are without measurements; they count in `rowtui report`.\n"
    )
    assert json.loads(ended.succeed("usage", "--json", cluster="local"))["unmeasured_jobs"] == 4
    text = ended.succeed("report", "--markdown", cluster="local")
    assert "4 jobs ended between" in text
    assert "Of 4 jobs no time is known." in text


def test_a_project_without_jobs_has_a_report_too(empty_folder: Shell) -> None:
    (empty_folder.folder / "workspace").mkdir()
    (empty_folder.folder / "workflow.toml").write_text(WORKFLOW)
    assert "No job has ended yet." in empty_folder.succeed("report", "--markdown", cluster=None)
    empty_folder.succeed("report", "--trace", "trace.csv")
    assert (empty_folder.folder / "trace.csv").read_text() == ""


ENERGY = """\
[[cluster]]
name = "local"
currency = "EUR"
[[cluster.node_type]]
name = "here"
cpus = 4
memory = "8G"
price_per_hour = 3600
[cluster.energy]
core_watts = 10
source = "a | guess"
"""


def test_costs_and_energy_are_in_every_form_with_the_same_sums(ended: Shell) -> None:
    assert "[cluster.energy]" in ended.succeed("report", "--markdown", cluster="local")
    file = Path(ended.environment["HOME"]) / ".config/rowtui/clusters.toml"
    file.parent.mkdir(parents=True)
    file.write_text(ENERGY)
    ended.succeed("report", "r.html", "--trace", "trace.csv", cluster="local")
    rows = list(csv.DictReader(io.StringIO((ended.folder / "trace.csv").read_text())))
    text = ended.succeed("report", "--markdown", cluster="local")
    total = json.loads(ended.succeed("usage", "--json", cluster="local"))["total"]
    [money] = total["money"]
    charged = sum(float(row["charged_money"]) for row in rows)
    # One of four CPUs of a node that costs an EUR a second.
    assert charged == pytest.approx(sum(float(row["wall_seconds"]) for row in rows) / 4, abs=0.1)
    assert (money["currency"], money["jobs"]) == ("EUR", 4)
    assert money["charged"] == pytest.approx(charged)
    assert total["carbon_g"] == pytest.approx(sum(float(row["carbon_g"]) for row in rows))
    page = (ended.folder / "r.html").read_text()
    for form in (text, page):
        assert f"{money['charged']:,.2f} EUR" in form
        assert "doi:10.1002/advs.202100707" in form
        assert "[cluster.energy]" not in form
    assert "from a \\| guess" in text or "from a | guess" in text


def test_failures_are_shown_with_their_logs(ended: Shell) -> None:
    text = ended.succeed("report", "--markdown", cluster="local")
    [row] = re.findall(r"^\| exit code 1 \| \d+ \| one<&> \| .*$", text, re.M)
    log = row.split(" | ")[-1].removesuffix(" |")
    assert (ended.folder / log).is_file()


def test_a_report_of_100_000_jobs_is_small_and_has_few_elements(empty_folder: Shell) -> None:
    (empty_folder.folder / "workspace").mkdir()
    (empty_folder.folder / "workflow.toml").write_text(WORKFLOW)
    kinds = [UsageKind(f"<{number}>", "alpha", f"p{number % 70}", "jane", 1, 4, 0, 512, 600)
             for number in range(300)]  # fmt: skip
    UsageStore(empty_folder.folder).append(
        JobUsage(
            f"abc-{number}", kinds[number % 300], number, 1,
            read_old_end(1, f"cause {number % 90}", 1_700_000_100 + number * 300),
            1_700_000_000 + number * 300,
            Used(60.0 + number % 600, 90.0, 1 << 18, node=f"n{number % 500}"),
        )
        for number in range(100_000)
    )  # fmt: skip
    empty_folder.succeed("report", cluster=None)
    page = (empty_folder.folder / "report.html").read_text()
    assert "100,000 jobs ended between" in page
    assert len(page) < 2_000_000
    assert page.count("<rect") < 2_000
    assert page.count("<tr") < 800
    assert "<script" not in page
    assert "http" not in page


def test_a_project_with_a_network_has_the_summary_of_its_run(empty_folder: Shell) -> None:
    folder = empty_folder.folder / "study"
    empty_folder.succeed("demo", "network", "--headless", "--keep", str(folder))
    empty_folder.folder = folder
    text = empty_folder.succeed("report", "--markdown", cluster="local")
    assert " of the network study is finished: of 41 jobs in 4 nodes, 41 are completed" in text
    assert re.search(r"^\| simulate \| 24 \| 24 \| 0 \| 0 \| 0 \| 0 \|$", text, re.M)


def test_a_file_that_is_no_report_is_not_overwritten(ended: Shell) -> None:
    file = ended.folder / "mine.html"
    file.write_text("<p>mine</p>")
    done = ended("report", "mine.html", cluster="local")
    assert done.returncode == 1
    assert "mine.html is not a report of rowtui" in done.stderr
    assert file.read_text() == "<p>mine</p>"
    ended.succeed("report", "r.html", cluster="local")
    ended.succeed("report", "r.html", cluster="local")


@pytest.mark.slow
@pytest.mark.timeout(180)  # a browser starts, and prints
async def test_a_browser_shows_it_at_every_width_and_reads_it(ended: Shell, tmp_path: Path) -> None:
    ended.succeed("report", cluster="local")
    address = (ended.folder / "report.html").as_uri()
    (tmp_path / "browser").mkdir()
    async with opened(tmp_path / "browser") as tab:
        await tab.tell("Page.navigate", url=address)
        await until_loaded(tab)
        assert tab.asked == [address]
        assert tab.complaints == []
        for width in (360, 900, 1600):
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            await tab.tell("Emulation.setDeviceMetricsOverride", **size)
            # Wide tables scroll in themselves, the page does not.
            assert await tab.value("innerWidth") == width
            assert await tab.value("document.documentElement.scrollWidth") <= width
        await check_reading(tab)
        await tab.tell("Emulation.setEmulatedMedia", media="print")
        sizes = [
            await tab.value(
                f"parseFloat(getComputedStyle(document.querySelector('{one}')).fontSize)"
            )
            for one in ("main > p", "td", ".note")
        ]
        assert sizes == sorted(sizes, reverse=True)
        printed = await tab.tell("Page.printToPDF")
        assert base64.b64decode(printed["data"]).startswith(b"%PDF")


async def until_loaded(tab: Tab) -> None:
    while (
        await tab.value("document.readyState + !!document.querySelector('main')") != "completetrue"
    ):
        await tab.tell("Page.getFrameTree")


async def check_reading(tab: Tab) -> None:
    """The tree of a screen reader has headings, the headers of tables, and the picture's text."""
    tree: list[dict[str, Any]] = (await tab.tell("Accessibility.getFullAXTree"))["nodes"]
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in tree
        if not node.get("ignored")
    ]
    headings = [name for role, name in named if role == "heading"]
    assert headings[:4] == [
        "project", "Jobs that ended over time", "The run of each job",
        "Requested and used by action",
    ]  # fmt: skip
    assert ("columnheader", "Failed") in named
    assert ("rowheader", "one<&>") in named
    assert any(
        role in ("image", "img") and name.startswith("Jobs that ended") for role, name in named
    )
