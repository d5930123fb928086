"""Packings as lines of text: numbers, words, bars and tables, from values alone."""

from __future__ import annotations

import io
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.cli.output.output import Output, display_width
from rowtui.cli.output.progress import Busy
from rowtui.cli.pack.text import (
    SHOWN_BUNDLES,
    bar,
    cut,
    head,
    print_packing,
)
from rowtui.core.base.text import Cost, price, priced
from rowtui.core.clusters.model import NodeType
from rowtui.core.packing.model import ResourceAmounts
from rowtui.core.project.planning.pack_views import (
    BundleView,
    LaneView,
    LeftAlone,
    PackedDestination,
)
from rowtui.core.submission.plan.model import (
    CPU_HOURS,
    Packed,
    PlannedDestination,
    PlannedJob,
    above,
)

from tests.eventually import eventually

WHERE = PlannedDestination("alpha", "cpu")


def packed(jobs: int = 3, bundles: int = 1, alone: float = 4.0, cost: float = 1.0) -> Packed:
    return Packed(WHERE, "best", jobs, bundles, alone, cost, 0.9, "EUR")


def node_type(name: str = "n", at_most: int | None = None, gpus: int = 0) -> NodeType:
    return NodeType(name, "", 4, 1000, gpus, None, 2.5, at_most, source="a file")


def bundle(jobs: int = 1, seconds: int = 60, cost: float = 0.5, kind: int = 0) -> BundleView:
    lane = LaneView(ResourceAmounts(2, 500), tuple(range(jobs)), (seconds // jobs,) * jobs)
    return BundleView("t", kind, ResourceAmounts(2, 500), seconds, cost, (lane,))


def job(name: str = "one-a") -> PlannedJob:
    return PlannedJob(
        "token", name, "one", 0, ("a",), WHERE, "", "", 1, 2, 0, 500, 60, Cost()
    )  # fmt: skip


def shown(
    there: PackedDestination,
    capsys: pytest.CaptureFixture[str],
    jobs: list[PlannedJob] | None = None,
    width: int | None = None,
) -> list[str]:
    print_packing(there, jobs or [job()] * 9, Output(color="never", progress=False), width)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00"),
        (1e-9, "<0.0001"),
        (0.01234, "0.0123"),
        (0.5, "0.50"),
        (12.345, "12.35"),
        (999.5, "999.50"),
        (12345.6, "12,346"),
    ],
)
def test_costs_have_the_digits_that_matter(value: float, text: str) -> None:
    assert price(value) == text
    assert priced(value, "EUR") == f"{text} EUR"
    assert priced(value, "") == text
    assert "\x1b" not in priced(value, "\x1b[31m")


def test_what_packing_saves_is_said_and_what_it_does_not() -> None:
    assert packed().saving == "1.00 EUR instead of 4.00 EUR for one node per job: 75 % less"
    assert packed(cost=4.0).saving == "4.00 EUR instead of 4.00 EUR for one node per job"
    assert packed(cost=6.0).saving.endswith("for one node per job: 50 % more")
    assert packed()._replace(unit=CPU_HOURS).saving.endswith("for the jobs one by one: 75 % less")
    assert packed(alone=0.0, cost=0.0).saving == "0.00 EUR instead of 0.00 EUR for one node per job"


def test_quality_never_promises_more_than_is_known() -> None:
    assert packed().quality(proven=True) == "the least possible cost, proven"
    assert packed()._replace(bound=0.0).quality() == "the least possible cost is unknown"
    sentence = "at most 11.2 % above the least possible cost (0.90 EUR)"
    assert packed().quality() == sentence
    assert above(1.0, 1.0) == "0.0 %"


@given(st.floats(0.01, 1e6), st.floats(0.01, 1e6))
def test_the_gap_is_rounded_up(bound: float, more: float) -> None:
    told = float(above(bound + more, bound).removesuffix(" %").replace(",", ""))
    real = 100 * ((bound + more) / bound - 1)
    assert real * (1 - 1e-9) - 1e-9 <= told <= real + 0.11


def test_a_place_where_nothing_is_packed_is_not_called_no_nodes() -> None:
    assert head(packed(jobs=0, bundles=0)) == "alpha/cpu: nothing can be packed"
    assert head(packed(jobs=1)) == "alpha/cpu: 1 job on 1 node"


def test_shares_are_bars_and_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    ascii_only = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert bar(None).text == "-"
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert bar(0.52).text == "█████░░░░░  52%"
    assert bar(1.0, 5).text == "█████ 100%"
    assert bar(0.3, 0).text == " 30%"
    monkeypatch.setattr(sys, "stdout", ascii_only)
    assert bar(0.52).text == "#####.....  52%"
    assert cut("abcdef", 4) == "abc."


@given(st.text(max_size=30), st.integers(1, 30))
def test_what_is_cut_fits(text: str, width: int) -> None:
    assert display_width(cut(text, width)) <= width


def test_bundles_that_are_alike_are_one_line_and_the_costliest_come_first(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bundles = (bundle(cost=0.1, seconds=10), bundle(3, cost=2.0), bundle(3, cost=2.0))
    lines = shown(PackedDestination(WHERE, packed(), (node_type(),), bundles), capsys)
    at = next(number for number, line in enumerate(lines) if line.startswith("Bundles"))
    assert lines[at + 1].split()[:4] == ["×2", "n", "3", "1"]
    assert lines[at + 2].split()[:4] == ["×1", "n", "1", "1"]
    assert "GPUs" not in "\n".join(lines)


def test_of_thousands_of_bundles_the_first_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    bundles = tuple(bundle(seconds=60 + at, cost=9000 - at) for at in range(5000))
    lines = shown(PackedDestination(WHERE, packed(bundles=5000), (node_type(),), bundles), capsys)
    assert len(lines) == SHOWN_BUNDLES + 9
    assert lines[-1] == "... and 4,960 bundles of 4,960 more kinds; all of them with --json"


def test_resources_that_nobody_uses_have_no_column(capsys: pytest.CaptureFixture[str]) -> None:
    there = PackedDestination(WHERE, packed(), (node_type(gpus=2),), (bundle(),))
    assert "GPUs" not in "\n".join(shown(there, capsys))
    free = node_type()._replace(price_per_hour=None)
    there = PackedDestination(WHERE, packed(), (free,), (bundle(),))
    assert "Price" not in "\n".join(shown(there, capsys))


def test_without_the_solver_the_extra_is_named_unless_the_packing_is_proven(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = PackedDestination(WHERE, packed(), (node_type(),), (bundle(),))
    assert "rowtui[exact]" not in "\n".join(shown(there, capsys))

    monkeypatch.setitem(sys.modules, "highspy", None)

    assert "rowtui[exact]" in shown(there, capsys)[3]
    assert "rowtui[exact]" not in "\n".join(shown(there._replace(proven=True), capsys))


def test_hostile_names_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2J\n"
    there = PackedDestination(
        PlannedDestination(evil, evil),
        Packed(PlannedDestination(evil, evil), evil, 3, 1, 4.0, 1.0, 0.9, evil),
        (node_type(evil, at_most=0),),
        (bundle(),),
        (LeftAlone((0,), evil),),
    )
    text = "\n".join(shown(there, capsys, [job(evil)]))
    assert "\x1b" not in text
    assert text.count("\\x1b[2J\\n") >= 6


@pytest.mark.parametrize("width", [50, 80, 160])
def test_tables_fit_the_terminal(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    there = PackedDestination(
        WHERE, packed(), (node_type("a-long-name", gpus=1),), (bundle(), bundle(2, 90))
    )
    lines = shown(there, capsys, [job("one-" + "x" * 200)] * 9, width)
    tables = [line for line in lines if "a-long-name" in line]
    assert len(tables) == 3
    assert all(len(line) <= max(width, 76) for line in tables)


class Screen(io.StringIO):
    """A terminal of sorts."""

    def isatty(self) -> bool:
        return True


def test_long_work_is_shown_with_its_time_and_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("rowtui.cli.output.progress.BUSY_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr("rowtui.cli.output.progress.BUSY_REDRAW_SECONDS", 0.001)
    with Busy(Output(), "Packing") as busy:
        eventually(screen.getvalue, lambda shown: "Packing, 0:00" in shown, every=0.001)
        with busy.paused():
            before = screen.getvalue()
            assert before.endswith("\r\x1b[K")
            time.sleep(0.01)
            assert screen.getvalue() == before
    assert screen.getvalue().endswith("\r\x1b[K")
    with Busy(Output(progress=False), "Packing"):
        pass
    assert screen.getvalue().count("\n") == 0
