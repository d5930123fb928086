"""The layout of the boxes and links of a network on a canvas of characters. Pure functions.

The input is boxes with their sizes and levels, and links from lower to higher levels; the output is
places and paths. Levels are columns. A link that skips levels passes through the columns between as
a lane of one line; between two columns every link has a vertical track if it needs one. No two
links share a piece of line unless they start at one box or end in one place. Source: layered
drawing after Sugiyama, channel routing with doglegs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import NamedTuple

GAP = 1
"""Blank lines between two boxes of a column."""

SWEEPS = 4
"""Number of passes over the columns, forward and back, that place neighbours beside each other."""

Key = Hashable
Point = tuple[int, int]  # Column, line.


class Box(NamedTuple):
    """A box to be placed. `leaves` is the line of the box from which its links start."""

    key: Key
    level: int
    width: int
    height: int
    leaves: int = 1


class DrawnLink(NamedTuple):
    """A link to be drawn. `enters` is the line of its target at which the link ends."""

    source: Key
    target: Key
    enters: int = 1


class BoxPlace(NamedTuple):
    """The position of a box: its upper left corner, and its size."""

    x: int
    y: int
    width: int
    height: int


class Path(NamedTuple):
    """The path of a link: corners from the box that it leaves to the one that it enters."""

    link: DrawnLink
    points: tuple[Point, ...]


class PictureLayout(NamedTuple):
    """All places and paths. `width` and `height` are those of the canvas."""

    boxes: Mapping[Key, BoxPlace]
    paths: tuple[Path, ...]
    width: int
    height: int


@dataclass(eq=False)
class _Item:
    """A box in its column, or a lane for the links of one box that pass through the column."""

    level: int
    width: int
    height: int
    leaves: int
    box: Box | None = None
    y: int = 0
    x: int = 0
    after: list[_Hop] = field(default_factory=list)
    before: list[_Hop] = field(default_factory=list)

    @property
    def out(self) -> int:
        """The line on which its links leave."""
        return self.y + self.leaves


@dataclass(eq=False)
class _Hop:
    """The part of links between two columns."""

    source: _Item
    target: _Item
    enters: int

    @property
    def into(self) -> int:
        """The line on which the hop arrives."""
        return self.target.y + self.enters


@dataclass(eq=False)
class _Net:
    """All hops that leave one item on one line, drawn with one vertical. `rows`: their targets."""

    row: int
    rows: set[int]
    item: _Item | None = None  # None in the second half of a net that makes a detour.
    track: int = -1
    rest: _Net | None = None  # The second half of a net that makes a detour.

    @property
    def straight(self) -> bool:
        return self.rows == {self.row}

    @property
    def span(self) -> tuple[int, int]:
        return min(self.row, *self.rows), max(self.row, *self.rows)


def lay_out(boxes: Sequence[Box], links: Sequence[DrawnLink]) -> PictureLayout:
    """Place boxes and links. Every link goes from a lower to a higher level."""
    columns, hops = _columns(boxes, links)
    _order(columns)
    _settle(columns)
    bottom = max((it.y + it.height for column in columns for it in column), default=0)
    channels = []
    for column in columns[:-1]:
        nets = [_Net(it.out, {hop.into for hop in it.after}, it) for it in column if it.after]
        bottom = max(bottom, _break_circles(nets, bottom))
        _assign_tracks(nets)
        channels.append(nets)
    x = 0
    tracks_at: list[dict[int, int]] = []
    for number, column in enumerate(columns):
        wide = max((it.width for it in column), default=0)
        for it in column:
            it.x = x
            it.width = wide if it.box is None else it.width
        x += wide
        if number < len(channels):
            count = 1 + max((net.track for net in _every(channels[number])), default=-1)
            step = 2 if count <= 4 else 1
            tracks_at.append({at: x + 1 + at * step for at in range(count)})
            x += 3 if not count else 2 + (count - 1) * step + 2
    places = {
        it.box.key: BoxPlace(it.x, it.y, it.box.width, it.height)
        for column in columns
        for it in column
        if it.box is not None
    }
    leaving = {id(net.item): net for channel in channels for net in channel}
    paths = tuple(
        Path(link, _path(chain, leaving, tracks_at))
        for link, chain in zip(links, hops, strict=True)
    )
    return PictureLayout(places, paths, x, bottom)


def _columns(
    boxes: Sequence[Box], links: Sequence[DrawnLink]
) -> tuple[list[list[_Item]], list[list[_Hop]]]:
    """Return the items of each level, and for each link its hops."""
    levels = sorted({box.level for box in boxes})
    number = {level: at for at, level in enumerate(levels)}
    columns: list[list[_Item]] = [[] for _ in levels]
    items: dict[Key, _Item] = {}
    for box in boxes:
        it = _Item(number[box.level], box.width, box.height, box.leaves, box)
        items[box.key] = it
        columns[it.level].append(it)
    lanes: dict[tuple[Key, int], _Item] = {}
    known: dict[tuple[int, int, int], _Hop] = {}
    chains = []
    for link in links:
        at, target = items[link.source], items[link.target]
        if at.level >= target.level:
            raise ValueError(f"{link.source!r} is not at a lower level than {link.target!r}")
        chain = []
        while at.level < target.level:
            if at.level + 1 == target.level:
                following, enters = target, link.enters
            else:
                key = (link.source, at.level + 1)
                if key not in lanes:
                    lanes[key] = _Item(at.level + 1, 0, 1, 0)
                    columns[at.level + 1].append(lanes[key])
                following, enters = lanes[key], 0
            place = (id(at), id(following), enters)
            if place not in known:
                known[place] = _Hop(at, following, enters)
                at.after.append(known[place])
                following.before.append(known[place])
            chain.append(known[place])
            at = following
        chains.append(chain)
    return columns, chains


def _order(columns: list[list[_Item]]) -> None:
    """Put items beside the items that they are linked with, so that few links cross."""
    for sweep in range(SWEEPS):
        places = {id(it): at / len(column) for column in columns for at, it in enumerate(column)}
        forward = sweep % 2 == 0
        for column in columns if forward else reversed(columns):
            column.sort(key=partial(_weight, places, forward))
            for at, it in enumerate(column):
                places[id(it)] = at / len(column)


def _weight(places: Mapping[int, float], forward: bool, it: _Item) -> float:
    """Return the mean place of the items that an item is linked with, or its own place."""
    near = [hop.source for hop in it.before] if forward else [hop.target for hop in it.after]
    return sum(places[id(one)] for one in near or [it]) / len(near or [it])


def _settle(columns: list[list[_Item]]) -> None:
    """Give every item its line: near the linked items, and without overlaps."""
    for column in columns:
        _stack(column, [0.0] * len(column))
    for column in columns[1:]:
        _stack(column, [_wish(it, backward=False) for it in column])
    for column in reversed(columns[:-1]):
        _stack(column, [_wish(it, backward=True) for it in column])
    for column in columns[1:]:
        _stack(column, [_wish(it, backward=False) for it in column])
    top = min((it.y for column in columns for it in column), default=0)
    for column in columns:
        for it in column:
            it.y -= top


def _wish(it: _Item, *, backward: bool) -> float:
    """Return the line at which the links on one side would be straight, or the current line."""
    if backward:
        wishes = [hop.into - it.leaves for hop in it.after]
    else:
        wishes = [hop.source.out - hop.enters for hop in it.before]
    if not wishes:
        return it.y
    wishes.sort()
    return wishes[(len(wishes) - 1) // 2]  # The median makes at least one link straight.


def _stack(column: list[_Item], wishes: Sequence[float]) -> None:
    """Place items from top to bottom without contact, as near to their wishes as possible.

    Items that would overlap form a block, which goes to the mean of the wishes of its members.
    """
    offsets = [0]
    for upper, lower in pairwise(column):
        between = GAP if upper.box or lower.box else 0
        offsets.append(offsets[-1] + upper.height + between)
    # Each block has the sum of wishes without offsets, and the number of members.
    blocks: list[tuple[float, int]] = []
    for wish, offset in zip(wishes, offsets[: len(column)], strict=True):
        blocks.append((wish - offset, 1))
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            total, members = blocks.pop()
            blocks[-1] = (blocks[-1][0] + total, blocks[-1][1] + members)
    at = 0
    for total, members in blocks:
        base = round(total / members)
        for it in column[at : at + members]:
            it.y = base + offsets[at]
            at += 1


def _every(nets: Sequence[_Net]) -> list[_Net]:
    """Return the nets and the second halves that need a track."""
    halves = [net.rest for net in nets if net.rest is not None]
    return [net for net in (*nets, *halves) if not net.straight]


def _first(nets: Sequence[_Net]) -> dict[int, list[_Net]]:
    """Return for each net (by id) the nets whose vertical must be to the left of it.

    A line that leaves to the right and a line that arrives from the left may be on one row; then
    the line that leaves must turn off first.
    """
    every = [*nets, *(net.rest for net in nets if net.rest is not None)]
    leaving = {net.row: net for net in every if net.item is not None}
    found: dict[int, list[_Net]] = {}
    for net in every:
        others = [leaving[row] for row in net.rows if row in leaving and leaving[row] is not net]
        if net.item is None:  # A second half comes after its own first half.
            others += [one for one in nets if one.rest is net and one not in others]
        found[id(net)] = others
    return found


def _break_circles(nets: list[_Net], bottom: int) -> int:
    """Let some nets make a detour over a free line, so that an order of tracks exists.

    Return the height that is then necessary.
    """
    used = {row for net in nets for row in (net.row, *net.rows)}
    while (net := _in_circle(nets)) is not None:
        free = next(row for row in _near(net.row, bottom) if row not in used)
        used.add(free)
        net.rest = _Net(free, set(net.rows))
        net.rows = {free}
        bottom = max(bottom, free + 1)
    return bottom


def _near(row: int, bottom: int) -> list[int]:
    """Return all lines, the nearest first; the lines below all others are always free."""
    return [*sorted(range(bottom), key=lambda one: abs(one - row)), *range(bottom, 2 * bottom + 2)]


def _in_circle(nets: Sequence[_Net]) -> _Net | None:
    """Return a net in a cycle of the relation "must be left of", if there is a cycle."""
    before = _first(nets)
    state: dict[int, int] = {}
    for start in nets:
        if id(start) in state:
            continue
        stack: list[tuple[_Net, int]] = [(start, 0)]
        state[id(start)] = 1
        while stack:
            net, at = stack.pop()
            if at == len(before[id(net)]):
                state[id(net)] = 2
                continue
            stack.append((net, at + 1))
            other = before[id(net)][at]
            if state.get(id(other)) == 1:
                return _to_be_split(stack, other)
            if id(other) not in state:
                state[id(other)] = 1
                stack.append((other, 0))
    return None


def _to_be_split(stack: Sequence[tuple[_Net, int]], start: _Net) -> _Net:
    circle = [net for net, _ in stack]
    circle = circle[[id(net) for net in circle].index(id(start)) :]
    return next(net for net in circle if net.item is not None and net.rest is None)


def _assign_tracks(nets: Sequence[_Net]) -> None:
    """Assign tracks from the left: after the nets that come first, and without overlaps."""
    before = _first(nets)
    tracks: list[list[tuple[int, int]]] = []
    done: set[int] = set()

    def assign(net: _Net) -> None:
        if id(net) in done:
            return
        done.add(id(net))
        for other in before[id(net)]:
            assign(other)
        if net.straight:
            return
        least = 1 + max((other.track for other in before[id(net)]), default=-1)
        low, high = net.span
        at = least
        while at < len(tracks) and any(low <= end and start <= high for start, end in tracks[at]):
            at += 1
        while len(tracks) <= at:
            tracks.append([])
        tracks[at].append((low, high))
        net.track = at

    halves = [net.rest for net in nets if net.rest is not None]
    for net in sorted([*nets, *halves], key=lambda one: one.span):
        assign(net)


def _path(
    chain: Sequence[_Hop], nets: Mapping[int, _Net], tracks_at: Sequence[Mapping[int, int]]
) -> tuple[Point, ...]:
    """Return the corners of a link."""
    first = chain[0].source
    points: list[Point] = [(first.x + (first.box.width if first.box else 0), first.out)]
    for hop in chain:
        tracks = tracks_at[hop.source.level]
        net = nets[id(hop.source)]
        if net.rest is not None:
            points += [(tracks[net.track], net.row), (tracks[net.track], net.rest.row)]
            net = net.rest
        if net.row != hop.into:
            points += [(tracks[net.track], net.row), (tracks[net.track], hop.into)]
    points.append((chain[-1].target.x - 1, chain[-1].into))
    return tuple(points)
