"""Boxes and links of any network: nothing overlaps, everything is drawn."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.tui.views.network.picture.layout import Box, DrawnLink, Path, PictureLayout, lay_out


@st.composite
def networks(draw: st.DrawFn, most: int = 60) -> tuple[list[Box], list[DrawnLink]]:
    """Boxes of any size with links from earlier to later ones."""
    number = draw(st.integers(1, most))
    random = draw(st.randoms(use_true_random=False))
    share = draw(st.sampled_from([0.0, 0.03, 0.1, 0.3, 1.0] if number < 20 else [0.03, 0.08]))
    pairs = [(a, b) for b in range(number) for a in range(b) if random.random() < share]
    levels = [0] * number
    for a, b in pairs:  # in the order of b
        levels[b] = max(levels[b], levels[a] + 1)
    boxes = [
        Box(at, levels[at], random.randint(3, 20), random.randint(3, 7), random.randint(1, 2))
        for at in range(number)
    ]
    links = [DrawnLink(a, b, random.randint(1, boxes[b].height - 2)) for a, b in pairs]
    return boxes, links


def inside(layout: PictureLayout) -> set[tuple[int, int]]:
    """The cells of all boxes; each belongs to one."""
    cells = [
        (x, y)
        for place in layout.boxes.values()
        for x in range(place.x, place.x + place.width)
        for y in range(place.y, place.y + place.height)
    ]
    assert len(cells) == len(set(cells)), "boxes overlap"
    return set(cells)


def pieces(path: Path) -> list[tuple[bool, int, int]]:
    """The cells of a path, each with whether the line in it is vertical."""
    found = []
    for (x, y), (to_x, to_y) in pairwise(path.points):
        assert x == to_x or y == to_y, "a slanted line"
        assert to_x >= x, "a link goes back"
        if y == to_y:
            found += [(False, at, y) for at in range(x, to_x + 1)]
        else:
            found += [(True, x, at) for at in range(min(y, to_y), max(y, to_y) + 1)]
    return found


@settings(deadline=None, max_examples=15)
@given(networks())
def test_every_box_and_link_of_any_network_has_its_place(
    network: tuple[list[Box], list[DrawnLink]],
) -> None:
    boxes, links = network
    layout = lay_out(boxes, links)
    sizes = {box.key: box for box in boxes}
    taken = inside(layout)
    assert {key: (place.width, place.height) for key, place in layout.boxes.items()} == {
        box.key: (box.width, box.height) for box in boxes
    }
    assert all(0 <= x < layout.width and 0 <= y < layout.height for x, y in taken)
    assert [path.link for path in layout.paths] == links
    used: dict[tuple[bool, int, int], set[tuple[object, tuple[object, int]]]] = {}
    for path in layout.paths:
        link, source, target = (
            path.link,
            layout.boxes[path.link.source],
            layout.boxes[path.link.target],
        )
        assert path.points[0] == (source.x + source.width, source.y + sizes[link.source].leaves)
        assert path.points[-1] == (target.x - 1, target.y + link.enters)
        for piece in pieces(path):
            assert piece[1:] not in taken, "a link goes through a box"
            assert 0 <= piece[1] < layout.width
            assert 0 <= piece[2] < layout.height
            used.setdefault(piece, set()).add((link.source, (link.target, link.enters)))
    for those in used.values():
        one_source = len({source for source, _ in those}) == 1
        one_end = len({end for _, end in those}) == 1
        assert one_source or one_end, "two links share a piece of line"


@settings(deadline=None, max_examples=15)
@given(networks(20))
def test_levels_are_columns_from_left_to_right(network: tuple[list[Box], list[DrawnLink]]) -> None:
    boxes, links = network
    layout = lay_out(boxes, links)
    for one in boxes:
        for other in boxes:
            if one.level < other.level:
                place = layout.boxes[one.key]
                assert place.x + place.width < layout.boxes[other.key].x


def test_a_chain_is_one_straight_line() -> None:
    boxes = [Box(at, at, 10, 4 + at) for at in range(4)]
    layout = lay_out(boxes, [DrawnLink(at, at + 1) for at in range(3)])
    assert {place.y for place in layout.boxes.values()} == {0}
    assert all(len(path.points) == 2 for path in layout.paths)


def test_two_links_that_change_places_are_drawn_apart() -> None:
    # given: boxes of which each would leave where the other arrives
    boxes = [Box("a", 0, 5, 3), Box("b", 0, 5, 3), Box("c", 1, 5, 7), Box("d", 2, 5, 3)]
    links = [DrawnLink("a", "c", 5), DrawnLink("b", "c", 1)]
    # when
    layout = lay_out(boxes, links)
    # then
    cells = [set(pieces(path)) for path in layout.paths]
    assert not cells[0] & cells[1]


def test_a_link_that_goes_back_is_refused() -> None:
    with pytest.raises(ValueError, match="not at a lower level"):
        lay_out([Box("a", 0, 5, 3), Box("b", 0, 5, 3)], [DrawnLink("a", "b")])


def test_nothing_is_laid_out_as_nothing() -> None:
    assert lay_out([], []) == PictureLayout({}, (), 0, 0)
