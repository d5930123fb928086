"""What the dashboard's bench keeps as JSON becomes rows that lines are judged by."""

from bench.line import judge
from bench.lines import DASHBOARD
from bench.measured import Measured
from bench.tui_rows import rows

FIGURES = {"p95": 1.5, "longest": 66.0}
KEPT = {
    "machine": "a machine",
    "first frame": [0.4, 0.3],
    "bare Textual app": [0.2, 0.1],
    "idle": [0.003, 130.0],
    "48 rows at 10 Hz": [0.05, 2000.0],
    "floor": {"page": [7.0, 30.0, 50.0], "load": [0.1, 0.1]},
    "list of 1000000": [{"page": [9.9, 43.0, 60.0], "down": [2.0, 8.0, 15.0]}, 120.0],
    "DataTable of 1000000": None,
    "DataTable of 10000": {"page": [63.0, 175.0, 258.0]},
    "everything at 1000000": [FIGURES, 0.08, 0.11, 22_000.0, 100.0, 359.0],
}


def test_each_line_of_the_dashboard_is_judged_by_its_own_row() -> None:
    found = [Measured(**{**row.__dict__, "suite": "tui"}) for row in rows(KEPT)]

    judged = {line.name: judge(line, found, {}) for line in DASHBOARD if line.suite == "tui"}

    missed = {name for name, one in judged.items() if one.state == "not reached"}
    assert missed == {
        "dashboard: a page of a list of 1M rows: CPU",
        "the same: worst",
        "memory of the engine, 10 actions",
    }
    assert all(one.state != "not measured" for one in judged.values())
    page = judged["dashboard: a page of a list of 1M rows: CPU"]
    assert (page.best, page.floor) == ({1_000_000: 9.9}, {1_000_000: 7.0})
