"""Networks as Fastr's cases describe them, built of the stages of the flow, and run on paper.

The tools are those of the cases, in one line each. A network is run in rounds: an output of which
only a run tells how much it holds is UNKNOWN until its jobs have run; then the flow is built again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rowtui.core.network.samples.columns import Columns, columns
from rowtui.core.network.samples.combine import Combination, cross, merge
from rowtui.core.network.samples.domain import Domain
from rowtui.core.network.samples.link import LinkStage, SubInput, SubOutput
from rowtui.core.network.samples.node_run import InputGroup, InputStage, NodeRun
from rowtui.core.network.samples.output import UNKNOWN, NodeOutput, Opens, counted

from tests.core.network.sample_view import (
    Held,
    Sample,
    SampleId,
    SampleState,
    View,
    held,
    sample_of,
)

Values = tuple[Any, ...]


class ToolError(Exception):
    """The tool failed."""


def add_int(given: Mapping[str, Values]) -> dict[str, Values]:
    return {"result": tuple(map(sum, zip(given["left_hand"], given["right_hand"], strict=True)))}


def multiply(given: Mapping[str, Values]) -> dict[str, Values]:
    pairs = zip(given["left_hand"], given["right_hand"], strict=True)
    return {"result": tuple(left * right for left, right in pairs)}


def fail(given: Mapping[str, Values]) -> dict[str, Values]:
    if any(given.get("fail_1", ())) or any(given.get("fail_2", ())):
        raise ToolError
    return {
        name: tuple(value + 1 for value in given.get(of, ()))
        for name, of in (("out_1", "in_1"), ("out_2", "in_2"))
    }


@dataclass(frozen=True)
class Tool:
    """Inputs in order, outputs, what it does, and the cardinality: a number, or that of an input.

    `like` None: nobody knows before it has run.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    run: Callable[[Mapping[str, Values]], dict[str, Values]]
    like: str | int | None = 1


TOOLS = {
    "AddInt:1.0": Tool(("left_hand", "right_hand"), ("result",), add_int, "left_hand"),
    "Multiply:1.0": Tool(("left_hand", "right_hand"), ("result",), multiply, "left_hand"),
    "Sum:1.0": Tool(("values",), ("result",), lambda given: {"result": (sum(given["values"]),)}),
    "Range:1.0": Tool(
        ("value",), ("result",), lambda given: {"result": tuple(range(given["value"][0]))}, None
    ),
    "Fail:1.0": Tool(("in_1", "in_2", "fail_1", "fail_2"), ("out_1", "out_2"), fail),
    "CrossValidation:1.0": Tool(
        ("items", "method", "number_of_folds"), ("train", "test"), lambda given: {}
    ),
}


@dataclass(frozen=True)
class Job:
    """One job: of a node, for a sample, and of a sink for one of its values."""

    node: str
    id: SampleId
    index: tuple[int, ...]
    depends_on: frozenset[tuple[str, SampleId]]
    final: str  # finished, failed, cancelled, missing
    value: int | None = None


@dataclass
class Done:
    """What became of the job of one sample, and which jobs are at the root of a failure."""

    outputs: dict[str, Values]
    state: SampleState
    final: str
    roots: frozenset[tuple[str, SampleId]] = frozenset()


@dataclass
class Run:
    """A network of a case, built and run to its end."""

    network: Mapping[str, Any]
    tools: Mapping[str, Tool] = field(default_factory=lambda: TOOLS)
    nodes: dict[str, NodeRun] = field(default_factory=dict)
    outputs: dict[str, dict[str, NodeOutput]] = field(default_factory=dict)
    done: dict[tuple[str, SampleId], Done] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    rounds: int = 0

    def __post_init__(self) -> None:
        self.order = self._order()
        self.numbers = {name: at for at, name in enumerate(self.order)}
        known = -1
        while known < len(self.done):  # until a round brings nothing new
            known = len(self.done)
            self.rounds += 1
            self.nodes, self.outputs, self.jobs = {}, {}, []
            for name in self.order:
                self._build(name, self.network["nodes"][name])

    def count(self, node: str) -> int:
        """How many jobs a node had."""
        return sum(job.node == node for job in self.jobs)

    def values(self, node: str, output: str = "result") -> dict[SampleId, Values]:
        """What an output holds, by ids."""
        return {it.id: tuple(it.data) for it in View(self.outputs[node][output]).samples()}

    # Which nodes there are

    def _order(self) -> list[str]:
        """Each node behind those it needs; those that no sink needs are not run."""
        above: dict[str, list[str]] = {name: [] for name in self.network["nodes"]}
        for link in self.network["links"]:
            above[link["dst"].split("/")[0]].append(link["src"].split("/")[0])
        found: dict[str, None] = {}

        def visit(name: str) -> None:
            for each in above[name]:
                visit(each)
            found.setdefault(name)

        for name, node in self.network["nodes"].items():
            if node["kind"] == "SinkNode":
                visit(name)
        return list(found)

    def _build(self, name: str, node: Mapping[str, Any]) -> None:
        match node["kind"]:
            case "SourceNode":
                data = self.network["source_data"][name]
                self._source(name, node.get("node_group", name), _samples(data), is_constant=False)
            case "ConstantNode":
                pairs = [(label, tuple(map(_read, values))) for label, values in node["data"]]
                self._source(name, name, pairs, is_constant=True)
            case "Node":
                self._node(name, node, self.tools[node["tool"]])
            case "AdvancedFlowNode":
                self._flow_node(name, self.tools[node["tool"]])
            case "SinkNode":
                self._sink(name)
            case kind:
                raise AssertionError(f"a kind of node that nobody wrote a rule for: {kind}")

    def _source(
        self, name: str, dimension: str, pairs: list[tuple[str, Values]], *, is_constant: bool
    ) -> None:
        ids = [label for label, _ in pairs]
        axis = Domain(dimension, ids, ids)
        table, _ = columns([axis], [np.arange(len(ids))], unnamed=is_constant)
        cards = np.array([len(values) for _, values in pairs], dtype=np.int32)
        output = Held(table, self.numbers[name], cards=cards)
        for row, (label, values) in enumerate(pairs):
            state = SampleState.MISSING if values == ("MISSING",) else SampleState.VALID
            output[(row,)] = Sample((row,), (label,), values, frozenset(), state)
        self.outputs[name] = {"output": output}

    # What flows into a node

    def _input(self, node: str, name: str) -> InputStage | None:
        found = sorted(
            (
                link
                for link in self.network["links"]
                if link["dst"].startswith(f"{node}/inputs/{name}/")
            ),
            key=lambda link: int(link["dst"].split("/")[-1]),
        )
        return (
            InputStage(name, [SubInput(self._link(node, link)) for link in found])
            if found
            else None
        )

    def _link(self, node: str, link: Mapping[str, Any]) -> LinkStage:
        upstream, _, name, *selection = link["src"].split("/")
        source: NodeOutput | SubOutput = self.outputs[upstream][name]
        assert isinstance(source, NodeOutput)
        if selection:
            begin, colon, end = selection[0].partition(":")
            source = SubOutput(source, int(begin), int(end) if colon else int(begin) + 1)
        expand = f"{upstream}__{name}" if link["expand"] else ""
        return LinkStage(source, link["collapse"], expand, target=node)

    def _groups(self, name: str, tool: Tool, groups: Mapping[str, str]) -> list[InputGroup]:
        inputs: dict[str, list[InputStage]] = {}
        for each in tool.inputs:
            built = self._input(name, each)
            if built is not None:
                inputs.setdefault(groups.get(each, "default"), []).append(built)
        return [InputGroup(group, parts) for group, parts in inputs.items()]

    # What a node makes of it

    def _node(self, name: str, node: Mapping[str, Any], tool: Tool) -> None:
        groups = self._groups(name, tool, node.get("input_groups", {}))
        merged = node.get("merge_dimensions")
        how: Combination = cross
        if merged is not None and merged != "none":
            how = merge() if merged == "all" else merge(tuple(merged))
        run = NodeRun(self.numbers[name], name, groups, how)
        self.nodes[name] = run
        done = {row: self._job(name, run, row, tool) for row in range(run.columns.count)}
        self.outputs[name] = {}
        for output_name in tool.outputs:
            cards: Any = tool.like
            if tool.like is None:
                cards = np.full(run.columns.count, UNKNOWN, dtype=np.int32)
                for row, its in done.items():
                    if its is not None and its.state is SampleState.VALID:
                        cards[row] = len(its.outputs[output_name])
            elif isinstance(tool.like, str):
                cards = _cards_of(run, tool.like)
            output = held(run.output(output_name, cards=cards))
            for row, its in done.items():
                if its is not None:
                    index = run.columns.index(row)
                    values = its.outputs.get(output_name, (None,))
                    jobs = frozenset({(self.numbers[name], row)})
                    output[index] = Sample(index, run.columns.id(row), values, jobs, its.state)
            self.outputs[name][output_name] = output

    def _job(self, name: str, run: NodeRun, row: int, tool: Tool) -> Done | None:
        """Run it if all that it needs has been run; no job runs twice."""
        index, label = run.columns.index(row), run.columns.id(row)
        sample = sample_of(run, row)
        needs = self._needs(sample)
        its = self.done.get((name, label))
        if its is None and all(each in self.done for each in needs):
            its = self.done[name, label] = self._ran((name, label), sample, needs, tool)
        self.jobs.append(Job(name, label, index, needs, "waiting" if its is None else its.final))
        return its

    def _needs(self, sample: Sample) -> frozenset[tuple[str, SampleId]]:
        found = set()
        for number, row in sample.jobs:
            name = self.order[number]
            label = ("FLOW",) if name not in self.nodes else self.nodes[name].columns.id(row)
            found.add((name, label))
        return frozenset(found)

    def _ran(
        self,
        job: tuple[str, SampleId],
        sample: Sample,
        needs: frozenset[tuple[str, SampleId]],
        tool: Tool,
    ) -> Done:
        if sample.state is not SampleState.VALID:
            roots = frozenset(root for each in needs for root in self.done[each].roots)
            final = "cancelled" if roots else "missing"
            return Done({}, sample.state, final, roots or frozenset({job}))
        assert isinstance(sample.data, Mapping)
        try:
            return Done(tool.run(sample.data), SampleState.VALID, "finished")
        except ToolError:
            return Done({}, SampleState.FAILED, "failed", frozenset({job}))

    def _sink(self, name: str) -> None:
        part = self._input(name, "input")
        assert part is not None
        run = NodeRun(self.numbers[name], name, [InputGroup("default", [part])])
        self.nodes[name] = run
        for index, sample in View(run).items():
            needs = self._needs(sample)
            assert isinstance(sample.data, Mapping)
            if any(each not in self.done for each in needs):
                continue
            roots = frozenset(root for each in needs for root in self.done[each].roots)
            final = "finished" if sample.state is SampleState.VALID else "cancelled"
            self.done[name, sample.id] = Done({}, sample.state, final, roots)
            for value in range(len(sample.data["input"])):
                self.jobs.append(Job(name, sample.id, index, needs, final, value))

    def _flow_node(self, name: str, tool: Tool) -> None:
        """One job that looks at all samples, and outputs with samples of their own."""
        items = self._input(name, "items")
        folds = self._input(name, "number_of_folds")
        assert items is not None
        assert folds is not None
        number = self.numbers[name]
        samples = list(View(items).samples())
        needs = frozenset(job for sample in samples for job in self._needs(sample))
        job = (name, ("FLOW",))
        ran = job in self.done
        if all(each in self.done for each in needs):
            self.done[job] = Done({}, SampleState.VALID, "finished")
        self.jobs.append(Job(name, job[1], (0,), needs, self.done[job].final))
        (how_many,) = sample_of(folds, 0).data
        parts = np.array_split(np.arange(len(samples)), int(how_many))
        fold = Domain(name, range(len(parts)))
        self.outputs[name] = {}
        for output_name in tool.outputs:
            axis = Domain(f"{items.columns.names[0]}_{output_name}", [it.id[0] for it in samples])
            pairs = [
                (item, at)
                for item in range(len(samples))
                for at, part in enumerate(parts)
                if (item in part) == (output_name == "test")
            ]
            opens = None
            if not ran:  # nobody knows: the next round will
                pairs = []
                nobody = np.full(1, UNKNOWN, dtype=np.int32)
                rows = np.zeros(1, dtype=np.int64)
                opens = Opens((nobody, nobody), rows + number, rows)
            table, _ = columns(
                [axis, fold], [[item for item, _ in pairs], [at for _, at in pairs]], len(pairs)
            )
            output = Held(table, number, name=output_name, opens=opens)
            for row, (item, _) in enumerate(pairs):
                index, data = table.index(row), samples[item].data
                output[index] = Sample(index, table.id(row), tuple(data), frozenset({(number, 0)}))
            self.outputs[name][output_name] = output


def _cards_of(run: NodeRun, name: str) -> Any:
    """The cardinality that an input has for each job of a node."""
    for group, to_group in zip(run.sources, run.origins, strict=True):
        assert isinstance(group, InputGroup)
        for part, to_input in zip(group.sources, group.origins, strict=True):
            assert isinstance(part, InputStage)
            if part.name == name:
                everything = np.arange(run.columns.count)
                rows = to_input.spread(to_group.spread(everything)[2])[2]
                return counted(part.cards, part.columns.count)[rows]
    raise AssertionError(name)


def _samples(data: list[Any]) -> list[tuple[str, Values]]:
    """A source's data: a list gets ids, a dict is sorted by its own."""
    is_dict = bool(data) and all(isinstance(it, list) and isinstance(it[0], str) for it in data)
    pairs = sorted(data) if is_dict else [(f"id_{at}", it) for at, it in enumerate(data)]
    return [(label, tuple(it) if isinstance(it, list) else (it,)) for label, it in pairs]


def _read(text: str) -> Any:
    """A constant: the cases write all of them as text."""
    if text in ("True", "False"):
        return text == "True"
    return int(text) if text.lstrip("-").isdigit() else text


def single_table(name: str, *ids: str) -> Columns:
    """Samples of one dimension."""
    return columns([Domain(name, ids, ids)], [np.arange(len(ids))])[0]
