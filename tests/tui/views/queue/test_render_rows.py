"""Rows of the queue, and the page that says why a job does not run."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.clusters.schedulers.kind import CommandOutput
from rowtui.core.project.queue.rows import QueueRow, RowKey
from rowtui.core.project.queue.views import JobDetail
from rowtui.tui.views.queue.reasons import row_lines, why_page
from rowtui.tui.views.queue.render_rows import queue_cells, queue_columns, start_text
from rowtui.tui.widgets.cells import fit, plain, width_of
from rowtui.tui.widgets.columns import place

NOW = 1_000_000.0
KEY = RowKey("anvil", 4711)
WAITS = QueueRow(
    KEY, "anvil", "4711", JobState.PENDING, "sample", ((JobState.PENDING, 1),),
    reason="Resources", limit=7_200, partition="cpu",
)  # fmt: skip
RUNS = WAITS._replace(state=JobState.RUNNING, reason="", elapsed=3_600)


def told(row: QueueRow, column: str, width: int = 60) -> str:
    return plain(fit(queue_cells(row, NOW)[column], width)).strip()


def test_the_limit_stands_behind_the_share_of_it_that_has_passed() -> None:
    assert (told(RUNS, "elapsed"), told(RUNS, "limit")) == ("1:00:00", "2 h")
    assert told(RUNS, "share", 10) == "█████░░░░░"
    assert told(RUNS._replace(elapsed=4_500), "share", 4) == "██▌░"
    assert told(RUNS._replace(elapsed=1), "share", 8) == "▏░░░░░░░"
    assert told(RUNS._replace(elapsed=7_199), "share", 4) == "███▉"
    assert told(RUNS._replace(elapsed=9_999), "share", 4) == "████"
    assert (told(WAITS, "elapsed"), told(WAITS, "share"), told(WAITS, "limit")) == ("–", "", "2 h")
    assert told(WAITS._replace(elapsed=0), "elapsed") == "–"


def test_near_its_limit_a_job_says_how_long_it_has_and_what_is_left_to_do() -> None:
    near = RUNS._replace(elapsed=7_200 - 11 * 60)
    assert told(near, "reason") == "▲ 11 min left"
    assert told(near._replace(open=4), "reason") == "▲ 11 min left, 4 dirs open"
    assert told(near._replace(open=4), "reason", 16) == "▲ 11 min left"
    assert told(RUNS, "reason") == ""
    short = RUNS._replace(limit=400, elapsed=290)  # more than a quarter of it is left
    assert told(short, "reason") == ""
    assert told(short._replace(elapsed=420), "reason") == "▲ 0 s left"


def test_an_expected_start_stands_beside_the_reason() -> None:
    later = WAITS._replace(start_estimate=int(NOW) + 2 * 86_400)
    assert told(later, "reason") == "Resources; starts Wed 13:46"
    assert start_text(int(NOW) - 5, NOW) == ""
    assert start_text(int(NOW) + 400 * 86_400, NOW) == ""


def test_an_expected_start_on_another_day_names_the_day() -> None:
    # now: Monday, 12 January, 13:46:40
    assert start_text(int(NOW) + 7_200, NOW) == "15:46"
    assert start_text(int(NOW) + 12 * 3_600, NOW) == "Tue 01:46"
    assert start_text(int(NOW) + 20 * 3_600 - 60, NOW) == "Tue 09:45"
    assert start_text(int(NOW) + 7 * 86_400, NOW) == "19 Jan"


def test_a_silent_clusters_rows_are_dim_and_say_how_old_they_are() -> None:
    old = WAITS._replace(silent=True, as_of=NOW - 7_300)
    assert told(old, "reason") == "stale: 2 h old"
    styles = {span.style for cell in queue_cells(old, NOW).values() for span in fit(cell, 30)}
    assert styles <= {"dim", ""}


def test_an_array_counts_its_jobs_by_state() -> None:
    fold = RUNS._replace(
        key=KEY._replace(folded=True), tasks="[1-64]",
        counts=((JobState.RUNNING, 41), (JobState.PENDING, 23)),
    )  # fmt: skip
    assert told(fold, "id") == "▸4711[1-64]"
    assert told(fold, "id", 6) == "▸4711"
    assert plain(fit(queue_cells(fold, NOW, unfolded=True)["id"], 12)).strip() == "▾4711[1-64]"
    assert told(fold, "reason") == "41 running · 23 pending"
    alone = fold._replace(counts=((JobState.PENDING, 64),), reason="Priority")
    assert told(alone, "reason") == "64 pending · Priority"


def test_the_page_has_our_sentence_the_numbers_and_every_field() -> None:
    fields = (("JobId", "4711"), ("Comment", "a\x1b[31m"))
    parts = (
        CommandOutput("scontrol show job 4711", fields),
        CommandOutput("sprio -j 4711", (), "no"),
    )
    detail = JobDetail(
        KEY, NOW - 20, parts, (("priority", 300), ("age", 200), ("nice", -10)),
        int(NOW) + 90_000, "n1", 3, 10, estimated=True,
    )  # fmt: skip
    page = [plain(one) for one in why_page(WAITS, detail, NOW, 100)]
    text = "\n".join(page)
    assert "It waits until enough CPUs" in page[0]
    assert "300 = age 200 + nice -10" in text
    assert "3 of 10" in text
    assert "on n1" in text
    assert "▲ no" in text
    assert "20 s ago" in text
    assert "\x1b" not in text
    assert "Asking the scheduler…" in plain(why_page(WAITS, None, NOW, 100)[-1])
    assert all(width_of(one) <= 40 for one in why_page(WAITS, detail, NOW, 40)[:4])


@settings(max_examples=60)
@given(
    st.builds(
        QueueRow,
        key=st.just(KEY),
        cluster=st.text(max_size=20),
        label=st.text(max_size=12),
        state=st.sampled_from(JobState),
        name=st.text(max_size=30),
        counts=st.just(((JobState.RUNNING, 1),)),
        nodes=st.text(max_size=30),
        reason=st.text(max_size=80),
        elapsed=st.none() | st.integers(0, 10**7),
        limit=st.none() | st.integers(0, 10**7),
        start_estimate=st.none() | st.integers(0, 2 * 10**6),
        as_of=st.none() | st.just(NOW - 5),
        silent=st.booleans(),
        user=st.text(max_size=9),
        record=st.none(),
    ),
    st.integers(20, 200),
)
def test_no_text_from_outside_breaks_a_row(row: QueueRow, width: int) -> None:
    cells = queue_cells(row, NOW)
    for one in place(queue_columns([row], NOW, width, clusters=2, everybody=True), width):
        shown = fit(cells[one.column.id], one.width, one.column.align)
        assert width_of(shown) == one.width
        assert plain(shown).isprintable()
    for line in (*row_lines(row, None, NOW, width), *why_page(row, None, NOW, width)):
        assert plain(line).isprintable()
