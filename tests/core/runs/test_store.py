"""Runs on disk: frozen, journaled, driven by one process, and each on its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from array import array
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.definition.spec import (
    CardinalitySlice,
    Existing,
    FileSource,
    Gather,
    Input,
    Link,
    Network,
    NetworkPosition,
    Node,
    Pilot,
    Require,
    Schedule,
    Sink,
    Source,
    SourceRows,
    TableSource,
    Values,
)
from rowtui.core.runs.limits.limits import RunLimits, Spent
from rowtui.core.runs.model import (
    Cancelled,
    Event,
    Finished,
    Grew,
    JobFailed,
    LimitsConfirmed,
    MadeEntry,
    NotSent,
    Paused,
    PlanSubmitted,
    Published,
    Resumed,
    Retried,
    RunStarted,
    RunStatus,
    Stopped,
    event_of,
    line_of,
)
from rowtui.core.runs.snapshot import frozen_bytes, read_frozen
from rowtui.core.runs.store import BadRun, Run, RunHeldError, RunStore

from tests.core.runs.driving import standing_of
from tests.core.runs.killed import begin, was_killed

NETWORK = Network(
    "study",
    sources=(
        Source(
            "state",
            Values(
                MappingProxyType({"temperature": {"linspace": [1.0, 2.0, 3]}, "replica": [0, 1]}),
                (("temperature", "replica"),),
            ),
            NetworkPosition(3, 1),
        ),
        Source("table", TableSource("t.csv", "csv", ("a",))),
        Source("scans", FileSource("data/**/*.nii", "scan")),
        Source("there", Existing(("x/y",), ("a*",))),
    ),
    nodes=(
        Node("simulate", "simulate", (Input("state", (Link("state"),)),)),
        Node(
            "fit",
            "fit it",
            (
                Input(
                    "means",
                    (
                        Link(
                            "simulate", "e.json", CardinalitySlice(-1), ("replica",), "fold",
                            Require(share=0.8), NetworkPosition(9, 2),
                        ),
                        Link("table", require=Require(4)),
                    ),
                    "g",
                ),
            ),
            "cross",
            MappingProxyType({"tolerance": 1e-6, "deep": [1, {"a": None}]}),
            "own",
        ),
    ),
    sinks=(Sink("plot", "fit", "e.pdf", "results/{temperature}.pdf"),),
    schedule=Schedule(
        "critical-path", "pilot", Gather(50, 28_800), Pilot(16, 3600, 2048, 1, 60, 2), ahead=True
    ),
)  # fmt: skip
ROWS = (
    SourceRows("state", ("temperature", "replica"), ((1.0, 1.5, 2.0), (0, 1)), digest="ab"),
    SourceRows(
        "table", ("a", "b"), (("x", True, None, 1), (2,)), ((0, 1, 2, 3), (0, 0, 0, 0)),
        ({"k": 1}, {}, {}, {"n": "\udcff"}), (), frozenset((3, 1)),
    ),
    SourceRows("there", ("there",), (("a", "b"),), None, (), ("a", "b")),
)  # fmt: skip
EVENTS: list[Event] = [
    RunStarted(1.5),
    LimitsConfirmed(2.0, RunLimits(10.0, destinations=("a/*",), until=3.0, failures=2), "me"),
    PlanSubmitted(3.0, "p" * 64, ("t-0", "b~1"), 4.0, 0.5, 2.0, "EUR"),
    NotSent(3.5, "p" * 64, ("b~1",), 1.0, 0.25, 1.0, "EUR"),
    JobFailed(4.0, "simulate", "state,x=\udcff\n", "exit code 2", "t-0"),
    Retried(5.0, "simulate", ("a", "b")),
    Cancelled(6.0, "fit", ("c",), "its input failed"),
    Grew(
        7.0, "split", "s", "f.json", "fold", "0" * 64, (MadeEntry("x", {"k": [1]}, 0), MadeEntry(1,
        {}, 1))
    ),
    Published(9.0, "plot", "s", "results/1.pdf"),
    Paused(10.0, "the budget"),
    Resumed(11.0),
    Stopped(12.0, "enough"),
    Finished(13.0, True),
]  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path)


def test_a_run_is_a_frozen_copy(store: RunStore) -> None:
    limits = RunLimits(cpu_hours=5.0, destinations=("local",))
    made = store.create(
        NETWORK, ROWS, limits=limits, cluster="alpha", plug_ins={"priority": "sink"}, user="me"
    )

    run = store.load(made.id)

    assert run.network == NETWORK
    assert run.rows == ROWS
    assert run.about == made.about
    assert (run.about.user, run.about.cluster, run.about.name) == ("me", "alpha", "study")
    assert run.about.plug_ins == {"priority": "sink"}
    assert run.limits == limits
    assert run.about.limits_at == run.about.created
    assert run.status is RunStatus.NEW
    assert run.events() == []
    assert store.load(made.id).folder.parent == store.folder


def test_the_same_network_is_the_same_bytes_whatever_its_columns_are_kept_in() -> None:
    import numpy as np

    codes = (0, 1, 1)
    rows = [
        SourceRows("s", ("a",), (("x", "y"),), (kept,))
        for kept in (codes, list(codes), array("I", codes), np.asarray(codes))
    ]

    files = {frozen_bytes(NETWORK, [each]) for each in rows}

    assert len(files) == 1
    assert read_frozen(files.pop())[1][0].codes == ((0, 1, 1),)


def test_a_product_of_dimensions_stays_factorised() -> None:
    rows = SourceRows("s", ("a", "b"), (tuple(range(1000)), tuple(range(1000))))

    data = frozen_bytes(NETWORK, [rows])

    assert rows.count == 1_000_000
    assert len(data) < 20_000


@given(
    st.lists(
        st.none() | st.booleans() | st.integers() | st.text()
        | st.floats(allow_nan=False, allow_infinity=False),
        max_size=5,
    )
)  # fmt: skip
def test_values_come_back_as_they_were(values: list[object]) -> None:
    rows = SourceRows("s", ("a",), (tuple(values),), (tuple(range(len(values))),))

    (back,) = read_frozen(frozen_bytes(NETWORK, [rows]))[1]

    assert [(type(it), it) for it in back.values[0]] == [(type(it), it) for it in values]


def test_a_value_that_json_cannot_say_is_refused_and_leaves_no_run(store: RunStore) -> None:
    with pytest.raises(RowtuiError, match="JSON"):
        store.create(NETWORK, [SourceRows("s", ("a",), ((float("nan"),),))])

    assert store.runs() == ()


def test_somebody_without_a_name_is_known_by_a_number(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(_: int) -> None:
        raise KeyError("no such user")

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)

    assert store.create(NETWORK, ()).about.user == str(os.getuid())


def test_runs_are_numbered_for_ever_and_in_order(store: RunStore) -> None:
    ids = [store.create(NETWORK, ()).id for _ in range(11)]

    day = ids[0].rpartition("-")[0]
    assert ids == [f"{day}-{number}" for number in range(1, 12)]
    assert store.ids() == ids
    assert [run.id for run in store.runs()] == ids
    latest = store.latest()
    assert latest is not None
    assert latest.id == ids[-1]
    subprocess.run(["rm", "-r", str(store.folder / ids[-1])], check=True)
    assert store.create(NETWORK, ()).id == f"{day}-12"


def test_runs_made_at_once_have_different_names(store: RunStore) -> None:
    made: list[str] = []
    threads = [
        threading.Thread(target=lambda: made.append(store.create(NETWORK, ()).id)) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(made)) == 8
    assert sorted(made) == sorted(store.ids())


def test_every_event_comes_back(store: RunStore) -> None:
    run = store.create(NETWORK, ())

    run.append(*EVENTS[:3])
    run.append(*EVENTS[3:])

    assert store.load(run.id).events() == EVENTS
    assert {type(event) for event in EVENTS} == set(Event.__args__)


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([], RunStatus.NEW),
        ([LimitsConfirmed(0.0, RunLimits())], RunStatus.NEW),
        ([RunStarted(0.0), JobFailed(0.0, "n", "s")], RunStatus.RUNNING),
        ([RunStarted(0.0), Paused(1.0)], RunStatus.PAUSED),
        ([RunStarted(0.0), Paused(1.0), Resumed(2.0)], RunStatus.RUNNING),
        ([RunStarted(0.0), Finished(1.0, True)], RunStatus.FINISHED),
        ([RunStarted(0.0), Finished(1.0, False)], RunStatus.FAILED),
        ([RunStarted(0.0), Finished(1.0, False), Retried(2.0, "n", ("s",)), Resumed(2.0)],
         RunStatus.RUNNING),
        ([RunStarted(0.0), Stopped(1.0)], RunStatus.STOPPED),
    ],
)  # fmt: skip
def test_the_journal_says_where_a_run_stands(
    store: RunStore, events: list[Event], status: RunStatus
) -> None:
    run = store.create(NETWORK, ())
    if events:
        run.append(*events)

    assert store.load(run.id).status is status


def test_a_line_cut_off_anywhere_loses_only_itself(store: RunStore) -> None:
    run = store.create(NETWORK, ())
    run.append(*EVENTS[:3])
    path = run.folder / "events.jsonl"
    whole = path.read_bytes()
    last = len(line_of(EVENTS[2]))

    for cut in range(1, last + 1):
        path.write_bytes(whole[:-cut])
        kept = EVENTS[:3] if cut == 1 else EVENTS[:2]  # without its newline a line is whole
        assert run.events() == kept
        run.append(EVENTS[3])
        assert run.events() == [*kept, EVENTS[3]]


def test_what_was_confirmed_last_holds(store: RunStore) -> None:
    run = store.create(NETWORK, (), limits=RunLimits(cpu_hours=1.0))

    run.confirm(RunLimits(cpu_hours=2.0), 7.0, "me")

    assert run.limits == store.load(run.id).limits == RunLimits(cpu_hours=2.0)
    assert json.loads((run.folder / "run.json").read_bytes())["limits"] == {"cpu_hours": 2.0}
    (run.folder / "run.json").write_bytes(
        (run.folder / "run.json").read_bytes().replace(b"2.0", b"9.0")
    )
    assert store.load(run.id).limits == RunLimits(cpu_hours=2.0)


def test_spending_is_summed_and_failures_are_counted_since_the_last_word() -> None:
    events: list[Event] = [
        PlanSubmitted(1.0, "p", ("t",), 2.0, 1.0, 3.0, "EUR"),
        NotSent(1.5, "p", ("t",), 0.5, 0.25, 1.0, "EUR"),
        JobFailed(2.0, "n", "s"),
        LimitsConfirmed(3.0, RunLimits()),
        PlanSubmitted(4.0, "p", ("t",), 0.5, 0.0, 1.0, "EUR"),
        JobFailed(5.0, "n", "s"),
    ]

    assert standing_of(events).spent(4, 1) == Spent(2.0, 0.75, {"EUR": 3.0}, 4, 1, 1)


def test_a_bad_run_does_not_hide_the_others(store: RunStore) -> None:
    runs = [store.create(NETWORK, ()) for _ in range(7)]
    (runs[1].folder / "run.json").write_text("{")
    (runs[2].folder / "run.json").write_text('{"version": 99}')
    (runs[3].folder / "network.json").unlink()
    (runs[4].folder / "events.jsonl").write_text('{"v": 99, "event": "started", "at": 1}\n')
    (runs[5].folder / "events.jsonl").write_text('{"v": 1, "event": "started"}\n')
    (store.folder / "trash").mkdir()

    found = store.runs()

    assert [it.id for it in found] == [it.id for it in runs]
    bad = [it for it in found if isinstance(it, BadRun)]
    assert [it.id for it in bad] == [it.id for it in runs[1:6]]
    assert [it.why.partition(": ")[2] for it in bad[:4]] == [
        "its run.json is invalid",
        "its run.json has version 99, rowtui supports 1",
        "its network.json is missing",
        "it was written by another version of rowtui",
    ]
    assert "an invalid line" in bad[4].why
    latest = store.latest()
    assert latest is not None
    assert latest.id == runs[6].id


def test_a_network_that_an_older_version_froze_is_read(store: RunStore) -> None:
    run = store.create(NETWORK, ())
    path = run.folder / "network.json"
    fields = json.loads(path.read_text())
    del fields["network"]["schedule"]["pilot"], fields["network"]["schedule"]["ahead"]
    path.write_text(json.dumps({**fields, "version": 1}))

    schedule = store.load(run.id).network.schedule

    assert (schedule.pilot, schedule.ahead) == (None, False)
    assert schedule.gather == NETWORK.schedule.gather


@pytest.mark.parametrize("text", ["[", "[]", '{"version": 3}', '{"version": 2, "network": {}}'])
def test_a_network_of_another_version_is_a_clear_error(store: RunStore, text: str) -> None:
    run = store.create(NETWORK, ())
    (run.folder / "network.json").write_text(text)

    with pytest.raises(RowtuiError, match=f"run {run.id} cannot be used: its network.json"):
        _ = run.network


@pytest.mark.parametrize("run_id", ["", "..", "2026-11-21", "2026-11-21-0", "../x-1", "trash"])
def test_there_is_no_run_of_another_name(store: RunStore, run_id: str) -> None:
    store.create(NETWORK, ())

    with pytest.raises(RowtuiError, match="there is no run"):
        store.load(run_id)


def test_a_folder_of_runs_that_cannot_be_read_is_said(store: RunStore) -> None:
    store.folder.parent.mkdir(parents=True)
    store.folder.symlink_to("network")  # to itself

    for look in (store.ids, store.runs, store.latest):
        with pytest.raises(RowtuiError, match="cannot read the runs in"):
            look()


def test_what_cannot_be_written_down_is_an_error(store: RunStore) -> None:
    run = store.create(NETWORK, ())
    (run.folder / "events.jsonl").unlink()
    (run.folder / "events.jsonl").mkdir()

    with pytest.raises(RowtuiError, match="cannot write the journal"):
        run.append(RunStarted(1.0))


def test_one_run_is_driven_by_one_process(store: RunStore) -> None:
    run = store.create(NETWORK, ())

    with run.hold() as me:
        assert (me.host, me.pid) == (socket.gethostname(), os.getpid())
        assert store.load(run.id).holder() == me
        with (
            pytest.raises(RunHeldError, match=f"process {os.getpid()} on ") as raised,
            store.load(run.id).hold(),
        ):
            pass
        assert raised.value.holder == me

    assert run.holder() is None
    with run.hold():
        pass


HOLD = """\
import sys, time
from pathlib import Path
from rowtui.core.runs.store import RunStore
with RunStore(Path(sys.argv[1])).load(sys.argv[2]).hold():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_lock_of_a_killed_process_is_free(store: RunStore) -> None:
    run = store.create(NETWORK, ())
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(store.root), run.id],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        holder = run.holder()
        assert holder is not None
        assert holder.pid == other.pid
        with pytest.raises(RunHeldError), run.hold():
            pass
        other.send_signal(signal.SIGKILL)
        other.wait()

        assert run.holder() is None
        with run.hold() as me:
            assert me.pid == os.getpid()
    finally:
        other.kill()
        other.communicate()


def create(store: RunStore) -> None:
    store.create(Network("n"), [SourceRows("s", ("a",), ((1,),))])


def test_a_process_killed_at_any_step_leaves_no_half_made_run(tmp_path: Path) -> None:
    whole: list[int] = []
    for step in range(1, 40):
        root = tmp_path / str(step)
        root.mkdir()
        store = RunStore(root)
        killed = was_killed(begin(lambda store=store: create(store), (root, step)))
        runs = store.runs()
        assert all(isinstance(run, Run) and run.rows for run in runs), step
        whole.append(len(runs))
        if not killed:
            break
        before = store.ids()
        assert store.create(NETWORK, ()).id not in before
    assert not killed
    assert whole[0] == 0
    assert whole[-1] == 1
    assert len(whole) > 6


def test_directories_are_noted_before_they_are_made(store: RunStore) -> None:
    one, other = store.create(NETWORK, ()), store.create(NETWORK, ())
    assert one.made() == frozenset()

    one.note_made(["a", "b\n'", "\udcff"])
    other.note_made(["c"])
    with open(one.folder / "made.jsonl", "ab") as file:
        file.write(b'{"v":1,"names":["cut')
    one.note_made(["d"])

    assert one.made() == {"a", "b\n'", "\udcff", "d"}
    assert store.made() == {"a", "b\n'", "\udcff", "c", "d"}


def test_a_line_of_rubbish_is_no_event() -> None:
    assert event_of(b"\0\0\0") is None
    assert event_of(b"[1]") is None
    assert event_of(b"[" * 100_000) is None


def test_a_journal_is_read_on_from_where_it_was_read_to(store: RunStore) -> None:
    run = store.create(NETWORK, ())
    other = store.load(run.id)
    for number, event in enumerate(EVENTS):
        run.append(event)
        assert other.events() == EVENTS[: number + 1]
        assert other.standing == standing_of(EVENTS[: number + 1])
    other.events().clear()
    assert other.events() == EVENTS

    path = run.folder / "events.jsonl"
    path.write_bytes(line_of(EVENTS[1]))  # somebody put an older copy back
    assert other.events() == [EVENTS[1]]
    assert other.standing == standing_of([EVENTS[1]])
    path.write_bytes(line_of(EVENTS[1]) + line_of(EVENTS[2])[:-1])  # its end is not there yet
    assert other.standing == other.standing == standing_of(EVENTS[1:3])
    path.unlink()
    with pytest.raises(RowtuiError, match="cannot be read"):
        other.events()
