"""`rowtui explain`: where the jobs of an action would go, why there, and why not elsewhere.

Exit code 0 if the job has a place, 1 if it has none, so that scripts can test for a place.
`--write` writes a what-if to workflow.toml, and `--undo` reverts the change: the changed lines are
printed first, and without confirmation no file is written.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.cli.environment import run as run_async
from rowtui.cli.mapping.decision_text import decision_lines, destination_lines
from rowtui.cli.mapping.files import say_problems
from rowtui.cli.output.output import Output, ranges, spans
from rowtui.cli.project.open import (
    action_not_found,
    ask,
    chosen_positions,
    is_interactive,
    open_project,
)
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible
from rowtui.core.groups.form import job_requests
from rowtui.core.groups.model import Group, JobRequest, Status
from rowtui.core.mapping.model.decision import Decision
from rowtui.core.mapping.model.request import AddedTag, Amounts, Person, WhatIf
from rowtui.core.project.context.credentials import person_named, this_person
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import counted_on, project_problems
from rowtui.core.project.views.views import EditRequest, WhatIfRequest
from rowtui.core.workflow.toml_file import did_you_mean

if TYPE_CHECKING:
    from rowtui.core.mapping.model.decision_json import Explained
    from rowtui.core.project.views.views import Edit


class CommandLineChanges(NamedTuple):
    """The changes to the jobs on the command line."""

    what_if: WhatIf | None
    person: Person | None


class Groups(NamedTuple):
    """The groups to explain, of all groups. `about`: the kind of directories in the groups."""

    groups: list[Group]
    total: int
    about: str  # eligible, given, all


class Alike(NamedTuple):
    """Groups (numbers from 1) with the same decision; `job` is the first one."""

    job: JobRequest
    numbers: list[int]
    decision: Decision


class NotThere(NamedTuple):
    """`explain` of directories that do not exist yet: by name, what their jobs wait for."""

    action: str
    not_there: dict[str, str]


class WorkflowChange(NamedTuple):
    """`explain --write` and `--undo`: what changes in workflow.toml. `diff`: lines.

    `written`: only with `--yes`. `fields`: what of the what-if is set. `notes`: what that means.
    """

    written: bool
    fields: tuple[str, ...]
    diff: tuple[str, ...]
    notes: tuple[str, ...]


def run(args: argparse.Namespace, out: Output) -> int:
    """Explain the first group, or each distinct decision."""
    project = open_project(args, out, ask_queue=False)
    actions = project.workflow.named(args.action)
    if not actions:
        hint = did_you_mean(args.action, project.workflow.action_names())
        if args.action[:1].isdecimal():
            hint = hint or "for a job that waits, 'rowtui queue' prints the reason"
        raise RowtuiError(action_not_found(args.action).message, hint)
    if args.write or args.undo or args.yes:
        return change_workflow(args, project, _asked(args).what_if, out)
    not_there = _not_there(args, project)
    for name, why in () if args.json else not_there.items():
        out.print(f"{visible(name)} {why}.")
    if not_there and len(not_there) == len(set(args.directories)):
        if args.json:
            out.json(NotThere(args.action, not_there))
        return 1
    groups = _groups(args, project, out)
    run_async(project.mapping.ask_loads())
    if not args.json:
        say_problems(project.mapping, out)
        concerned = {action.index for action in actions}
        out.problems(each for each in project_problems(project) if each.action in concerned)
    asked = _asked(args)
    found = _alike(project, groups.groups, asked)
    why_not = None if args.why_not is None else _destination(project, args.why_not)
    if args.json:
        out.json(_explained(args.action, project, groups, found, why_not))
    else:
        _print(project, groups, found, why_not, out)
    return 0 if all(each.decision.chosen.chosen for each in found) else 1


def _not_there(args: argparse.Namespace, project: OpenProject) -> dict[str, str]:
    """Print and return the named directories of the network that are not made yet, with reasons."""
    found: dict[str, str] = {}
    for given in args.directories if project.network is not None else ():
        name = given.rstrip("/")
        if project.state.directories.position(name) is None:
            assert project.network is not None
            if why := project.network.why_not_there(args.action, name):
                found[name] = why
    return found


def _groups(args: argparse.Namespace, project: OpenProject, out: Output) -> Groups:
    """Return the chosen groups. Raises: RowtuiError if there is none."""
    among = chosen_positions(project, args.directories, out)
    every = tuple(Status)
    if among is not None:
        found = _formed(args, project, every, among)
        if not found.total:
            name = visible(args.action)
            raise RowtuiError(f"none of these directories belongs to action '{name}'")
        return found._replace(about="given")
    found = _formed(args, project, (Status.ELIGIBLE,), None)
    if found.total:
        return found
    found = _formed(args, project, every, None)
    if not found.total:
        raise RowtuiError(f"action '{visible(args.action)}' has no directories")
    if not args.json:
        out.note("Nothing is eligible; this is about all directories of the action.")
    return found._replace(about="all")


def _formed(
    args: argparse.Namespace,
    project: OpenProject,
    statuses: Collection[Status],
    among: Sequence[int] | None,
) -> Groups:
    """Return the groups of all elements of the action; only the first one if that is enough."""
    count = 0
    groups: list[Group] = []
    for action in project.workflow.named(args.action):
        cut = project.cut(action, statuses, among)
        count += len(cut)
        if args.all or not groups:
            groups += cut.page(0, None if args.all else 1)
    return Groups(groups, count, "eligible")


def _asked(args: argparse.Namespace) -> CommandLineChanges:
    amounts = Amounts(gpus=args.gpus, cores=args.cores, mem=args.mem)
    drop = tuple(tag for tag, strength in args.tag if not strength)
    add = tuple(AddedTag(tag, strength) for tag, strength in args.tag if strength)
    what_if = WhatIf(amounts, args.time, drop, add)
    person = None
    if args.user is not None:
        person = person_named(args.user, args.roles)
    elif args.roles is not None:
        person = this_person()._replace(roles=args.roles)
    return CommandLineChanges(None if what_if == WhatIf() else what_if, person)


def _alike(project: OpenProject, groups: Sequence[Group], asked: CommandLineChanges) -> list[Alike]:
    """Return the distinct decisions, each with the groups that it applies to, in order."""
    mapping = project.mapping
    found: dict[tuple[Any, ...], Alike] = {}
    texts: dict[int, tuple[object, str]] = {}  # holds the placement, so that its id is not reused
    for number, job in enumerate(counted_on(project, job_requests(groups)), 1):
        key: tuple[Any, ...] = (number,)
        if len(groups) > 1:
            placement = mapping.place(job, what_if=asked.what_if, person=asked.person)
            if id(placement) not in texts:
                texts[id(placement)] = (placement, repr(placement))
            key = (
                job.action.index,
                job.cpus,
                job.gpus,
                job.walltime_seconds,
                texts[id(placement)][1],
            )
        if key in found:
            found[key].numbers.append(number)
            continue
        decision = mapping.decide(job, what_if=asked.what_if, person=asked.person)
        found[key] = Alike(job, [number], decision)
    return list(found.values())


def _destination(project: OpenProject, name: str) -> str:
    """Return the id of the named destination. Raises: RowtuiError if there is none."""
    offers = project.mapping.mapper.all_offers
    if name in offers:
        return name
    shown = [
        each for each, offer in offers.items() if name in {visible(each), offer.entity.dest_name}
    ]
    shown = shown or [each for each, offer in offers.items() if name == offer.partition_name]
    if len(shown) == 1:
        return shown[0]
    hint = f"is it {' or '.join(map(visible, shown))}?" if shown else did_you_mean(name, offers)
    if not hint:
        known = ", ".join(map(visible, list(offers)[:10])) or "there are none"
        hint = f"known destinations: {known}" + (", ..." if len(offers) > 10 else "")
    raise RowtuiError(f"there is no destination '{visible(name)}'", hint)


def _print(
    project: OpenProject, groups: Groups, found: Sequence[Alike], why_not: str | None, out: Output
) -> None:
    for at, (job, numbers, decision) in enumerate(found):
        if at:
            out.print()
        first = visible(project.state.directories.name(job.group.indices[0]))
        kind = "eligible " if groups.about == "eligible" else ""
        size = plural(len(job.group.indices), f"{kind}directory", f"{kind}directories")
        title = f"Group {numbers[0]} of {groups.total} ({size}, from {first} on)"
        if len(numbers) > 1:
            these = f"Groups {ranges(numbers)} of {groups.total}"
            title = f"{these}, decided alike (the first: {size}, from {first} on)"
        out.print(out.style(title, "bold"))
        if why_not is not None:
            offer = project.mapping.mapper.all_offers[why_not]
            out.lines(destination_lines(decision, offer, out))
        else:
            out.lines(decision_lines(decision, out))


def _explained(
    action: str, project: OpenProject, groups: Groups, found: Sequence[Alike], why_not: str | None
) -> Explained:
    from rowtui.core.mapping.model.decision_json import Explained, GroupsDecision, shown_decision

    mapping = project.mapping
    decisions = []
    for job, numbers, decision in found:
        shown = shown_decision(decision)
        if why_not is not None:
            shown = shown._replace(
                candidates=tuple(it for it in shown.candidates if it.destination_id == why_not),
                refusals=tuple(it for it in shown.refusals if it.destination_id == why_not),
            )
        first = project.state.directories.name(job.group.indices[0])
        decisions.append(GroupsDecision(spans(numbers), len(job.group.indices), first, shown))
    files, problems = mapping.sources.trust, mapping.configuration.problems
    return Explained(action, groups.about, groups.total, why_not, files, problems, decisions)


def change_workflow(
    args: argparse.Namespace, project: OpenProject, what_if: WhatIf | None, out: Output
) -> int:
    """Show the change, ask, and write it; 1 if it was not written."""
    if not (args.write or args.undo):
        raise RowtuiError("--yes belongs to --write and --undo", "add one of them, or leave it out")

    change: Callable[[EditRequest], Edit]
    if args.undo:
        from rowtui.core.project.workflow_edit import edit_back, last_written

        token = last_written(project)
        if not token:
            why = "nothing was written to workflow.toml by rowtui since the last undo"
            raise RowtuiError(f"there is nothing to undo: {why}")
        asked, change = EditRequest(undo=token), partial(edit_back, project, of=args.action)
    else:
        asked, change = _what_if_asked(args, project, what_if, out)
    edit = change(asked)
    if edit.refused:
        why = f"{edit.refused}; nothing was written"
        raise RowtuiError(why, "" if args.undo else "'rowtui explain ACTION' explains the job")
    written = _confirmed(args, edit, out)
    if written:
        edit = change(asked._replace(confirmed=edit.token))
    if args.json:
        out.json(WorkflowChange(edit.written, edit.fields, edit.diff, edit.notes))
        return 0
    if not written:
        out.warn("Nothing was written.")
        return 1
    if args.undo:
        out.print("workflow.toml is as it was before the last write.")
    else:
        out.print("Written to workflow.toml.")
        out.note(f"'rowtui explain {args.action} --undo' takes it back.")
    return 0


def _what_if_asked(
    args: argparse.Namespace, project: OpenProject, what_if: WhatIf | None, out: Output
) -> tuple[EditRequest, Callable[[EditRequest], Edit]]:
    """Return the what-if about the first group of `explain`. Raises: RowtuiError."""
    if what_if is None:
        raise RowtuiError(
            "--write needs a change of resources", "add --cpus, --mem, --gpus or --time"
        )
    among = chosen_positions(project, args.directories, out)
    every = tuple(Status)
    for statuses in (every,) if among is not None else ((Status.ELIGIBLE,), every):
        for action in project.workflow.named(args.action):
            groups = project.cut(action, statuses, among)
            if len(groups):
                run_async(project.mapping.ask_loads())
                asked = WhatIfRequest(what_if, args.user, args.roles)
                from rowtui.core.project.workflow_edit import edit_for_what_if

                change = partial(edit_for_what_if, project, action, groups)
                return EditRequest(action.index, statuses, 0, asked), change
    raise RowtuiError(f"action '{args.action}' has no directories")


def _confirmed(args: argparse.Namespace, edit: Edit, out: Output) -> bool:
    """Whether the user confirms the change. With --json only --yes confirms."""
    if args.json:
        return bool(args.yes)
    out.lines(edit.diff)
    out.lines(edit.notes)
    if args.yes:
        return True
    if not is_interactive():
        raise RowtuiError("--write cannot ask for confirmation without a terminal", "add --yes")
    return ask("Write to workflow.toml?", out)
