"""What every command and every view states about a project, as facts that can be compared.

A `Fact` is one value of one field of one subject, with its source. Subjects: ("project",),
("action", name), ("directory", action, name), ("request", action, first directory) for what would
be sent, ("bundle", first directories), ("job", token), ("scheduler job", cluster, id). A source
that states nothing about a field makes no fact. The collectors use the names of docs/schema.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rowtui.core.clusters.schedulers.base import is_in_bundle
from rowtui.core.runs.directories.readiness import UNUSABLE

Subject = tuple[str, ...]
Data = Mapping[str, Any]

PROJECT: Subject = ("project",)
COUNTS = ("completed", "submitted", "eligible", "waiting", "failed", "not_reached", "cancelled")
ENDED = ("failed", "not reached", "cancelled")  # statuses of directories that are eligible
AMOUNTS = ("cpus", "memory_mb", "gpus", "walltime_seconds", "processes")
OF_JOBS = (
    "id", "cluster", "partition", "action", "state", "reason", "outcome", "exit_code", "signal",
    "attempt", *AMOUNTS,
)  # fmt: skip


class Fact(NamedTuple):
    """One statement: the `field` of `subject` has this value, says `source`."""

    subject: Subject
    field: str
    value: Any
    source: str


class Commands(Protocol):
    """A project in which commands are run."""

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of its actions."""

    @property
    def is_network(self) -> bool:
        """Whether it has a network."""

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Run a command."""

    def json(self, *words: str) -> Any:
        """What a command prints with `--json`."""


def collect_commands(project: Commands) -> list[Fact]:
    """The facts of all commands."""
    facts = [*show_jobs(project), *show_status(project), *show_status_text(project)]
    for action in project.actions:
        facts += show_directories(project, action)
        facts += explain(project, action)
    facts += [*plan(project), *pack(project), *queue(project), *usage(project), *history(project)]
    if project.is_network:
        facts += [*network_show(project), *network_runs(project)]
    return facts


def show_status(project: Commands) -> Iterator[Fact]:
    """`show status --json`."""
    source = "show status"
    data = project.json("show", "status", "--all")
    yield Fact(PROJECT, "count.directories", data["directories"], source)
    for row in data["actions"]:
        subject = ("action", row["name"])
        for name in COUNTS:
            yield Fact(subject, f"count.{name}", row[name], source)
        yield from cost(subject, row["remaining_cost"], source)
    if data.get("network") is not None:
        waiting = data["network"]["waiting"]
        yield Fact(("network",), "count.waiting", waiting, source)


def show_status_text(project: Commands) -> Iterator[Fact]:
    """The table that `show status` prints. A column of zeros is left out."""
    source = "show status table"
    heading, *lines = project("show", "status", "--all")[1].splitlines() or [""]
    places = {name: heading.lower().find(name.replace("_", " ")) for name in COUNTS}
    titles = sorted((name for name in COUNTS if places[name] >= 0), key=places.__getitem__)
    for line in lines:
        name, *numbers = line.split() or [""]
        if name not in project.actions:
            return  # sentences below the table
        shown = dict(zip(titles, numbers, strict=False))
        for title in COUNTS:
            yield Fact(
                ("action", name), f"count.{title}", int(shown.get(title, "0").strip("()")), source
            )


def show_directories(project: Commands, action: str) -> Iterator[Fact]:
    """`show directories -a ACTION --json`: each directory, and how many have which status."""
    source = "show directories"
    statuses: Counter[str] = Counter()
    for group in project.json("show", "directories", "-a", action)["groups"]:
        for directory in group["directories"] if isinstance(group, dict) else group:
            status = directory["status"].replace("_", " ")
            statuses[status] += 1
            subject = ("directory", action, directory["name"])
            yield Fact(subject, "status", status, source)
            job = directory["job"]
            yield Fact(subject, "job", None if job is None else whole_job(job), source)
            failed = directory.get("failed")
            if isinstance(failed, dict):
                for name in ("exit_code", "signal", "reason"):
                    yield Fact(subject, f"failed.{name}", failed[name], source)
    yield from counts_of(("action", action), statuses, source)


def counts_of(subject: Subject, statuses: Mapping[str, int], source: str) -> Iterator[Fact]:
    """Counts of directories by status. Those of jobs that ended are eligible as well."""
    for name in COUNTS:
        number = statuses.get(name.replace("_", " "), 0)
        if name == "eligible":
            number += sum(statuses.get(ended, 0) for ended in ENDED)
        yield Fact(subject, f"count.{name}", number, source)


def show_jobs(project: Commands) -> Iterator[Fact]:
    """`show jobs --json`: each job, and how many are in which state."""
    source = "show jobs"
    jobs = list(project.json("show", "jobs", "--long")["jobs"])
    for age, job in enumerate(jobs):
        yield from job_facts(job, source)
        yield Fact(("job", job["token"]), "age", age, source)
        if job["ended_at"] and job["id"] is not None and job["started_at"]:
            end = job["state"] if job["state"] in ("completed", "cancelled") else "failed"
            yield Fact(("ended job", str(job["id"]), job["action"]), "state", end, source)
    for state, number in Counter(job["state"] for job in jobs).items():
        yield Fact(PROJECT, f"jobs.{state}", number, source)


def job_facts(job: Data, source: str) -> Iterator[Fact]:
    """A Job of docs/schema, or a row of a queue. A source that leaves a cost out states none."""
    subject = ("job", job["token"])
    for name in OF_JOBS:
        if name in job:
            yield Fact(subject, name, job[name] if job[name] != "" else None, source)
    if job.get("directories") is not None:
        yield Fact(subject, "directories", tuple(sorted(job["directories"])), source)
    if job.get("cost") is not None:
        yield from cost(subject, job["cost"], source)


def queue(project: Commands) -> Iterator[Fact]:
    """`queue --ended --json`: the scheduler's jobs of this project, and the requests in bundles."""
    source = "queue"
    for cluster in project.json("queue", "--ended")["clusters"]:
        for row in cluster["jobs"]:
            if row["token"] is None or not row["ours"]:
                continue
            requests = row.get("requests") or ()
            if not requests:
                yield from job_facts({**row, "cluster": cluster["name"]}, source)
            for request in requests:
                yield from job_facts(request, source)
            bundle = ("scheduler job", cluster["name"], str(row["id"]))
            if is_in_bundle(row["token"]):
                continue
            for name in ("state", "walltime_seconds", "partition"):
                yield Fact(bundle, name, row[name] or None, source)


def usage(project: Commands) -> Iterator[Fact]:
    """`usage --csv` and `report --trace`: a row for each job that ended."""
    texts = {"usage": project("usage", "--csv")[1]}
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "trace.csv")
        project("report", "--trace", str(trace))
        if trace.exists():  # there is none before a job ended
            texts["report --trace"] = trace.read_text(encoding="utf-8")
    for source, text in texts.items():
        for row in csv.DictReader(io.StringIO(text)):
            subject = ("job", row["token"])
            for name in ("id", "action", "cluster", "partition"):
                yield Fact(subject, name, row[name] or None, source)
            for name in ("outcome", "signal"):
                yield Fact(subject, name, row[name] or None, source)
            code = row["exit_code"]
            yield Fact(subject, "exit_code", int(code) if code else None, source)
            for name in ("attempt", "cpus", "gpus", "requested_wall_seconds"):
                field = name.replace("requested_wall", "walltime")
                yield Fact(subject, field, int(row[name]), source)


def history(project: Commands) -> Iterator[Fact]:
    """`history --json`: the jobs that ended, by their ids."""
    for job in project.json("history")["jobs"]:
        if job["id"] is not None:
            subject = ("ended job", str(job["id"]), job["action"])
            yield Fact(subject, "state", job["state"], "history")


def plan(project: Commands) -> Iterator[Fact]:
    """`plan --json`: jobs, bundles, and what is refused."""
    source = "plan"
    data = project.json("plan")
    jobs = list(data["jobs"])
    yield Fact(PROJECT, "planned.jobs", len(jobs), source)
    yield from cost((*PROJECT, "plan"), data["cost"], source)
    for job in jobs:
        yield from request_facts(job["action"], job["directories"], job, source)
    for refused in data["refused"]:
        names = refused["directories"]
        yield from refused_facts(refused["stage"], refused["action"], names, source)
    by_token = {job["token"]: job for job in jobs}
    for bundle in data["bundles"]:
        members = [by_token[token] for token in bundle["jobs"]]
        yield from bundle_facts([it["directories"] for it in members], bundle, source)


def request_facts(
    action: str, directories: Iterable[str], data: Data, source: str
) -> Iterator[Fact]:
    """What would be sent for a group of directories."""
    names = tuple(directories)
    subject = ("request", action, names[0])
    yield Fact(subject, "refused", False, source)
    yield Fact(subject, "directories", names, source)
    for name in ("cluster", "partition", "attempt", *AMOUNTS):
        if name in data:
            yield Fact(subject, name, data[name] if data[name] != "" else None, source)
    if "cost" in data:
        yield from cost(subject, data["cost"], source)


def refused_facts(
    stage: str, action: str, directories: Iterable[str], source: str
) -> Iterator[Fact]:
    """Jobs that a plan leaves out for one reason, which are known by their first directory.

    Whether all of a group was chosen (stage `group`) does not depend on where the job may go.
    """
    names = tuple(directories)
    subject = ("request", action, names[0])
    if stage == "group":
        yield Fact(subject, "whole", False, source)
    else:
        yield Fact(subject, "refused", True, source)
    yield Fact(("refused", action, names[0]), "directories", names, source)


def bundle_facts(members: Iterable[Iterable[str]], data: Data, source: str) -> Iterator[Fact]:
    """Jobs that share a node, which are known by their first directories."""
    subject = ("bundle", *sorted(next(iter(names)) for names in members))
    for name in ("node_type", *AMOUNTS):
        if name in data:
            yield Fact(subject, name, data[name], source)


def pack(project: Commands) -> Iterator[Fact]:
    """`pack --json`: where each request stands, and the bundles."""
    source = "pack"
    data = project.json("pack", "--search", "0")
    for there in data["destinations"]:
        for bundle in there["bundles"]:
            jobs = [job for lane in bundle["lanes"] for job in lane["jobs"]]
            for job in jobs:
                place = {name: there["destination"][name] for name in ("cluster", "partition")}
                yield from request_facts(
                    job["action"], job["directories"], {**job, **place}, source
                )
            if bundle["token"]:
                yield from bundle_facts([it["directories"] for it in jobs], bundle, source)


def explain(project: Commands, action: str) -> Iterator[Fact]:
    """`explain ACTION --all --json`: the decision for each group that is eligible."""
    source = "explain"
    _, out, _ = project("explain", action, "--all", "--json")
    data = json.loads(out) if out.startswith("{") else None  # no directory is in the action
    if data is None or data.get("about") != "eligible":
        return
    for decision in data["decisions"]:
        subject = ("request", action, decision["first_directory"])
        yield Fact(subject, "refused", decision["state"] == "refused", source)
        place = decision["destination"]
        if place is None:
            continue
        for name in ("cluster", "partition"):
            yield Fact(subject, name, place[name] or None, source)
        for name in AMOUNTS:
            if decision.get(name) is not None:  # null: nothing states this amount
                yield Fact(subject, name, decision[name], source)


def network_show(project: Commands) -> Iterator[Fact]:
    """`network show --json`, and the samples of each node."""
    source = "network show"
    data = project.json("network", "show")
    for node in data["nodes"]:
        if node["kind"] == "node":
            reasons = [
                it["failed"]["reason"] for it in data["failures"] if it["node"] == node["name"]
            ]
            yield from node_counts(node["action"], node["states"], reasons, source)
            samples = project.json("network", "show", node["name"])["samples"]
            for sample in samples:
                yield from sample_facts(node["action"], sample, f"{source} {node['name']}")
    if data["run"] is not None:
        run = data["run"]
        yield Fact((*PROJECT, "run"), "status", run["status"], source)
        yield from charges(run, source)
        waiting = sum(it["states"]["waiting"] for it in data["nodes"] if it["kind"] == "node")
        yield Fact(("network",), "count.waiting", waiting, source)


def network_runs(project: Commands) -> Iterator[Fact]:
    """`network runs --json`: how many runs there are, and the newest one."""
    runs = project.json("network", "runs")["runs"]
    yield Fact(PROJECT, "runs", len(runs), "network runs")
    if runs and runs[0]["status"] != "bad":
        yield Fact((*PROJECT, "run"), "status", runs[0]["status"], "network runs")
        yield from charges(runs[0], "network runs")


def charges(run: Data, source: str) -> Iterator[Fact]:
    """What a run of a network is charged, and the numbers of its limits."""
    yield from cost((*PROJECT, "run"), run["charged"], source)
    for name in ("jobs_in_queue", "failures"):
        yield Fact((*PROJECT, "run"), name, run[name], source)


def node_counts(
    action: str, states: Mapping[str, int], reasons: Iterable[str], source: str
) -> Iterator[Fact]:
    """Jobs of a network by state. `reasons`: of those that failed."""
    never_sent = sum(reason.startswith(UNUSABLE) for reason in reasons)
    yield Fact(("node", action), "count.unusable", never_sent, source)
    for state, number in states.items():
        yield Fact(("node", action), f"count.{state}", number, source)


def sample_facts(action: str, sample: Data, source: str) -> Iterator[Fact]:
    """A sample of a node of a network, by the network's own word."""
    never_sent = str(sample["reason"]).startswith(UNUSABLE)
    state = "unusable" if never_sent else sample["state"]
    yield Fact(("sample", action, sample["directory"]), "state", state, source)


def cost(subject: Subject, data: Data, source: str) -> Iterator[Fact]:
    """CPU-hours and GPU-hours, and a price where one is stated."""
    for name in ("cpu_hours", "gpu_hours", "price", "currency"):
        if name in data:
            yield Fact(subject, f"cost.{name}", data[name], source)


def whole_job(job: Data) -> str:
    """`cluster/id` of the scheduler's job, without the task or the number in a bundle."""
    return f"{job['cluster']}/{str(job['id']).partition('.')[0].partition('_')[0]}"
