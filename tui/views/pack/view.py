"""View 4: the jobs of a plan on as few and as cheap machines as possible, with choices.

The view shows one destination at a time: its result, its node types and nodes, the slots of the
node under the cursor. After a changed choice the jobs are packed at once, outside the screen's
event loop; only the newest answer counts. The previous picture stays, with a mark, until the answer
arrives.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial, partialmethod
from typing import ClassVar

from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.tui.commands.registry import bindings_for
from rowtui.tui.shell.work import start
from rowtui.tui.views.pack.asking import PackAsking, compare
from rowtui.tui.views.pack.bundle_cells import (
    bundle_cells,
    bundle_columns,
    bundle_values,
    total_cells,
)
from rowtui.tui.views.pack.bundles import AloneRow, BundleLook, BundleRow, TypeRow
from rowtui.tui.views.pack.choice import (
    LABELS,
    LimitsForm,
    choice_words,
    compared_lines,
    limit_texts,
    next_packer,
    read_limits,
    settings_lines,
    what_changed,
)
from rowtui.tui.views.pack.packing import (
    head_lines,
    head_title,
    nodes_words,
    scope,
    state_line,
    why_empty,
)
from rowtui.tui.views.pack.slots import row_lines, row_title
from rowtui.tui.views.pack.state import AXES, LONGER, MOST_SECONDS, START, PackingState
from rowtui.tui.views.submit.plan import PlanRequest
from rowtui.tui.views.view import ScreenView
from rowtui.tui.widgets.cells import Line, line, wrapped
from rowtui.tui.widgets.chrome import Panel, set_titles
from rowtui.tui.widgets.table.engine_rows import MemoryRows
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.text_lines import LaidOut
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.timer import Timer

FRAME, RULE = 2, 1
"""Lines of a frame, and of the rule that replaces it on narrow screens."""

SETTLE_SECONDS = 0.2
"""Seconds after a key in the form, before jobs are packed again: a packing takes long."""


class PackView(ScreenView):
    """The result, its node types, and the slots of the node under the cursor."""

    MODE = "pack"
    BINDINGS = bindings_for("pack")
    AUTO_FOCUS: ClassVar[str | None] = "#bundles"

    def __init__(self) -> None:
        super().__init__()
        self._asking = PackAsking(self.dashboard, self, self._arrived)
        self._settle: Timer | None = None
        self._opened = 0  # How often the form was opened.
        self._wrong: tuple[tuple[str, str], ...] = ()

    def body(self) -> ComposeResult:
        """Compose the result; bundles beside the choices; the bundle under the cursor."""
        yield Panel("Packing", name="outcome")
        yield LimitsForm(id="limits")
        with Horizontal(id="packed"):
            yield ListTable(name="bundles")
            yield Panel("Settings", name="choices")
        yield LaidOut(name="bundle")

    @property
    def table(self) -> ListTable:
        """The node types and their bundles."""
        return self.query_one("#bundles", ListTable)

    @property
    def form(self) -> LimitsForm:
        """The limits."""
        return self.query_one("#limits", LimitsForm)

    @property
    def packing(self) -> PackingState:
        """The state of the packing."""
        return self.session.packing

    # Requests

    def show_body(self) -> None:
        """Show the last answer; send a request if that answer is not for the current choice."""
        packing = self.packing
        if packing.wanted is None and self.session.action is not None:
            packing.want(PlanRequest(self.session.action.index))
        self._asking.ask_if_needed()
        self._show_packing()

    def _arrived(self, begins: bool) -> None:
        if self.ready:
            self._show_packing(begins)
            self.show_bottom()

    # Display

    def _show_packing(self, begins: bool = False) -> None:
        """Show the last answer. `begins`: its destination was not on the screen before."""
        look = self.packing.look
        rows = look.rows if look else ()
        unit = look.of.packed.unit if look else ""
        keys = {row.key for row in rows}
        begins = begins or (bool(keys) and self.table.cursor_key not in keys)
        if begins:
            self.table.start_over()
        self.table.say_if_empty(line((why_empty(self.session), "dim")))
        self.table.show(
            MemoryRows(
                rows, lambda row: row.key, lambda _, row: bundle_cells(row, unit), bundle_values
            ),
            bundle_columns(rows, unit),
            stale=self.session.stale,
        )
        self.table.sum_up(total_cells(look) if look and look.nodes else None)
        if begins and (first := next((row for row in rows if isinstance(row, BundleRow)), None)):
            self.table.move_to_key(first.key)
        self._title_nodes(look)
        self._show_outcome(look)
        self._show_choices()
        self._show_row()

    def _share_height(self) -> None:
        """Give the nodes and the settings the lines that they need, at most 60 % of the body."""
        packed, choices = self.query_one("#packed"), self.query_one("#choices", Panel)
        lines = self.table.virtual_size.height
        if choices.display:
            lines = max(lines, choices.line_count)
        most = self.query_one("#body").size.height * 3 // 5
        frame = RULE if self.has_class("-narrow") or self.has_class("-tiny") else FRAME
        flat = self.has_class("-flat")
        packed.styles.height = None if flat else max(5, min(lines + frame, most))

    def _title_nodes(self, look: BundleLook | None) -> None:
        shown = f"{self.table.tally} rows" if self.table.filtered else ""
        title = f"Nodes{self.table.filter_named}"
        set_titles(self.table, title, " · ".join(filter(None, (shown, nodes_words(look)))))

    def _show_outcome(self, look: BundleLook | None) -> None:
        panel, packing = self.query_one("#outcome", Panel), self.packing
        width = panel.size.width
        lines: list[Line] = []
        for one in head_lines(look) if look else ():
            lines += wrapped(one, width, 2)
        if (state := state_line(packing)) and width:
            lines += wrapped(state, width, 2)
        panel.show(lines or [line((why_empty(self.session), "dim"))], stale=self.session.stale)
        wanted, looks = packing.wanted, packing.shown.looks if packing.shown else ()
        groups = None if wanted is None or wanted.groups is None else len(wanted.groups)
        snapshot = self.session.snapshot
        actions = snapshot.actions if snapshot else ()
        action = next((one for one in actions if wanted and one.index == wanted.action), None)
        everything = wanted is not None and wanted.action is None
        where = str(look.of.destination) if look else ""
        many = len(looks)
        below = scope(action, everything, groups, where)
        below += f" ({packing.at + 1} of {many}: ])" if many > 1 else ""
        set_titles(panel, head_title(look), below)

    def _show_choices(self) -> None:
        packing = self.packing
        panel = self.query_one("#choices", Panel)
        if width := panel.size.width:
            chosen, others = packing.choice.packer, packing.still_compared
            compared = compared_lines(others, packing.comparing, chosen, width)
            jobs = packing.shown.packed.plan.jobs if packing.shown else ()
            shown = settings_lines(packing, list(dict.fromkeys(job.action for job in jobs)), width)
            panel.show([*compared, (), *shown] if compared else shown)
        set_titles(panel, "Settings", f"e changes them{', u: back' if packing.chosen else ''}")
        self._share_height()
        below = "Enter done · Esc close · empty: as in clusters.toml"
        if self._wrong:
            below = f"▲ {LABELS[self._wrong[0][0]]}: {self._wrong[0][1]}"
        set_titles(self.form, "Settings", below)

    def _show_row(self) -> None:
        packing, look = self.packing, self.packing.look
        key = self.table.cursor_key
        row = next((row for row in look.rows if row.key == key), None) if look else None
        packing.row = row
        shown = self.query_one("#bundle", LaidOut)
        if row is None or look is None or packing.shown is None:
            shown.show_made(lambda _: ())
        else:
            jobs = packing.shown.packed.plan.jobs
            shown.show_made(partial(row_lines, row, jobs, look.of.packed.unit, axis=packing.axis))
        beside = self.query_one("#choices").display  # The pane of choices shows them already.
        words = "" if beside else " · ".join(choice_words(packing.choice))
        if isinstance(row, BundleRow) and not words:
            others = [name for axis, name in AXES.items() if axis != packing.axis]
            words = f"i: {', '.join(others)}"
        set_titles(shown, row_title(row, look.of.packed.unit if look else ""), words)

    # Events

    def on_list_table_rearranged(self) -> None:
        """Update the frame after another filter or order."""
        self._title_nodes(self.packing.look)
        self._show_row()

    def on_virtual_table_cursor_moved(self) -> None:
        """Show the slots of the node under the cursor."""
        self._show_row()
        self.query_one("#bundle", LaidOut).action_first()
        self.show_bottom()

    def on_fields_changed(self) -> None:
        """Pack after a pause in typing."""
        if self._settle is not None:
            self._settle.stop()
        self._settle = self.set_timer(SETTLE_SECONDS, self._limit_as_typed)

    def on_fields_done(self) -> None:
        """Close the form."""
        self._close_form()

    def on_key(self, event: events.Key) -> None:
        """Close the form with Escape; the limits stay."""
        if event.key == "escape" and self.form.inside:
            event.stop()
            event.prevent_default()
            self._close_form()

    def _limit_as_typed(self) -> None:
        if self.ready:
            known = self.packing.shown.packed.packers if self.packing.shown else ()
            names = [name for name, _ in known]
            typed = read_limits(self.form.texts, self.packing.choice, names)
            self._wrong = typed.wrong
            self._choose(typed.choice, of=(self.form, self._opened))

    def _close_form(self) -> None:
        if self._settle is not None:
            self._settle.stop()
        self._limit_as_typed()
        self._wrong = ()
        self.remove_class("-form")
        self.table.focus()

    def _choose(self, choice: PackChoice, of: Hashable = None) -> None:
        """Use this choice from now on; the result is compared with the current picture.

        Choices in a row with the same `of` are one step to undo.
        """
        packing = self.packing
        if choice != packing.choice:
            # The current picture shows the previous choice.
            if packing.settled or not packing.change:
                packing.before = packing.shown
                packing.change = ""
            change = what_changed(packing.choice, choice, packing.node_types)
            undo = partial(self._choose, packing.choice)
            self.session.can_undo(self.MODE, change or "pack settings", undo, of=of)
            packing.change = ", ".join(text for text in (packing.change, change) if text)
            packing.choice = choice
        self.show()

    command_reset = partialmethod(_choose, START)

    # Commands

    def copyable(self) -> str:
        """The first directory of the bundle under the cursor, or the node type's name."""
        row, shown = self.packing.row, self.packing.shown
        if row is None or shown is None:
            return ""
        if isinstance(row, TypeRow):
            return row.node_type.name
        at = row.left.jobs[0] if isinstance(row, AloneRow) else row.bundle.lanes[0].jobs[0]
        return shown.packed.plan.jobs[at].directories[0]

    def back(self) -> bool:
        """Go back from the form, or from the slots to the nodes."""
        if self.has_class("-form"):
            self._close_form()
            return True
        if self.has_class("-comparing"):
            self.remove_class("-comparing")
            return True
        if self.table.has_focus_within and self.table.clear_filter():
            return True
        if not self.table.has_focus:
            self.table.focus()
            return True
        return False

    def command_submit(self) -> None:
        """Show the plan with these bundles, for confirmation."""
        shown = self.packing.shown
        if shown is not None:
            self.dashboard.verbs.review(shown.packed.plan, "pack", self.packing.wanted)

    def command_packer(self) -> None:
        """Pack with the next packer."""
        packing = self.packing
        packers = packing.shown.packed.packers if packing.shown else ()
        choice = packing.choice
        self._choose(choice._replace(packer=next_packer(choice.packer, packers)))

    def command_compare(self) -> None:
        """Show the result of every packer, beside the choices."""
        self.add_class("-comparing")
        start(self, partial(compare, self, self._show_compared), "compare", exclusive=True)

    def command_picture(self) -> None:
        """Draw the slots over the next axis: time, CPUs or memory."""
        axes = list(AXES)
        self.packing.axis = axes[(axes.index(self.packing.axis) + 1) % len(axes)]
        self._show_row()
        self.query_one("#bundle", LaidOut).action_first()

    def _show_compared(self) -> None:
        """Show the choices, and the results of the other packers."""
        if self.ready:
            self._show_choices()
            self.show_bottom()

    def command_limits(self) -> None:
        """Open the form."""
        self.form.fill(limit_texts(self.packing.choice))
        self._opened += 1
        self.add_class("-form")
        self.call_after_refresh(self.form.enter)

    def command_node_type(self) -> None:
        """Pack without this node type, or with it again."""
        row, packing = self.packing.row, self.packing
        if not isinstance(row, TypeRow):
            return
        names = packing.node_types
        chosen = packing.choice.node_types or names
        name = row.node_type.name
        kept = tuple(one for one in names if (one in chosen) != (one == name))
        self._choose(packing.choice._replace(node_types=() if len(kept) == len(names) else kept))

    def command_longer(self) -> None:
        """Search longer for a better packing."""
        choice = self.packing.choice
        self._choose(choice._replace(budget=min(MOST_SECONDS, choice.budget * LONGER)))

    def _step(self, step: int) -> None:
        """Show the next destination; after the last one, pack the next action, then all."""
        packing, snapshot = self.packing, self.session.snapshot
        if packing.shown is not None and 0 <= packing.at + step < len(packing.shown.looks):
            packing.at += step
            self._show_packing(begins=True)
            self.show_bottom()
        elif packing.wanted is not None and snapshot is not None:
            known = [one.index for one in snapshot.actions if one.eligible]
            scopes: list[int | None] = [*known, None] if len(known) > 1 else [*known]
            here = packing.wanted.action
            at = scopes.index(here) if here in scopes else -1
            if scopes and (chosen := scopes[(at + step) % len(scopes)]) != here:
                packing.want(PlanRequest(chosen))
                if chosen is not None:
                    self.session.action_index = chosen
                self.show()

    command_next_destination = partialmethod(_step, 1)
    command_previous_destination = partialmethod(_step, -1)

    def command_pane(self) -> None:
        """Move to the other pane; in the form, to the next field."""
        if self.form.inside:
            self.form.next_field()
        else:
            bundle = self.query_one("#bundle", LaidOut)
            (bundle if self.table.has_focus else self.table).focus()
