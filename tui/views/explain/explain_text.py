"""An explanation as text to paste, and a what-if as lines to add to workflow.toml.

The input is a `PlacementExplanation`; the output is lines without colours.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from rowtui.core.base.text import visible
from rowtui.core.mapping.model.decision import Decision
from rowtui.core.mapping.model.sentences import signed
from rowtui.core.project.views.views import PlacementExplanation, WhatIfRequest
from rowtui.tui.views.explain.destination import destination_lines
from rowtui.tui.views.explain.explain import DestinationRow, job_lines
from rowtui.tui.views.explain.match_trace import story_lines
from rowtui.tui.views.explain.what_if import amount_text
from rowtui.tui.widgets.cells import plain
from rowtui.tui.widgets.short_text import hours_minutes_seconds

WIDTH = 100


def explanation_text(
    explanation: PlacementExplanation, rows: Sequence[DestinationRow], action: str
) -> str:
    """Return the job, each destination in a line, the reason for the choice, and the story."""
    title = f"{visible(action)}, group {explanation.group:,} of {explanation.groups:,}"
    lines = [title, *map(plain, job_lines(explanation, WIDTH)), ""]
    for row in rows:
        rank = f"{row.rank}." if row.rank else "-"
        score = "" if row.score is None else f"  score {signed(row.score)}"
        lines.append(f"{rank:>3} {row.place}{score}  {visible(row.why)}")
    decision = explanation.decision
    if decision is not None and decision.chosen.chosen:
        chosen = next((row for row in rows if row.name == decision.chosen.destination), None)
        if chosen is not None:
            lines += ["", f"Why {visible(chosen.name)}"]
            lines += map(plain, destination_lines(chosen, decision, WIDTH))
    lines += ["", *map(plain, story_lines(explanation, WIDTH))]
    return "\n".join(text.rstrip() for text in lines) + "\n"


def lines_to_add(asked: WhatIfRequest, action: str, decision: Decision | None) -> list[str]:
    """Return the lines, with their files, that make a what-if permanent; write nothing."""
    amounts = asked.change.amounts
    lines: list[str] = []
    if asked.change.walltime_seconds is not None:
        lines += [
            "In workflow.toml, for this action:",
            "",
            "[action.resources]",
            f'walltime.per_submission = "{hours_minutes_seconds(asked.change.walltime_seconds)}"',
            "",
        ]
    under = []
    for field, value in zip(("gpus", "cores", "mem"), amounts, strict=True):
        if value is not None:
            under.append(f"    {field}: {amount_text(value)}")
    by_strength: dict[str, list[str]] = {}
    for tag, strength in asked.change.add_tags:
        by_strength.setdefault(strength, []).append(tag)
    if by_strength:
        under.append("    scheduling:")
        for strength, tags in by_strength.items():
            under.append(f"      {strength}: [{', '.join(map(_quoted, tags))}]")
    if under:
        where = _where_its_tool_is(decision, action)
        lines += [f"In {where}:", "", "tools:", f"  {_quoted(action)}:", *under, ""]
    for tag in asked.change.drop_tags:
        found = decision.tags if decision is not None else ()
        origin = next((it for _, name, it in found if name == tag), None)
        place = f": {visible(str(origin.place))}" if origin and origin.place.file else ""
        lines.append(f"Take the tag {visible(tag)} away where it is written{place}")
    if asked.user is not None or asked.roles is not None:
        lines.append("Another user or other roles are not written anywhere: they are who runs it.")
    return lines


def _where_its_tool_is(decision: Decision | None, action: str) -> str:
    """Return the file and line of the action's tool; without a tool, the project's file."""
    for matched in reversed(decision.matched if decision is not None else ()):
        origin = matched.origin
        if origin.kind == "tool" and origin.id == action and origin.place.file:
            return visible(str(origin.place))
    return "mapping.yml"


def _quoted(text: str) -> str:
    """Return a text in YAML, with quotes where they are necessary."""
    plain_word = text.replace("_", "").replace("-", "").isalnum() and not text.isdecimal()
    return text if plain_word and text.isascii() else json.dumps(text)
