"""A line is judged by the rows of its bench; what is missing is said; growth is seen."""

from pathlib import Path

import pytest

from bench.growth import growth
from bench.line import ANY, Line, judge
from bench.lines import LINES, REASONS
from bench.measure import Run
from bench.measured import Measured, of_runs, read, write
from bench.report import growth_table, other_rows, summary

CPU = Line("a command: CPU", "commands", "status", "cpu s", {10: 0.1, 100: 0.2}, floor="bytes")


def cpu(size: int, seconds: float, tool: str = "rowtui", what: str = "status") -> Measured:
    return Measured(what, size, tool, {"cpu s": seconds}, suite="commands")


def test_a_line_is_reached_where_each_size_is() -> None:
    floor = cpu(ANY, 0.01, "floor", "bytes")

    good = judge(CPU, [cpu(10, 0.1), cpu(100, 0.2), cpu(1000, 9.0), floor], {})
    bad = judge(CPU, [cpu(10, 0.1), cpu(100, 0.21)], {})
    some = judge(CPU, [cpu(10, 0.1)], {})

    assert (good.state, good.missed, good.floor[100]) == ("reached", (), 0.01)
    assert (bad.state, bad.missed) == ("not reached", (100,))
    assert (some.state, some.why) == ("reached", "without 100")


def test_a_line_that_could_not_be_measured_says_why() -> None:
    failed = Measured("status", 10, error="no such file", suite="commands")

    assert judge(CPU, [], {"commands": "no Row here"}).why == "no Row here"
    assert judge(CPU, [failed], {}).why == "no such file"
    assert judge(CPU, [cpu(7, 0.1)], {}).why == "only at 7"
    assert "'status'" in judge(CPU, [], {}).why


def test_a_line_against_a_peer_needs_it_measured_on_this_machine() -> None:
    line = Line("scan", "commands", "status", "cpu s", {10: 1 / 2}, against="row")

    assert judge(line, [cpu(10, 1.0), cpu(10, 2.0, "row")], {}).state == "reached"
    assert judge(line, [cpu(10, 1.1), cpu(10, 2.0, "row")], {}).missed == (10,)
    known = judge(line, [cpu(10, 1.0), cpu(10, 2.0, "row (reference)")], {})
    assert (known.state, known.reference, known.peer) == ("not measured", True, {10: 2.0})


def test_the_worst_of_several_counts_and_a_rate_may_be_more() -> None:
    rate = Line("rate", "s", "all", "jobs/s", {ANY: 100.0}, more_is_better=True, variant="*")
    rows = [
        Measured("all", 0, best={"jobs/s": value}, variant=name, suite="s")
        for name, value in (("one", 150.0), ("two", 90.0))
    ]

    assert judge(rate, rows[:1], {}).state == "reached"
    assert judge(rate, rows, {}).best == {ANY: 90.0}


def test_best_and_median_are_of_all_runs_and_survive_as_json(tmp_path: Path) -> None:
    row = of_runs("x", 5, "row", [Run(3, 1, 9), Run(1, 2, 8), Run(2, 3, 7)])
    write(tmp_path / "rows", [row])
    (kept,) = read(tmp_path / "rows", "mine")

    assert kept.best == {"wall s": 1, "cpu s": 1, "peak MB": 7}
    assert kept.median == {"wall s": 2, "cpu s": 2, "peak MB": 8}
    assert (kept.tool, kept.runs, kept.suite) == ("row", 3, "mine")


def test_growth_is_an_exponent_and_has_the_reason_where_it_is_over() -> None:
    rows = [cpu(10, 1.0), cpu(100, 5.0), cpu(1000, 60.0), cpu(10, 1.0, what="b")]
    rows += [cpu(1000, 100.0, what="b"), cpu(10, 1.0, "row"), cpu(100, 99.0, "row")]

    found = growth(rows, {("commands", "status"): "a | reason"})

    assert [(one.what, one.larger, round(one.exponent, 3)) for one in found] == [
        ("status", 100, 0.699), ("status", 1000, 1.079), ("b", 1000, 1.0),
    ]  # fmt: skip
    table = growth_table(found)
    assert table[-4].startswith("| commands | status | cpu s | 100: 5.00 | 1k: 60.0 | **1.08**")
    assert not any("reason" in line for line in table[-3:])


def test_what_is_counted_for_each_grows_with_how_many_there_are() -> None:
    rows = [Measured("n", size, best={"us each": 3.0}, suite="s") for size in (100, 10_000)]

    (found,) = growth(rows, {})

    assert found.exponent == pytest.approx(1.0)


def test_a_text_from_outside_stays_in_its_cell() -> None:
    outcome = judge(CPU, [], {"commands": "a | b\nc"})

    assert "not measured: a / b c |" in summary([outcome])[-2]
    (line,) = other_rows([Measured("x|y", 1, error="no\nway", suite="s")])[4:-1]
    assert line == "| x/y | 1 | rowtui | no way |"


def test_every_reason_belongs_to_a_line_or_a_command_and_names_are_told_apart() -> None:
    assert all(suite == "commands" or any(line.what == what for line in LINES)
               for suite, what in REASONS)  # fmt: skip
    keys = [(line.suite, line.what, line.figure) for line in LINES]
    assert len(set(keys)) == len(keys)
