"""Writing a what-if of a job to workflow.toml, after the user saw the change; and undoing it.

The input is the project, a group and the what-if; the result is the change and its effects. The
mapper is asked whether the change has the effect of the what-if: amounts that mapping files decide
are left out. The written change is exactly the change that was shown, because a token identifies
the content before and after. The content before is kept in `.row/rowtui/`, for one undo step.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import InvalidFileError, RowtuiError
from rowtui.core.base.files import read_bounded, replace_file
from rowtui.core.base.text import plural, visible
from rowtui.core.groups.model import Status
from rowtui.core.mapping.model.request import Amounts
from rowtui.core.project.explaining import explain_group
from rowtui.core.project.views.views import Edit, EditRequest, WhatIfRequest
from rowtui.core.workflow.duration import format_duration
from rowtui.core.workflow.edit import edit_resources
from rowtui.core.workflow.edit_amounts import EditRefusedError, Settings, Totals, settings_for
from rowtui.core.workflow.find import WORKFLOW_FILE
from rowtui.core.workflow.load import LARGEST_FILE, parse_workflow
from rowtui.core.workflow.model import Action, Resources

if TYPE_CHECKING:
    from rowtui.core.groups.form import GroupCut
    from rowtui.core.groups.model import Group
    from rowtui.core.mapping.model.decision import Decision
    from rowtui.core.project.open_project import OpenProject

KEPT = "workflow.before.toml"
"""File in `.row/rowtui/` with the content of workflow.toml before rowtui's last change."""

WRITTEN = "workflow.written"
"""File in `.row/rowtui/` with the token of the last written change."""

_MOST_LINES = 400  # most lines of a difference
_WIDEST = 1_000  # most characters of one of its lines
_TOKEN = 32  # hexadecimal digits
_LONG = "that is more than a person would read: change it in an editor"


def edit_for_what_if(
    project: OpenProject, action: Action, groups: GroupCut, asked: EditRequest
) -> Edit:
    """Return the change that realises the what-if; exactly a confirmed change is written.

    Raises: RowtuiError if the change cannot be written, or is not the confirmed one.
    """
    try:
        before = _content(project)
        _same_as_known(project, before)
        if asked.what_if is None or not asked.group < len(groups):
            raise EditRefusedError("there is no such job now")
        wish = _TriedAmounts(project, action, groups[asked.group], asked.what_if)
        made = wish.made()
        after = edit_resources(before, action.index, made.settings)
        if after == before:
            raise EditRefusedError("workflow.toml already has these values")
        diff = difference(before, after)
        _may_write(project)
    except EditRefusedError as error:
        return _refused(error, asked)
    notes = (*_others(project, action), *made.notes)
    edit = Edit(diff, notes, made.fields, _token(before, after))
    return _carried_out(project, edit, before, after, asked.confirmed)


def workflow_now(project: OpenProject) -> bytes:
    """Return workflow.toml as it is known and may be changed. Raises: EditRefusedError."""
    data = _content(project)
    _same_as_known(project, data)
    _may_write(project)
    return data


def shown_or_written(project: OpenProject, before: bytes, after: bytes, confirmed: str) -> Edit:
    """Return the change; write it if `confirmed` is its token. It can be undone by `edit_back`.

    Raises: EditRefusedError if it is too long to be shown; RowtuiError if it is not written.
    """
    edit = Edit(difference(before, after), token=_token(before, after))
    return _carried_out(project, edit, before, after, confirmed)


def _others(project: OpenProject, action: Action) -> tuple[str, ...]:
    """Return a note on the other groups that the change concerns."""
    try:
        eligible = len(project.cut(action, (Status.ELIGIBLE,)))
    except RowtuiError:  # the list of the groups reports the reason
        return ()
    if eligible < 2:
        return ()
    groups = f"All {eligible:,} eligible groups of {visible(action.name)}"
    return (f"{groups} ask for it then. Jobs that are submitted stay as they are.",)


def last_written(project: OpenProject) -> str:
    """Return the token of the last change written to workflow.toml; "" if there is none, or if it
    was undone.
    """
    try:
        return read_bounded(project.store.folder / WRITTEN, 2 * _TOKEN).decode("ascii")
    except (OSError, ValueError):
        return ""


def edit_back(project: OpenProject, asked: EditRequest, of: str = "") -> Edit:
    """Undo the last change, if the file has not changed since. Raises: as `edit_for_what_if`.

    `of`: an action that the change must have concerned.
    """
    try:
        now = _content(project)
        kept = project.store.folder / KEPT
        try:
            before = read_bounded(kept, LARGEST_FILE)
        except OSError:
            raise EditRefusedError("the previous workflow.toml is not kept any more") from None
        if _token(before, now) != asked.undo:
            raise EditRefusedError("workflow.toml has changed since")
        if of and of not in (changed := _changed_actions(project, before, now)):
            names = ", ".join(map(visible, changed))
            raise EditRefusedError(f"the last write did not change {visible(of)}, but {names}")
        diff = difference(now, before)
        _may_write(project)
    except EditRefusedError as error:
        return _refused(error, asked)
    edit = Edit(diff, token=_token(now, before))
    done = _carried_out(project, edit, now, before, asked.confirmed)
    if not done.written:
        return done
    with contextlib.suppress(OSError):
        kept.with_name(WRITTEN).unlink()  # nothing is left to undo
    return done._replace(token="")


def _changed_actions(project: OpenProject, before: bytes, after: bytes) -> list[str]:
    """Return the names of the actions that a change of the file concerns."""
    old, new = (
        parse_workflow(data, project.root, WORKFLOW_FILE).actions for data in (before, after)
    )
    return list(dict.fromkeys(b.name for a, b in zip(old, new, strict=False) if a != b))


def _refused(error: EditRefusedError, asked: EditRequest) -> Edit:
    if asked.confirmed:
        raise error
    return Edit(refused=error.message)


def _content(project: OpenProject) -> bytes:
    try:
        return read_bounded(project.workflow.path, LARGEST_FILE)
    except OSError as error:
        raise EditRefusedError(f"{WORKFLOW_FILE} cannot be read: {error.strerror}") from None


def _same_as_known(project: OpenProject, data: bytes) -> None:
    """Check that the file still has the content on which the what-if was made.

    Raises: EditRefusedError.
    """
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
    """Return the difference as in `diff -u`, without the file names.

    Raises: EditRefusedError if the difference is too long to be read.
    """
    old, new = (
        [line.removesuffix("\r") for line in _text(data).split("\n")] for data in (before, after)
    )
    lines = list(difflib.unified_diff(old, new, n=2, lineterm=""))[2:]
    if len(lines) > _MOST_LINES:
        raise EditRefusedError(_LONG)
    return tuple(visible(line.expandtabs(4))[:_WIDEST] for line in lines)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").removesuffix("\n")


# Effects of a change


class _EditedSettings(NamedTuple):
    settings: Settings
    fields: tuple[str, ...]
    notes: tuple[str, ...]


class _TriedAmounts:
    """The amounts that the user tried in a what-if about the job of one group."""

    def __init__(
        self, project: OpenProject, action: Action, group: Group, asked: WhatIfRequest
    ) -> None:
        self.project = project
        self.action = action
        self.group = group
        self.asked = asked
        change = asked.change
        values = {**change.amounts._asdict(), "walltime": change.walltime_seconds}
        self.values = {name: value for name, value in values.items() if value is not None}
        self.tried = self._decision(action, asked)

    def made(self) -> _EditedSettings:
        """Return the settings for all amounts that workflow.toml finally decides.

        Raises: EditRefusedError if there is no such amount, or it cannot be expressed.
        """
        fields = tuple(self.values)
        while fields:
            wanted = Totals(**{name: self.values[name] for name in fields})
            settings = settings_for(self.action.resources, len(self.group.indices), wanted)
            action = self.action._replace(resources=settings.resources)
            then = self._decision(action, self._without(fields))
            lost = self._lost(fields, then, settings.resources)
            if not lost:
                return _EditedSettings(
                    settings, fields, self._notes(fields, then, settings.resources)
                )
            fields = tuple(name for name in fields if name not in lost)
        if not self.values:
            raise EditRefusedError("tags, users and roles are not written in workflow.toml")
        verb = "is" if len(self.values) == 1 else "are"
        raise EditRefusedError(
            f"{' and '.join(self.values)} {verb} decided by the mapping files, whatever "
            "workflow.toml says"
        )

    def _decision(self, action: Action, asked: WhatIfRequest) -> Decision | None:
        group = self.group._replace(action=action)
        return explain_group(self.project, action, (group,), 0, what_if=asked).decision

    def _without(self, fields: Collection[str]) -> WhatIfRequest:
        """Return the what-if without these fields."""
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
        """Return the fields that would miss the what-if, because mapping files decide them."""
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
        """Return notes on effects that the user may not expect."""
        tried, notes = self.tried, []
        size = len(self.group.indices)
        now, before = (it.processes.total(size) for it in (resources, self.action.resources))
        if now != before:
            notes.append(f"It runs {plural(now, 'process', 'processes')} then, not {before:,}.")
        if tried is None or then is None or not _was_matched(tried):
            return (*notes, "Its destination may differ from the what-if's.")
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
            notes.append(f"{' and '.join(rest)} {verb} as set by the mapping files.")
        return tuple(notes)


def _was_matched(decision: Decision | None) -> bool:
    """Whether the job reached the choice of destinations, so that its amounts are known."""
    return decision is not None and bool(decision.candidates or decision.refusals)


def _near(one: object, other: object, by: float) -> bool:
    try:
        return abs(float(str(one or 0)) - float(str(other or 0))) <= by + 1e-6
    except ValueError:
        return one == other


def _words(name: str, value: object, *, short: bool = False) -> str:
    found = "not stated" if value is None else _number(float(str(value)))
    unit = " GB" if name == "mem" and value is not None else ""
    word = "GPUs" if name == "gpus" else "memory" if name == "mem" else name
    return f"{found}{unit}" if short else f"{word} {'is' if name == 'mem' else 'are'} {found}{unit}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() else f"{value:.4g}"


def _where(decision: Decision) -> str:
    chosen = decision.chosen.destination
    return f"to {visible(chosen)}" if decision.chosen.chosen and chosen else "nowhere"


# Writing


def _may_write(project: OpenProject) -> None:
    """Check that the user may write the file. Raises: EditRefusedError if not."""
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


def _carried_out(
    project: OpenProject, edit: Edit, before: bytes, after: bytes, confirmed: str
) -> Edit:
    if not confirmed:
        return edit
    if confirmed != edit.token:
        raise RowtuiError(
            "the change differs from the one shown: workflow.toml or the job changed meanwhile",
            "nothing was written; look at it again",
        )
    _write(project, before, after)
    return edit._replace(written=True)


def _write(project: OpenProject, before: bytes, after: bytes) -> None:
    """Keep the old content, then replace the file.

    Raises: RowtuiError; nothing was changed then.
    """
    kept = project.store.folder / KEPT
    try:
        target = project.workflow.path.resolve(strict=True)  # a symbolic link to the file stays one
        status = target.stat()
        kept.parent.mkdir(parents=True, exist_ok=True)
        replace_file(kept, before, exactly_like=status)
        if read_bounded(target, LARGEST_FILE) != before:
            raise RowtuiError("workflow.toml was changed meanwhile", "nothing was written")
        replace_file(kept.with_name(WRITTEN), _token(before, after).encode("ascii"))
        replace_file(target, after, exactly_like=status)
    except OSError as error:
        place = visible(error.filename or str(project.workflow.path))
        raise RowtuiError(f"cannot write {place}: {error.strerror or error}") from None
