"""Spans, lines and cells."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote_to_bytes

from hypothesis import given
from hypothesis import strategies as st
from rowtui.tui.views.chrome import Freshness, Hint, Tab, header, hints, tabs
from rowtui.tui.views.submit.script import script_line
from rowtui.tui.views.view import TABS
from rowtui.tui.widgets.cells import (
    Bar,
    FirstThatFits,
    Number,
    cut,
    fit,
    line,
    plain,
    portion,
    width_of,
    wrapped,
)
from rowtui.tui.widgets.columns import GAP, TableColumn, place
from rowtui.tui.widgets.links import link_of, link_to, linked
from rowtui.tui.widgets.short_text import age, duration

texts = st.text(max_size=30)


@given(st.lists(texts, max_size=4), st.integers(0, 50), st.sampled_from(["left", "right"]))
def test_a_fitted_cell_has_exactly_its_width_whatever_is_in_it(
    parts: list[str], width: int, align: str
) -> None:
    assert width_of(fit(line(*parts), width, align)) == width


@given(texts)
def test_no_control_character_survives_in_a_line(text: str) -> None:
    assert plain(line(text)).isprintable()


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.integers(1, 10**9), st.integers(1, 80))
def test_a_bar_never_overflows_and_is_full_only_when_everything_is_done(
    done: int, moving: int, total: int, width: int
) -> None:
    done = min(done, total)
    moving = min(moving, total - done)
    bar = Bar(done, moving, total).at(width)
    assert width_of(bar) <= width
    room = max(3, width - 5)
    assert (portion(done, total, room) == room) == (done == total)
    assert (portion(done, total, room) == 0) == (done == 0)


def test_what_was_cut_says_so() -> None:
    assert plain(cut(line("equilibrate"), 6)) == "equil…"
    assert plain(cut(line("ab", ("cdef", "dim")), 4)) == "abc…"


def test_numbers_are_exact_where_they_fit_and_short_where_they_do_not() -> None:
    assert plain(Number(12800).at(6)) == "12,800"
    assert plain(Number(12800).at(5)).startswith("13")


def test_a_choice_takes_the_first_text_that_fits() -> None:
    choice = FirstThatFits((line("4 CPU-h"), line("4")))
    assert plain(choice.at(7)) == "4 CPU-h"
    assert plain(choice.at(6)) == "4"


columns_of = st.lists(
    st.builds(
        TableColumn,
        id=st.integers(0, 10**9).map(str),
        title=st.just("Title"),
        minimum=st.integers(1, 20),
        ideal=st.integers(0, 40),
        priority=st.integers(0, 4),
        grow=st.integers(0, 3),
        family=st.sampled_from(["", "counts"]),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda column: column.id,
)


@given(columns_of, st.integers(1, 300))
def test_placed_columns_never_need_more_than_there_is(
    columns: list[TableColumn], width: int
) -> None:
    placed = place(columns, width)
    assert placed
    assert all(one.width >= 1 for one in placed)
    needed = sum(one.width for one in placed) + GAP * (len(placed) - 1)
    assert needed <= max(width, len(placed) + GAP * (len(placed) - 1))
    kept = {one.column.id for one in placed}
    if len(kept) < len(columns):
        gone = [column for column in columns if column.id not in kept]
        assert all(column.priority > 0 for column in gone)


def test_columns_of_a_family_get_their_long_titles_together_or_not_at_all() -> None:
    columns = [
        TableColumn("a", "Completed", 4, 9, short="Done", family="x"),
        TableColumn("b", "Submitted", 4, 9, short="Subm", family="x"),
    ]
    assert [one.title for one in place(columns, 19)] == ["Done", "Subm"]
    assert [one.title for one in place(columns, 20)] == ["Completed", "Submitted"]


def test_durations_are_as_commands_print_them_and_ages_are_short() -> None:
    assert [duration(n) for n in (None, 45, 725, 11564, 183_840)] == [
        "", "0:00:45", "0:12:05", "3:12:44", "2-03:04:00",
    ]  # fmt: skip
    assert [age(n) for n in (0, 4, 17, 61, 7300, 200_000)] == [
        "now", "now", "15 s", "1 min", "2 h", "2 d",
    ]  # fmt: skip


def test_the_tab_of_a_view_without_a_number_is_whole() -> None:
    assert plain(tabs(80, TABS, "clusters")[0]).endswith(" 8  9 [C Clusters]")
    assert plain(tabs(88, TABS, "clusters")[0]).endswith("9 Past[C Clusters]")


TITLES = ("Status", "Groups", "Log")


@given(st.integers(1, 250))
def test_the_lines_around_a_view_fit_any_width(width: int) -> None:
    views = [Tab(key, title, title.lower(), "") for key, title in zip("127", TITLES, strict=True)]
    spans, areas = tabs(width, views, "groups")
    assert all(area.start < area.end for area in areas)
    if width >= 12:
        assert width_of(spans) <= width
    keys = [Hint(key, "something", "app.quit") for key in "abcdef"]
    spans, areas = hints(width, keys)
    assert width_of(spans) <= max(width, 1)
    always = [Hint(":", "command", "app.line"), Hint("?", "help", "app.help")]
    spans, areas = hints(width, keys, always)
    assert width_of(spans) <= max(width, 1)
    if width > 20:  # as many as fit, none left out before another; help always
        shown = [word for word in plain(spans).split() if len(word) == 1]
        assert "?" in shown
        assert "abcdef:?".startswith("".join(shown).rstrip(":?"))
    assert width_of(header(width, "project", None, Freshness(0.0))) <= width


@given(texts)
def test_colours_never_change_the_text_of_a_script(text: str) -> None:
    from rowtui.core.base.text import visible

    assert plain(script_line(text)) == visible(text.expandtabs(4))


def test_a_directive_a_string_and_a_variable_stand_out() -> None:
    assert script_line("#SBATCH --time=5")[0].style == "directive"
    styles = {span.text: span.style for span in script_line('cd "$HOME" # home')}
    assert styles["cd"] == "keyword"
    assert styles["# home"] == "comment"
    assert styles['"$HOME"'] == "string"


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_a_link_names_the_machine_and_the_file_and_nothing_else(name: str) -> None:
    start = f"file://{os.uname().nodename}/"
    address = link_to(name, "/p/root")
    if name.startswith(("http://", "https://", "~")):
        return
    assert address.startswith(start)
    assert address.isascii()
    assert address.isprintable()
    assert " " not in address
    path = os.path.normpath(os.path.join("/p/root", name))
    assert unquote_to_bytes(address[len(start) - 1 :]) == path.encode()


def test_only_files_of_a_known_folder_and_web_addresses_have_links() -> None:
    assert link_to("a.toml", "") == link_to("", "/p") == ""
    assert link_to("https://a.example/b c\x1b", "") == "https://a.example/b%20c%1B"
    session = SimpleNamespace(snapshot=SimpleNamespace(root="/p"))
    for how in ({"ascii_only": True, "colours": 256}, {"ascii_only": False, "colours": 16}):
        app: Any = SimpleNamespace(session=session, how=SimpleNamespace(**how))
        assert link_of(app, "a") is None
    how = {"ascii_only": False, "colours": 256}
    app = SimpleNamespace(session=session, how=SimpleNamespace(**how))
    assert (link_of(app, "a") or "").endswith("/p/a")


def test_a_link_takes_no_columns_and_stays_where_a_line_is_cut_or_wrapped() -> None:
    spans = line(linked("mapping.yml:12, rule large", "/p/mapping.yml", "dim"))
    assert plain(spans) == "mapping.yml:12, rule large"
    assert {one.style for one in cut(spans, 9)} == {spans[0].style}
    assert [one[-1].style for one in wrapped(spans, 16)] == [spans[0].style] * 2
    assert linked("no file", "", "dim") == ("no file", "dim")
