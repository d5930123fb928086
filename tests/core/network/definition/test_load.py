"""network.toml as people write it, well and badly."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import Problem, RowtuiError
from rowtui.core.network.definition.load import (
    NETWORK_FILE,
    NetworkError,
    has_network,
    load_network,
    parse_network,
)
from rowtui.core.network.definition.spec import (
    ALL,
    CardinalitySlice,
    Existing,
    FileSource,
    Gather,
    Input,
    Link,
    Network,
    Node,
    Pilot,
    Require,
    Schedule,
    Sink,
    Source,
    TableSource,
    Values,
)

STUDY = """\
name = "study"
[[source]]
name = "state"
[source.values]
temperature = { linspace = [1.0, 2.0, 11] }
replica = { range = 5 }

[[node]]
name = "simulate"
from = "state"

[[node]]
name = "average"
from = "simulate"
output = "energy.json"
collapse = ["replica"]
require = 4

[[node]]
name = "fit"
action = "fit_line"
constants = { tolerance = 1e-6, options = { order = [1, 2] } }
[node.inputs]
means = { from = "average", output = "mean.json", collapse = ["temperature"], group = "g" }
folds = { from = "simulate", output = "folds.json", expand = "fold", select = "0:2" }
both = ["average", { from = "average", output = "sd.json" }]

[[sink]]
name = "plot"
from = "fit"
output = "energy.pdf"
publish = "results/{temperature}/{replica}-{fold}{ext}"

[schedule]
priority = "sink:plot"
execution = "pilot"
gather = { size = 50, walltime = "08:00:00" }
ahead = true
[schedule.pilot]
cpus = 16
walltime = "1 day, 00:00:00"
memory = "64G"
gpus = 2
idle = "00:10:00"
number = 3
"""
HEAD = '[[source]]\nname = "s"\nvalues = { T = [1, 2], r = [1] }\n'
NODE = HEAD + '[[node]]\nname = "n"\nfrom = "s"\n'
MORE = NODE + '[[node]]\nname="m"\nfrom="n"\n'
SINK = NODE + '[[sink]]\nname="k"\nfrom="n"\noutput="o"\n'
VALUES = '[[source]]\nname="s"\n[source.values]\n'
ZIP = '[[source]]\nname="s"\n'


def parsed(text: str) -> Network:
    return parse_network(text.encode(), "network.toml", "p").network


def warned(text: str) -> list[tuple[int, str]]:
    problems = parse_network(text.encode(), "network.toml", "p").problems
    assert all(problem.severity == "warning" for problem in problems)
    return [(problem.line, problem.message) for problem in problems]


def problems_of(text: str) -> tuple[Problem, ...]:
    with pytest.raises(NetworkError) as caught:
        parse_network(text.encode(), "network.toml", "p")
    return caught.value.problems


def only(text: str) -> Problem:
    """The only thing wrong with a file."""
    found = problems_of(text)
    assert len(found) == 1, "\n".join(map(str, found))
    return found[0]


def test_a_whole_study_is_read_key_by_key() -> None:
    network = parsed(STUDY)

    assert network.name == "study"
    values = {"temperature": {"linspace": [1.0, 2.0, 11]}, "replica": {"range": 5}}
    assert network.sources == (Source("state", Values(values)),)
    simulate, average, fit = network.nodes
    assert simulate == Node("simulate", "simulate", (Input("state", (Link("state"),)),))
    energy = Link("simulate", "energy.json", None, ("replica",), "", Require(number=4))
    assert average == Node("average", "average", (Input("simulate", (energy,)),))
    assert fit.action == "fit_line"
    assert fit.constants == {"tolerance": 1e-6, "options": {"order": [1, 2]}}
    assert fit.inputs == (
        Input("means", (Link("average", "mean.json", None, ("temperature",)),), "g"),
        Input("folds", (Link("simulate", "folds.json", CardinalitySlice(0, 2), (), "fold"),)),
        Input("both", (Link("average"), Link("average", "sd.json"))),
    )
    publish = "results/{temperature}/{replica}-{fold}{ext}"
    assert network.sinks == (Sink("plot", "fit", "energy.pdf", publish),)
    assert network.schedule == Schedule(
        "sink:plot",
        "pilot",
        Gather(50, 8 * 3600),
        Pilot(16, 24 * 3600, 64 * 1024, 2, 600, 3),
        ahead=True,
    )


def test_every_part_knows_its_line_and_column() -> None:
    network = parse_network(STUDY.encode(), "network.toml", "p").network

    assert network.sources[0].place == (3, 1, "")
    assert [node.place[:2] for node in network.nodes] == [(9, 1), (13, 1), (20, 1)]
    assert network.nodes[1].inputs[0].links[0].place[:2] == (14, 1)
    means, _, both = network.nodes[2].inputs
    assert (means.place[:2], means.links[0].place[:2]) == ((24, 1), (24, 11))
    assert [link.place[:2] for link in both.links] == [(26, 9), (26, 22)]
    assert (network.sinks[0].place[:2], network.schedule.place[:2]) == ((30, 1), (34, 2))


def test_what_is_not_written_is_as_the_docs_say() -> None:
    network = parsed(NODE)

    (node,) = network.nodes
    assert (node.action, node.combine, node.directories, node.constants) == (
        "n",
        "join",
        "auto",
        {},
    )
    (link,) = node.inputs[0].links
    assert (link.output, link.select, link.collapse, link.expand) == ("", None, (), "")
    assert link.require == ALL
    assert network.schedule == Schedule("sample", "jobs", Gather(1, 0), None, ahead=False)


@pytest.mark.parametrize(
    ("folder", "name"), [("p-1", "p-1"), ("my study (2)", "my_study__2_"), ("..", "network")]
)
def test_a_network_without_a_name_is_called_like_its_folder(folder: str, name: str) -> None:
    assert parse_network(NODE.encode(), "f", folder).network.name == name


@pytest.mark.parametrize(
    ("written", "data"),
    [
        ('csv = "t.csv"', TableSource("t.csv", "csv")),
        ('json = "t.json"\ndimensions = ["a b", "c"]', TableSource("t.json", "json", ("a b", "c"))),
        ('files = "d/**/*.nii"', FileSource("d/**/*.nii", "s")),
        ('files = "d/*.nii"\ndimension = "scan"', FileSource("d/*.nii", "scan")),
        ("workspace = true", Existing()),
        (
            'workspace = { include = ["a*"] }\ndimensions = ["p/T"]',
            Existing(("p/T",), ("a*",)),
        ),
        ("values = {}", Values({})),
        (
            'zip = [["a", "b"]]\nvalues = { a = [1, 1], b = [1, true] }',
            Values({"a": [1, 1], "b": [1, True]}, (("a", "b"),)),
        ),
        ("values = { a = { range = [3, 9, 2] } }", Values({"a": {"range": [3, 9, 2]}})),
        ("values = { a = { range = [0.0, 1, 0.1] } }", Values({"a": {"range": [0.0, 1, 0.1]}})),
        ("values = { a = { logspace = [1, 8, 4] } }", Values({"a": {"logspace": [1, 8, 4]}})),
        ("values = { a = { linspace = [1, 1, 1] } }", Values({"a": {"linspace": [1, 1, 1]}})),
        ('values = { a = [1, "1", true] }', Values({"a": [1, "1", True]})),
    ],
)
def test_each_kind_of_source_is_read(written: str, data: Values) -> None:
    text = f'[[source]]\nname = "s"\n{written}\n[[node]]\nname = "n"\nfrom = "s"\n'
    assert parsed(text).sources == (Source("s", data),)


@pytest.mark.parametrize(
    ("written", "select"),
    [
        ('"0"', CardinalitySlice(0, 1)),
        ("3", CardinalitySlice(3, 4)),
        ('"-1"', CardinalitySlice(-1, None)),
        ('"-2"', CardinalitySlice(-2, -1)),
        ('"0:2"', CardinalitySlice(0, 2)),
        ('"1:"', CardinalitySlice(1, None)),
        ('":-1"', CardinalitySlice(0, -1)),
        ('"-3:2"', CardinalitySlice(-3, 2)),
    ],
)
def test_each_form_of_select_is_read(written: str, select: CardinalitySlice) -> None:
    network = parsed(MORE + f'output="o"\nexpand="f"\nselect={written}\n')
    assert network.nodes[1].inputs[0].links[0].select == select


@pytest.mark.parametrize(
    "written", ['"a"', '""', "1.5", '"1:2:3"', '"2:1"', '"-1:-2"', '":0"', "true"]
)
def test_another_select_is_refused(written: str) -> None:
    problem = only(MORE + f'output="o"\nexpand="f"\nselect={written}\n')
    assert (problem.line, problem.column) == (12, 1)
    assert "`select`" in problem.message
    assert "for the last" in problem.hint


@pytest.mark.parametrize(
    ("written", "require"),
    [
        ('"all"', ALL),
        ("4", Require(number=4)),
        ("0.8", Require(share=0.8)),
        ("1.0", Require(share=1)),
    ],
)
def test_each_form_of_require_is_read(written: str, require: Require) -> None:
    network = parsed(MORE + f'collapse=["T"]\nrequire={written}\n')
    assert network.nodes[1].inputs[0].links[0].require == require


@pytest.mark.parametrize(
    "written", ["0", "-1", "0.0", "1.01", "nan", "inf", '"some"', "true", "[]"]
)
def test_another_require_is_refused(written: str) -> None:
    problem = only(MORE + f'collapse=["T"]\nrequire={written}\n')
    assert problem.line == 11
    assert "`require`" in problem.message


# (text, line, column, a part of the message, a part of the hint)
WRONG = [
    ("nodes = 1\n", 1, 1, "unknown key `nodes`", "did you mean 'node'?"),
    ("node = {}\n", 1, 1, "`node` must be an array of tables", "[[node]]"),
    ('name = "a b"\n', 1, 1, "'a b' is not a plain word", "letters, digits"),
    ("name = 1\n", 1, 1, "`name` must be a string", ""),
    ("[[source]]\nvalues = {}\n", 1, 1, "a source has no `name`", "name ="),
    ('[[source]]\nname = ".s"\nvalues = {}\n', 2, 1, "'.s' is not a plain word", ""),
    ('[[source]]\nname = "s\\u001b"\nvalues = {}\n', 2, 1, "'s\\x1b' is not", ""),
    ('[[source]]\nname = "s"\n', 1, 1, "source 's' has no data", "`values`"),
    (
        '[[source]]\nname = "s"\nvalues = {}\ncsv = "a"\n',
        4,
        1,
        "`values` and `csv`, but one source has one kind",
        "two sources",
    ),
    (
        '[[source]]\nname = "s"\nfiles = "a"\ndimensions = ["a"]\n',
        4,
        1,
        "`dimensions` goes with `csv` or `json` or `workspace`, not with `files`",
        "did you mean 'dimension'?",
    ),
    ('[[source]]\nname = "s"\nworkspace = false\n', 3, 1, "must be true or a table", "= true"),
    ('[[source]]\nname = "s"\nfiles = "/d/*"\n', 3, 1, "is absolute", "data/*.nii"),
    ('[[source]]\nname = "s"\nfiles = "d/a**"\n', 3, 1, "has `**` beside", ""),
    ('[[source]]\nname = "s"\ncsv = ""\n', 3, 1, "not the name of a file", ""),
    ('[[source]]\nname="s"\ncsv="a"\ndimensions=["a","a"]\n', 4, 17, "'a' is there twice", ""),
    ('[[source]]\nname="s"\ncsv="a"\ndimensions=["node"]\n', 4, 13, "'node' is reserved", ""),
    ('[[source]]\nname="node"\nworkspace=true\n', 2, 1, "dimension 'node' is reserved", ""),
    (VALUES + "node = [1]\n", 4, 1, "'node' is reserved", ""),
    (VALUES + '"a/b" = [1]\n', 4, 1, "'a/b' is not a plain", ""),
    (VALUES + "T = 1.0\n", 4, 1, "not a float", "T = [...]"),
    (VALUES + "T = [1, [2]]\n", 4, 9, "not an array", ""),
    (VALUES + "T = [{}]\n", 4, 6, "not a table", ""),
    (VALUES + "T = [2024-01-01]\n", 4, 6, "not a date", ""),
    (VALUES + "T = [nan]\n", 4, 6, "JSON does not have", ""),
    (VALUES + "T = [1, 2, 1.0]\n", 4, 12, "as number 1", "repeats"),
    (VALUES + 'zip = [["a"]]\n', 4, 1, "`zip` is no", "above"),
    (VALUES + "T = { rang = 5 }\n", 4, 7, "`rang`", "'range'"),
    (VALUES + "T.range = [0, 5, 0]\n", 4, 3, "step", ""),
    (VALUES + "T.range = [0, 1, 2, 3]\n", 4, 3, "4 numbers", ""),
    (VALUES + 'T.range = "5"\n', 4, 3, "not a string", ""),
    (VALUES + "T.range = true\n", 4, 3, "not a boolean", ""),
    (VALUES + 'T.range = [0, "5"]\n', 4, 15, "must be a number", ""),
    (VALUES + "T.range = 1_000_000_000\n", 4, 3, "more than", ""),
    (VALUES + "T.linspace = [1, 2]\n", 4, 3, "2 numbers", ""),
    (VALUES + "T.linspace = [1, 2, 0]\n", 4, 21, "at least 1", ""),
    (VALUES + "T.linspace = [1, 2, 2.5]\n", 4, 21, "integer", ""),
    (VALUES + "T.linspace = [1, 1, 2]\n", 4, 3, "2 different", ""),
    (VALUES + "T.linspace = [1, inf, 2]\n", 4, 18, "is inf", ""),
    (VALUES + "T.logspace = [0, 1, 2]\n", 4, 3, "greater than 0", ""),
    (ZIP + 'zip=["a","b"]\nvalues={a=[1],b=[1]}\n', 3, 1, "list of lists", "[["),
    (ZIP + 'zip=[["a"]]\nvalues={a=[1]}\n', 3, 6, "at least 2", ""),
    (ZIP + 'zip=[["a","c"]]\nvalues={a=[1]}\n', 3, 11, "'c', which is no", ""),
    (ZIP + 'zip=[["a","b"]]\nvalues={a=[1],b=[1,2]}\n', 3, 6, "a 1, b 2", ""),
    (ZIP + 'zip=[["a","b"]]\nvalues={a=[1,1],b=[2,2]}\n', 3, 6, "1 and 2", ""),
    (ZIP + 'zip=[["a","b"],["b","c"]]\nvalues={a=[1],b=[1],c=[1]}\n', 3, 17, "'b' twice", ""),
    (HEAD + HEAD, 5, 1, "a source is called 's', too", "line 2"),
    (NODE + '[[node]]\nname="s"\nfrom="n"\n', 8, 1, "a source is called 's', too", "line 2"),
    (HEAD + "[[node]]\nfrom = 's'\n", 4, 1, "a node has no `name`", ""),
    (HEAD + '[[node]]\nname="n"\n', 4, 1, "node 'n' has no inputs", "from ="),
    (HEAD + '[[node]]\nname="n"\nfrom=[]\n', 6, 1, "empty list", ""),
    (HEAD + '[[node]]\nname="n"\nfrom=["s", "s"]\n', 6, 12, "'s' twice", "[node.inputs]"),
    (HEAD + '[[node]]\nname="n"\nfrom=["s", 1]\n', 6, 12, "not an integer", ""),
    (HEAD + '[[node]]\nname="n"\nfrom=["s"]\noutput="o"\n', 7, 1, "`from` is one name", "[node.i"),
    (HEAD + '[[node]]\nname="n"\nfrom="t"\n', 6, 1, "no source or node 't'", "there are s"),
    (NODE + '[[node]]\nname="m"\nfrom="nn"\n', 9, 1, "no source or node 'nn'", "mean 'n'?"),
    (NODE + '[[node]]\nname="m"\nfrom="m"\n', 9, 1, "node 'm' has a link to itself", ""),
    (HEAD + '[[node]]\nname="n"\nfrom="s"\ninputs={a="s"}\n', 6, 1, "has `inputs`, so `from`", ""),
    (HEAD + '[[node]]\nname="n"\ninputs={}\n', 6, 1, "`inputs` is empty", ""),
    (HEAD + '[[node]]\nname="n"\ninputs={a=[]}\n', 6, 9, "input 'a' has no inputs", ""),
    (HEAD + '[[node]]\nname="n"\ninputs={a={form="s"}}\n', 6, 12, "unknown key `form`", "'from'"),
    (HEAD + '[[node]]\nname="n"\ninputs={"a b"="s"}\n', 6, 9, "input 'a b' is not", ""),
    (
        HEAD + '[[node]]\nname="n"\ninputs={a=["s", {from="s", group="g"}]}\n',
        6,
        9,
        "are in the groups '' and 'g'",
        "",
    ),
    (NODE + 'directories="mine"\n', 7, 1, "cannot be 'mine'", "'auto'"),
    (NODE + 'combine="a b"\n', 7, 1, "not a plain word", ""),
    (NODE + 'action=""\n', 7, 1, "`action` is empty", ""),
    (NODE + "constants={node=1}\n", 7, 12, "'node' is reserved", ""),
    (NODE + "constants={T=1}\n", 5, 1, "'T' is also a dimension of its samples (T x r)", ""),
    (NODE + "constants={a=[{b=inf}]}\n", 7, 12, "JSON does not have", ""),
    (NODE + "constants={a=1979-05-27}\n", 7, 12, "not a date", ""),
    (NODE + 'collapse="T"\n', 7, 1, "must be an array", 'collapse = ["T"]'),
    (NODE + 'collapse=["T","T"]\n', 7, 15, "'T' twice", ""),
    (
        NODE + 'collapse=["t"]\n',
        6,
        1,
        "node 'n', input 's': there is no dimension 't' to collapse; those of 's' are T x r",
        "did you mean 'T'?",
    ),
    (MORE + 'expand="f"\n', 10, 1, "`expand` needs an `output`", ""),
    (MORE + "select=0\n", 10, 1, "`select` needs an `output`", ""),
    (MORE + 'output="o"\nselect=0\n', 11, 1, "`select` is of the entries", "add expand"),
    (
        MORE + 'output="o"\nexpand="node"\n',
        11,
        1,
        "'node' is reserved",
        "",
    ),
    (
        MORE + 'output="o"\nexpand="T"\n',
        9,
        1,
        "expands to 'T', which is a dimension already; those of 'n' are T x r",
        "",
    ),
    (
        MORE + 'output="o"\nexpand="t"\n',
        8,
        1,
        "'T' and 't', which differ only in letter case",
        "",
    ),
    (NODE + 'output="o"\n', 6, 1, "'s' is a source, whose directories", ""),
    (
        '[[source]]\nname="s"\nworkspace=true\n' + NODE[len(HEAD) :] + 'output="o"\nexpand="f"\n',
        6,
        1,
        "'s' is a source, whose lists cannot be expanded",
        "let a node write",
    ),
    (MORE + 'output="../o"\n', 10, 1, "leads out of", "product"),
    (MORE + 'output="/o"\n', 10, 1, "is an absolute path", ""),
    (SINK, 7, 1, "sink 'k' has no `publish`", ""),
    (
        NODE + '[[sink]]\nname="k"\nfrom="s"\noutput="o"\npublish="{sample}"\n',
        9,
        1,
        "'s' is a s",
        "",
    ),
    (
        NODE + '[[sink]]\nname="k"\nfrom="m"\noutput="o"\npublish="{sample}"\n',
        9,
        1,
        "no node 'm'",
        "",
    ),
    (
        SINK + 'publish="{sampl}{sample}"\n',
        11,
        1,
        "unknown field {sampl}",
        "'sample'",
    ),
    (SINK + 'publish="{sample"\n', 11, 1, "no partner", "{{"),
    (SINK + 'publish="{}"\n', 11, 1, "no name in", ""),
    (SINK + 'publish="/{sample}"\n', 11, 1, "absolute", ""),
    (SINK + 'publish="a/../../{sample}"\n', 11, 1, "leads", ""),
    (SINK + 'publish="{sample}/"\n', 11, 1, "no file", ""),
    (SINK + 'publish="./.row/{sample}"\n', 11, 1, ".row", ""),
    (NODE + '[schedule]\npriority="sink:q"\n', 8, 1, "names no sink", ""),
    (NODE + '[schedule]\npriority="source:2"\n', 8, 1, "cannot be 'source:2'", "source:+1"),
    (NODE + '[schedule]\npriority="a b"\n', 8, 1, "is not a plain word", "critical-path"),
    (NODE + "[schedule]\ngather={size=-1}\n", 8, 9, "non-negative", ""),
    (NODE + '[schedule]\ngather={walltime="8h"}\n', 8, 9, "not usable", "PT8H"),
    (NODE + '[schedule]\ngather={walltime="00:00:00"}\n', 8, 9, "too short", ""),
    (NODE + '[schedule]\nexecution="pilot"\n', 8, 1, "the pilot has no size", "[schedule.pilot]"),
    (NODE + "[schedule.pilot]\ncpus=4\n", 7, 11, "no `walltime`", "08:00:00"),
    (NODE + '[schedule.pilot]\nwalltime="01:00:00"\n', 7, 11, "no `cpus`", "cpus = 16"),
    (NODE + '[schedule]\npilot={cpus=0,walltime="01:00:00"}\n', 8, 8, "at least 1", ""),
    (NODE + '[schedule]\npilot={cpus=1,walltime="00:00:09"}\n', 8, 15, "too short", "a minute"),
    (
        NODE + '[schedule]\npilot={cpus=1,walltime="01:00:00",memory="much"}\n',
        8,
        35,
        "no amount",
        "64G",
    ),
    (NODE + '[schedule]\nahead="yes"\n', 8, 1, "true or false", ""),
]


@pytest.mark.parametrize(("text", "line", "column", "message", "hint"), WRONG)
def test_what_is_wrong_is_told_once_with_its_place_and_what_to_do(
    text: str, line: int, column: int, message: str, hint: str
) -> None:
    problem = only(text)
    assert message in problem.message
    assert (problem.line, problem.column) == (line, column)
    assert hint in problem.hint
    assert problem.file == "network.toml"


def test_all_problems_are_told_at_once_in_the_order_of_the_file() -> None:
    broken = STUDY.replace('"replica"]', '"replic"]').replace("require = 4", "require = 0")
    broken = broken.replace("linspace", "linspac").replace('"sink:plot"', '"sink:plo"')
    broken = broken.replace('models = "simulate"', 'models = "simulat"')

    found = problems_of(broken)

    assert [problem.line for problem in found] == [5, 17, 35]


def test_what_follows_from_a_problem_is_not_told() -> None:
    """Its collapse cannot be judged while the source's dimensions are in doubt."""
    broken = NODE.replace("T = [1, 2]", "T = 5") + 'collapse = ["nothing"]\n'
    assert [problem.line for problem in problems_of(broken)] == [3]


def test_a_cycle_is_printed_from_its_first_node() -> None:
    text = HEAD + "".join(
        f'[[node]]\nname = "{name}"\nfrom = {above}\n'
        for name, above in [("a", '["s", "c"]'), ("b", '"a"'), ("c", '"b"'), ("d", '"c"')]
    )
    problem = only(text)
    assert problem.message == "the nodes wait for each other: a -> b -> c -> a"
    assert (problem.line, problem.column) == (6, 14)


def test_two_nodes_of_one_name_are_reported_even_if_one_of_them_waits_for_itself() -> None:
    text = '[[node]]\nname = "a"\nfrom = "a"\n[[node]]\nname = "a"\nfrom = "b"\n'
    with pytest.raises(NetworkError, match="a node is called 'a', too"):
        parse_network(text.encode(), "network.toml", "p")


def test_a_long_cycle_is_not_printed_whole() -> None:
    text = "".join(f'[[node]]\nname="n{at}"\nfrom="n{(at - 1) % 500}"\n' for at in range(500))
    message = only(text).message
    assert message.startswith("the nodes wait for each other: n0 -> n1 -> n2 -> ")
    assert message.endswith("n18 -> ... -> n499 -> n0")


def test_two_cycles_are_two_problems() -> None:
    text = "".join(
        f'[[node]]\nname = "{name}"\nfrom = "{above}"\n'
        for name, above in [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]
    )
    assert [problem.message[-11:] for problem in problems_of(text)] == [
        "a -> b -> a",
        "c -> d -> c",
    ]


def test_many_links_to_nowhere_are_all_told_and_the_first_guessed_at() -> None:
    text = NODE + "".join(f'[[node]]\nname="m{at}"\nfrom="nn"\n' for at in range(100))
    found = problems_of(text)
    assert len(found) == 100
    assert {problem.hint for problem in found[:20]} == {"did you mean 'n'?"}


def test_a_long_list_of_bad_values_is_not_told_to_its_end() -> None:
    text = f"[[source]]\nname = 's'\nvalues = {{ a = [{'[],' * 500}] }}\n"
    assert len(problems_of(text)) == 21


WARNED = [
    ("", 0, "there is no [[node]]"),
    (NODE.replace("[1, 2]", "[]"), 3, "`T` has no values"),
    (NODE.replace("[1, 2]", "{ range = 0 }"), 3, "`T` has no values"),
    (NODE + HEAD.replace('"s"', '"unused"'), 8, "no node takes anything from source 'unused'"),
    (NODE + '[[node]]\nname="N"\nfrom="n"\n', 8, "'n' and 'N' differ only in letter case"),
    (NODE + "require=2\n", 7, "`require` is about samples that are collapsed"),
    (NODE + 'combine="joyn"\n', 7, "`combine` is 'joyn', which is not"),
    (NODE + '[schedule]\npriority="mine"\n', 8, "`priority` is 'mine', which is none of ours"),
    (NODE + '[schedule]\nexecution="mine"\n', 8, "`execution` is 'mine'"),
    (NODE + '[schedule]\npriority="sink"\n', 8, "there is no sink"),
    (NODE + '[schedule]\nexecution="sequential"\n', 8, "each job is a list of its own"),
    (NODE + "scratch=true\n", 5, "`scratch` of node 'n' has no effect: its jobs are in no list"),
    (
        NODE + '[[node]]\nname="m"\ncombine="zip"\n[node.inputs]\n'
        'a={from="s", group="g"}\nb={from="n", group="g"}\n',
        9,
        'combine = "zip" is for groups',
    ),
    (
        SINK + 'publish="{T}"\n',
        11,
        "samples that differ only in r would be published to one path",
    ),
    (
        MORE + '[[sink]]\nname="k"\nfrom="n"\noutput="o"\npublish="{sample}"\n',
        8,
        "no sink needs node 'm', so it is not run",
    ),
]


@pytest.mark.parametrize(("text", "line", "message"), WARNED)
def test_what_is_merely_odd_is_a_warning(text: str, line: int, message: str) -> None:
    ((found, words),) = warned(text)
    assert message in words
    assert found == line


def test_gather_with_a_walltime_alone_has_no_other_limit() -> None:
    network = parsed(NODE + '[schedule]\ngather = { walltime = "PT1H" }\n')
    assert network.schedule.gather == Gather(0, 3600)


def test_bad_bytes_and_bad_toml_are_network_errors_with_their_place() -> None:
    with pytest.raises(NetworkError) as caught:
        parse_network(b'name = "\xff"\n', "f", "p")
    assert (caught.value.problems[0].line, caught.value.problems[0].column) == (1, 9)
    assert problems_of("a = \n")[0].line == 1
    assert "nested too deeply" in problems_of("a = " + "[" * 100_000)[0].message


def test_a_project_has_a_network_if_the_file_is_there(tmp_path: Path) -> None:
    assert not has_network(tmp_path)
    with pytest.raises(RowtuiError, match=r"there is no network\.toml") as missing:
        load_network(tmp_path)
    assert "network init" in missing.value.hint
    (tmp_path / NETWORK_FILE).write_text(NODE)
    assert has_network(tmp_path)
    assert load_network(tmp_path).network.nodes[0].name == "n"


def test_a_pipe_in_place_of_the_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / NETWORK_FILE)
    with pytest.raises(RowtuiError, match="not a regular file"):
        load_network(tmp_path)


@given(st.binary(max_size=200))
def test_random_bytes_are_a_network_or_a_network_error(data: bytes) -> None:
    survives(data)


@given(st.data())
def test_a_mutated_file_is_a_network_or_a_network_error(data: st.DataObject) -> None:
    text = STUDY
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(at, min(len(text), at + 30)))
        pieces = ["", "[", "]", '"', "=", "{}", "1", "-1.5", '"state"', "true", "\n", "[[node]]\n"]
        other = data.draw(
            st.sampled_from([*pieces, '"\\u0000"', "nan", '"simulate"', "{ range = 2 }"])
        )
        text = text[:at] + other + text[end:]
    survives(text.encode())


KEYS = [
    *("name", "from", "values", "inputs", "output", "collapse", "publish", "zip", "constants", "T"),
    *("select", "require", "expand", "combine", "action", "files", "workspace", "csv", "range"),
]
SCALARS = st.booleans() | st.integers(-3, 5) | st.floats(-2, 2)
TREES = st.recursive(
    SCALARS | st.sampled_from(["s", "n", "T", "", "0:1", "a/../b"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)
TABLES = st.lists(st.dictionaries(st.sampled_from(KEYS), TREES, max_size=6), max_size=3)
TOP = st.sampled_from(["name", "source", "node", "sink", "schedule"])


@given(st.dictionaries(TOP, TREES | TABLES))
def test_tables_of_any_content_are_a_network_or_a_network_error(tables: dict[str, object]) -> None:
    survives("\n".join(f"{name} = {as_toml(it)}" for name, it in tables.items()).encode())


def as_toml(value: object) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(it)} = {as_toml(value[it])}' for it in value)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    return json.dumps(value)


def survives(data: bytes) -> None:
    with suppress(NetworkError):
        loaded = parse_network(data, "f", "p")
        assert all(problem.severity == "warning" for problem in loaded.problems)
