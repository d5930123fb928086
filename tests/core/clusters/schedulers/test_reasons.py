"""Every state and reason has a sentence that its user understands, and says what to do."""

from __future__ import annotations

import re
import signal
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.commands import LocalTransport
from rowtui.core.clusters.schedulers.base import Job, JobState, QueueSnapshot
from rowtui.core.clusters.schedulers.local.planning import PRIORITY, RESOURCES
from rowtui.core.clusters.schedulers.local.scheduler import DEPENDENCY
from rowtui.core.clusters.schedulers.reason_table import ReasonExplanation
from rowtui.core.clusters.schedulers.reasons import explain, how_long, in_words, reason_tables
from rowtui.core.clusters.schedulers.slurm.load import _NOT_FOR_ROOM
from rowtui.core.clusters.schedulers.slurm.parse import job_state, reason_of
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler

from tests.eventually import eventually
from tests.rig.slurm import SlurmCluster

NOW = 1_795_000_000.0
# What Slurm 22.05 may say of a job that waits, besides limits.
PLAIN = re.findall(
    r"\w+",
    """
    Priority Dependency Resources PartitionNodeLimit PartitionTimeLimit PartitionDown
    PartitionInactive JobHeldAdmin JobHeldUser BeginTime Licenses ReqNodeNotAvail FrontEndDown
    SchedDefer NodeDown BadConstraints InvalidAccount InvalidQOS QOSUsageThreshold Cleaning Prolog
    QOSNotAllowed AccountNotAllowed DependencyNeverSatisfied JobHoldMaxRequeue JobArrayTaskLimit
    BurstBufferResources BurstBufferStageIn BurstBufferOperation PowerNotAvail PowerReserved
    Reservation ReservationDeleted DeadLine PartitionConfig AccountingPolicy FedJobLock
    MaxMemPerLimit SystemFailure WaitingForScheduling
""",
)
# All limits that its library has a word for.
LIMITS = re.findall(
    r"\w+",
    """
    AssocGrpBB AssocGrpBBMinutes AssocGrpBBRunMinutes AssocGrpBilling AssocGrpBillingMinutes
    AssocGrpBillingRunMinutes AssocGrpCPUMinutesLimit AssocGrpCPURunMinutesLimit AssocGrpCpuLimit
    AssocGrpEnergy AssocGrpEnergyMinutes AssocGrpEnergyRunMinutes AssocGrpGRES AssocGrpGRESMinutes
    AssocGrpGRESRunMinutes AssocGrpJobsLimit AssocGrpLicense AssocGrpLicenseMinutes
    AssocGrpLicenseRunMinutes AssocGrpMemLimit AssocGrpMemMinutes AssocGrpMemRunMinutes
    AssocGrpNodeLimit AssocGrpNodeMinutes AssocGrpNodeRunMinutes AssocGrpSubmitJobsLimit
    AssocGrpUnknown AssocGrpUnknownMinutes AssocGrpUnknownRunMinutes AssocGrpWallLimit
    AssocMaxBBMinutesPerJob AssocMaxBBPerJob AssocMaxBBPerNode AssocMaxBillingMinutesPerJob
    AssocMaxBillingPerJob AssocMaxBillingPerNode AssocMaxCpuMinutesPerJobLimit
    AssocMaxCpuPerJobLimit AssocMaxCpuPerNode AssocMaxEnergyMinutesPerJob AssocMaxEnergyPerJob
    AssocMaxEnergyPerNode AssocMaxGRESMinutesPerJob AssocMaxGRESPerJob AssocMaxGRESPerNode
    AssocMaxJobsLimit AssocMaxLicenseMinutesPerJob AssocMaxLicensePerJob AssocMaxMemMinutesPerJob
    AssocMaxMemPerJob AssocMaxMemPerNode AssocMaxNodeMinutesPerJob AssocMaxNodePerJobLimit
    AssocMaxSubmitJobLimit AssocMaxUnknownMinutesPerJob AssocMaxUnknownPerJob
    AssocMaxUnknownPerNode AssociationJobLimit AssociationResourceLimit AssociationTimeLimit
    MaxBBPerAccount MaxCpuPerAccount MaxEnergyPerAccount MaxGRESPerAccount MaxJobsPerAccount
    MaxLicensePerAccount MaxMemoryPerAccount MaxNodePerAccount MaxSubmitJobsPerAccount
    MaxUnknownPerAccount QOSGrpBB QOSGrpBBMinutes QOSGrpBBRunMinutes QOSGrpBilling
    QOSGrpBillingMinutes QOSGrpBillingRunMinutes QOSGrpCPUMinutesLimit QOSGrpCPURunMinutesLimit
    QOSGrpCpuLimit QOSGrpEnergy QOSGrpEnergyMinutes QOSGrpEnergyRunMinutes QOSGrpGRES
    QOSGrpGRESMinutes QOSGrpGRESRunMinutes QOSGrpJobsLimit QOSGrpLicense QOSGrpLicenseMinutes
    QOSGrpLicenseRunMinutes QOSGrpMemLimit QOSGrpMemoryMinutes QOSGrpMemoryRunMinutes
    QOSGrpNodeLimit QOSGrpNodeMinutes QOSGrpNodeRunMinutes QOSGrpSubmitJobsLimit QOSGrpUnknown
    QOSGrpUnknownMinutes QOSGrpUnknownRunMinutes QOSGrpWallLimit QOSJobLimit QOSMaxBBPerJob
    QOSMaxBBPerNode QOSMaxBBPerUser QOSMaxBillingPerJob QOSMaxBillingPerNode QOSMaxBillingPerUser
    QOSMaxCpuMinutesPerJobLimit QOSMaxCpuPerJobLimit QOSMaxCpuPerNode QOSMaxCpuPerUserLimit
    QOSMaxEnergyMinutesPerJob QOSMaxEnergyPerJob QOSMaxEnergyPerNode QOSMaxEnergyPerUser
    QOSMaxGRESMinutesPerJob QOSMaxGRESPerJob QOSMaxGRESPerNode QOSMaxGRESPerUser
    QOSMaxJobsPerUserLimit QOSMaxLicenseMinutesPerJob QOSMaxLicensePerJob QOSMaxLicensePerUser
    QOSMaxMemoryMinutesPerJob QOSMaxMemoryPerJob QOSMaxMemoryPerNode QOSMaxMemoryPerUser
    QOSMaxNodeMinutesPerJob QOSMaxNodePerJobLimit QOSMaxNodePerUserLimit
    QOSMaxSubmitJobPerUserLimit QOSMaxUnknownMinutesPerJob QOSMaxUnknownPerJob
    QOSMaxUnknownPerNode QOSMaxUnknownPerUser QOSMaxWallDurationPerJobLimit QOSMinBB
    QOSMinCpuNotSatisfied QOSMinEnergy QOSMinGRES QOSMinLicense QOSMinMemory QOSMinNode
    QOSMinUnknown QOSResourceLimit QOSTimeLimit
""",
)
PHRASES = [
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
    "ReqNodeNotAvail, Reserved for maintenance",
    "ReqNodeNotAvail, May be reserved for other job",
    "ReqNodeNotAvail, UnavailableNodes:n2",
    "job requeued in held state",
    "launch failed requeued held",
]


def waiting(reason: str, **more: Any) -> ReasonExplanation:
    state = job_state("PENDING", reason)
    return explain(Job(7, state, reason=reason_of("PENDING", reason), **more), NOW)


def failed(reason: str = "NonZeroExitCode", **how: Any) -> ReasonExplanation:
    return explain(Job(7, JobState.FAILED, reason=reason, **how), NOW)


@pytest.mark.parametrize("reason", [*PLAIN, *LIMITS, *PHRASES])
def test_every_reason_that_slurm_has_is_explained_in_words(reason: str) -> None:
    told = waiting(reason)
    assert not told.sentence.startswith(("It waits:", "It is held:"))
    assert told.sentence[0].isupper()
    assert told.sentence.endswith(".")
    assert told.hint.endswith(".")
    assert told.hint not in told.sentence


@pytest.mark.parametrize("reason", _NOT_FOR_ROOM)
def test_what_never_waits_for_room_is_never_said_to_wait_for_room(reason: str) -> None:
    meant = [known for known in (*PLAIN, *LIMITS, *PHRASES) if known.startswith(reason)]
    assert meant or waiting(reason).sentence != f"It waits: {reason}."
    assert waiting(RESOURCES) not in [waiting(known) for known in meant]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("AssocGrpCpuLimit", "Together the jobs of your account use as many CPUs as they may"),
        ("AssocGrpCPUMinutesLimit", "The CPU-hours of your account are used up"),
        ("AssocGrpCPURunMinutesLimit", "still need all the CPU-hours that may be promised"),
        ("AssocMaxJobsLimit", "As many of your jobs run as your account allows"),
        ("AssocGrpJobsLimit", "As many jobs of your account run as may run at a time"),
        ("QOSMaxJobsPerUserLimit", "As many of your jobs run as its quality of service"),
        ("QOSMaxSubmitJobPerUserLimit", "As many of your jobs are in the queue as its quality"),
        ("QOSMaxWallDurationPerJobLimit", "Its time limit is longer than its quality of service"),
        ("QOSMaxGRESPerUser", "Your jobs use as many GPUs (or the like) as its quality of service"),
        ("QOSMaxMemoryPerJob", "It asks for more memory than its quality of service (QOS) allows"),
        ("QOSMaxNodeMinutesPerJob", "It asks for more node hours than its quality of service"),
        ("AssocMaxCpuPerNode", "more CPUs than your account allows on one node"),
        ("QOSMinCpuNotSatisfied", "It asks for fewer CPUs than its quality of service (QOS)"),
        ("MaxCpuPerAccount", "The jobs of your account use as many CPUs as they may"),
        ("MaxJobsPerAccount", "As many jobs of your account run as may run at a time"),
        ("QOSGrpWallLimit", "The time that its quality of service (QOS) has"),
        ("QOSTimeLimit", "A limit of its quality of service (QOS) is reached: time"),
        ("AssociationJobLimit", "A limit of your account is reached: number of jobs"),
        ("assocgrpmemLIMIT", "Together the jobs of your account use as much memory"),
        ("ReqNodeNotAvail, UnavailableNodes:n[1-2]", "not available now: n[1-2]."),
        ("ReqNodeNotAvail,_UnavailableNodes:my_node", "not available now: my_node."),
        ("ReqNodeNotAvail(Unavailable:n7)", "not available now: n7."),
        ("ReqNodeNotAvail, UnavailableNodes:", "Nodes that it needs are not available now."),
        ("ReqNodeNotAvail,_Reserved_for_maintenance", "maintenance that begins before the job"),
        ("(Priority)", "Jobs of higher priority"),
    ],
)
def test_a_reason_says_which_limit_and_which_nodes(reason: str, words: str) -> None:
    assert words in waiting(reason).sentence


@pytest.mark.parametrize(
    "reason",
    [
        "DependencyNeverSatisfied",
        "JobHeldUser",
        "JobHeldAdmin",
        "JobHoldMaxRequeue",
        "launch failed requeued held",
        "job requeued in held state",
        "PartitionTimeLimit",
        "PartitionNodeLimit",
        "PartitionConfig",
        "BadConstraints",
        "InvalidAccount",
        "InvalidQOS",
        "MaxMemPerLimit",
        "ReservationDeleted",
        "QOSMaxCpuPerJobLimit",
        "QOSMaxWallDurationPerJobLimit",
        "QOSMinNode",
        "AssocGrpCPUMinutesLimit",
    ],
)
def test_what_waiting_does_not_mend_needs_a_person(reason: str) -> None:
    # also where the scheduler has a start estimate, which it will not keep
    told = waiting(reason, start_estimate=int(NOW) + 600)
    assert told.needs_person
    assert "expects" not in told.sentence


@pytest.mark.parametrize(
    "reason",
    [
        "Resources",
        "Priority",
        "Dependency",
        "BeginTime",
        "JobArrayTaskLimit",
        "Licenses",
        "PartitionDown",
        "ReqNodeNotAvail, UnavailableNodes:n2",
        "ReqNodeNotAvail, Reserved for maintenance",
        "QOSMaxJobsPerUserLimit",
        "AssocGrpCpuLimit",
        "AssocGrpCPURunMinutesLimit",
        "QOSMaxCpuPerUserLimit",
        "SomethingNew",
        "",
    ],
)
def test_what_goes_on_by_itself_needs_nobody(reason: str) -> None:
    assert not waiting(reason).needs_person


def test_whatever_holds_a_job_a_person_must_release_it() -> None:
    for reason in ("", "BeginTime", "Resources", "SomethingNew"):
        told = explain(Job(7, JobState.HELD, reason=reason, start_estimate=int(NOW) + 60), NOW)
        assert told.needs_person
        assert "Release it" in told.hint
    assert "administrator" in waiting("JobHeldAdmin").hint


def test_what_grid_engine_could_not_start_waits_for_a_person() -> None:
    told = waiting("error: can't chdir to /no/such: No such file or directory")
    assert told.needs_person
    assert told.sentence == (
        "It could not be started, and is kept back: can't chdir to /no/such: No such file or"
        " directory."
    )
    assert waiting("error").sentence == "It could not be started, and is kept back."
    assert explain(Job(7, JobState.HELD, reason="held"), NOW) == waiting("JobHeldUser")
    started = Job(7, JobState.RUNNING, reason="being started", nodes="n1")
    assert explain(started, NOW).sentence == "It has its node and is being started."


def test_a_reason_that_nobody_knows_is_shown_in_words_and_as_it_is() -> None:
    assert waiting("BurstBufferXMLStage").sentence == (
        "It waits: burst buffer XML stage (BurstBufferXMLStage)."
    )
    assert waiting("no idea, really").sentence == "It waits: no idea, really."
    assert waiting("None").sentence == "It waits for its turn."
    assert explain(Job(7, JobState.HELD, reason="NewHold"), NOW).sentence == (
        "It is held: new hold (NewHold)."
    )
    assert failed("NewFailure").sentence == "It failed: new failure (NewFailure)."
    lost_touch = Job(7, JobState.UNKNOWN, reason="the accounts could not be asked")
    assert "the accounts could not be asked" in explain(lost_touch, NOW).sentence


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        (10, "in less than a minute"),
        (60, "in 1 min"),
        (7199, "in 119 min"),
        (2 * 3600, "in 2 h"),
        (47 * 3600, "in 47 h"),
        (49 * 3600, "in 2 days"),
    ],
)
def test_the_start_that_the_scheduler_expects_is_told_in_words(ahead: int, words: str) -> None:
    told = waiting("Resources", start_estimate=int(NOW) + ahead)
    assert told.sentence.endswith(f" The scheduler expects it to start {words}.")
    begin = waiting("BeginTime", start_estimate=int(NOW) + ahead)
    assert begin.sentence.endswith(f" That is {words}.")


@pytest.mark.parametrize("ahead", [-5, 0, 366 * 86_400, 10**400])
def test_an_estimate_that_says_nothing_is_left_out(ahead: int) -> None:
    assert waiting("Resources", start_estimate=int(NOW) + ahead) == waiting("Resources")


def test_the_reason_for_waiting_ends_with_the_wait() -> None:
    shown = [reason_of(word, "Priority") for word in ("PENDING", "RUNNING", "COMPLETING")]
    assert shown == ["Priority", "", ""]
    assert reason_of("RUNNING", "Prolog") == "Prolog"  # it has its nodes and is being started
    assert reason_of("TIMEOUT", "TimeLimit") == "TimeLimit"


def test_a_running_job_says_how_long_it_may_still_run() -> None:
    job = Job(7, JobState.RUNNING, elapsed=600, limit=3600, nodes="n[1-2]")
    assert explain(job, NOW).sentence == "It runs on n[1-2]; its time limit is reached in 50 min."
    assert explain(Job(7, JobState.RUNNING, elapsed=5), NOW).sentence == "It runs."
    over = Job(7, JobState.RUNNING, elapsed=61, limit=60)
    assert "its time is up" in explain(over, NOW).sentence


@pytest.mark.parametrize(
    ("how", "words", "advice"),
    [
        ({"exit_code": 3}, "Its script failed (exit code 3).", "log"),
        ({"exit_code": 127}, "A program in it was not found (exit code 127).", "module"),
        ({"exit_code": 126}, "may not be executed (exit code 126).", "executable"),
        ({"exit_signal": 11}, "by SIGSEGV: it touched memory that is not its own.", "defect"),
        ({"exit_signal": 9}, "by SIGKILL: it was killed from outside", "more memory"),
        ({"exit_signal": 4}, "by SIGILL: it came to an instruction", "Build"),
        ({"exit_code": 139}, "A program in it was ended by SIGSEGV, exit code 139: it", "defect"),
        ({"exit_code": 137}, "ended by SIGKILL, exit code 137: it was killed", "more memory"),
        ({"exit_signal": 45}, "It was ended by signal 45.", "log"),
        ({"exit_code": 128 + 45}, "ended by signal 45, exit code 173.", "log"),
        ({"exit_code": 255}, "Its script failed (exit code 255).", "log"),
        (
            {"exit_code": 3, "reason": "exit code 3 in directory d7"},
            "Its script failed (exit code 3 in directory d7).",
            "log",
        ),
        (
            {"exit_code": 137, "reason": "killed (signal KILL) in directory d7"},
            "Killed (signal KILL) in directory d7: it was killed from outside",
            "more memory",
        ),
        (
            {"reason": "killed (signal KILL)"},
            "Killed (signal KILL): it was killed from outside",
            "more memory",
        ),
        ({"exit_signal": 125}, "used more memory than it had asked for", "more memory"),
        ({}, "Its script failed.", "log"),
    ],
)
def test_exit_codes_and_signals_are_told_in_words(
    how: dict[str, Any], words: str, advice: str
) -> None:
    told = failed(**how)
    assert words in told.sentence
    assert advice in told.hint


def test_the_codes_are_those_that_a_shell_really_gives() -> None:
    for script, words in (
        ("kill -SEGV $$", "It was ended by SIGSEGV"),
        ("bash -c 'kill -SEGV $$'", "A program in it was ended by SIGSEGV"),
        ("no-such-program", "was not found"),
        ("/etc/passwd", "may not be executed"),
        ("timeout 0.01 sleep 5", "stopped by a time limit of its own"),
    ):
        done = subprocess.run(["bash", "-c", f"{script}; exit $?"], capture_output=True)
        code = done.returncode
        how: dict[str, Any] = {"exit_signal": -code} if code < 0 else {"exit_code": code}
        assert words in failed(**how).sentence


@pytest.mark.parametrize(
    ("reason", "how", "words"),
    [
        ("JobLaunchFailure", {"exit_signal": 53}, "not open the file for its output"),
        ("RaisedSignal:53(Real-time_signal_19)", {}, "not open the file for its output"),
        ("JobLaunchFailure", {}, "could not start its script"),
        ("JobLaunchFailure", {"exit_signal": 9}, "SIGKILL"),
        ("RaisedSignal:11(Segmentation_fault)", {}, "SIGSEGV"),
        ("OutOfMemory", {"exit_signal": 9}, "used more memory than it had asked for"),
        ("SystemFailure", {}, "The cluster failed"),
        ("cannot start: no such folder", {}, "It failed: cannot start: no such folder."),
    ],
)
def test_how_slurm_says_that_a_job_failed(reason: str, how: dict[str, Any], words: str) -> None:
    assert words in failed(reason, **how).sentence


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (Job(7, JobState.TIMEOUT, reason="TimeLimit", limit=5400), "time limit of 01:30:00."),
        (Job(7, JobState.TIMEOUT), "It was stopped at its time limit."),
        (Job(7, JobState.TIMEOUT, reason="deadline"), "before its deadline"),
        (Job(7, JobState.OUT_OF_MEMORY, exit_signal=125), "used more memory"),
        (Job(7, JobState.NODE_FAIL, reason="NodeDown", nodes="n2"), "ran on failed (n2)."),
        (Job(7, JobState.NODE_FAIL, reason="boot fail"), "could not be started"),
        (Job(7, JobState.CANCELLED, reason="Resources"), "It was cancelled before it started."),
        (Job(7, JobState.CANCELLED, elapsed=5), "It was cancelled while it ran."),
        (Job(7, JobState.CANCELLED, reason="preempted"), "A job of higher priority took its place"),
        (Job(7, JobState.CANCELLED, reason="DependencyNeverSatisfied"), "did not end well"),
        (Job(7, JobState.LOST), "has no record of this job any more"),
        (Job(7, JobState.SUSPENDED), "stopped for the time being"),
        (Job(7, JobState.COMPLETED, exit_code=0), "It ran to its end."),
        (Job(7, JobState.COMPLETING), "cleans up"),
        (Job(7, JobState.PENDING, reason="configuring"), "being prepared"),
        # this machine's own queue
        (Job(7, JobState.PENDING, reason=DEPENDENCY), "waits for other jobs"),
        (Job(7, JobState.PENDING, reason=RESOURCES), "enough CPUs, memory or GPUs"),
        (Job(7, JobState.PENDING, reason=PRIORITY), "before it in the queue"),
        (
            Job(7, JobState.CANCELLED, reason="Dependency: job 5 did not end well"),
            "since job 5, which it had to wait for, did not end well",
        ),
        (Job(7, JobState.NODE_FAIL, reason="the machine was restarted"), "machine was restarted"),
        # Grid Engine
        (Job(7, JobState.PENDING, reason="waits for 5, 6"), "for other jobs to end: 5, 6."),
        (Job(7, JobState.PENDING, reason="rescheduled"), "put back into the queue"),
        (Job(7, JobState.PENDING, reason="being deleted"), "It is being cancelled."),
        (Job(7, JobState.SUSPENDED, reason="its queue is suspended"), "Its queue was stopped"),
        (Job(7, JobState.SUSPENDED, reason="load"), "Its node is too busy"),
        (Job(7, JobState.FAILED, reason="opening input/output file"), "the file for its output"),
    ],
    ids=str,
)
def test_every_end_is_told_apart(job: Job, words: str) -> None:
    told = explain(job, NOW)
    assert words in told.sentence
    assert not told.needs_person
    assert bool(told.hint) == job.state.bad or job.state in (JobState.PENDING, JobState.SUSPENDED)


texts = (
    st.text(st.characters(exclude_categories=()), max_size=400)
    | st.sampled_from((*PLAIN, *LIMITS, *PHRASES))
    | st.sampled_from(("\x1b[2J", "a\nb", "\udcff", "\u202e", " \t ", "...", "(", "()", "J" * 999))
)
numbers = st.none() | st.integers() | st.integers(-(2**80), 2**80)


@given(
    st.builds(
        Job,
        id=st.integers(),
        state=st.sampled_from(JobState),
        reason=texts,
        nodes=texts,
        **dict.fromkeys(
            ("elapsed", "limit", "start_estimate", "exit_code", "exit_signal"), numbers
        ),
    ),
    st.floats(0, 1e12),
)
def test_whatever_a_scheduler_says_the_answer_is_a_sentence_that_may_be_shown(
    job: Job, now: float
) -> None:
    told = explain(job, now)
    assert told.sentence.isprintable()
    assert told.sentence.strip()
    assert told.hint.isprintable()
    assert len(told.sentence) < 1000
    assert not told.needs_person or job.state in (JobState.PENDING, JobState.HELD)


@given(texts)
def test_a_reason_in_words_loses_no_letter(reason: str) -> None:
    if reason.isascii() and reason.isalnum() and len(reason) < 300:
        assert in_words(reason).replace(" ", "").lower() == reason.lower()


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_longer_waits_are_not_told_as_shorter(one: int, other: int) -> None:
    units = {"minute": 0, "min": 1, "h": 2, "days": 3}

    def rank(seconds: int) -> tuple[int, int]:
        words = how_long(seconds).replace(",", "").split()
        return units[words[-1]], int(words[0]) if words[0].isdigit() else 0

    assert rank(min(one, other)) <= rank(max(one, other))


def test_every_signal_of_this_system_can_be_told() -> None:
    for number in signal.valid_signals():
        assert failed(exit_signal=int(number)).sentence.startswith(
            ("It was ended", "The scheduler could")
        )


def test_a_table_explains_its_own_words_first() -> None:
    assert all(table.find("a word that nobody uses") is None for table in reason_tables())


@pytest.mark.slurm
async def test_what_a_real_slurm_does_is_explained(slurm: SlurmCluster) -> None:
    # given jobs that come to a bad end, or never start
    slurm.clean()
    crashed = slurm.submit("kill -SEGV $$")
    unlogged = slurm.submit("true", "-o no/such/folder/%j.out")
    orphan = slurm.submit("true", f"--dependency=afterok:{crashed}")
    held = slurm.submit("true", "--hold")
    later = slurm.submit("true", "--begin=now+1hour")
    whole = slurm.submit("sleep 60", "--partition=highmem --exclusive")
    behind = slurm.submit("true", "--partition=highmem")
    slurm.wait_for(crashed, "FAILED")
    slurm.wait_for(unlogged, "FAILED")
    slurm.wait_for(whole, "RUNNING")
    reason = f"squeue -h -j {orphan} -o %r"
    eventually(lambda: "Never" in slurm.run(reason).stdout, what="the orphan to be told", every=0.1)
    start = f"squeue -h -j {behind} -o %S"
    eventually(lambda: "N/A" not in slurm.run(start).stdout, what="a start", every=0.15)
    # when they are looked at
    scheduler = SlurmScheduler("alpha", LocalTransport({"SLURM_CONF": str(slurm.conf)}))
    snapshot: QueueSnapshot = await scheduler.queue(None)
    slurm.clean()
    told = {job.id: explain(job, snapshot.at) for job in snapshot.jobs}
    # then each says so
    assert "SIGSEGV" in told[crashed].sentence
    assert "not open the file for its output" in told[unlogged].sentence
    assert "never starts" in told[orphan].sentence
    assert told[orphan].needs_person
    assert told[held].needs_person
    assert re.search(r" That is in \d+ min\.$", told[later].sentence)
    runs = r"It runs on h1; its time limit is reached in \d+ min\."
    assert re.fullmatch(runs, told[whole].sentence)
    assert re.search(r" The scheduler expects it to start in \d+ min\.$", told[behind].sentence)
