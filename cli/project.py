"""What commands on a project share: opening it, choosing directories, saying what was noticed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rowtui.cli.environment import environment_number, environment_word
from rowtui.cli.loop import at_end, run
from rowtui.core.errors import RowtuiError
from rowtui.core.text import plural, visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from rowtui.cli.output import Output
    from rowtui.core.clusters.transports.login import Asker
    from rowtui.core.project.project import Project
    from rowtui.core.project.surroundings import Surroundings

IO_THREADS = 8  # Row's default
SHOWN_BAD = 5  # directories that are named one by one


def cluster_name(args: argparse.Namespace) -> str | None:
    """`--cluster`, else the environment's."""
    return getattr(args, "cluster", None) or environment_word("CLUSTER", None)


def io_threads(args: argparse.Namespace) -> int:
    """`--io-threads`, else the environment's."""
    return getattr(args, "io_threads", None) or environment_number("IO_THREADS", IO_THREADS)


def open_project(
    args: argparse.Namespace,
    out: Output,
    *,
    synchronise: bool = True,
    ask_queue: bool = True,
    may_send: bool = False,
    errors: bool = True,
) -> Project:
    """The project of this folder, in step with disk and queue; what was noticed is said.

    Without `ask_queue` the caller looks at the jobs itself; with `may_send` what an unfinished
    submission left is sent on; without `errors` it says what is
    wrong with actions, as part of a plan.
    """
    from rowtui.cli.progress import Progress
    from rowtui.core.project.project import Project

    project = Project.open(cluster=cluster_name(args), io_threads=io_threads(args))
    project.wait, project.person, project.always_ask = run, _person, True
    project.arrays = getattr(args, "array", None)
    if hasattr(args, "packer"):  # a command that may pack
        from rowtui.cli.pack_choice import choice_of

        project.packing = choice_of(args)
    at_end(project.let_go)
    problems = project.workflow.problems
    out.problems(it for it in problems if errors or it.severity != "error")
    if synchronise:
        progress = Progress(out, "Reading directories")
        try:
            project.synchronise(progress=progress)
        finally:
            progress.close()
        say_set_aside(project, out)
        if ask_queue and project.has_jobs_to_ask_for():
            run(project.jobs.ask(now=is_typed(args), may_send=may_send))
    say_notices(project, out)
    return project


def sit_before(around: Surroundings) -> None:
    """Let the person at the terminal answer logins, and let connections live until the end."""
    around.wait, around.person, around.always_ask = run, _person, True
    at_end(around.let_go)


def _person(cluster: str) -> Asker:
    """Who answers when a cluster wants something for a login."""
    from rowtui.cli.asker import TerminalAsker

    return TerminalAsker(cluster)


def say_set_aside(project: Project, out: Output) -> None:
    """Name the first directories that cannot be used, with the reasons."""
    directories = project.state.directories
    bad = directories.bad
    if not bad:
        return
    shown = [
        f"{visible(directories.name(at))}: {bad[at]}"
        for at, _ in zip(bad, range(SHOWN_BAD), strict=False)
    ]
    if len(bad) > len(shown):
        more = plural(len(bad) - len(shown), "more is", "more are")
        shown.append(f"{more} listed by 'rowtui show directories --json'")
    count = plural(len(bad), "directory is", "directories are")
    out.warn("\n".join([f"{count} set aside:", *shown]))


def say_notices(project: Project, out: Output) -> None:
    """Print what the project noticed since the last time."""
    for notice in project.take_notices():
        out.warn(notice)


def is_typed(args: argparse.Namespace) -> bool:
    """Whether the user has just typed this command and wants to know; False while it watches.

    Only a typed command asks a shared queue before the site's interval is over.
    """
    return not getattr(args, "watching", False)


def say_configuration_problems(project: Project, out: Output) -> None:
    """Warn of mistakes in clusters.toml and launchers.toml, for commands that need neither."""
    from rowtui.core.files import configuration_files

    if not any(path.exists() for path in configuration_files(project.environment)):
        return
    from rowtui.core.clusters.load import load_launchers
    from rowtui.core.errors import InvalidFileError

    problems = project.configured.problems
    try:
        load_launchers(project.environment)
    except InvalidFileError as error:
        problems += error.problems
    for problem in problems:
        out.warn(str(problem))


def say_mapping_problems(project: Project, out: Output) -> None:
    """What is wrong with mapping files, where there are any."""
    from rowtui.core.project.mapping_files import has_mapping_files

    if has_mapping_files(project.root, project.environment):
        from rowtui.cli.mapping_files import say_problems

        say_problems(project.mapping, out)


def given_names(directories: Sequence[str]) -> list[str] | None:
    """The names on the command line, or on standard input for `-`; None for all."""
    if not directories:
        return None
    if list(directories) != ["-"]:
        return [name.rstrip("/") or name for name in directories]
    text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    lines = text.replace("\r\n", "\n").split("\n")
    return [line.rstrip("/") or line for line in lines if line]


def chosen_positions(project: Project, directories: Sequence[str], out: Output) -> list[int] | None:
    """The positions of the directories that were named, repeated ones repeated; None for all."""
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
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask(question: str, out: Output) -> bool:
    """Row's question: Enter or y is yes. Without anybody to answer it is yes, as in Row."""
    if not sys.stdout.isatty():
        return True
    sys.stdout.write(f"{question} [{out.style('Y', 'bold')}/n]: ")
    sys.stdout.flush()
    answer = sys.stdin.readline().strip()
    return answer in {"", "y", "Y", "yes"}


def action_not_found(name: str) -> RowtuiError:
    """No action has this name."""
    return RowtuiError(f"Action '{visible(name)}' not found in the workflow.")
