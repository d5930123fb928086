"""Files that are copied to other machines before the jobs of a plan are sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rowtui.core.base.text import plural, visible
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.short_text import file_size

if TYPE_CHECKING:
    from rowtui.core.project.views.views import TransferView
    from rowtui.tui.widgets.cells import Line


_SHOWN = 5  # The number of conflicts that are named.


@dataclass(slots=True)
class Copying:
    """The state of the copies. `views`: None until the answer; `error`: why it is unknown."""

    views: tuple[TransferView, ...] | None = None
    error: str = ""
    far: bool = False  # Whether a cluster of the plan is another machine.

    @property
    def conflict(self) -> str:
        """Why the plan cannot be sent, "" if no conflict stops it."""
        for view in self.views or ():
            if view.conflicts:
                name, more = visible(view.cluster), len(view.conflicts) - 1
                files = visible(view.conflicts[0]) + (f" and {more:,} more" if more else "")
                return f"changed here and on {name}: {files}; 'rowtui mirror {name}' decides"
        return ""


def copied_first(copying: Copying) -> list[Line]:
    """Return the lines about copied files; empty if every cluster sees the project."""
    title = ("copied first: ", "dim")
    if copying.error:
        return [line(title, ("▲ unknown: ", "warning"), copying.error)]
    if copying.views is None:
        return [line(title, "…")] if copying.far else []
    lines = []
    for view in copying.views:
        lines.append(line(title, f"{_amount(view)} to {view.cluster}"))
        lines.append(line("  ", view.place))
        back = ", ".join((*map(visible, view.back), "the logs"))
        lines.append(line(("  back come ", "dim"), back))
        shown = [f"conflict: {path}" for path in view.conflicts[:_SHOWN]]
        if len(view.conflicts) > _SHOWN:
            shown.append(f"{len(view.conflicts) - _SHOWN:,} more conflicts")
        lines += [line(("  ✗ ", "failed"), (text, "failed")) for text in shown]
        lines += [line(("  ▲ ", "warning"), text) for text in view.notices]
    return lines


def copied_in_short(copying: Copying) -> Line:
    """Return the copies in a few words, for low terminals."""
    if copying.error:
        return line(("  ▲ copies unknown", "warning"))
    if copying.views is None:
        return line(("  copies …", "dim")) if copying.far else ()
    if copying.conflict:
        return line(("  ✗ conflicts", "failed"))
    files = sum(view.files for view in copying.views)
    size = sum(view.size for view in copying.views)
    return line(f"  copies {plural(files, 'file')} ({file_size(size)})") if files else ()


def _amount(view: TransferView) -> str:
    if not view.files:
        return "nothing (all is there)"
    return f"{plural(view.files, 'file')} ({file_size(view.size)})"
