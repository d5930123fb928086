"""What is drawn and said of a network, without a screen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.text import Cost
from rowtui.core.network.graph.job_model import GraphJobState
from rowtui.core.project.views.files import FileContent
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.model import RunStatus
from rowtui.core.runs.views import LinkView, NodeView, RefusedJobs
from rowtui.tui.views.network.picture.boxes import arrows, counts_line, link_mark, progress_bar
from rowtui.tui.views.network.picture.list import (
    changed_nodes,
    in_order,
    node_cells,
    node_columns,
    node_rows,
    node_values,
)
from rowtui.tui.views.network.picture.picture import graph
from rowtui.tui.views.network.run_limits import limit_texts, proposed, read_limits, rounded_up
from rowtui.tui.views.network.run_text import run_lines
from rowtui.tui.views.network.texts import node_lines, product_lines, sample_lines
from rowtui.tui.widgets.cells import Line, plain, width_of

from tests.tui.sample_network import NODES, SampleNetwork, counts

NOW = 1_795_236_600.0


def view(**options: object):  # type: ignore[no-untyped-def]
    return SampleNetwork(NOW, **options).view(frozen=True)  # type: ignore[arg-type]


def drawn(picture: object) -> list[str]:
    rows: list[Line] = [
        picture.row(y, ("", "train"), True)  # type: ignore[attr-defined]
        for y in range(picture.size[1])  # type: ignore[attr-defined]
    ]
    return [plain(row) for row in rows]


def test_a_link_says_what_it_does_with_samples() -> None:
    link = LinkView("a", "b", "a", "", ("replica", "t"), "fold", "at least 80%")
    assert link_mark(link) == "over replica, t (80% or more), one per fold"
    assert link_mark(LinkView("a", "b", "a", "", (), "", "")) == ""


def test_a_sink_is_linked_with_the_node_whose_results_it_takes() -> None:
    found = arrows(view())
    assert ("", "plot") in [one.source for one in found if one.target == ("sink", "plot")]
    assert ("", "train") in [one.source for one in found if one.target == ("sink", "scores")]


def test_the_graph_has_every_box_with_its_progress_and_marks() -> None:
    text = "\n".join(drawn(graph(view())))
    for node in NODES:
        assert f"{node.name} " in text
    for mark in (
        "over replica (4 or more)",
        "one per fold",
        "over pressure",
        "not needed",
        "60 samples",
        "51%",
    ):
        assert mark in text
    assert text.count("▸") == 11


def test_the_critical_path_is_heavy_and_has_diamonds() -> None:
    text = "\n".join(drawn(graph(view())))
    assert "simulate ◆" in text
    assert "train ◆" not in text
    assert "━┳" in text or "━┫" in text


def test_a_layout_is_made_again_only_for_another_network() -> None:
    first = graph(view())
    same = SampleNetwork(NOW)
    same.nodes = tuple(
        node._replace(counts=counts(completed=60)) if node.name == "simulate" else node
        for node in same.nodes
    )
    assert graph(same.view(frozen=True), known=first).layout is first.layout
    other = SampleNetwork(NOW, nodes=NODES[:-1]).view(frozen=True)
    assert graph(other, known=first).layout is not first.layout


def test_no_line_of_a_picture_is_wider_than_it_says() -> None:
    picture = graph(view())
    for y in range(picture.size[1]):
        assert width_of(picture.row(y, None, False)) <= picture.size[0]


def test_a_row_of_the_list_says_progress_counts_and_links_at_any_width() -> None:
    rows = node_rows(view())
    assert [column.id for column in node_columns(rows)][-2:] == ["failed", "left"]
    for row in rows:
        for cell in node_cells(row).values():
            for width in (3, 10, 30):
                assert isinstance(cell, tuple) or width_of(cell.at(width)) <= max(width, 14)
    simulate = next(row for row in rows if row.node.name == "simulate")
    assert node_values(simulate) == {
        "node": "simulate", "done": 51, "jobs": 60, "links": "", "failed": 1, "left": 20,
    }  # fmt: skip


def test_only_the_nodes_whose_numbers_changed_stand_out() -> None:
    sample = SampleNetwork(NOW)
    old = node_rows(sample.view(frozen=True))
    sample.nodes = tuple(
        node._replace(counts=counts(completed=32, submitted=7, eligible=20, failed=1))
        if node.name == "simulate"
        else node
        for node in sample.nodes
    )
    changed = changed_nodes(old, node_rows(sample.view(frozen=True)))
    assert changed == {("", "simulate"): ("done", "jobs")}
    assert changed_nodes([], old) == {}


def test_the_list_has_each_node_below_all_that_it_takes_from() -> None:
    network = view()
    order = [key for key, _ in in_order(network.nodes, arrows(network))]
    assert len(order) == len(network.nodes)
    for one in arrows(network):
        assert order.index(one.source) < order.index(one.target)


def test_the_cursor_reaches_every_node_and_comes_back() -> None:
    picture = graph(view())
    seen, todo = set(), [("", "state")]
    while todo:
        here = todo.pop()
        for way in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            there = picture.neighbour(here, way)
            if there is not None and there not in seen:
                seen.add(there)
                todo.append(there)
    assert seen == set(picture.places)


def test_counts_have_words_where_there_is_room_and_suffixes_where_there_is_none() -> None:
    numbers = counts(completed=1_234_567, failed=2)
    assert plain(counts_line(numbers, 60)) == "✓ 1,234,567 completed  ✗ 2 failed"
    assert plain(counts_line(numbers, 16)) == "✓1,234,567 ✗2"
    assert plain(counts_line(numbers, 8)) == "✓1M ✗2"
    assert plain(counts_line(numbers, 4)).startswith("✗2")
    assert plain(counts_line(counts(waiting=3), 20, more=True)) == "· 3 waiting  +?"


def test_a_bar_shows_what_is_lost_at_its_end_and_missing_jobs_count_for_nothing() -> None:
    node = NodeView("n", "node", "n", "n", (), 4, 0, counts(completed=2, failed=1, submitted=1), 1)
    assert plain(progress_bar(node, 13)) == "████▒▒╳╳  50%"
    done = node._replace(counts=counts(completed=2, skipped=7))
    assert plain(progress_bar(done, 13)) == "████████ 100%"


def test_a_paused_run_says_why_and_which_key_allows_more() -> None:
    text = "\n".join(map(plain, run_lines(view(), 118, frozen=True)))
    assert "▲ paused" in text
    assert "of 120 confirmed  e changes the limits, S goes on" in text
    assert "CPU-hours 96.40 of 120 ████████░░" in text
    assert "◆ the longest way to the end: simulate 25 min, average 40 s" in text


def test_jobs_that_no_plan_would_have_are_said_with_the_reason() -> None:
    refused = (RefusedJobs("train", 12, "nowhere to go"),)
    text = "\n".join(map(plain, run_lines(view()._replace(refused=refused), 118, frozen=True)))
    assert "✗ train: 12 samples are refused: nowhere to go" in text


def test_who_drives_a_run_is_said() -> None:
    def first(**options: object) -> str:
        return plain(run_lines(view(**options), 118, frozen=True)[0])

    running = RunStatus.RUNNING
    assert "▶ runs by itself, in this dashboard" in first(status=running, here=True, holder="x")
    assert "driven by pid 7 on login2" in first(status=running, holder="pid 7 on login2")
    assert "nothing drives it now" in first(status=running)


def test_a_network_that_changed_since_says_which_keys_help() -> None:
    text = "\n".join(map(plain, run_lines(view(changed=True), 118, frozen=True)))
    assert "has changed since: = shows it, S begins a new run" in text


def test_a_node_says_its_dimensions_and_what_it_takes_from_whom() -> None:
    network = view()
    node = next(one for one in network.nodes if one.name == "train")
    text = "\n".join(map(plain, node_lines(network, node, 60)))
    for part in ("fold (?)", "action     analyze", "← folds: folds.json  one per fold", "→ plot",
                 "samples of 8 lists", "✗ 1 failed", "→ sink scores"):  # fmt: skip
        assert part in text, text


@given(st.lists(st.text()), st.sampled_from(("a.json", "b\x1b")))
def test_a_product_of_any_text_is_drawn(lines: list[str], name: str) -> None:
    product = FileContent(f"/w/{name}", "text", 1, 0.0, tuple(lines))
    assert all(plain(row).isprintable() for row in product_lines(product))


def test_a_product_is_a_table_lines_or_a_sentence_about_a_picture() -> None:
    table = FileContent("/w/e.csv", "table", 1, 0.0, (), (("T", "energy"), ("1.0", "-5.4")))
    shown = [plain(row) for row in product_lines(table)]
    assert shown == ["e.csv", "T    energy", "1.0  -5.4  "]
    picture = FileContent("/w/e.png", "image", 1, 0.0)
    assert plain(product_lines(picture)[1]) == "a picture: Tab to this pane, and Enter"


def test_hostile_names_are_made_visible() -> None:
    sample = SampleNetwork(NOW).samples("train", (GraphJobState.FAILED,), 0, 1).samples[0]
    odd = sample._replace(directory="a\x1b[2J\n", values={"x\n": "\x07"}, reason="\x1b]0;")
    for row in sample_lines(odd, 60):
        assert plain(row).isprintable()


def test_what_is_left_is_proposed_for_a_new_run_and_more_than_was_spent_for_one_that_paused() -> (
    None
):
    fresh = SampleNetwork(NOW, status=None).view(frozen=True)
    known = tuple(node._replace(lists=0) for node in fresh.nodes)
    limits = proposed(fresh._replace(nodes=known), "anvil")
    assert limits == RunLimits(cpu_hours=71.2, destinations=("anvil",), failures_in_a_row=3)
    again = proposed(view(), "local")
    assert again.cpu_hours == 168.0  # 96.4 spent and twice 35.6 left
    assert again.jobs_in_queue == 10


def test_no_budget_is_proposed_where_lists_will_add_jobs() -> None:
    fresh = SampleNetwork(NOW, status=None).view(frozen=True)
    assert any(node.lists for node in fresh.nodes)
    assert proposed(fresh, "anvil").cpu_hours is None


def test_a_limit_that_a_person_took_away_stays_away() -> None:
    network = SampleNetwork(NOW, limits=RunLimits(destinations=("anvil",))).view(frozen=True)
    assert proposed(network, "local") == RunLimits(destinations=("anvil",))


def test_limits_come_back_from_their_texts() -> None:
    limits = RunLimits(12.5, 30.0, "EUR", 7, ("anvil/shared", "delta"), NOW + 3600, 9, 3, 4.0)
    limits = limits._replace(allocations=2, retries=5)  # which have no texts
    read = read_limits(limit_texts(limits), NOW, RunLimits(allocations=2, retries=5))
    assert not read.wrong
    assert read.limits == limits


def test_each_text_that_is_no_limit_is_said_by_its_field() -> None:
    texts = {"cpu_hours": "many", "jobs_in_queue": "0", "until": "soon", "money": "-3 EUR",
             "failures": "1.5"}  # fmt: skip
    wrong = dict(read_limits(texts, NOW, RunLimits()).wrong)
    assert set(wrong) == set(texts)
    assert all("\n" not in text for text in wrong.values())


def test_amounts_are_rounded_up_never_down() -> None:
    assert rounded_up(35.61) == 35.7
    assert rounded_up(1234.5) == 1240
    assert rounded_up(0.05) == 0.05
    assert rounded_up(0) == 0


def test_what_is_left_may_cost_is_said_before_anything_runs() -> None:
    fresh = SampleNetwork(NOW, status=None).view(frozen=True)._replace(left=Cost(35.6, 0.0))
    text = "\n".join(map(plain, run_lines(fresh, 100, frozen=True)))
    assert "no run yet" in text
    assert "at most 35.6 CPU-hours" in text
