"""Shared steps of commands on a project: opening it, choosing directories, printing notices."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from rowtui.cli.environment import at_end, cluster_name, io_threads, run
from rowtui.cli.output.output import Output
from rowtui.cli.output.progress import ProgressBar, busy_with, fetching_bars
from rowtui.core.base.errors import InvalidFileError, RowtuiError
from rowtui.core.base.files import configuration_files
from rowtui.core.base.text import Cost, plural, visible
from rowtui.core.project.context.cluster_context import ClusterContext
from rowtui.core.project.open_project import OpenProject
from rowtui.core.state.model import Directories
from rowtui.core.workflow.find import has_mapping_files, has_network, matching_actions

if TYPE_CHECKING:
    import argparse

    from rowtui.core.clusters.transports.login import Asker
    from rowtui.core.project.planning.plan_submission import Pack
    from rowtui.core.submission.plan.model import Plan
    from rowtui.core.workflow.model import Action

SHOWN_BAD = 5  # directories that are named individually
LONGEST_ANSWER = 1 << 12  # a terminal gives no longer lines
ADD_YES = "add --yes to proceed without a question"


def open_project(
    args: argparse.Namespace,
    out: Output,
    *,
    synchronise: bool = True,
    ask_queue: bool = True,
    errors: bool = True,
) -> OpenProject:
    """Open the project of this folder, synchronised with disk and queue; its notices are printed.

    Without `ask_queue` the caller polls the jobs itself. Nothing is sent. Without `errors` the
    caller reports the problems of actions, as part of a plan.
    """
    project = OpenProject.open(cluster=cluster_name(args), io_threads=io_threads(args))
    project.wait, project.person, project.always_ask = run, _person, True
    project.fetching = fetching_bars(out)
    project.arrays = getattr(args, "array", None)
    if has_network(project.root):
        from rowtui.core.runs.execution.advance import follow_network

        follow_network(project)
    if hasattr(args, "packer"):  # a command that may pack
        from rowtui.cli.pack.parser import choice_of

        project.packing = choice_of(args)
    at_end(project.let_go)
    problems = project.workflow.problems
    out.problems(it for it in problems if errors or it.severity != "error")
    if synchronise:
        progress = ProgressBar(out, "Reading directories")
        try:
            project.synchronise(progress=progress)
        finally:
            progress.close()
        say_set_aside(project, out)
        if ask_queue and project.has_jobs_to_ask_for():
            run(project.jobs.ask(now=is_typed(args)))
        is_new = project.network is not None and not len(project.state.directories)
        if is_new and not getattr(args, "command", "").startswith("network"):
            out.warn(
                "nothing of the network is made yet: 'rowtui network make' makes its first "
                "directories, 'rowtui network run' runs all of it"
            )
    say_notices(project, out)
    return project


def sit_before(around: ClusterContext) -> None:
    """Let the user at the terminal answer logins, and keep connections open until the end."""
    around.wait, around.person, around.always_ask = run, _person, True
    at_end(around.let_go)


def _person(cluster: str) -> Asker:
    """Return the asker for the login questions of a cluster."""
    from rowtui.cli.asker import TerminalAsker

    return TerminalAsker(cluster)


def say_set_aside(project: OpenProject, out: Output) -> None:
    """Name the first directories that cannot be used, with the reasons."""
    if project.state.directories.bad:
        out.warn(set_aside(project.state.directories))


def set_aside(directories: Directories) -> str:
    """Return how many directories cannot be used, and the first of them with the reasons."""
    bad = directories.bad
    shown = [
        f"{visible(directories.name(at))}: {bad[at]}"
        for at, _ in zip(bad, range(SHOWN_BAD), strict=False)
    ]
    if len(bad) > len(shown):
        more = plural(len(bad) - len(shown), "more is", "more are")
        shown.append(f"{more} listed by 'rowtui show directories --json'")
    count = plural(len(bad), "directory is", "directories are")
    return "\n".join([f"{count} not counted:", *shown])


def say_notices(project: OpenProject, out: Output) -> None:
    """Print the project's notices since the last call."""
    for notice in project.take_notices():
        out.warn(notice)


def is_typed(args: argparse.Namespace) -> bool:
    """Whether the user has just typed this command; False for repeated polls of `--watch`.

    Only a typed command polls a shared queue before the site's interval is over.
    """
    return not getattr(args, "watching", False)


def say_configuration_problems(project: OpenProject, out: Output) -> None:
    """Warn of mistakes in clusters.toml and launchers.toml, for commands that need neither."""
    if not any(path.exists() for path in configuration_files(project.environment)):
        return
    from rowtui.core.clusters.config.load_launchers import load_launchers

    problems = project.configured.problems
    try:
        load_launchers(project.environment)
    except InvalidFileError as error:
        problems += error.problems
    for problem in problems:
        out.warn(str(problem))


def say_mapping_problems(project: OpenProject, out: Output) -> None:
    """Report the problems of mapping files, if there are any files."""
    if has_mapping_files(project.root, project.environment):
        from rowtui.cli.mapping.files import say_problems

        say_problems(project.mapping, out)


def chosen_actions(
    args: argparse.Namespace, project: OpenProject, out: Output, *, required: bool = False
) -> tuple[Action, ...]:
    """Return the actions that match `--action`; warn if there is none.

    `required`: there must be one, if the workflow has any. Raises: RowtuiError.
    """
    actions = matching_actions(project.workflow, args.action)
    if not actions:
        text = no_action(project, args.action)
        if required and project.workflow.actions:
            raise RowtuiError(text, action_names(project))
        out.warn(text)
    return actions


def planned(
    args: argparse.Namespace,
    project: OpenProject,
    actions: Sequence[Action],
    among: Sequence[int] | None,
    out: Output,
    *,
    packing: Pack | None = None,
) -> Plan:
    """Return the plan of these actions' eligible groups, at most `-n` jobs; nothing is sent."""
    from rowtui.core.project.planning.plan_submission import plan_submission

    with busy_with(project, out, "Planning"):
        plan = plan_submission(project, actions, among, limit=args.n, packing=packing)
    say_mapping_problems(project, out)
    return plan


def given_names(directories: Sequence[str]) -> list[str] | None:
    """Return the names on the command line, or on standard input for `-`; None for all."""
    if not directories:
        return None
    if list(directories) != ["-"]:
        return [name.rstrip("/") or name for name in directories]
    text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    lines = text.replace("\r\n", "\n").split("\n")
    return [line.rstrip("/") or line for line in lines if line]


def chosen_positions(
    project: OpenProject, directories: Sequence[str], out: Output
) -> list[int] | None:
    """Return the positions of the named directories, with repetitions; None for all."""
    names = given_names(directories)
    if names is None:
        return None
    chosen = []
    for name in names:
        position = project.state.directories.position(name)
        if position is None:
            out.warn(f"Directory '{visible(name)}' not found in workspace.")
        else:
            chosen.append(position)
    return chosen


def is_interactive() -> bool:
    """Whether a user can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def send_messages(project: OpenProject, out: Output) -> None:
    """Send messages of the project to the user's channels, until the command ends."""
    messages = project.open_messages(terminal=terminal_writer())

    async def close() -> None:
        messages.close()
        say_notices(project, out)

    at_end(close)


def terminal_writer() -> Callable[[str], None] | None:
    """Return a function that writes a sequence to the terminal; None if there is none."""
    seen = sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")
    return _write_to_terminal if seen else None


def _write_to_terminal(sequence: str) -> None:
    sys.stderr.write(sequence)
    sys.stderr.flush()


def ask(question: str, out: Output, *, default: bool = True, as_json: bool = False) -> bool:
    """Ask a yes-or-no question. `default`: the meaning of an empty line.

    Raises: RowtuiError if no answer comes (see `answer_to`), and always with `as_json`, because
    standard output is then for programs.
    """
    if as_json:
        raise RowtuiError("with --json no question is asked", ADD_YES)
    choices = f"{out.style('Y', 'bold')}/n" if default else "y/N"
    answer = answer_to(f"{question} [{choices}]: ").lower()
    return answer in {"y", "yes"} if answer else default


def answer_to(prompt: str, hint: str = "") -> str:
    """Return the next line of standard input, from a terminal or another source.

    Raises: RowtuiError at the end of the input; `hint` is the way to avoid the question.
    """
    stream = sys.stdout if sys.stdout.isatty() else sys.stderr
    stream.write(prompt)
    stream.flush()
    typed = sys.stdin is not None and sys.stdin.isatty()
    try:
        line = "" if sys.stdin is None else sys.stdin.readline(LONGEST_ANSWER)
    except UnicodeDecodeError:
        line = "\ufffd"  # an answer, but not a yes
    if not (typed and line):
        stream.write("\n")  # a terminal shows the end of the line that the user types
        stream.flush()
    if not line:
        raise RowtuiError("the question has no answer, so nothing was done", hint or ADD_YES)
    return line.strip()


def action_names(project: OpenProject) -> str:
    """Return a hint with the first names of the workflow's actions."""
    names = project.workflow.action_names()
    shown = ", ".join(map(visible, names[:10])) + ", …" * (len(names) > 10)
    return f"the actions are {shown}"


def no_action(project: OpenProject, pattern: str) -> str:
    """Return why there is no action to show or to submit."""
    if not project.workflow.action_names():
        return "workflow.toml has no action yet: add an [[action]] table."
    return f"No actions match '{visible(pattern)}'."


def action_not_found(name: str) -> RowtuiError:
    """Return the error that no action has this name."""
    return RowtuiError(f"Action '{visible(name)}' not found in the workflow.")


NOTHING = "There are no eligible jobs to submit."


def say_left_out(sentences: Sequence[str], out: Output) -> None:
    """Report requested work that no job does, as errors, because the command then ends with 1."""
    for sentence in dict.fromkeys(sentences):
        out.error(sentence)


def say_totals(
    clusters: Collection[str], totals: Mapping[str, tuple[int, Cost]], out: Output
) -> None:
    """With -v, print a line for each action, with its jobs and their cost."""
    out.info(f"Jobs on {', '.join(map(visible, clusters))} for these actions:")
    for name, (jobs, cost) in totals.items():
        out.info(f" - {name}: {plural(jobs, 'job')} that may cost up to {cost}.")
