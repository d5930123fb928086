"""Random small networks, as in `fastr_cases.json`: the same for the same seed.

Most of them are sound, so that every stage of the flow is reached: inputs of one group have
dimensions of the first one, others have groups of their own. One in ten inputs is put anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from math import prod
from random import Random
from typing import Any

Json = dict[str, Any]
Dims = tuple[tuple[str, int], ...]

MOST = 60  # samples of a node
CARDINALITIES = {"One": 1, "Same": 0, "Three": 3}


@dataclass
class Place:
    """A source, constant or node: its output, and what it is known to have."""

    name: str
    output: str
    dims: Dims
    card: int  # the largest
    constant: bool = False
    used: bool = False


@dataclass
class Part:
    """What one link brings."""

    place: Place
    dims: Dims
    card: int
    link: Json

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.dims}


def network(seed: int) -> Json:
    """The network of a seed."""
    return _Writer(Random(seed)).network()


class _Writer:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.nodes: Json = {}
        self.links: list[Json] = []
        self.data: Json = {}
        self.places: list[Place] = []

    def network(self) -> Json:
        rng = self.rng
        for name in "ABCD"[: rng.choice((1, 2, 2, 3, 3))]:
            self._source(name)
        if rng.random() < 0.4:
            self._constant("K")
        for name in "pqrst"[: rng.choice((1, 2, 2, 3, 3, 4, 5))]:
            self._node(name)
        for place in [it for it in self.places if not it.used]:
            if place.output == "result":
                self.nodes[f"sink_{place.name}"] = {"kind": "SinkNode"}
                link = self._link(place, f"sink_{place.name}", plain=rng.random() < 0.7).link
                self._add(link, f"sink_{place.name}", "input", 0)
            else:  # nobody wants it
                del self.nodes[place.name]
                self.data.pop(place.name, None)
        return {"nodes": self.nodes, "links": self.links, "source_data": self.data}

    def _source(self, name: str) -> None:
        rng = self.rng
        size = rng.choice((1, 2, 2, 3, 3, 4))
        labels = [f"{name.lower()}{at}" for at in range(size)]
        if rng.random() < 0.04:
            labels = ["x", "x__y", "y", "y__x"][:size]
        if rng.random() < 0.01:
            labels = []
        node: Json = {"kind": "SourceNode"}
        group = name
        if rng.random() < 0.15:
            group = node["node_group"] = "G"
            if rng.random() < 0.8:
                labels = [f"g{at}" for at in range(size)]
        self.nodes[name] = node
        card = rng.choice((1, 1, 1, 2, 3))
        ragged = card > 1 and rng.random() < 0.4
        pairs: list[Any] = []
        for at, label in enumerate(labels):
            number = rng.randint(1, card) if ragged else card
            values = [ord(name) * 100 + at * 10 + place for place in range(number)]
            pairs.append([label, values if len(values) > 1 else values[0]])
        rng.shuffle(pairs)
        self.data[name] = pairs
        self.places.append(Place(name, "output", ((group, len(labels)),), card))

    def _constant(self, name: str) -> None:
        rng = self.rng
        size = rng.choice((1, 1, 1, 2, 3))
        card = rng.choice((1, 1, 2))
        data = [
            [f"id_{at}", [str(9000 + at * 10 + place) for place in range(card)]]
            for at in range(size)
        ]
        self.nodes[name] = {"kind": "ConstantNode", "data": data}
        self.places.append(Place(name, "output", ((name, size),), card, constant=True))

    def _node(self, name: str) -> None:
        rng = self.rng
        parts: list[tuple[str, Part]] = []  # with their groups
        for at in range(rng.choice((1, 1, 2, 2, 3))):
            part = self._link(self._pick(), name)
            lead = parts[0][1].dims if parts else ()
            fits = part.place.constant or part.names <= {one for one, _ in lead}
            together = not parts or (rng.random() < 0.75 if fits else rng.random() < 0.1)
            parts.append(("default" if together else f"g{at}", part))
            if self._count(parts) > MOST:
                parts.pop()
        if not parts:
            return
        names = [one for group, part in _leads(parts) for one, _ in part.dims]
        node: Json = {"kind": "Node", "input_groups": {}}
        if rng.random() < (0.6 if len(set(names)) < len(names) else 0.1):
            node["merge_dimensions"] = "all"
            if rng.random() < 0.03:
                node["merge_dimensions"] = sorted(set(names))[:1]
        kind = rng.choice(("One", "One", "Same", "Three"))
        node["tool"] = f"{kind}{len(parts)}:1.0"
        self.nodes[name] = node
        for at, (group, part) in enumerate(parts):
            node["input_groups"][f"in{at}"] = group
            part.place.used = True
            self._add(part.link, name, f"in{at}", 0)
            if rng.random() < 0.12:
                self._another(name, f"in{at}", part)
        dims = tuple(chain.from_iterable(part.dims for _, part in _leads(parts)))
        if node.get("merge_dimensions"):
            twice = {one for one in names if names.count(one) > 1}
            dims = (
                *(it for it in dims if it[0] not in twice),
                *sorted({it for it in dims if it[0] in twice}),
            )
        card = CARDINALITIES[kind] or parts[0][1].card
        self.places.append(Place(name, "result", dims, card))

    def _another(self, node: str, part: str, first: Part) -> None:
        """One more link into an input."""
        like = [
            it
            for it in self.places
            if it.name != node and (it.dims == first.dims or it.constant) and it.dims[0][1]
        ]
        if like:
            place = self.rng.choice(like)
            place.used = True
            link = self._link(place, node, plain=True).link
            self._add(link, node, part, 1)

    def _pick(self) -> Place:
        """Rather the newest."""
        rng = self.rng
        return rng.choice(self.places[-3:] if rng.random() < 0.6 else self.places)

    def _link(self, place: Place, target: str, *, plain: bool = False) -> Part:
        rng = self.rng
        source = f"{place.name}/outputs/{place.output}"
        dims, card = place.dims, place.card
        link: Json = {"src": source, "collapse": [], "expand": False}
        if plain:
            return Part(place, dims, card, link)
        # Fastr cannot select from sources.
        if rng.random() < (0.005 if place.output != "result" else 0.25 if card > 1 else 0.02):
            first = rng.randrange(card)
            link["src"] += f"/{first}:{first + 1}" if rng.random() < 0.05 else f"/{first}"
            card = 1
        dropped: list[int] = []
        if rng.random() < 0.3:
            dropped = sorted(rng.sample(range(len(dims)), rng.randint(1, len(dims))))
            names = [name for name, _ in dims]
            # A dimension that a constant or a collapse of everything leaves is not there with us.
            single = any(_says_nothing(*it) for it in dims)
            dropped = [at for at in dropped if not _says_nothing(*dims[at])]
            for at in dropped:
                named = single or (names.count(names[at]) == 1 and rng.random() < 0.8)
                at_end = at - len(dims) if rng.random() < 0.5 else at
                link["collapse"].append(names[at] if named else at_end)
        size = card
        if rng.random() < (0.3 if card > 1 else 0.04):
            link["expand"], card = True, 1
        kept = [it for at, it in enumerate(dims) if at not in dropped]
        card *= prod(dims[at][1] for at in dropped)
        if link["expand"]:
            kept.append((f"{place.name}__{place.output}", size))
        return Part(place, tuple(kept) or ((target, 1),), card, link)

    def _add(self, link: Json, node: str, part: str, number: int) -> None:
        self.links.append({**link, "dst": f"{node}/inputs/{part}/{number}"})

    def _count(self, parts: list[tuple[str, Part]]) -> int:
        return prod(size for _, part in _leads(parts) for _, size in part.dims)


def _says_nothing(name: str, size: int) -> bool:
    """Whether a dimension is what a constant or a collapse of everything leaves."""
    return size == 1 and name in "Kpqrst"


def _leads(parts: list[tuple[str, Part]]) -> list[tuple[str, Part]]:
    """The first part with the most dimensions of each group."""
    found: dict[str, Part] = {}
    for group, part in parts:
        if group not in found or len(part.dims) > len(found[group].dims):
            found[group] = part
    return list(found.items())
