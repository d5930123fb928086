"""The queue over several clusters: what is on the screen, and what can be done to jobs."""

from __future__ import annotations

from pathlib import Path

from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.clusters.schedulers.job_terms import JobTerms
from rowtui.core.project.views.views import JobsView
from rowtui.core.usage.running import UsageNow
from rowtui.tui.views.queue.table import QueueList, QueueRows
from rowtui.tui.widgets.table.virtual_table import VirtualTable

from tests.tui.hand import opened
from tests.tui.sample import SampleEngine
from tests.tui.sample_clusters import with_clusters
from tests.tui.sample_queue import crowd, with_array


async def test_each_cluster_has_a_line_at_every_size_and_the_jobs_have_room() -> None:
    async with opened(with_clusters(), size=(80, 24)) as hand:
        await hand.press("6")
        for size in ((80, 24), (120, 36), (200, 50), (40, 12)):
            await hand.pilot.resize_terminal(*size)
            await hand.rests()
            await hand.sees("9182736_0")
            if size[1] >= 36:
                await hand.sees("local  ● here", "anvil  ● connected", "delta  ▲ needs login")
            elif size[0] >= 80:
                await hand.sees("local ● now  anvil ● 10 s ago  delta ▲ log in: L")
            await hand.sees("✓ completed")
        await hand.pilot.resize_terminal(120, 36)
        await hand.sees("10 s ago, next in 45 s", "press L: it asks for a password")


async def test_the_age_of_a_look_grows_by_itself() -> None:
    async with opened(with_clusters()) as hand:
        await hand.press("6")
        await hand.sees("10 s ago, next in 45 s")
        hand.engine.now += 30
        hand.app._tick()
        await hand.sees("40 s ago, next in 15 s")
        hand.engine.now += 30
        hand.app._tick()
        await hand.sees("1 min ago, next now")


async def test_others_are_listed_on_demand_and_are_only_shown() -> None:
    async with opened(with_clusters()) as hand:
        await hand.press("6")
        await hand.sees("5 jobs · m 3 others")
        assert "relax-MoS2" not in hand.text()
        await hand.press("m")
        await hand.sees("All my jobs", "8 jobs", "9181000_7", "relax-MoS2", "Dependency")
        await hand.press("G")
        await hand.sees("Not of this project: it is only shown here.", "Job 9180417")
        for key, label in (("c", "cancel"), ("H", "hold"), ("enter", "log")):
            await hand.press(key)
            await hand.sees(f"{label}: the job is not of this project")
            hand.app.clear_notifications()
        await hand.press("space", "y")
        await hand.sees("Copied 9180417")
        assert not hand.app.session.marked_jobs
        await hand.press("a")
        await hand.sees("3 of 8 jobs marked")
        await hand.press("escape", "m")
        await hand.sees("Jobs of all users")
        await hand.press("m")
        await hand.sees_no("relax-MoS2")
        assert not hand.app.session.other_job
        assert {"cancel", "hold", "release"}.isdisjoint(hand.engine.calls)


async def test_the_cluster_has_a_column_only_where_there_are_several() -> None:
    async with opened() as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        assert "Cluster " not in hand.text()
    async with opened(with_clusters()) as hand:
        await hand.press("6")
        await hand.sees("Cluster", "9182736_1")


async def test_a_waiting_job_is_held_and_released_only_after_yes() -> None:
    async with opened(with_clusters()) as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        await hand.press("H")
        await hand.sees("hold: only a job that waits can be held")
        await hand.press("j", "j", "H")
        await hand.sees("Hold 1 job?", "9182736_1  equilibrate           12  pending")
        await hand.press("escape")
        await hand.sees("Nothing was held.")
        await hand.press("H", "y", "e", "s", "enter")
        await hand.sees("1 job held", "· held")
        await hand.sees("held, and starts only")
        assert hand.engine.calls[-1] == "jobs now"
        await hand.press("H")
        await hand.sees("Release 1 job?")
        await hand.press("y", "e", "s", "enter")
        await hand.sees("1 job released", "· pending    anvil")
        assert [call for call in hand.engine.calls if call in ("hold", "release")] == [
            "hold",
            "release",
        ]


async def test_of_the_marked_jobs_only_those_that_wait_are_held() -> None:
    async with opened(with_clusters()) as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        await hand.press("a")
        await hand.sees("3 of 5 jobs marked")
        await hand.press("H")
        await hand.sees("Hold 1 job? (2 marked cannot be held)", "Type yes")
        await hand.press("y", "enter")
        await hand.sees("1 job held")
        states = [job.state for job in hand.engine.jobs_by_token.values()]
        assert states.count(JobState.HELD) == 1
        assert states.count(JobState.RUNNING) == 2


async def test_a_refusal_of_the_scheduler_names_the_job_and_the_reason() -> None:
    engine = with_clusters()
    token = next(
        token for token, job in engine.jobs_by_token.items() if job.state is JobState.PENDING
    )
    engine.refusals[token] = "Access/permission denied"
    async with opened(engine) as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        await hand.press("j", "j", "H", "y", "enter")
        await hand.sees("0 jobs held, 1 not: Access/permission denied")
        await hand.press("at")
        await hand.sees("job 9182736_1 not held: Access/permission denied")


async def test_waiting_jobs_are_changed_after_a_form_and_a_question() -> None:
    async with opened(with_array(with_clusters())) as hand:
        await hand.press("6")
        await hand.sees("69 jobs")
        await hand.press("j", "e")
        await hand.sees("change: only a job that waits can be changed")
        await hand.press("a", "e")
        # the running ones are left out
        await hand.sees("Change 24 jobs that wait", "43 marked cannot be changed")
        await hand.sees("Time limit  1 h or 4 h", "Nice value  0", "Waits for   no job")
        await hand.press(*"soon", "tab")
        await hand.sees("'soon' is no time")
        await hand.press("enter")
        assert not hand.engine.new_terms
        await hand.press(*["backspace"] * 4, *"8h", "enter")
        await hand.sees("Change 24 jobs?", "Time limit  1 h         8 h    23")
        await hand.sees("Time limit  4 h         8 h     1")
        await hand.press("y", "e", "s", "enter")
        await hand.sees("Nothing was changed.")
        assert not hand.engine.new_terms
        await hand.press("e", *"8h", "tab", "tab", *"100", "enter")
        await hand.sees("Nice value    0         100    24")
        await hand.press("2", "4", "enter")
        await hand.sees("24 jobs changed")
        assert hand.engine.new_terms == [JobTerms(limit=28_800, nice=100)]
        # the list shows what the next poll has
        assert hand.engine.calls[-1] == "jobs now"
        assert not hand.app.session.queue_marks


async def test_a_form_without_a_value_changes_nothing_and_refusals_are_told_one_by_one() -> None:
    engine = with_clusters()
    token = next(
        token for token, job in engine.jobs_by_token.items() if job.state is JobState.PENDING
    )
    engine.refusals[token] = "only administrators may raise a time limit"
    async with opened(engine) as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        await hand.press("j", "j", "e")
        await hand.sees("Change 1 job that waits")
        await hand.press("enter")
        await hand.sees("Nothing was changed.")
        await hand.press("e", "tab", *"highmem", "enter")
        await hand.sees("Partition  shared  highmem")
        await hand.press("y", "e", "s", "enter")
        await hand.sees("0 jobs changed, 1 not: only administrators may raise a time limit")


async def test_a_cluster_that_does_not_answer_dims_its_own_jobs_only() -> None:
    async with opened(with_clusters()) as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        hand.engine.remote["anvil"] = hand.engine.remote["anvil"]._replace(
            error="slurmctld is down"
        )
        await hand.press("r")
        await hand.sees("anvil  ▲ no answer", "slurmctld is down", "9182736_0")
        table = hand.app.screen.query_one("#queue", VirtualTable)
        styles = {}
        for index in range(table.source.row_count):
            cells = table.source.row(index) or {}
            cluster, state = cells["cluster"], cells["state"]
            assert isinstance(cluster, tuple)
            assert isinstance(state, tuple)
            styles.setdefault(cluster[0].text, set()).add(state[0].style)
        assert styles["anvil"] == {"dim"}
        assert "dim" not in styles["local"]


async def test_only_a_person_who_asks_has_the_queues_asked_now() -> None:
    async with opened(with_clusters()) as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        assert "jobs now" not in hand.engine.calls
        hand.engine.tell("jobs")
        await hand.until(lambda: hand.engine.calls.count("jobs") > 1)
        assert "jobs now" not in hand.engine.calls
        await hand.press("r")
        await hand.until(lambda: "jobs now" in hand.engine.calls)


async def test_a_queue_that_is_slow_does_not_hold_up_the_status() -> None:
    import asyncio

    class Slow(SampleEngine):
        async def jobs_view(self, *, now: bool = False) -> JobsView:
            await asyncio.Event().wait()

    engine = Slow()
    async with opened(engine) as hand:
        await hand.sees("78 eligible")
        engine.complete("equilibrate", [name for name in engine.names if name >= "T1.1"][:1])
        await hand.until(lambda: engine.calls.count("refresh") > 1)
        await hand.sees("Workflow")


async def test_an_array_is_one_row_that_unfolds_and_its_marks_mean_all_its_tasks() -> None:
    async with opened(with_array(with_clusters())) as hand:
        await hand.press("6")
        await hand.sees("▸9182810[1-64]", "41 running · 23 pending", "69 jobs in 6 rows")
        while "9182810" not in hand.app.session.queue_row.label:  # type: ignore[union-attr]
            await hand.press("j")
        await hand.sees("Job 9182810[1-64]", "64 jobs         41 running  23 pending")

        await hand.press("z")
        await hand.sees("▾9182810", "  9182810_1", "▲ 10 min left, 1 dir open", "in 70 rows")
        assert hand.app.session.queue_row.key.folded  # type: ignore[union-attr]
        await hand.press("space")
        await hand.sees("64 of 69 jobs in 70 rows marked", "›● ▶ running    anvil      9182810_1")
        await hand.press("space")
        await hand.sees("The whole array is marked")
        await hand.press("j", "z")
        await hand.sees("▸9182810[1-64]", "64 of 69 jobs in 6 rows marked")
        assert hand.app.session.queue_row.label == "9182810"  # type: ignore[union-attr]

        hand.engine.refusals["array7.63"] = "Access/permission denied"
        await hand.press("c")
        await hand.sees("Cancel 64 jobs?", "9182810_8", "and 56 more", "Type 64")
        await hand.press("6", "4", "enter")
        await hand.sees("63 jobs cancelled, 1 not: Access/permission denied")
        await hand.sees("1 pending · 63 cancelled")
        await hand.press("at")
        await hand.sees("job 9182810_63 not cancelled: Access/permission denied")
        await hand.press("escape")
        assert not hand.app.session.queue_marks
        await hand.press("a", "a")
        await hand.sees("65 of 69 jobs in 6 rows marked")
        await hand.press("R")
        await hand.sees("64 jobs")


async def test_why_a_job_waits_is_asked_only_when_a_person_asks() -> None:
    async with opened(with_clusters()) as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        await hand.press("j", "j")
        await hand.sees("9182736_1 · why is it not running?", "Jobs of higher priority are before")
        assert not hand.engine.estimates
        await hand.press("w")
        await hand.sees("41,823 = age 8,200 + fair share 21,400", "scontrol show job 9182736")
        await hand.sees("cpu=512,mem=1T,node=4,billing=512")
        assert "goes first" not in hand.text()
        await hand.press("r")
        await hand.sees("11 of 143", "on n[017-020]")
        assert hand.engine.estimates == [False, True]
        await hand.press("y", "escape")
        await hand.sees("Copied the page.", "priority        41,823", "11 of 143")
        await hand.press("j", "w")
        await hand.sees("it starts jobs as soon as they fit, and gives no estimate")


async def test_jobs_of_all_users_one_cluster_and_orders() -> None:
    engine = with_clusters()
    engine.foreign = crowd("anvil")
    async with opened(engine) as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        await hand.press("m", "m")
        await hand.sees("Jobs of all users", "11 jobs", "User", "ada", "grace", "qmc-scan")
        await hand.press("G")
        await hand.press("c")
        await hand.sees("cancel: the job is not of this project")
        await hand.press("right_square_bracket")
        await hand.sees("Jobs of all users · local")
        await hand.sees_no("qmc-scan")
        await hand.press("right_square_bracket", "right_square_bracket", "m")
        await hand.sees("Jobs of this project · delta", "No jobs on delta")
        await hand.press("right_square_bracket", "o", "o", "o")
        await hand.sees("Sorted by id")
        first = hand.app.screen.query_one("#queue", VirtualTable)
        await hand.until(lambda: "4712" in str(first.source.row(0)))
        await hand.press("o")
        await hand.until(lambda: "9182736" in str(first.source.row(0)))


async def test_a_filter_shows_some_jobs_and_esc_shows_all_again() -> None:
    async with opened(with_array(with_clusters())) as hand:
        await hand.press("6")
        await hand.sees("69 jobs in 6 rows")
        await hand.press("slash", *"state=pending")
        await hand.sees("24 of 69 jobs in 2 rows", "▸9182810[42-64]", "/ state=pending")
        await hand.press("enter")
        await hand.press("slash", *" colour=red")
        await hand.sees("this list has no column 'colour'")
        await hand.press("escape")
        await hand.sees("69 jobs in 6 rows")


async def test_columns_ranges_all_matching_and_a_file_of_the_queue(tmp_path: Path) -> None:
    async with opened(with_array(with_clusters())) as hand:
        await hand.press("6")
        await hand.sees("69 jobs in 6 rows")
        await hand.press("z", "Z")
        await hand.sees("69 jobs in 70 rows")
        # a range from the row of the array on: its jobs are not marked once more
        table = hand.app.screen.query_one("#queue", QueueList)
        while "9182810" not in hand.app.session.queue_row.label:  # type: ignore[union-attr]
            await hand.press("j")
        await hand.press("v", "j", "j", "v")
        await hand.sees("64 of 69 jobs in 70 rows marked")
        assert len(hand.app.session.queue_marks) == 1
        await hand.press("escape")
        await hand.sees_no("marked")
        # all that the filter leaves, in this order
        await hand.press("slash", *"state=pending", "enter", "a")
        await hand.sees("24 of 24 of 69 jobs")
        await hand.press("escape", "escape")
        await hand.sees("69 jobs in 70 rows")

        hand.app.screen.query_one("#queue", QueueList).sort_by("first")
        await hand.sees("Sorted by first")
        path = tmp_path / "jobs.csv"
        assert hand.app.view is not None
        assert hand.app.view.export_to(str(path)) == ""
        await hand.sees("70 rows written")
        head, *rows = path.read_text().splitlines()
        assert head.startswith("State,")
        assert len(rows) == 70
        assert sum("9182810[1-64]" in row for row in rows) == 1
        assert "E asks before" in hand.app.view.export_to(str(path))
        assert "no such folder" in hand.app.view.export_to(str(tmp_path / "no" / "x.csv"))

        await hand.press("vertical_line")
        await hand.sees(" Why ", "Partition")
        await hand.press("space", "enter")
        await hand.until(lambda: "state" not in [one.column.id for one in table.placed])


async def test_what_a_poll_changes_stands_out_and_the_cursor_stays_on_its_job() -> None:
    async with opened(with_clusters()) as hand:
        await hand.press("6")
        await hand.sees("5 jobs")
        await hand.press("j", "j")
        key = hand.app.session.queue_row.key  # type: ignore[union-attr]
        table = hand.app.screen.query_one("#queue", QueueList)
        flashed: list[tuple[object, str]] = []
        table.flash = lambda cells: flashed.extend(cells)  # type: ignore[method-assign]
        job = hand.engine.jobs_by_token[key.token]
        job.state, job.reason = JobState.RUNNING, ""
        await hand.press("r")
        await hand.until(lambda: flashed)
        assert flashed == [(key, "state"), (key, "reason")]
        assert hand.app.session.queue_row.key == key  # type: ignore[union-attr]
        assert table.cursor_key == key


async def test_a_hundred_thousand_jobs_are_paged_not_carried() -> None:
    engine = with_array(with_clusters(), tasks=0)
    anvil = engine.remote["anvil"]
    jobs = tuple(
        Job(number, JobState.PENDING, f"job{number}", reason="Priority", partition="cpu")
        for number in range(100_000)
    )
    engine.remote["anvil"] = anvil._replace(jobs=jobs)
    async with opened(engine) as hand:
        await hand.press("6")
        await hand.sees("5 jobs · m 100,000 others", "100,001 pending")
        view = hand.app.session.jobs
        assert view is not None
        assert not any(one.jobs for one in view.clusters)
        await hand.press("m", "G")
        await hand.sees("100,005 jobs", "job0")
        table = hand.app.screen.query_one("#queue", VirtualTable)
        assert isinstance(table.source, QueueRows)
        assert table.source.row_count == 100_005
        assert len(table.source.loaded_items()) <= 600
        painted = table.painted_lines
        await hand.press("k")
        assert table.painted_lines - painted <= 4


async def test_what_a_running_job_uses_is_asked_once_the_cursor_rests_on_it() -> None:
    engine = with_clusters()
    gb = 1 << 20
    engine.used = UsageNow(engine.now, 7200.0, 43_200.0, 54_720.0, 8, int(3.7 * gb), 4 * gb)
    async with opened(engine, size=(160, 40)) as hand:
        await hand.press("6")
        await hand.sees("near its limit of memory: memory")
        asked = list(engine.asked_used)
        assert len(asked) == len(set(asked))
        await hand.rests()
        hand.app._tick()
        assert engine.asked_used == asked
