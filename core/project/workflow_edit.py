"""A what-if of a job written to workflow.toml, after somebody saw what would change; and back.

Takes the project, a group and the what-if; gives the change and what it means. Whether it would
make the what-if so is asked of the mapper: amounts that mapping files decide are left out. What is
written is exactly what was shown: a token names the content before and after. The content before
is kept in `.row/rowtui/`, for one step back.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.errors import InvalidFileError, RowtuiError
from rowtui.core.files import read_bounded, replace_file
from rowtui.core.grouping.model import Status
from rowtui.core.mapping.request import Amounts
from rowtui.core.project.edit_views import Edit, EditAsked
from rowtui.core.project.explaining import explain_group
from rowtui.core.project.views import WhatIfAsked
from rowtui.core.text import plural, visible
from rowtui.core.workflow.duration import format_duration
from rowtui.core.workflow.edit import edit_resources
from rowtui.core.workflow.edit_amounts import EditRefusedError, Settings, Totals, settings_for
from rowtui.core.workflow.find import WORKFLOW_FILE
from rowtui.core.workflow.load import LARGEST_FILE, parse_workflow
from rowtui.core.workflow.model import Action, Resources

if TYPE_CHECKING:
    from rowtui.core.grouping.form import GroupCut
    from rowtui.core.grouping.model import Group
    from rowtui.core.mapping.decision import Decision
    from rowtui.core.project.project import Project

KEPT = "workflow.before.toml"
"""In `.row/rowtui/`: what workflow.toml was before it was changed here last."""

_MOST_LINES = 400  # of a difference
_WIDEST = 1_000  # characters of one of its lines
_TOKEN = 32  # hexadecimal digits
_LONG = "that is more than a person would read: change it in an editor"


def edit_for_what_if(project: Project, action: Action, groups: GroupCut, asked: EditAsked) -> Edit:
    """What would change so that the what-if becomes so; written if that very change is confirmed.

    Raises: RowtuiError if it cannot be written, or is not the change that was confirmed.
    """
    try:
        before = _content(project)
        _same_as_known(project, before)
        if asked.what_if is None or not asked.group < len(groups):
            raise EditRefusedError("there is no such job now")
        wish = _Wish(project, action, groups[asked.group], asked.what_if)
        made = wish.made()
        after = edit_resources(before, action.index, made.settings)
        if after == before:
            raise EditRefusedError("workflow.toml says so already")
        diff = difference(before, after)
        _may_write(project)
    except EditRefusedError as error:
        return _refused(error, asked)
    notes = (*_others(project, action), *made.notes)
    edit = Edit(diff, notes, made.fields, _token(before, after))
    return _carried_out(project, edit, before, after, asked.confirmed)


def _others(project: Project, action: Action) -> tuple[str, ...]:
    """Who else it concerns."""
    try:
        eligible = len(project.cut(action, (Status.ELIGIBLE,)))
    except RowtuiError:  # the list of the groups says why
        return ()
    if eligible < 2:
        return ()
    groups = f"All {eligible:,} eligible groups of {visible(action.name)}"
    return (f"{groups} ask for it then. Jobs that are submitted stay as they are.",)


def edit_back(project: Project, asked: EditAsked) -> Edit:
    """The last change taken back, as long as nobody changed the file since. Raises: as above."""
    try:
        now = _content(project)
        kept = project.store.folder / KEPT
        try:
            before = read_bounded(kept, LARGEST_FILE)
        except OSError:
            raise EditRefusedError("what workflow.toml was before is not kept any more") from None
        if _token(before, now) != asked.undo:
            raise EditRefusedError("workflow.toml has changed since")
        diff = difference(now, before)
        _may_write(project)
    except EditRefusedError as error:
        return _refused(error, asked)
    return _carried_out(
        project, Edit(diff, token=_token(now, before)), now, before, asked.confirmed
    )


def _refused(error: EditRefusedError, asked: EditAsked) -> Edit:
    if asked.confirmed:
        raise error
    return Edit(refused=error.message)


def _content(project: Project) -> bytes:
    try:
        return read_bounded(project.workflow.path, LARGEST_FILE)
    except OSError as error:
        raise EditRefusedError(f"{WORKFLOW_FILE} cannot be read: {error.strerror}") from None


def _same_as_known(project: Project, data: bytes) -> None:
    """The file says what the what-if was made on. Raises: EditRefusedError."""
    try:
        read = parse_workflow(data, project.root, WORKFLOW_FILE)
    except InvalidFileError:
        raise EditRefusedError("workflow.toml has errors now: they come first") from None
    if read.actions != project.workflow.actions:
        raise EditRefusedError("workflow.toml has changed meanwhile: r reads it again")


def _token(before: bytes, after: bytes) -> str:
    parts = (hashlib.sha256(data).digest() for data in (before, after))
    return hashlib.sha256(b"".join(parts)).hexdigest()[:_TOKEN]


def difference(before: bytes, after: bytes) -> tuple[str, ...]:
    """As `diff -u`, without the names. Raises: EditRefusedError if nobody would read it."""
    old, new = (
        [line.removesuffix("\r") for line in _text(data).split("\n")] for data in (before, after)
    )
    lines = list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:]
    if len(lines) > _MOST_LINES:
        raise EditRefusedError(_LONG)
    return tuple(visible(line.expandtabs(4))[:_WIDEST] for line in lines)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").removesuffix("\n")


# What it comes to


class _Made(NamedTuple):
    settings: Settings
    fields: tuple[str, ...]
    notes: tuple[str, ...]


class _Wish:
    """What somebody tried about the job of one group."""

    def __init__(self, project: Project, action: Action, group: Group, asked: WhatIfAsked) -> None:
        self.project = project
        self.action = action
        self.group = group
        self.asked = asked
        change = asked.change
        values = {**change.amounts._asdict(), "walltime": change.walltime_seconds}
        self.values = {name: value for name, value in values.items() if value is not None}
        self.tried = self._decision(action, asked)

    def made(self) -> _Made:
        """The settings for all that workflow.toml has the last word in.

        Raises: EditRefusedError if that is nothing, or cannot be said.
        """
        fields = tuple(self.values)
        while fields:
            wanted = Totals(**{name: self.values[name] for name in fields})
            settings = settings_for(self.action.resources, len(self.group.indices), wanted)
            action = self.action._replace(resources=settings.resources)
            then = self._decision(action, self._without(fields))
            lost = self._lost(fields, then, settings.resources)
            if not lost:
                return _Made(settings, fields, self._notes(fields, then, settings.resources))
            fields = tuple(name for name in fields if name not in lost)
        if not self.values:
            raise EditRefusedError("tags, users and roles are not written in workflow.toml")
        verb = "is" if len(self.values) == 1 else "are"
        raise EditRefusedError(
            f"{' and '.join(self.values)} {verb} decided by the mapping files, whatever "
            "workflow.toml says"
        )

    def _decision(self, action: Action, asked: WhatIfAsked) -> Decision | None:
        group = self.group._replace(action=action)
        return explain_group(self.project, action, (group,), 0, what_if=asked).decision

    def _without(self, fields: Collection[str]) -> WhatIfAsked:
        """The what-if that is left when these are so."""
        change = self.asked.change
        amounts = {
            name: None if name in fields else value
            for name, value in change.amounts._asdict().items()
        }
        walltime = None if "walltime" in fields else change.walltime_seconds
        change = change._replace(amounts=Amounts(**amounts), walltime_seconds=walltime)
        return self.asked._replace(change=change)

    def _lost(
        self, fields: Sequence[str], then: Decision | None, resources: Resources
    ) -> tuple[str, ...]:
        """The amounts that would not be those that were tried, as somebody else decides them."""
        if not _was_matched(self.tried) or then is None:
            return ()
        size = len(self.group.indices)
        rounding = (resources.total_gpus(size) or resources.total_cpus(size)) / 1024
        near = {"mem": rounding}
        return tuple(
            name
            for name in fields
            if name != "walltime"
            and not _near(getattr(then.job, name), self.values[name], near.get(name, 0.0))
        )

    def _notes(
        self, fields: Sequence[str], then: Decision | None, resources: Resources
    ) -> tuple[str, ...]:
        """What a person would not expect."""
        tried, notes = self.tried, []
        size = len(self.group.indices)
        now, before = (it.processes.total(size) for it in (resources, self.action.resources))
        if now != before:
            notes.append(f"It runs {plural(now, 'process', 'processes')} then, not {before:,}.")
        if tried is None or then is None or not _was_matched(tried):
            return (*notes, "Whether it goes where it did in the what-if cannot be told.")
        for name in Amounts._fields:
            was, will = getattr(tried.job, name), getattr(then.job, name)
            if not _near(will, was, 0.0):
                had = _words(name, was, short=True)
                notes.append(f"Its {_words(name, will)} then, {had} in the what-if.")
        seconds = then.request.totals.walltime_seconds if then.request.totals else None
        if "walltime" in fields and seconds not in (None, self.values["walltime"]):
            notes.append(f"Its walltime is {format_duration(seconds or 0)} then: rounded down.")
        if _where(then) != _where(tried):
            notes.append(f"It goes {_where(then)} then, {_where(tried)} in the what-if.")
        rest = [name for name in self.values if name not in fields]
        if rest:
            verb = "stays" if len(rest) == 1 else "stay"
            notes.append(f"{' and '.join(rest)} {verb} as the mapping files say.")
        return tuple(notes)


def _was_matched(decision: Decision | None) -> bool:
    """The job got as far as the destinations: its amounts are known."""
    return decision is not None and bool(decision.candidates or decision.refusals)


def _near(one: object, other: object, by: float) -> bool:
    try:
        return abs(float(str(one or 0)) - float(str(other or 0))) <= by + 1e-6
    except ValueError:
        return one == other


def _words(name: str, value: object, *, short: bool = False) -> str:
    said = "not stated" if value is None else _number(float(str(value)))
    unit = " GB" if name == "mem" and value is not None else ""
    word = "GPUs" if name == "gpus" else "memory" if name == "mem" else name
    return f"{said}{unit}" if short else f"{word} {'is' if name == 'mem' else 'are'} {said}{unit}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() else f"{value:.4g}"


def _where(decision: Decision) -> str:
    chosen = decision.chosen.destination
    return f"to {visible(chosen)}" if decision.chosen.chosen and chosen else "nowhere"


# Writing


def _may_write(project: Project) -> None:
    """Raises: EditRefusedError where the file is not to be written by this person."""
    path = project.workflow.path
    try:
        target = path.resolve(strict=True)
        status = target.stat()
    except (OSError, RuntimeError) as error:
        raise EditRefusedError(f"{WORKFLOW_FILE} cannot be read: {error}") from None
    writable = status.st_mode & 0o222 and os.access(target, os.W_OK)
    if not writable or not os.access(target.parent, os.W_OK):
        raise EditRefusedError("workflow.toml is read-only for you")
    if status.st_nlink > 1:
        raise EditRefusedError("workflow.toml has other names (hard links), which would keep it")


def _carried_out(project: Project, edit: Edit, before: bytes, after: bytes, confirmed: str) -> Edit:
    if not confirmed:
        return edit
    if confirmed != edit.token:
        raise RowtuiError(
            "what would change is not what you saw: workflow.toml or the job changed meanwhile",
            "nothing was written; look at it again",
        )
    _write(project, before, after)
    return edit._replace(written=True)


def _write(project: Project, before: bytes, after: bytes) -> None:
    """Keep what is there, then replace it. Raises: RowtuiError; nothing was changed then."""
    kept = project.store.folder / KEPT
    try:
        target = project.workflow.path.resolve(strict=True)  # a link to it stays one
        status = target.stat()
        kept.parent.mkdir(parents=True, exist_ok=True)
        replace_file(kept, before, exactly_like=status)
        if read_bounded(target, LARGEST_FILE) != before:
            raise RowtuiError("workflow.toml was changed meanwhile", "nothing was written")
        replace_file(target, after, exactly_like=status)
    except OSError as error:
        place = visible(error.filename or str(project.workflow.path))
        raise RowtuiError(f"cannot write {place}: {error.strerror or error}") from None
