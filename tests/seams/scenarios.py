"""What happens in a project, as steps. Each step ends at a moment at which facts are compared.

A scenario sends what is ready, with jobs waiting at the gate, so that a moment lasts; then it opens
the gate and brings the project to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.seams.projects import SeamProject

Scenario = Callable[[SeamProject], Iterator[str]]


def success(project: SeamProject) -> Iterator[str]:
    """All jobs succeed."""
    yield "nothing is sent"
    send_at_gate(project)
    yield "jobs run"
    yield from to_the_end(project)


def failure(project: SeamProject) -> Iterator[str]:
    """A group of three fails at its second directory: completed, failed, not reached."""
    project.flag("broken")
    send_at_gate(project)
    open_gate(project)
    yield "a group failed"
    project.flag("broken", there=False)
    again(project)
    yield from to_the_end(project)


def refusal(project: SeamProject) -> Iterator[str]:
    """An action asks for more than there is; the other jobs go on."""
    yield "nothing is sent"
    send_at_gate(project)
    yield "the others run"
    yield from to_the_end(project)


def cancel(project: SeamProject) -> Iterator[str]:
    """The user cancels all jobs while they run."""
    send_at_gate(project)
    project("cancel", "--all", "--yes")
    project.wait_until_ended()
    project.finish_children()
    yield "cancelled"
    open_gate(project)
    again(project)
    yield from to_the_end(project)


def retry(project: SeamProject) -> Iterator[str]:
    """All jobs fail for want of time, and are sent again with twice as much, by hand."""
    project.flag("strict")
    send_at_gate(project)
    open_gate(project)
    yield "all failed"
    project.flag("gate")
    project.succeed("retry", "--time", "2x", "--yes", "--detach")
    project.wait_until_begun(4)
    yield "sent again"
    open_gate(project)
    project.flag("strict", there=False)
    yield from to_the_end(project)


def edit(project: SeamProject) -> Iterator[str]:
    """The user edits the value of a directory whose job was not sent, and takes the edit back."""
    send_at_gate(project, jobs=1)
    project.write_value("s,x=5", {"node": "t", "x": 5})
    yield "edited"
    open_gate(project)
    yield "the jobs ended"
    project.write_value("s,x=5", {"node": "s", "x": 5})
    again(project)
    yield from to_the_end(project)


def kill(project: SeamProject) -> Iterator[str]:
    """The process that sends is killed after its first job was accepted."""
    project.flag("gate")
    words = ("network", "run", "--yes") if project.is_network else ("submit", "--yes", "--detach")
    child = project.start(*words, killed_after=1)
    child.wait(45)
    assert child.returncode == -9, project.driver_log
    yield "killed"
    send_at_gate(project)
    yield "sent on"
    yield from to_the_end(project)


SCENARIOS: dict[str, Scenario] = {
    it.__name__: it for it in (success, failure, refusal, cancel, retry, edit, kill)
}


def send_at_gate(project: SeamProject, jobs: int = 2) -> None:
    """Send what is ready, at most so many jobs; return when they have begun, and wait.

    A refused action is an error of `submit`, which sends the other jobs.
    """
    project.flag("gate")
    if project.is_network:
        project.start("network", "run", "--yes", "--max-jobs", str(jobs))
    else:
        done = project("submit", "--yes", "--detach", "-n", str(jobs))
        assert done.code == 0 or project.which.event == "refusal", done
    project.wait_until_begun(jobs)


def open_gate(project: SeamProject) -> None:
    """Let all jobs go on, and wait until what was sent has ended, and the driver with it."""
    project.flag("gate", there=False)
    project.finish_children()
    project.wait_until_ended()


def again(project: SeamProject) -> None:
    """Have what failed or was cancelled be sent again, by the run or by hand."""
    if project.is_network:
        project("network", "retry", "--all")
    else:
        project("submit", "--yes", "--detach", "-a", "one")


def to_the_end(project: SeamProject) -> Iterator[str]:
    """Open the gate and send until nothing is left to send."""
    open_gate(project)
    if project.is_network:
        if project.json("network", "show")["run"]["status"] != "finished":
            project.start("network", "run", "--yes")
            project.finish_children()
    else:
        yield "the first action ended"
        project("submit", "--yes", "--detach")
        project.wait_until_ended()
    yield "the end"
