"""Plans networks with the real Fastr; runs inside Fastr's own environment, by its path.

One JSON object a line on stdin, one a line on stdout, in the same order. A request is a network as
in `fastr_cases.json`: `{"nodes", "links", "source_data"}`; with `"time": true` only the number of
jobs and the CPU seconds that it took to make them are told. Nothing is executed: the lengths of all
lists are told by the tools, so that Fastr makes the jobs of a whole network at once.

An answer: `{"nodes": {name: {"dims", "jobs": [{"id", "index", "needs", "given"}]}}, "error"}`. What
a job is given is a list of values for each input: a source's value, or the job, output and place
that a value comes from. `{"ready": version}` is said once Fastr is imported.
"""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

Json = dict[str, Any]

PATIENCE = 3  # seconds for one network
# How many values the one output has, by the name of the tool; how many inputs, by its number.
CARDINALITIES = {"One": "1", "Same": "as:in0", "Three": "3"}
_TOOL = """\
id: {name}{number}
name: {name}
version: '1.0'
class: Node
description: for comparison
authors: []
command:
  version: '1.0'
  url: ''
  targets: [{{os: '*', arch: '*', interpreter: python, paths: ./bin, bin: none.py}}]
  description: ''
  authors: []
interface:
  id: {name}{number}_interface
  class: FastrInterface
  inputs:
{inputs}
  outputs:
  - {{id: result, name: result, datatype: Int, cardinality: '{card}', automatic: true,
      method: json, location: '^RESULT=(.*)$'}}
repository: null
requirements: null
tests: []
cite: ''
help: ''
references: []
tags: []
url: null
"""
_INPUT = "  - {{id: in{at}, name: in{at}, datatype: Int, prefix: --in{at}, cardinality: '1-*'}}"


def write_tools(home: Path) -> None:
    """Where Fastr looks for tools of the user."""
    folder = home / ".fastr" / "tools" / "compare" / "1.0"
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    (folder / "bin" / "none.py").write_text("")
    for name, card in CARDINALITIES.items():
        for number in (1, 2, 3):
            inputs = "\n".join(_INPUT.format(at=at) for at in range(number))
            text = _TOOL.format(name=name, number=number, card=card, inputs=inputs)
            (folder / f"{name.lower()}{number}.yaml").write_text(text)


def build(fastr: Any, described: Json) -> Any:
    """Fastr's network of what is described."""
    network = fastr.create_network("net")
    made: Json = {}
    for name, node in described["nodes"].items():
        kind = node["kind"]
        if kind == "SourceNode":
            group = node.get("node_group")
            made[name] = network.create_source("Int", id=name, node_group=group)
        elif kind == "ConstantNode":
            values = [tuple(values) for _, values in node["data"]]
            data = [each if len(each) > 1 else each[0] for each in values]
            single = data[0] if len(data) == 1 else data
            made[name] = network.create_constant("Int", single, id=name)
        elif kind == "SinkNode":
            made[name] = network.create_sink("Int", id=name)
        else:
            tool = "compare/" + node["tool"]
            made[name] = network.create_node(tool, tool_version="1.0", id=name)
            for part, group in node.get("input_groups", {}).items():
                made[name].inputs[part].input_group = group
            if node.get("merge_dimensions"):
                made[name].merge_dimensions = node["merge_dimensions"]
    for link in described["links"]:
        upstream, _, output, *selection = link["src"].split("/")
        node, _, part, number = link["dst"].split("/")
        source = made[upstream].outputs[output] if output == "result" else made[upstream].output
        if selection:
            begin, colon, end = selection[0].partition(":")
            source = source[int(begin) : int(end)] if colon else source[int(begin)]
        target = made[node].inputs[part] if part != "input" else made[node].input
        joined = target.append(source) if int(number) else target << source
        if link["collapse"]:
            joined.collapse = tuple(link["collapse"])
        if link["expand"]:
            joined.expand = True
    return network


class Planner:
    """Makes the jobs of networks without running any."""

    def __init__(self) -> None:
        import fastr  # type: ignore[import-not-found]
        from fastr.core import vfs_plugin  # type: ignore[import-not-found]
        from fastr.datatypes import Deferred  # type: ignore[import-not-found]
        from fastr.execution.networkrun import NetworkRun  # type: ignore[import-not-found]
        from fastr.globals import set_current_run  # type: ignore[import-not-found]

        logging.disable(logging.CRITICAL)
        # For its log it looks into the files that jobs will write, and waits until they are there.
        Deferred.__repr__ = object.__repr__
        self.fastr = fastr
        self._run_of = NetworkRun
        self._set_current = set_current_run
        self._folder = Path(os.environ["HOME"]) / "runs"
        self._folder.mkdir(exist_ok=True)
        self._url = vfs_plugin.path_to_url(str(self._folder))

    def plan(self, described: Json) -> Json:
        """The answer to one request."""
        nodes: Json = {}
        seconds, count, run = 0.0, 0, None
        every: list[Any] = []
        error = None
        signal.alarm(0 if described.get("time") else PATIENCE)
        try:
            network = build(self.fastr, described)
            if not network.is_valid():
                return {"nodes": {}, "error": {"class": "invalid", "message": "", "node": ""}}
            run = self._run_of(network.parent)
            run.executing = True
            self._set_current(run)
            run.tmpdir, run.tmpurl = str(self._folder), self._url
            data = {name: _data(its) for name, its in described["source_data"].items()}
            sinks = dict.fromkeys(run.sinklist, "vfs://tmp/{node}_{sample_id}_{cardinality}{ext}")
            began = time.process_time()
            run.set_data(data, sinks)
            for jobs in run.generate_jobs():
                every += jobs  # also those before an error
            seconds, count = time.process_time() - began, len(every)
        except Exception as caught:  # whatever Fastr says is its answer
            error = {"class": type(caught).__name__, "message": str(caught), "node": _node(caught)}
        finally:
            signal.alarm(0)
        if described.get("time"):
            return {"count": count, "seconds": seconds, "error": error}
        for job in every:
            its = nodes.setdefault(job.node.id, {"jobs": []})
            its["jobs"].append(self._job(job))
        for name, node in {} if run is None else run.nodelist.items():
            its = nodes.setdefault(name, {"jobs": []})
            its["dims"] = _dims(node)
        return {"nodes": nodes, "error": error}

    def _job(self, job: Any) -> Json:
        given = {}
        for name, item in job.input_arguments.items():
            values: Json = getattr(item, "data", {})
            if name.startswith("in"):
                given[name] = [_value(value) for those in values.values() for value in those]
        return {
            "id": list(job.sample_id),
            "name": job.id,
            "index": [int(at) for at in job.sample_index],
            "needs": sorted(job.hold_jobs),
            "given": given,
        }


def _data(pairs: list[Any]) -> Json:
    return {label: tuple(it) if isinstance(it, list) else it for label, it in pairs}


def _value(value: Any) -> Any:
    # A value that a job will make: Fastr would wait for its file if it were asked what it is.
    if type(value).__name__ == "Deferred":
        url = urlparse(value._value)
        asked = parse_qs(url.query)
        *_, node, sample, _ = url.path.split("/")
        return [node, sample, asked["outputname"][0], int(asked["nr"][0])]
    return value.value


def _dims(node: Any) -> Any:
    for holder in (*node.outputs.values(), node.inputs.get("input")):
        try:
            return [[it.name, int(it.size)] for it in holder.dimensions]
        except Exception:
            return None
    return None


def _give_up(*_: object) -> None:
    raise TimeoutError


def _node(caught: BaseException) -> str:
    """The node at which Fastr failed, from the frames that it went through."""
    named = re.search(r"/nodelist/(\w+)/", str(caught))
    if named is not None:
        return named[1]
    found, frame = "", caught.__traceback__
    while frame is not None:
        its: Any = frame.tb_frame.f_locals.get("self")
        if type(its).__name__.endswith("NodeRun"):
            found = str(its.id)
        frame = frame.tb_next
    return found


_FIRST: Json = {
    "nodes": {
        "A": {"kind": "SourceNode"},
        "p": {"kind": "Node", "tool": "One1:1.0"},
        "sink": {"kind": "SinkNode"},
    },
    "links": [
        {"src": "A/outputs/output", "dst": "p/inputs/in0/0", "collapse": [], "expand": False},
        {"src": "p/outputs/result", "dst": "sink/inputs/input/0", "collapse": [], "expand": False},
    ],
    "source_data": {"A": [["a", 1]]},
}


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Fastr prints is no answer
    write_tools(Path(os.environ["HOME"]))
    signal.signal(signal.SIGALRM, _give_up)
    planner = Planner()
    planner.plan(_FIRST)  # so that everything is loaded before there are children
    print(json.dumps({"ready": planner.fastr.__version__}), file=answers, flush=True)
    for line in sys.stdin:
        # What one network leaves behind is nothing to the next.
        child = os.fork()
        if not child:
            print(json.dumps(planner.plan(json.loads(line))), file=answers, flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            error = {"class": "exit", "message": str(status), "node": ""}
            print(json.dumps({"nodes": {}, "error": error}), file=answers, flush=True)


if __name__ == "__main__":
    main()
