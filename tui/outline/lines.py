"""The lines that stand for an outline, and what has changed in them since they were printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rowtui.tui.outline.outline import STATE_WORDS, Heading, Outline, Row, Table, Text

SHORT = 6
"""Lines of a list or text that does not have the focus; the focus shows more of them."""

HERE, CHOSEN = " You are here.", ", chosen"
"""Ends of the heading of the pane, and of the line of the row, that the keys apply to."""


def sections_of(outline: Outline) -> list[list[str]]:
    """Return the lines of a screen, in sections; the first line of each is its heading.

    The rows of all lists are numbered on.
    """
    sections: list[list[str]] = [[f"{outline.title}."]]
    before = 0
    for part in outline.parts:
        if isinstance(part, Heading):
            title = " ".join(map(sentence, filter(None, part)))
            if part.text == outline.title and len(sections) == 1:
                sections = []  # The title of a page is that of its frame.
            sections.append([title])
            continue
        if isinstance(part, Table | Text) and part.focused and len(sections) > 1:
            sections[-1][0] += HERE
        if isinstance(part, Text):
            kept = part.lines if part.focused or not part.long else part.lines[:SHORT]
            sections[-1] += kept
            if len(kept) < len(part.lines):
                sections[-1].append("There are more lines here: pane goes to them.")
        elif isinstance(part, Table):
            sections[-1] += table_lines(part, before)
            before += part.row_count
        else:
            if sections[-1][-1] == part.label:
                sections[-1].pop()
            if part.value or not part.focused:  # The prompt asks for it.
                shown = "hidden" if part.secret else part.value or "empty"
                sections[-1].append(f"{part.label.rstrip(':')}: {shown}")
    return sections


def sentence(text: str) -> str:
    """Return the text with a sign at its end, at which a screen reader pauses."""
    return text if text[-1:] in ".?!" else f"{text}."


def changed(sections: list[list[str]], before: list[list[str]]) -> list[list[str]]:
    """Return the sections without the lines that were printed before."""
    known = {line for section in before for line in section}
    # What is no longer chosen needs no mention.
    known |= {line.removesuffix(CHOSEN).removesuffix(HERE) for line in known}
    new = [[one[0], *(line for line in one[1:] if line not in known)] for one in sections]
    for at, (now, old) in enumerate(zip(sections, before, strict=False)):
        if len(now) < len(old):  # What is left of a list, for example by a filter.
            new[at] = now
    return [one for one in new if len(one) > 1 or one[0] not in known]


def table_lines(table: Table, before: int) -> Iterator[str]:
    """Yield one line for each row. `before`: the number of rows in the lists above."""
    rows = table.rows if table.focused else table.rows[:SHORT]
    if table.empty:
        yield table.empty
    for number, row in enumerate(rows, before + table.first + 1):
        states = ", marked" * row.marked + CHOSEN * (row.here and table.focused)
        yield f"{number}. {row_text(table.headings, row)}{states}"
    if len(rows) < table.row_count:
        turn = "next and previous turn the page" if table.focused else "pane goes there"
        last = table.first + len(rows)
        yield f"Rows {table.first + 1:,} to {last:,} of {table.row_count:,}: {turn}."
    if table.total:
        yield f"Total: {row_text(table.headings, Row(table.total))}"


def row_text(headings: Sequence[str], row: Row) -> str:
    """Return the first cell, and the other ones with their headings: `a: 3 completed, Cost 5 h`."""
    pairs = [(title, cell) for title, cell in zip(headings, row.cells, strict=False) if cell]
    # A number needs its heading; a name does not.
    name = pairs.pop(0)[1] if pairs and not pairs[0][1][0].isdecimal() else ""
    texts = ", ".join(_labelled(*pair) for pair in pairs if pair[0] != "#")
    return ": ".join(filter(None, (name, texts))) or "empty"


def _labelled(title: str, cell: str) -> str:
    state, number = title.lower(), cell.removeprefix(title).strip()
    if state in STATE_WORDS and number.replace(",", "").isdecimal():
        return f"{number} {state}"
    return f"{title} {cell}".strip()
