"""Several processes reserve the same directories while others, Row and jobs are at work."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler
from rowtui.core.state.model import LastEnd, Submitted
from rowtui.core.state.row.postcard import encode_submitted
from rowtui.core.state.row.staging import stage_completions
from rowtui.core.state.store.store import Store
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.core.submission.sending.reservations import ReservationRelease, StoredReservations

from tests.core.submission.conftest import RealProject

DIRECTORIES = 60
SEED = 20_26


def start(work: Callable[[], None]) -> int:
    """A child process that does `work`; exit code 0 if it succeeds."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def named(number: int) -> str:
    return f"d{number:03}"


@pytest.fixture
def many(tmp_path: Path, scheduler: LocalScheduler) -> RealProject:
    return RealProject(tmp_path / "p", [named(n) for n in range(DIRECTORIES)], scheduler)


def job_for(real: RealProject, token: str, *names: str) -> PlannedJob:
    return real.plan("n").jobs[0]._replace(token=token, directories=names)


def jobs(real: RealProject) -> dict[str, Submitted]:
    state = real.state
    return {state.directories.name(at): job for at, job in state.submitted.get("one", {}).items()}


def test_what_row_submitted_and_what_jobs_completed_meanwhile_is_taken(real: RealProject) -> None:
    plan = real.plan("n").jobs
    before = real.state.generation
    (real.root / ".row" / "submitted.postcard").write_bytes(
        encode_submitted({"one": {b"a": ("anvil", 12)}})
    )
    stage_completions(real.root, {"one": ["b c"]})

    refused = StoredReservations(real.store).reserve(plan[:2])

    assert refused == {
        "n-0": "a was submitted meanwhile (anvil/12)",
        "n-1": "b c is complete already",
    }
    assert real.state.generation == before  # a refusal commits nothing
    refused = StoredReservations(real.store).reserve(plan)
    assert set(refused) == {"n-0", "n-1"}
    assert jobs(real) == {"a": Submitted("anvil", 12), "d\udcff": Submitted("local", 0, "n-2")}
    assert real.state.completed == {"one": 0b010}
    real.synchronise()
    assert real.state.completed == {"one": 0b010}  # what was staged counts once, and stays


def test_what_a_job_staged_before_it_ended_never_counts_as_failed(real: RealProject) -> None:
    job = job_for(real, "t", "a", "b c")
    store = StoredReservations(real.store)
    assert store.reserve([job]) == {}
    stage_completions(real.root, {"one": ["b c"]})
    why = LastEnd("local", 7, "t", "it ended well, but products are missing")

    store.release([ReservationRelease("t", "one", dict.fromkeys(job.directories, why))])

    assert real.state.ends == {"one": {0: why}}
    assert real.state.completed == {"one": 0b010}
    assert jobs(real) == {}


def test_row_taking_a_job_back_meanwhile_frees_its_directory(real: RealProject) -> None:
    submitted = real.root / ".row" / "submitted.postcard"
    plan = real.plan("n").jobs
    submitted.write_bytes(encode_submitted({"one": {b"a": ("anvil", 12)}}))
    real.synchronise()
    assert jobs(real) == {"a": Submitted("anvil", 12)}
    submitted.write_bytes(encode_submitted({}))

    assert StoredReservations(real.store).reserve(plan[:1]) == {}
    assert jobs(real) == {"a": Submitted("local", 0, "n-0")}


def test_directories_are_found_by_name_however_positions_moved(real: RealProject) -> None:
    job = job_for(real, "t", "b c", "d\udcff")
    gone = job_for(real, "u", "b c", "a")
    (real.root / "workspace" / "a").rmdir()
    for new in ("0", "c", "z"):
        (real.root / "workspace" / new).mkdir()
    stale = Store(real.root)
    stale.load()
    real.synchronise()

    assert StoredReservations(stale).reserve([job]) == {}
    assert jobs(real) == dict.fromkeys(["b c", "d\udcff"], Submitted("local", 0, "t"))
    assert StoredReservations(stale).reserve([gone]) == {
        "u": "b c was submitted meanwhile (on local)"
    }
    refused = StoredReservations(stale).reserve([gone._replace(directories=("z", "a"))])
    assert refused == {"u": "a is no longer in the workspace"}
    assert set(jobs(real)) == {"b c", "d\udcff"}


def test_a_directory_goes_from_reserved_to_recorded_to_free(real: RealProject) -> None:
    mine, yours, _ = real.plan("n").jobs
    reservations = StoredReservations(real.store)
    reservations.reserve([mine, yours])
    generation = real.state.generation
    assert reservations.reserve([mine, yours]) == {}
    assert real.state.generation == generation  # what a token has, it has
    reservations.record({"n-0": 9})
    other = mine._replace(token="other")
    assert reservations.reserve([other]) == {"other": "a was submitted meanwhile (local/9)"}
    assert jobs(real) == {
        "a": Submitted("local", 9, "n-0"),
        "b c": Submitted("local", 0, "n-1"),
    }


def test_of_many_who_submit_the_same_group_exactly_one_wins(many: RealProject) -> None:
    group = [named(n) for n in (1, 2, 3)]
    ready, go = os.pipe()

    def one(job: PlannedJob) -> Callable[[], None]:
        def work() -> None:
            os.close(go)
            os.read(ready, 1)  # everybody starts at once, when the pipe is closed
            refused = StoredReservations(Store(many.root)).reserve([job])
            os._exit(7 if refused else 0)

        return work

    planned = [job_for(many, f"t{number}", *group) for number in range(6)]
    pids = [start(one(job)) for job in planned]
    os.close(ready)
    os.close(go)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids)

    assert codes == [0, 7, 7, 7, 7, 7]
    assert set(jobs(many)) == set(group)
    assert len({job.token for job in jobs(many).values()}) == 1


def test_reservations_race_with_merges_and_kills_and_each_directory_has_one_owner(
    many: RealProject,
) -> None:
    root = many.root
    template = job_for(many, "t", named(0))
    stop = root / "stop"
    mine, theirs = os.pipe()

    def submit(who: int) -> Callable[[], None]:
        def work() -> None:
            for number in range(DIRECTORIES):
                token = f"w{who}-{number}"
                job = template._replace(token=token, directories=(named(number),))
                reservations = StoredReservations(Store(root))
                if reservations.reserve([job]):
                    continue
                os.write(theirs, f"{token}\n".encode())  # the scheduler has it from here on
                reservations.record({token: 1000 * (who + 1) + number})

        return work

    def merge() -> None:
        while not stop.exists():
            many.synchronise()

    merger = start(merge)
    submitters = [start(submit(who)) for who in range(3)]
    time.sleep(random.Random(SEED).random() * 0.3)
    os.kill(submitters[0], signal.SIGKILL)
    os.waitpid(submitters[0], 0)
    for pid in submitters[1:]:
        assert os.waitpid(pid, 0)[1] == 0
    stop.touch()
    assert os.waitpid(merger, 0)[1] == 0
    os.close(theirs)
    with open(mine) as pipe:
        sent = [line.strip() for line in pipe]

    many.synchronise()
    owners = jobs(many)
    assert set(owners) == {named(n) for n in range(DIRECTORIES)}
    assert len({token.split("-")[1] for token in sent}) == len(sent)  # none was sent twice
    assert set(sent) <= {job.token for job in owners.values()}
    unsettled = [job for job in owners.values() if not job.job_id]
    assert all(job.token.startswith("w0-") for job in unsettled)
    assert len(unsettled) <= 1
