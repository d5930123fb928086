"""The script of a bundle: what it looks like, and what it does as processes on this machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler
from rowtui.core.submission.bundles.script import bundle_script
from rowtui.core.submission.plan.model import PlannedJob
from rowtui.core.submission.plan.outcome import JobOutcome
from rowtui.core.submission.reconcile.ending import OVER, Evidence, outcome_of
from rowtui.core.submission.sending.fence import abandon, read_ended
from rowtui.core.workflow.model import SubmitOptions

from tests.core.submission.bundled import Bundled, Member, as_written, over, stop
from tests.core.submission.conftest import HOSTILE, RealProject
from tests.eventually import eventually
from tests.rig.gate import Gate

CANCELLED_BUNDLE = Evidence(
    member=True, began=True, known=Job(7, JobState.CANCELLED), incomplete=(0,)
)
ALPHA = Cluster(
    "alpha",
    Identify(always=True),
    "slurm",
    (Partition("cpu", memory_per_cpu_mb=10),),
    submit_options=("--constraint=fast",),
)


@pytest.fixture
def real(tmp_path: Path) -> RealProject:
    return RealProject(tmp_path / "pro ject", [], LocalScheduler(folder=tmp_path / "queue"))


@pytest.fixture
def on_slurm(tmp_path: Path) -> RealProject:
    """A project whose scripts are for Slurm, which nobody runs."""
    return RealProject(
        tmp_path / "p", [], LocalScheduler("alpha", folder=tmp_path / "queue"), ALPHA
    )


def header(script: str) -> list[str]:
    lines = script.split("\n")[1:]
    return [line.removeprefix("#SBATCH ") for line in lines[: lines.index("")]]


def memory_mb(bundled: Bundled) -> int:
    bundle = bundled.jobs[0].bundle
    assert bundle is not None
    assert bundle.memory_mb is not None
    return bundle.memory_mb


def complaints(script: str) -> str:
    return subprocess.run(
        ["bash", "-n"], input=script.encode(), capture_output=True
    ).stderr.decode()


# -- what it looks like ----------------------------------------------------------------------------


def test_the_header_asks_for_all_lanes_on_one_node(on_slurm: RealProject) -> None:
    options = SubmitOptions(account="me", custom=("--qos=low",), output_file_path="lo gs")
    on_slurm.action = on_slurm.action._replace(submit_options={"alpha": options})
    bundled = Bundled(
        on_slurm, [[Member("a", cpus=3), Member("b")], [Member("c", memory_mb=70)]], seconds=601
    )

    assert header(bundled.script("slurm")) == [
        '--job-name="pack one-a and 2 more"',
        '--output="lo gs/rowtui-bundle-%j.out"',
        "--partition=cpu",
        "--nodes=1",
        "--ntasks=1",
        "--cpus-per-task=4",
        f"--mem={memory_mb(bundled)}M",
        "--time=11",
        "--signal=B:USR1@15",
        "--constraint=fast",
        "--account=me",
        "--qos=low",
    ]


def test_gpus_are_asked_for_in_the_clusters_words(on_slurm: RealProject) -> None:
    bundled = Bundled(on_slurm, [[Member("a", gpus=2)], [Member("b", gpus=1), Member("c")]])
    assert "--gpus-per-task=3" in header(bundled.script("slurm"))

    def in_words(job: PlannedJob) -> PlannedJob:
        line = "\n#SBATCH --gres=gpu:a100:1\n#SBATCH --time="
        return job._replace(script=as_written(job.script, "\n#SBATCH --time=", line))

    jobs = [in_words(job) if job.gpus else job for job in bundled.jobs]
    lines = header(bundle_script(jobs, "slurm"))
    assert [line for line in lines if "gpu" in line] == ["--gres=gpu:a100:3"]


def test_a_whole_node_is_for_the_bundle_alone_and_has_its_memory(on_slurm: RealProject) -> None:
    def of_whole_node(*lanes: list[Member]) -> list[str]:
        jobs = [
            job._replace(bundle=job.bundle._replace(whole_node=True))
            for job in Bundled(on_slurm, lanes).jobs
            if job.bundle
        ]
        return header(bundle_script(jobs, "slurm"))

    lanes = [Member("a")], [Member("b")]
    stated = of_whole_node(*lanes)
    assert {"--exclusive", f"--mem={memory_mb(Bundled(on_slurm, lanes))}M"} <= set(stated)
    unstated = of_whole_node([Member("a", memory_mb=None)], [Member("b")])
    # The site's own rule for a CPU holds for the bundle as well.
    assert {"--exclusive", "--mem-per-cpu=10M"} <= set(unstated)


def test_a_scheduler_that_no_bundle_can_go_to_is_refused(real: RealProject) -> None:
    bundled = Bundled(real, [[Member("a"), Member("b")]])
    with pytest.raises(RowtuiError, match="grid_engine"):
        bundled.script("grid_engine")


def test_a_thousand_jobs_are_less_than_a_scheduler_takes(real: RealProject) -> None:
    members = [Member("x" * 60 + str(number)) for number in range(1000)]
    bundled = Bundled(real, [members[lane::50] for lane in range(50)])
    script = bundled.script("slurm")
    assert len(script.encode()) < 2 << 20
    assert script.count("rowtui_begin() {") == 1
    assert complaints(script) == ""


def test_some_of_a_bundle_keep_their_lanes_and_their_order(real: RealProject) -> None:
    members = [Member(name) for name in "abcdef"]
    bundled = Bundled(real, [members[:2], members[2:4], members[4:]])
    some = [job for job in bundled.jobs if job.directories[0] in "bef"]
    lines = bundle_script(some, "local").split("\n")
    at = lines.index("rowtui_lanes=(")
    assert lines[at + 1 : at + 4] == ["'0'", "'1 2'", ")"]


# -- what it does ----------------------------------------------------------------------------------


def test_lanes_run_side_by_side_and_each_in_its_order(real: RealProject) -> None:
    meet = "echo {0} >>order; touch here.{0}; until [ -e here.{1} ]; do sleep 0.02; done"
    first = [Member("a", meet.format("a", "c")), Member("b", meet.format("b", "d"))]
    second = [Member("c", meet.format("c", "a")), Member("d", meet.format("d", "b"))]
    bundled = Bundled(real, [first, second])

    code, lines = bundled.run()

    assert code == 0
    order = (real.root / "order").read_text().split()
    assert order.index("a") < order.index("b")
    assert order.index("c") < order.index("d")
    assert bundled.said(lines) == dict.fromkeys("abcd", "ended well")
    assert lines[-1] == "rowtui: 4 of 4 ended well."
    assert {bundled.fence(name) for name in "abcd"} == {"local:7"}


def test_hostile_names_run_once_and_are_complete(real: RealProject) -> None:
    members = [Member(name, "echo said") for name in HOSTILE]
    bundled = Bundled(real, [members[::3], members[1::3], members[2::3]])
    assert complaints(bundled.script("slurm")) == complaints(bundled.script("bash")) == ""

    code, lines = bundled.run()

    assert code == 0
    assert real.runs() == dict.fromkeys(HOSTILE, 1)
    assert not (real.root / "pwned").exists()
    assert not any("\x1b" in line for line in lines)
    assert all(bundled.log(name) == "said\n" for name in HOSTILE)
    real.synchronise()
    assert real.state.completed["one"].bit_count() == len(HOSTILE)


def test_logs_stand_where_they_were_wanted(real: RealProject) -> None:
    options = SubmitOptions(output_file_path="lo gs/new", output_file_name="x '$HOME'-%j.log")
    real.action = real.action._replace(submit_options={"local": options})
    bundled = Bundled(real, [[Member("a", "echo one"), Member("b", "echo two >&2")]])

    assert bundled.run()[0] == 0
    assert sorted(path.name for path in (real.root / "lo gs/new").iterdir()) == [
        "x '$HOME'-7.0.log",
        "x '$HOME'-7.1.log",
    ]
    assert (bundled.log("a"), bundled.log("b")) == ("one\n", "two\n")


def test_a_job_that_fails_stops_no_other(real: RealProject) -> None:
    bundled = Bundled(
        real, [[Member("a", "exit 4"), Member("b"), Member("c", "kill -9 $$")], [Member("d")]]
    )

    code, lines = bundled.run()

    assert code == 1
    assert bundled.said(lines) == {
        "a": "failed (exit code 2)",
        "b": "ended well",
        "c": "failed (exit code 2)",
        "d": "ended well",
    }
    assert bundled.ended("a")[:2] == ["2", "exit"]
    assert bundled.ended("a")[4] == "4"
    assert lines[-1] == "rowtui: 2 of 4 ended well."


def test_a_job_is_stopped_at_its_own_limit(real: RealProject) -> None:
    bundled = Bundled(real, [[Member("a", "sleep 1000", seconds=1), Member("b")]])

    code, lines = bundled.run()

    assert code == 1
    assert bundled.said(lines) == {"a": "ran out of time", "b": "ended well"}
    assert bundled.ended("a")[:2] == ["138", "time limit"]
    assert not (real.root / "workspace/a/out").exists()


def test_a_job_that_could_not_hear_its_warning_yet_ran_out_of_time_as_well(
    real: RealProject,
) -> None:
    # Given a job whose warning comes before it listens, and its end after that.
    lanes = [[Member("a", "touch listens; sleep 1000", seconds=1), Member("b")]]
    bundled = Bundled(real, lanes)
    begins = "    rowtui_last=$!\n    rowtui_traps\n"
    # On the same line: the driver takes the parts of a script by their line numbers.
    deaf = "trap ': >warned' USR1; until [ -e warned ]; do sleep 0.02; done;"
    script = as_written(bundled.script("local"), begins, deaf + begins)
    script = as_written(script, "sleep 0.5 #", "until [ -e listens ]; do sleep 0.02; done #")

    code, lines = bundled.run(script)

    assert code == 1
    assert bundled.said(lines) == {"a": "ran out of time", "b": "ended well"}
    assert bundled.ended("a")[:2] == ["138", "time limit"]


def test_a_job_that_does_not_listen_is_killed_and_the_driver_says_so_for_it(
    real: RealProject,
) -> None:
    # It holds its own bash, so that this cannot take any signal.
    deaf = 'kill -STOP "$(cut -d" " -f4 "/proc/$PPID/stat")"; touch deaf; sleep 1000'
    bundled = Bundled(real, [[Member("a", deaf, seconds=1), Member("b")]])
    script = as_written(bundled.script("local"), "kill_at=$((now + 15))", "kill_at=$((now + 1))")

    code, lines = bundled.run(script)

    assert (real.root / "deaf").exists()
    assert code == 1
    assert bundled.said(lines) == {"a": "ran out of time", "b": "ended well"}
    assert bundled.ended("a")[:3] == ["137", "time limit", "local:7"]


def test_the_warning_is_passed_on_and_nothing_more_begins(real: RealProject) -> None:
    running = "touch began.{0}; until [ -e go ]; do sleep 0.02; done; sleep 1.5"
    bundled = Bundled(
        real, [[Member("a", running.format("a")), Member("b")], [Member("c", running.format("c"))]]
    )
    process = bundled.start()
    bundled.wait_for("began.a", "began.c")

    process.send_signal(signal.SIGUSR1)
    eventually(lambda: any(bundled.temporary.glob("*/warned")), what="the warning", every=0.02)
    (real.root / "go").touch()
    code, lines = over(process)

    assert code == 1
    assert bundled.said(lines)["b"] == "not begun"
    assert bundled.fence("b") == ""
    assert bundled.said(lines)["a"] == bundled.said(lines)["c"] == "ended well"


def test_at_the_limit_those_that_run_say_so_and_the_others_leave_nothing(
    real: RealProject,
) -> None:
    members = {name: Member(name, f"touch began.{name}; sleep 1000") for name in "abcd"}
    bundled = Bundled(real, [[members["a"], members["b"]], [members["c"], members["d"]]])
    process = bundled.start()
    bundled.wait_for("began.a", "began.c")

    code, lines = bundled.stop_at_limit(process)

    assert code == 1
    assert bundled.said(lines) == {
        "a": "ran out of time",
        "b": "not begun",
        "c": "ran out of time",
        "d": "not begun",
    }
    assert bundled.ended("a")[:2] == bundled.ended("c")[:2] == ["138", "time limit"]
    assert (bundled.fence("b"), bundled.ended("b")) == ("", [])
    assert (bundled.fence("d"), bundled.ended("d")) == ("", [])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, "143"), (signal.SIGINT, "130")])
def test_a_cancelled_bundle_passes_the_signal_on(
    real: RealProject, number: signal.Signals, code: str
) -> None:
    bundled = Bundled(real, [[Member("a", "touch began.a; sleep 1000"), Member("b")]])
    process = bundled.start()
    bundled.wait_for("began.a")

    status, lines = stop(process, number)

    assert status == 1
    assert bundled.said(lines) == {"a": f"stopped (signal {number.name[3:]})", "b": "not begun"}
    assert bundled.ended("a")[:2] == [code, f"signal {number.name[3:]}"]


def test_a_setup_that_hangs_is_stopped_as_well(real: RealProject) -> None:
    options = SubmitOptions(setup="touch setting.up; sleep 1000")
    real.action = real.action._replace(submit_options={"local": options})
    bundled = Bundled(real, [[Member("a"), Member("b")]])
    process = bundled.start()
    bundled.wait_for("setting.up")

    bundled.stop_at_limit(process)
    assert bundled.ended("a")[:2] == ["138", "time limit"]


def test_a_bundle_that_is_started_again_runs_what_did_not_end(real: RealProject) -> None:
    bundled = Bundled(
        real,
        [
            [
                Member("a", "echo once"),
                Member("b", "exit 3"),
                Member("c", "touch began; [ -e go ] || sleep 1000"),
                Member("d"),
            ]
        ],
    )
    process = bundled.start()
    bundled.wait_for("began")
    stop(process, signal.SIGTERM)
    (real.root / "go").touch()

    code, lines = bundled.run()

    assert code == 1
    assert bundled.said(lines) == {
        "a": "ended well (before)",
        "b": "failed (before, exit code 2)",
        "c": "ended well",
        "d": "ended well",
    }
    assert real.runs() == {"a": 1, "b": 1, "c": 2, "d": 1}
    assert bundled.log("a") == "once\n"


@pytest.mark.parametrize(
    "cause", ["exit", "time limit", "out of memory", "signal TERM", "signal KILL", "cancelled"]
)
def test_a_bundle_that_is_started_again_passes_over_what_counts_as_over(
    real: RealProject, cause: str
) -> None:
    # given a job that ended in the first start, which settling takes for over or not
    bundled = Bundled(real, [[Member("a"), Member("b")]])
    token = bundled.job("a").token
    for folder in ("fence", "ended"):
        (real.root / ".row/rowtui" / folder).mkdir(parents=True)
    (real.root / ".row/rowtui/fence" / token).symlink_to("local:7")
    (real.root / ".row/rowtui/ended" / token).write_text(f"137\n{cause}\nlocal:7\n1\n\n\n")

    bundled.run()

    assert real.runs() == {"a": int(cause not in OVER), "b": 1}


def test_what_a_start_that_was_given_up_has_not_begun_is_left_to_the_next_one(
    real: RealProject,
) -> None:
    # given a bundle on a node that is taken for dead, and its next start on another
    wait = "touch began; until [ -e go ]; do sleep 0.05; done"
    bundled = Bundled(real, [[Member("a", wait), Member("b")]])
    first = bundled.start()
    bundled.wait_for("began")
    again = as_written(bundled.script("local"), "rowtui_restarts=0", "rowtui_restarts=1")
    second = bundled.start(again)
    eventually(lambda: real.runs()["a"] == 2, what="its second start", every=0.02)

    # when both go on
    (real.root / "go").touch()
    said_first, said_second = (bundled.said(over(it)[1]) for it in (first, second))

    # then only the next start runs what had not begun
    assert said_first["b"] == "not begun"
    assert said_second["b"] == "ended well"
    assert real.runs() == {"a": 2, "b": 1}


@pytest.mark.parametrize(
    ("run", "cause"),
    [
        (
            "echo 'slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.'; exit 1",
            "out of memory",
        ),
        ("echo 'no more memory'; exit 1", "exit"),
        ("echo 'slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.'", "exit"),
    ],
)
def test_a_job_whose_command_slurm_killed_for_its_memory_says_so(
    real: RealProject, run: str, cause: str
) -> None:
    bundled = Bundled(real, [[Member("a", run), Member("b")]])
    bundled.run()

    assert bundled.ended("a")[1] == cause
    ended = read_ended(real.root, bundled.job("a").token)
    assert ended is not None
    alone = outcome_of(Evidence(member=True, began=True, marker=ended, incomplete=(0,)))
    killed = outcome_of(CANCELLED_BUNDLE._replace(marker=ended))
    out_of_memory = JobOutcome.OUT_OF_MEMORY
    assert (alone.outcome is out_of_memory) is (killed.outcome is out_of_memory)
    assert (alone.outcome is out_of_memory) is (cause != "exit")


@pytest.mark.parametrize(
    ("run", "outcome"), [("kill $$", JobOutcome.CANCELLED), ("exit 3", JobOutcome.EXIT)]
)
def test_what_dies_of_a_signal_while_its_bundle_is_cancelled_was_cancelled(
    real: RealProject, run: str, outcome: JobOutcome
) -> None:
    bundled = Bundled(real, [[Member("a", run), Member("b")]])
    bundled.run()

    ended = read_ended(real.root, bundled.job("a").token)
    assert ended is not None
    assert outcome_of(CANCELLED_BUNDLE._replace(marker=ended)).outcome is outcome
    its_own = Evidence(member=True, began=True, marker=ended, incomplete=(0,))
    assert outcome_of(its_own).outcome is not JobOutcome.CANCELLED


def test_a_job_that_was_taken_out_does_not_run(real: RealProject) -> None:
    bundled = Bundled(real, [[Member("a"), Member("b")]])
    assert abandon(real.root, bundled.job("a").token) == ""

    code, lines = bundled.run()

    assert code == 1
    assert bundled.said(lines)["a"].startswith("not begun: it was taken out")
    assert real.runs() == {"a": 0, "b": 1}


LAUNCH = 'rowtui_launch() { rowtui_process "$1"; }'


def test_no_signal_that_comes_as_a_job_ends_hides_how_it_ended(real: RealProject) -> None:
    # given what starts a job, and gives it up just as everything is told to end
    bundled = Bundled(real, [[Member(f"m{number}") for number in range(40)]])
    races = (
        "rowtui_launch() { local waits; read -r _ _ _ waits _ </proc/$BASHPID/stat\n"
        'kill -USR2 "$waits"; exit 5; }'
    )
    script = as_written(bundled.script("local"), LAUNCH, races)

    _, lines = bundled.run(as_written(script, "for pause in 0 2 10;", "for pause in 0;"))

    assert set(bundled.said(lines).values()) == {"not begun (exit code 5)"}


def test_a_step_on_another_node_belongs_to_the_next_start_and_runs_nothing(
    real: RealProject,
) -> None:
    bundled = Bundled(real, [[Member("a"), Member("b")]])
    elsewhere = 'rowtui_launch() { export SLURMD_NODENAME=p2; rowtui_process "$1"; }'

    code, lines = bundled.run(
        as_written(bundled.script("local"), LAUNCH, elsewhere), env={"SLURMD_NODENAME": "p1"}
    )

    assert code == 1
    assert bundled.said(lines) == {"a": "not begun", "b": "not begun"}
    assert real.runs() == {"a": 0, "b": 0}


def test_a_job_that_outlives_what_started_it_is_waited_for(real: RealProject) -> None:
    # given a node that nobody hears of: srun gives up soon, the job goes on
    bundled = Bundled(real, [[Member("a", "sleep 0.3"), Member("b")]])
    gives_up = (
        'rowtui_launch() { "$BASH" "$1" & '
        'until [ -e "$rowtui_file.pid" ]; do sleep 0.01; done; exit 1; }'
    )

    _, lines = bundled.run(as_written(bundled.script("local"), LAUNCH, gives_up))

    assert bundled.said(lines) == {"a": "ended well", "b": "ended well"}
    assert real.runs() == {"a": 1, "b": 1}


def test_after_a_job_that_was_killed_with_its_start_nothing_more_begins(
    real: RealProject,
) -> None:
    killed = "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat)"
    bundled = Bundled(real, [[Member("a", killed), Member("b")]])
    given_up = "rowtui_given_up() { return %d; }"
    script = as_written(bundled.script("local"), given_up % 1, given_up % 0)

    _, lines = bundled.run(script)

    assert bundled.said(lines) == {"a": "stopped (signal KILL)", "b": "not begun"}
    assert real.runs() == {"a": 1, "b": 0}


FENCE = 'if ! ln -sT "$rowtui_job" ".row/rowtui/fence/$rowtui_token"'


def test_jobs_that_are_taken_out_while_they_begin_run_or_were_taken_out(
    real: RealProject, tmp_path: Path
) -> None:
    # given a bundle whose jobs stop just before they make their fences, and just after; the
    # bundle finds its jobs' parts by line, so no line is added
    bundled = Bundled(real, [[Member(name) for name in "abcd"]])
    before, after = Gate(tmp_path, "before"), Gate(tmp_path, "after")
    script = as_written(bundled.script("local"), FENCE, f"{before.shell}; {FENCE}")
    script = as_written(script, "\n    rowtui_once\n", f"\n    {after.shell}; rowtui_once\n")
    runners = {}

    def take_out(name: str) -> None:
        runners[name] = abandon(real.root, bundled.job(name).token)

    process = bundled.start(script)
    before.wait()
    take_out("a")
    before.open()
    before.wait()
    before.open()
    after.wait()
    take_out("b")
    take_out("c")  # has not begun
    after.open()
    before.wait()
    before.open()
    before.wait()
    before.open()
    after.wait()
    after.open()
    _, lines = over(process)
    take_out("d")
    assert {name: runner != "" for name, runner in runners.items()} == {
        "a": False, "b": True, "c": False, "d": True,
    }  # fmt: skip
    assert real.runs() == {"a": 0, "b": 1, "c": 0, "d": 1}
    elsewhere = "not begun: it was taken out, or runs elsewhere"
    assert bundled.said(lines) == {
        "a": elsewhere, "b": "ended well", "c": elsewhere, "d": "ended well",
    }  # fmt: skip
    before.close()
    after.close()


def test_a_job_whose_log_cannot_be_written_does_not_run(real: RealProject) -> None:
    bundled = Bundled(real, [[Member("a"), Member("b")]])
    (real.root / bundled.job("a").log_path.replace("%j", "7")).mkdir()

    _, lines = bundled.run()

    assert bundled.said(lines) == {"a": "not begun: cannot write its log", "b": "ended well"}
    assert bundled.fence("a") == ""


def test_each_lane_has_gpus_of_its_own(real: RealProject) -> None:
    show = "echo gpus:$CUDA_VISIBLE_DEVICES"
    bundled = Bundled(
        real,
        [
            [Member("a", show, gpus=2), Member("b", show, gpus=1)],
            [Member("c", show, gpus=1), Member("d", show)],
        ],
    )
    assert bundled.run(env={"CUDA_VISIBLE_DEVICES": "4,GPU-5,7"})[0] == 0
    said = {name: bundled.log(name).strip() for name in "abcd"}
    assert said == {"a": "gpus:4,GPU-5", "b": "gpus:4", "c": "gpus:7", "d": "gpus:"}


def test_a_job_cannot_take_more_memory_than_it_stated(real: RealProject) -> None:
    much = "ulimit -d"
    bundled = Bundled(
        real, [[Member("a", much, memory_mb=64)], [Member("b", much, memory_mb=None)]]
    )
    assert bundled.run()[0] == 0
    assert bundled.log("a") == f"{64 << 10}\n"
    assert bundled.log("b") == subprocess.check_output(["bash", "-c", "ulimit -d"], text=True)


def test_lanes_keep_to_their_cpus_where_all_are_the_bundles(real: RealProject) -> None:
    allowed = sorted(os.sched_getaffinity(0))
    show = "grep Cpus_allowed_list /proc/self/status"
    own = Bundled(real, [[Member(f"a{cpu}", show)] for cpu in range(len(allowed))])
    assert own.run()[0] == 0
    kept = [own.log(f"a{number}").split()[1] for number in range(len(allowed))]
    assert kept == [str(cpu) for cpu in allowed]


def test_other_jobs_of_the_machine_are_not_crowded_out(real: RealProject) -> None:
    many = len(os.sched_getaffinity(0)) + 1
    show = "grep Cpus_allowed_list /proc/self/status"
    shared = Bundled(real, [[Member("a", show, cpus=many), Member("b")]])
    assert shared.run()[0] == 0
    here = Path("/proc/self/status").read_text()
    found = re.search(r"Cpus_allowed_list:\s*(\S+)", here)
    assert found
    assert shared.log("a").split()[1] == found[1]


def test_nothing_is_left_in_the_folder_for_temporary_files(
    real: RealProject, tmp_path: Path
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    bundled = Bundled(real, [[Member("a", "ls $TMPDIR >there"), Member("b")]])
    assert bundled.run(env={"TMPDIR": str(folder)})[0] == 0
    assert re.fullmatch(r"rowtui\.\w{8}\n", (real.root / "there").read_text())
    assert list(folder.iterdir()) == []


def test_without_a_folder_of_its_own_it_takes_another(real: RealProject) -> None:
    bundled = Bundled(real, [[Member("a"), Member("b")]])
    assert bundled.run(env={"TMPDIR": "/nowhere"})[0] == 0


def test_in_another_folder_it_runs_nothing(real: RealProject, tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_text(Bundled(real, [[Member("a"), Member("b")]]).script("local"))
    done = subprocess.run(["bash", str(path)], cwd=tmp_path, capture_output=True)
    assert done.returncode == 3
    assert b"is not the folder of the project" in done.stderr
    assert real.runs() == {"a": 0, "b": 0}
