"""The stored usage of jobs: what is written is read, whatever happens to writers and files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from rowtui.core.clusters.schedulers.measured import MeasuredBy, Used
from rowtui.core.submission.plan.outcome import JobOutcome, JobResult, read_old_end
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.store import SIZE, UsageStore

from tests.eventually import eventually

KIND = UsageKind("simulate", "alpha", "cpu", "jane", 1, 4, 0, 2048, 3600)


def job(token: str = "abc-1", reason: str = "", **more: object) -> JobUsage:
    used = Used(
        10.5, 21.25, 4096, None, None, "n1", MeasuredBy.SCRIPT, MeasuredBy.GROUP,
        MeasuredBy.SCHEDULER, MeasuredBy.UNKNOWN,
    )  # fmt: skip
    end = read_old_end(0, reason, 1_700_000_100.0)
    plain = JobUsage(token, KIND, 12, 3, end, 1_700_000_000.0, used)
    return plain._replace(**more)  # type: ignore[arg-type]


def read(root: Path) -> list[JobUsage]:
    return list(UsageStore(root).columns().jobs())


def test_a_project_without_ended_jobs_has_no_usage_and_no_files(tmp_path: Path) -> None:
    assert read(tmp_path) == []
    assert not (tmp_path / ".row").exists()


names = some.text(max_size=20)
whole = some.integers(0, (1 << 32) - 1)
seconds = some.none() | some.floats(0, 1e9, width=32)


@given(
    some.lists(
        some.builds(
            JobUsage,
            token=some.from_regex(r"[a-f0-9]{4}-[0-9]{1,3}([~a.][0-9]{1,3})?", fullmatch=True),
            kind=some.builds(
                UsageKind, names, names, names, names, whole, whole, whole,
                some.none() | whole, whole,
            ),
            job_id=whole,
            directories=some.integers(0, (1 << 15) - 1),
            end=some.builds(
                lambda outcome, cause, code, signal, at: JobResult(
                    outcome, cause, cause, code, signal, ended_at=at
                ),
                some.sampled_from(JobOutcome), names,
                some.none() | some.integers(-200, 255), names, whole,
            ),
            submitted_at=whole,
            used=some.builds(
                Used, seconds, seconds, some.none() | some.integers(1, (1 << 32) - 1), seconds,
                some.none() | some.integers(1, (1 << 32) - 1), names,
                *[some.sampled_from(MeasuredBy)] * 4,
            ),
            complete=some.booleans(),
        ),
        max_size=8,
        unique_by=lambda it: it.token,
    )
)  # fmt: skip
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[JobUsage]
) -> None:
    root = tmp_path_factory.mktemp("project")
    store = UsageStore(root)
    store.append(jobs[:3])
    store.append(jobs[3:])
    assert sorted(read(root)) == sorted(jobs) or read(root) == jobs


def test_the_last_record_of_a_job_counts(tmp_path: Path) -> None:
    store = UsageStore(tmp_path)
    store.append([job("abc-1"), job("abc-2"), job("abc-10a.3"), job("abc-10~3")])
    UsageStore(tmp_path).append([job("abc-1", complete=True)])
    found = read(tmp_path)
    assert [it.token for it in found] == ["abc-2", "abc-10a.3", "abc-10~3", "abc-1"]
    assert found[-1].complete


def test_a_job_is_found_by_its_token(tmp_path: Path) -> None:
    jobs = [job(token) for token in ("abc-1", "abc-11", "abd-1", "x~3", "no number", "abc-0a.12")]
    UsageStore(tmp_path).append([*jobs, job("abc-11", job_id=99)])
    columns = UsageStore(tmp_path).columns()
    for one in jobs:
        found = columns.find(one.token)
        assert found is not None
        assert found == one._replace(job_id=99 if one.token == "abc-11" else one.job_id)
    assert columns.find("abc-2") is None
    assert columns.find("") is None


def test_several_writers_lose_nothing(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from tests.core.usage.test_store import job
from rowtui.core.usage.store import UsageStore
store = UsageStore(Path(sys.argv[1]))
for number in range(40):
    store.append([job(f"{sys.argv[2]}-{number}", reason=f"{sys.argv[2]} {number % 7}")])
"""
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in "abc"
    ]
    assert [writer.wait(timeout=50) for writer in writers] == [0, 0, 0]
    found = {it.token: it.end.cause for it in read(tmp_path)}
    assert found == {f"{name}-{i}": f"{name} {i % 7}" for name in "abc" for i in range(40)}


def test_a_writer_may_be_killed_at_any_byte(tmp_path: Path) -> None:
    store = UsageStore(tmp_path)
    store.append([job("abc-1")])
    names, records = files(tmp_path)
    before = names.read_bytes(), records.read_bytes()
    store.append([job("abc-2", reason="exit code 3")])
    after = names.read_bytes(), records.read_bytes()
    for cut in range(len(before[0]), len(after[0]) + 1):
        names.write_bytes(after[0][:cut])  # killed in the middle of the texts
        records.write_bytes(before[1])
        assert [it.token for it in read(tmp_path)] == ["abc-1"]
        UsageStore(tmp_path).append([job("abc-3", reason="killed")])
        assert [(it.token, it.end.cause) for it in read(tmp_path)] == [
            ("abc-1", ""),
            ("abc-3", "killed"),
        ]
    for cut in range(len(before[1]), len(after[1])):
        names.write_bytes(after[0])
        records.write_bytes(after[1][:cut])
        UsageStore(tmp_path).append([job("abc-3", reason="killed")])
        assert [(it.token, it.end.cause) for it in read(tmp_path)] == [
            ("abc-1", ""),
            ("abc-3", "killed"),
        ]


def test_a_writer_that_waits_for_a_killed_one_goes_on(tmp_path: Path) -> None:
    code = """
import fcntl, os, sys
from pathlib import Path
folder = Path(sys.argv[1])
fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
fcntl.flock(fd, fcntl.LOCK_EX)
(folder / "held").touch()
import signal
signal.pause()
"""
    UsageStore(tmp_path).append([job("abc-1")])
    folder = tmp_path / ".row" / "rowtui" / "usage"
    holder = subprocess.Popen([sys.executable, "-c", code, str(folder)])
    try:
        eventually((folder / "held").exists, within=20)
        writer = subprocess.Popen(
            [sys.executable, "-c", "import sys\nfrom pathlib import Path\n"
             "from tests.core.usage.test_store import job\n"
             "from rowtui.core.usage.store import UsageStore\n"
             "UsageStore(Path(sys.argv[1])).append([job('abc-2')])", str(tmp_path)]
        )  # fmt: skip
        assert [it.token for it in read(tmp_path)] == ["abc-1"]  # readers never wait
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait(timeout=20)
    assert writer.wait(timeout=30) == 0
    assert [it.token for it in read(tmp_path)] == ["abc-1", "abc-2"]


def files(root: Path) -> tuple[Path, Path]:
    folder = root / ".row" / "rowtui" / "usage"
    [names], [records] = folder.glob("names-*"), folder.glob("jobs-*")
    return names, records


@pytest.mark.parametrize("place", range(0, SIZE, 5))
def test_a_damaged_record_is_left_out_and_counted(tmp_path: Path, place: int) -> None:
    UsageStore(tmp_path).append([job(f"abc-{number}") for number in range(3)])
    _, records = files(tmp_path)
    data = bytearray(records.read_bytes())
    data[SIZE + place] ^= 0x55
    records.write_bytes(data)
    columns = UsageStore(tmp_path).columns()
    assert columns.damaged == 1
    assert [it.token for it in columns.jobs()] == ["abc-0", "abc-2"]


def test_a_damaged_text_is_unknown_and_all_others_stay(tmp_path: Path) -> None:
    kinds = [KIND, KIND._replace(action="x 7 0badcafe y"), KIND._replace(action="analyze")]
    jobs = [
        job(f"{plan}-{number}", f"exit code {number + 3}", kind=kinds[number])
        for plan in ("abc", "abd")
        for number in range(3)
    ]
    store = UsageStore(tmp_path)
    store.append(jobs[:3])
    store.append(jobs[3:])
    names, _ = files(tmp_path)
    sound = names.read_bytes()
    for place in range(len(sound)):
        data = bytearray(sound)
        data[place] ^= 1 << place % 8
        names.write_bytes(data)
        columns = UsageStore(tmp_path).columns()
        found = list(columns.jobs())
        assert (len(found), columns.damaged) == (6, 0)
        lost = []
        for before, now in zip(jobs, found, strict=True):
            lost += [before.kind] if now.kind != before.kind else []
            lost += [before.end.cause] if now.end != before.end else []
            lost += [before.token[:4]] if now.token != before.token else []
            lost += ["node"] if now.used.node != "n1" else []
            assert now.kind.action in (before.kind.action, "")
            assert now.end.cause in (before.end.cause, "unknown")
            assert now.used.node in ("n1", "")
            assert (now.used.cpu, now.job_id) == (before.used.cpu, before.job_id)
        assert len(set(lost)) <= 1, (place, lost)
        # A number is not given again, so that later jobs do not lend their texts to earlier ones.
        UsageStore(tmp_path).append([job("new-1", "new cause", kind=KIND._replace(action="new"))])
        assert all(
            it.kind.action != "new" for it in list(UsageStore(tmp_path).columns().jobs())[:6]
        )
        _, records = files(tmp_path)
        os.truncate(records, 6 * SIZE)


def test_a_job_whose_token_is_damaged_is_neither_recorded_again_nor_counted_twice(
    tmp_path: Path,
) -> None:
    UsageStore(tmp_path).append([job("abc-5"), job("abd-6")])
    names, _ = files(tmp_path)
    names.write_bytes(names.read_bytes().replace(b'"abc-"', b'"abx-"'))
    columns = UsageStore(tmp_path).columns()
    assert [bool(it) for it in columns.nameless()] == [True, False]
    assert [bool(it) for it in columns.incomplete()] == [False, True]


def test_records_are_never_read_with_the_texts_of_others(tmp_path: Path) -> None:
    store = UsageStore(tmp_path)
    store.append([job("abc-1", reason="out of memory")])
    names, _ = files(tmp_path)
    names.unlink()
    assert read(tmp_path) == []
    for writer in (store, UsageStore(tmp_path)):
        writer.append([job("abc-2", reason="time limit")])
        found = read(tmp_path)
        assert [(it.token, it.end.cause) for it in found] == [("abc-2", "time limit")]


def test_what_was_removed_is_gone_and_later_jobs_are_recorded(tmp_path: Path) -> None:
    store = UsageStore(tmp_path)
    store.remove()  # of nothing
    store.append([job("abc-1", reason="out of memory")])
    UsageStore(tmp_path).remove()
    assert read(tmp_path) == []
    store.append([job("abc-2", reason="time limit")])
    assert [(it.token, it.end.cause) for it in read(tmp_path)] == [("abc-2", "time limit")]


def test_zeros_after_a_power_loss_are_no_jobs(tmp_path: Path) -> None:
    UsageStore(tmp_path).append([job("abc-1")])
    _, records = files(tmp_path)
    records.write_bytes(records.read_bytes() + bytes(2 * SIZE))
    columns = UsageStore(tmp_path).columns()
    assert (len(columns), columns.damaged) == (1, 2)


def test_a_million_jobs_fit_into_60_megabytes(tmp_path: Path) -> None:
    store = UsageStore(tmp_path)
    store.append(job(f"{plan:012x}-{number}") for plan in range(10) for number in range(100))
    size = sum(os.stat(path).st_size for path in files(tmp_path))
    assert size / 1000 * 1_000_000 < 60e6
    assert (np.diff(store.columns().column("number"))[:99] == 1).all()
