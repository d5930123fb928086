"""Compares Fastr's jobs of a network with ours, node by node, as far as the first that differs.

Compared of each node: dimensions and sizes; of each job its id, index, what it waits for, and where
every value of each input comes from. What comes behind a node that differs is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

from rowtui.core.network.samples.columns import Columns
from rowtui.core.network.samples.link import LinkStage
from rowtui.core.network.samples.model import DimensionError

from tests.core.network.fastr_run import Done, Run, Tool
from tests.core.network.sample_view import Sample, SampleId, SampleState, View
from tests.differential_network.generate import CARDINALITIES

Json = dict[str, Any]


class Difference(NamedTuple):
    """The first node that differs. `reason`: why it is meant to be so, empty if unexplained."""

    node: str
    what: str
    fastr: Any
    ours: Any
    reason: str = ""


class Compared(NamedTuple):
    """What came of a network: `same`, `both refuse`, or the difference. `jobs`: how many agree."""

    outcome: str
    jobs: int
    difference: Difference | None = None


def _no_tool(_: Mapping[str, Any]) -> dict[str, Any]:
    raise AssertionError("nothing is run here")


TOOLS = {
    f"{name}{number}:1.0": Tool(
        tuple(f"in{at}" for at in range(number)), ("result",), _no_tool, card or "in0"
    )
    for name, card in CARDINALITIES.items()
    for number in (1, 2, 3)
}


@dataclass
class Planned(Run):
    """Our flow of a network; values are called after where they come from."""

    given: dict[tuple[str, SampleId], Json] = field(default_factory=dict)
    built: list[str] = field(default_factory=list)
    refused: tuple[str, str] = ("", "")  # the node, and why

    def _build(self, name: str, node: Mapping[str, Any]) -> None:
        if self.refused[0] and self.numbers[name] >= self.numbers[self.refused[0]]:
            return
        try:
            super()._build(name, node)
        except DimensionError as error:
            self.nodes.pop(name, None)
            self.refused = (name, str(error))
        else:
            if name not in self.built:
                self.built.append(name)

    def _ran(
        self,
        job: tuple[str, SampleId],
        sample: Sample,
        needs: frozenset[tuple[str, SampleId]],
        tool: Tool,
    ) -> Done:
        assert isinstance(sample.data, Mapping)
        self.given[job] = {name: list(values) for name, values in sample.data.items()}
        like = tool.like
        number = like if isinstance(like, int) else len(sample.data[str(like)])
        node, parts = job
        values = tuple((node, "__".join(parts), "result", at) for at in range(number))
        return Done({"result": values}, SampleState.VALID, "finished")

    def jobs_of(self, node: str) -> list[Json]:
        """As Fastr's process tells them."""
        found = []
        for job in self.jobs:
            if job.node != node:
                continue
            if job.value is None:
                given = self.given[node, job.id]
            else:
                data = View(self.nodes[node])[job.index].data
                assert isinstance(data, Mapping)
                given = {"input": [data["input"][job.value]]}
            found.append(
                {
                    "id": list(job.id),
                    "name": _name(node, job.id, job.value),
                    "index": list(job.index),
                    "needs": sorted(_name(*each) for each in job.depends_on),
                    "given": {name: list(map(_listed, values)) for name, values in given.items()},
                }
            )
        return found


def _name(node: str, parts: SampleId, value: int | None = None) -> str:
    return f"net___{node}___{'__'.join(parts)}" + ("" if value is None else f"___{value}")


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def compare(network: Json, answer: Json) -> Compared:
    """What Fastr answered about a network, beside what we make of it."""
    planned = Planned(network, TOOLS)
    error = answer["error"]
    if error is not None and error["class"] == "TimeoutError":
        return Compared("too long for Fastr", 0)
    agreed = 0
    sides = _Side(network), _Side(network)
    for name in planned.order:
        if name == planned.refused[0]:
            if error is not None and error["node"] in (name, "") and error["class"] != "invalid":
                return Compared("both refuse", agreed)
            theirs = _told(answer, name, error)
            return _differs(planned, name, "refused", theirs, planned.refused[1], agreed)
        if error is not None and error["node"] in (name, ""):
            said = f"{error['class']}: {error['message']}"
            return _differs(planned, name, "refused", said, "fine", agreed)
        if name not in planned.nodes:
            continue
        mine = {
            "dims": [list(each) for each in planned.nodes[name].columns.dimensions],
            "jobs": planned.jobs_of(name),
        }
        if error is not None and not answer["nodes"].get(name, {"jobs": []})["jobs"]:
            continue  # Fastr gave up before it came here
        theirs, ours = (
            side.plain(its) for side, its in zip(sides, (answer["nodes"][name], mine), strict=True)
        )
        difference = _first(theirs, ours)
        if difference is not None:
            return _differs(planned, name, *difference, agreed)
        agreed += len(ours["jobs"])
    if error is None:
        return Compared("same", agreed)
    said = f"{error['class']}: {error['message']}"
    return _differs(planned, planned.order[-1], "refused", said, "fine", agreed)


class _Side:
    """Jobs of one side, without the dimensions of size 1 that say nothing.

    Constants and collapses of everything leave them in Fastr wherever their samples go; with us
    they are not there beside others.
    """

    def __init__(self, network: Json) -> None:
        nodes = network["nodes"]
        self._silent = {name for name in nodes if nodes[name]["kind"] != "SourceNode"}
        constants = [it["data"] for it in nodes.values() if it["kind"] == "ConstantNode"]
        self._labels = {"all", *(its[0][0] for its in constants if len(its) == 1)}
        self._names: dict[str, str] = {}

    def plain(self, node: Json) -> Json:
        dims = node["dims"] or []
        silent = [name in self._silent and size == 1 for name, size in dims]
        jobs = []
        for job in node["jobs"]:
            label = [part for part in job["id"] if part not in self._labels]
            _, node_name, _, *number = job["name"].split("___")
            name = "/".join([node_name, *label, *number])
            self._names[job["name"]] = name
            index = job["index"]
            if len(index) == len(silent):
                index = [at for at, skip in zip(index, silent, strict=True) if not skip]
            jobs.append(
                {
                    "name": name,
                    "id": label,
                    "index": index,
                    "needs": sorted(self._names[each] for each in job["needs"]),
                    "given": {
                        part: [self._value(value) for value in values]
                        for part, values in job["given"].items()
                    },
                }
            )
        kept = [it for it, skip in zip(dims, silent, strict=True) if not skip]
        # Where groups are merged, Fastr makes jobs in another order than that of their indexes.
        return {"dims": kept, "jobs": sorted(jobs, key=lambda job: (job["index"], job["name"]))}

    def _value(self, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        node, label, output, place = value
        return [self._names[f"net___{node}___{label}"], output, place]


def _told(answer: Json, name: str, error: Json | None) -> Any:
    jobs = answer["nodes"].get(name, {}).get("jobs")
    return [job["name"] for job in jobs] if jobs else error


def _first(theirs: Json, ours: Json) -> tuple[str, Any, Any] | None:
    if theirs["dims"] != ours["dims"]:
        return "dimensions", theirs["dims"], ours["dims"]
    names, mine = ([job["name"] for job in side["jobs"]] for side in (theirs, ours))
    if names != mine:
        return "jobs", names, mine
    for one, other in zip(theirs["jobs"], ours["jobs"], strict=True):
        for key in ("id", "index", "needs", "given"):
            if one[key] != other[key]:
                return f"{key} of {one['name']}", one[key], other[key]
    return None


def _differs(
    planned: Planned, node: str, what: str, fastr: Any, ours: Any, agreed: int
) -> Compared:
    reason = next((it.reason for it in KNOWN if it.applies(planned, node, fastr)), "")
    outcome = "known" if reason else "unexplained"
    return Compared(outcome, agreed, Difference(node, what, fastr, ours, reason))


# What is meant to differ


class Known(NamedTuple):
    """A difference that is meant: what has to be so at the first node that differs."""

    reason: str
    applies: Callable[[Planned, str, Any], bool]


def _inputs(planned: Planned, node: str) -> dict[str, list[LinkStage | None]]:
    """The links of each input of a node, as far as they can be made."""
    found: dict[str, list[LinkStage | None]] = {}
    for link in planned.network["links"]:
        target, _, part, _ = link["dst"].split("/")
        if target == node:
            try:
                made: LinkStage | None = planned._link(node, link)
            except (DimensionError, KeyError):  # it, or what it comes from, was refused
                made = None
            found.setdefault(part, []).append(made)
    return found


def _matched(planned: Planned, node: str) -> Iterable[list[Columns]]:
    """What Fastr matches: the links of each input, and the inputs of each group."""
    groups: dict[str, list[Columns]] = {}
    of_input = planned.network["nodes"][node].get("input_groups", {})
    for name, links in _inputs(planned, node).items():
        tables = [link.columns for link in links if link is not None]
        if len(tables) < len(links):
            continue
        yield tables
        # An input has the dimensions of the link that leads it.
        longest = max(tables, key=lambda it: (not it.is_single, not it.unnamed, len(it.axes)))
        groups.setdefault(of_input.get(name, "default"), []).append(longest)
    yield from groups.values()


def _sizes(table: Columns) -> list[int | None]:
    return [it.size for it in table.dimensions]


def _by_position(planned: Planned, node: str, _: Any) -> bool:
    return any(
        _sizes(one) == _sizes(other)
        and one.dimensions
        and (one.names != other.names or _labels(one) != _labels(other))
        for tables in _matched(planned, node)
        for one, other in combinations(tables, 2)
    )


def _labels(table: Columns) -> list[tuple[str, ...]]:
    return [axis.labels for axis in table.axes]


def _size_of_one(planned: Planned, node: str, _: Any) -> bool:
    return any(
        _sizes(one) == [1] and not one.unnamed and len(tables) > 1
        for tables in _matched(planned, node)
        for one in tables
    )


def _same_name_other_labels(planned: Planned, node: str, _: Any) -> bool:
    labels: dict[str, tuple[str, ...]] = {}
    for tables in _matched(planned, node):
        for axis in (axis for table in tables for axis in table.axes):
            if labels.setdefault(axis.name, axis.labels) != axis.labels:
                return True
    return False


def _same_ids(planned: Planned, node: str, _: Any) -> bool:
    every = View(planned.nodes[node]).ids if node in planned.nodes else []
    return len({"__".join(each) for each in every}) < len(every)


def _links(planned: Planned, node: str) -> list[Json]:
    return [it for it in planned.network["links"] if it["dst"].startswith(f"{node}/")]


def _selected(planned: Planned, node: str, _: Any) -> bool:
    return any(it["expand"] and it["src"].count("/") > 2 for it in _links(planned, node))


def _slice(planned: Planned, _node: str, _: Any) -> bool:
    return any(":" in it["src"] for it in planned.network["links"])


def _selected_of_source(planned: Planned, _node: str, _: Any) -> bool:
    return any("/outputs/output/" in it["src"] for it in planned.network["links"])


def _longer_ids(planned: Planned, node: str, _: Any) -> bool:
    """What comes in has ids of more parts than dimensions: a list's positions, all else collapsed.

    Fastr goes by the wrong part where it collapses or merges such, and leaves the position away
    where there is but one.
    """
    merged = planned.network["nodes"][node].get("merge_dimensions")
    return any(
        (link.collapsed and link.sources[0].columns.prefix)
        or (link.columns.prefix and (merged or len(link.columns.axes[0]) == 1))
        for links in _inputs(planned, node).values()
        for link in links
        if link is not None
    )


def _twice(planned: Planned, node: str, _: Any) -> bool:
    """What is collapsed is there twice, or an input has a dimension twice."""
    for link in _links(planned, node):
        upstream, *_ = link["src"].split("/")
        names = planned.nodes[upstream].columns.names if upstream in planned.nodes else ()
        if len(set(names)) < len(names):
            return True
    return False


def _unbuilt(planned: Planned, _node: str, fastr: Any) -> bool:
    return "Dimension.size should be an int" in str(fastr)


def _other_sizes(_planned: Planned, _node: str, fastr: Any) -> bool:
    return "have incosistent sizes" in str(fastr)


def _single_first(planned: Planned, node: str, _: Any) -> bool:
    """One sample comes first, and another with as many dimensions has more samples."""
    return any(
        one.is_single and len(one.axes) >= len(other.axes) and not other.is_single
        for tables in _matched(planned, node)
        for one, other in combinations(tables, 2)
    )


def _merge_of_three(planned: Planned, node: str, _: Any) -> bool:
    """More than two groups are merged: Fastr leaves dimensions of the later ones twice."""
    its = planned.network["nodes"][node]
    groups = set(its.get("input_groups", {}).values())
    return bool(its.get("merge_dimensions")) and len(groups) > 2


def _twice_there(_planned: Planned, _node: str, fastr: Any) -> bool:
    """Fastr refuses what has a dimension twice, which ours has not."""
    return "non-unique dimnames" in str(fastr)


def _outside(_planned: Planned, _node: str, fastr: Any) -> bool:
    return "tuple index out of range" in str(fastr)


def _merge_list(planned: Planned, _node: str, _: Any) -> bool:
    nodes = planned.network["nodes"].values()
    return any(isinstance(it.get("merge_dimensions"), list) for it in nodes)


def _empty(planned: Planned, _node: str, _: Any) -> bool:
    return any(not its for its in planned.network["source_data"].values())


KNOWN = (
    Known("an empty source", _empty),
    Known("a slice of the cardinality crashes in Fastr", _slice),
    Known("a selection of a source crashes in Fastr", _selected_of_source),
    Known("a list of dimensions to merge crashes in Fastr", _merge_list),
    Known("lists of unknown length that are multiplied crash Fastr's plan of sizes", _unbuilt),
    Known("dimensions of one name have other samples: Fastr refuses to merge them", _other_sizes),
    Known("one sample leads others with as many dimensions in Fastr", _single_first),
    Known("a dimension that is there twice cannot be told apart", _twice),
    Known("ids of more parts than dimensions, which Fastr takes for others", _longer_ids),
    Known("of three merged groups Fastr leaves dimensions twice", _merge_of_three),
    Known("Fastr refuses what has a dimension twice, from its crosses or merges", _twice_there),
    Known("a list that is too short for a selection crashes Fastr", _outside),
    Known("an id for several samples", _same_ids),
    Known("equal sizes are paired by position in Fastr", _by_position),
    Known("a dimension of size 1 goes with everything in Fastr", _size_of_one),
    Known("what a selection leaves is numbered anew in Fastr", _selected),
    Known("a dimension has other samples in another place", _same_name_other_labels),
)
