"""Three clusters for the sample project: here, one that is connected, one that wants a login.

On `anvil` are some of the project's jobs (two of them tasks of an array) and some that are not the
project's; `delta` asks for trust in its key, then for a password and a one-time code.
"""

from __future__ import annotations

from rowtui.core.clusters.schedulers.base import Job, JobKey, JobState
from rowtui.core.clusters.transports.login import (
    Asker,
    LoginError,
    LoginTrouble,
    Prompt,
    UnknownHostKey,
)
from rowtui.core.project.views.views import ClusterView

from tests.job_records import sent_to
from tests.tui.sample import SampleEngine

HOST_KEY = UnknownHostKey(
    "login.delta.example",
    "ssh-ed25519",
    "SHA256:uNiVztksCsDhcc0u9e8BgrJXVGgnGs3rHPzRb3L1yYk",
    "login.delta.example ssh-ed25519 AAAA",
)
PROMPTS = (
    Prompt("Delta. Use is monitored; report trouble to help@delta.example.\nPassword:"),
    Prompt("One-time code from your device:", echo=True),
)
RIGHT = ("correct horse", "123456")


def with_clusters(engine: SampleEngine | None = None) -> SampleEngine:
    """The sample project with jobs on two clusters, and a third that wants a login."""
    engine = engine or SampleEngine()
    jobs = list(engine.jobs_by_token.values())
    for job, task in ((jobs[1], 0), (jobs[2], 1)):
        job.record = sent_to(job.record, "anvil", "shared", JobKey(9_182_736, task))
    jobs[2].reason = "Priority"
    engine.remote = {
        "anvil": ClusterView(
            "anvil", "slurm", "someone@anvil.example", True,
            as_of=engine.now - 14, next_at=engine.now + 46, jobs=others(engine),
        ),
        "delta": ClusterView(
            "delta", "slurm", "someone@delta.example", False, "it asks for a password and a code",
        ),
    }  # fmt: skip
    engine.logins["delta"] = delta_login
    return engine


def others(engine: SampleEngine) -> tuple[Job, ...]:
    """Jobs of the same person that no project knows."""
    return (
        Job(9_180_001, JobState.RUNNING, "relax-MoS2", partition="wholenode", elapsed=7_512,
            limit=86_400, nodes="a[101-104]"),
        Job(9_180_417, JobState.PENDING, "bash", partition="gpu", reason="Resources", limit=3_600),
        Job(9_181_000, JobState.PENDING, "sweep", partition="shared", reason="Dependency",
            limit=600, task=7),
    )  # fmt: skip


async def delta_login(asker: Asker) -> None:
    """Trust, then password and code; wrong ones are asked for again, as servers do."""
    if not await asker.host_key(HOST_KEY):
        raise LoginError(
            LoginTrouble.HOST_KEY_UNKNOWN,
            f"someone@delta.example is unknown: its {HOST_KEY.kind} key is not accepted",
            "compare the fingerprint with the one that the site publishes, then accept the key",
        )
    for _ in range(3):
        answers = await asker.ask(PROMPTS)
        if answers is None:
            raise LoginError(LoginTrouble.CANCELLED, "the login was given up")
        if tuple(answers) == RIGHT:
            return
    raise LoginError(
        LoginTrouble.DENIED,
        "delta did not accept the login",
        "check the password and the clock of the device that makes the codes",
    )


def main() -> int:
    """The dashboard on it, with a clock that ticks."""
    import time

    from rowtui.tui.shell.app import run_dashboard

    engine = SampleEngine(live=True)
    engine.now = time.time()
    return run_dashboard(with_clusters(engine))


if __name__ == "__main__":
    raise SystemExit(main())
