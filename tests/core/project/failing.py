"""A project whose jobs have failed, on record as if a scheduler had ended them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rowtui.core.project.failed_jobs import ChosenFailures
from rowtui.core.project.next_attempt import NO_CHANGE, AmountChange
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.retry import Again, plan_again
from rowtui.core.state.model import LastEnd, LastOutcome
from rowtui.core.state.store.stored import Stored
from rowtui.core.submission.plan.json import save_plan
from rowtui.core.submission.plan.model import JobStep, JournalEntry, Plan, PlannedJob
from rowtui.core.submission.plan.outcome import read_old_end

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "one"
command = "work {directories}"
launchers = ["mpi"]
products = ["x"]
group.maximum_size = 2
resources.processes.per_directory = 1
resources.walltime.per_directory = "01:00:00"
resources.memory_per_cpu_mb = 1024
"""


@dataclass
class Failing:
    """A project folder. `clusters`: the text of clusters.toml."""

    root: Path
    home: Path
    cluster: str = "local"
    submitted_at: float = 1000.0

    @classmethod
    def make(
        cls, root: Path, names: Sequence[str] = tuple("abcde"), workflow: str = WORKFLOW
    ) -> Failing:
        project = root / "project"
        for number, name in enumerate(names):
            (project / "workspace" / name).mkdir(parents=True)
            (project / "workspace" / name / "v.json").write_text(json.dumps({"v": number}))
        (project / "workflow.toml").write_text(workflow)
        return cls(project, root)

    def mapped(self, text: str) -> None:
        """Write the user's own mapping file, which runs without being trusted."""
        own = self.home / ".config/rowtui/mapping"
        own.mkdir(parents=True, mode=0o755, exist_ok=True)
        (own / "site.yml").write_text(text)

    def open(self) -> OpenProject:
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        return OpenProject.open(self.root, cluster=self.cluster, environment=environment)

    def fail(
        self,
        project: OpenProject,
        plan: Plan,
        reason: str,
        *,
        complete: Sequence[str] = (),
        outcomes: Mapping[str, LastOutcome] | None = None,
        node: str = "",
    ) -> tuple[PlannedJob, ...]:
        """Enter that all jobs of a plan ended for this reason, with these directories done.

        `outcomes`: of directories that did not fail. `node`: where the jobs ran.
        """
        save_plan(project.root, plan)
        failures: dict[str, dict[str, LastEnd]] = {}
        self.submitted_at += 100.0
        for number, job in enumerate(plan.jobs):
            cluster, job_id = job.destination.cluster, int(self.submitted_at) + number
            steps = [(JobStep.ACCEPTED, 0.0, ""), (JobStep.ENDED, 50.0, f"1 {reason}")]
            end = read_old_end(1, reason, self.submitted_at + 50.0)._replace(node=node)
            project.jobs.journal.append(
                JournalEntry(
                    job.token, plan.id, step, self.submitted_at + later, job_id, detail, cluster,
                    end=end if node and step is JobStep.ENDED else None,
                )
                for step, later, detail in steps
            )  # fmt: skip
            for name in job.directories:
                if name in complete:
                    (self.root / "workspace" / name / "x").touch()
                else:
                    outcome = (outcomes or {}).get(name, LastOutcome.FAILED)
                    failure = LastEnd(cluster, job_id, job.token, reason, outcome)
                    failures.setdefault(job.action, {})[name] = failure
        _enter(project, failures)
        project.synchronise(full=bool(complete))
        return plan.jobs

    def again(
        self,
        project: OpenProject,
        change: AmountChange = NO_CHANGE,
        *,
        tokens: Sequence[str] | None = None,
        names: Sequence[str] | None = None,
    ) -> Again:
        """The plan for all that failed, or for these jobs and directories."""
        among = None
        if names is not None:
            found = [project.state.directories.position(name) for name in names]
            among = [at for at in found if at is not None]
        return plan_again(project, ChosenFailures(project.workflow.actions, among, tokens), change)


def _enter(project: OpenProject, failures: Mapping[str, Mapping[str, LastEnd]]) -> None:
    def edit(stored: Stored) -> Stored:
        state = stored.state
        failed = {action: dict(known) for action, known in state.ends.items()}
        for action, by_name in failures.items():
            found = {state.directories.position(name): why for name, why in by_name.items()}
            failed.setdefault(action, {}).update(
                {at: why for at, why in found.items() if at is not None}
            )
        return stored._replace(state=state._replace(ends=failed))

    project.use(project.store.commit(edit).state)
