"""Networks made in Python, and written as network.toml."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.network.definition.build import Build, link, linspace, logspace, to_toml
from rowtui.core.network.definition.load import NetworkError, parse_network
from rowtui.core.network.definition.spec import (
    CardinalitySlice,
    Existing,
    FileSource,
    Gather,
    Input,
    Link,
    Network,
    NetworkPosition,
    Node,
    Pilot,
    Require,
    Schedule,
    Sink,
    Source,
    TableSource,
    Values,
)
from rowtui.core.network.samples.shape import shape


def read(text: str) -> Network:
    return parse_network(text.encode(), "network.toml", "p").network


def test_what_is_built_is_what_the_file_says() -> None:
    built = (
        Build("study")
        .source("state", temperature=linspace(1, 2, 11), replica=range(5))
        .node("simulate", "state")
        .node("average", "simulate", collapse=["replica"], output="e.json", require=0.8)
        .node(
            "fit",
            inputs={"means": link("average", collapse=["temperature"]), "all": ["simulate"]},
            constants={"tolerance": 1e-6},
            combine="cross",
            directories="own",
        )
        .sink("plot", "fit", "e.pdf", "results/{sample}{ext}")
        .schedule(
            "critical-path",
            "pilot",
            gather=50,
            gather_walltime="08:00:00",
            pilot={"cpus": 16, "walltime": "08:00:00"},
            ahead=True,
        )
        .network()
    )

    assert built == read("""
        name = "study"
        [[source]]
        name = "state"
        values = { temperature.linspace = [1, 2, 11], replica.range = [0, 5, 1] }
        [[node]]
        name = "simulate"
        from = "state"
        [[node]]
        name = "average"
        from = "simulate"
        collapse = ["replica"]
        output = "e.json"
        require = 0.8
        [[node]]
        name = "fit"
        combine = "cross"
        directories = "own"
        constants.tolerance = 1e-6
        inputs.means = { from = "average", collapse = ["temperature"] }
        inputs.all = "simulate"
        [[sink]]
        name = "plot"
        from = "fit"
        output = "e.pdf"
        publish = "results/{sample}{ext}"
        [schedule]
        priority = "critical-path"
        execution = "pilot"
        gather = { size = 50, walltime = "08:00:00" }
        pilot = { cpus = 16, walltime = "08:00:00" }
        ahead = true
    """)


def test_each_kind_of_source_can_be_built() -> None:
    built = (
        Build()
        .csv("a", "a.csv")
        .json("b", "b.json", ["x", "y"])
        .files("c", "data/*.nii", "scan")
        .workspace("d", ["a*"], ["T"])
        .workspace("e")
        .source("f", {"not-python": [1, 2]}, zipped=[("not-python", "g")], g=logspace(1, 2, 2))
        .node("n", list("abcdef"))
        .network()
    )

    assert [source.data for source in built.sources] == [
        TableSource("a.csv", "csv"),
        TableSource("b.json", "json", ("x", "y")),
        FileSource("data/*.nii", "scan"),
        Existing(("T",), ("a*",)),
        Existing(),
        Values({"not-python": [1, 2], "g": {"logspace": [1, 2, 2]}}, (("not-python", "g"),)),
    ]


def test_numbers_and_arrays_of_numpy_are_plain_values() -> None:
    built = Build().source(
        "s", a=np.linspace(0, 1, 3), b=np.arange(2), c=[np.bool_(True), np.int8(3), "x"], d=(1, 2)
    )
    (source,) = built.node("n", "s").network().sources
    assert isinstance(source.data, Values)
    written = {"a": [0.0, 0.5, 1.0], "b": [0, 1], "c": [True, 3, "x"], "d": [1, 2]}
    assert repr(source.data.dimensions) == repr(written)


def test_all_problems_are_told_at_once_and_of_which_thing() -> None:
    build = Build("p").source("s", t="abc", u=[None, 1j, 1, 1.0]).node("n", "z")

    with pytest.raises(NetworkError) as caught:
        build.network()

    assert [(problem.file, problem.message) for problem in caught.value.problems] == [
        ("network 'p', source 's'", "`t` must be a list of values or a table, not a string"),
        (
            "network 'p', source 's'",
            "value 1 of `u` must be a number, a string, true or false, not nothing",
        ),
        (
            "network 'p', source 's'",
            "value 2 of `u` must be a number, a string, true or false, not "
            "an object of type complex",
        ),
        ("network 'p', source 's'", "value 4 of `u` is there already, as number 3"),
        ("network 'p'", "node 'n': there is no source or node 'z'"),
    ]


@pytest.mark.parametrize(
    "build",
    [
        Build(5),  # type: ignore[arg-type]
        Build("a\udcffb"),
        Build().source("s", a=["\udcff"]),
        Build().csv("s", "\udcff"),
        Build().source("s", a=5),
        Build().source("s", zipped=["ab"], a=[1], b=[2]),
        Build().source("s").node("n", "s", constants={"a": None}),
        Build().source("s").node("n", "s", constants={"\udcff": 1}),
        Build().source("s").node("n", 5),  # type: ignore[arg-type]
        Build().source("s").node("n", "s", inputs={"a": "s"}),
        Build().source("s", a=[1]).node("n", "s", collapse="a"),
        Build().source("s").node("n", "s").node("m", "n", output="\udcff"),
        Build().source("s").node("n", "s").sink("k", "n", "o", "\udcff"),
    ],
)
def test_what_is_no_network_is_refused_as_in_a_file(build: Build) -> None:
    with pytest.raises(NetworkError) as caught:
        build.network()
    assert caught.value.problems


def test_a_constant_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(NetworkError, match="nested too deeply"):
        Build().source("s").node("n", "s", constants={"a": endless}).network()


def test_warnings_come_with_the_network() -> None:
    loaded = Build("p").source("s", a=[]).node("n", "s").loaded()
    assert [problem.severity for problem in loaded.problems] == ["warning"]


def test_what_is_written_is_what_a_person_would_write() -> None:
    text = to_toml(
        Build("study")
        .source("state", T=[1.0, 2.0], r=range(5))
        .node("simulate", "state")
        .node("average", "simulate", collapse=["r"])
        .node("both", ["simulate", "average"], action="compare")
        .network()
    )
    assert (
        text
        == """\
name = "study"

[[source]]
name = "state"
[source.values]
T = [1.0, 2.0]
r = { range = [0, 5, 1] }

[[node]]
name = "simulate"
from = "state"

[[node]]
name = "average"
from = "simulate"
collapse = ["r"]

[[node]]
name = "both"
action = "compare"
from = ["simulate", "average"]
"""
    )


# Any network without errors

WORDS = st.text(string.ascii_lowercase + "_0é", min_size=1, max_size=3)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = TEXTS | NUMBERS | st.booleans()
CONSTANTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2)
)
PATHS = st.sampled_from(["o", "a/b.json", 'q"uote', "sp ace", "é"])
SPACED = st.sampled_from(
    [{"range": 4}, {"range": [0.0, 1.0, 0.25]}, {"linspace": [0, 1, 3]}, {"logspace": [1, 9, 2]}]
)


SELECTIONS = [
    *(CardinalitySlice(0, 1), CardinalitySlice(-1, None), CardinalitySlice(-3, -2)),
    *(
        CardinalitySlice(2, None),
        CardinalitySlice(-2, 3),
        CardinalitySlice(0, None),
        CardinalitySlice(1, -1),
    ),
]


def same(value: Any) -> tuple[str, Any]:
    return ("bool" if isinstance(value, bool) else "str" if isinstance(value, str) else "", value)


def dimension_names(taken: Mapping[str, Any]) -> st.SearchStrategy[str]:
    return WORDS.filter(lambda word: word not in {*taken, "node", "zip"})


@st.composite
def sources(draw: st.DrawFn, name: str) -> Source:
    match draw(st.sampled_from(["values", "zip", "csv", "json", "files", "workspace"])):
        case "values":
            lists = st.lists(SCALARS, max_size=4, unique_by=same)
            names = st.lists(dimension_names({}), max_size=3, unique=True)
            return Source(name, Values({it: draw(lists | SPACED) for it in draw(names)}))
        case "zip":
            rows = draw(
                st.lists(
                    st.tuples(SCALARS, SCALARS),
                    max_size=3,
                    unique_by=lambda row: tuple(map(same, row)),
                )
            )
            columns = {"a": [row[0] for row in rows], "b": [row[1] for row in rows]}
            return Source(name, Values({**columns, "c": draw(SPACED)}, (("a", "b"),)))
        case "csv" | "json" as kind:
            columns_ = draw(st.lists(dimension_names({}), max_size=2, unique=True))
            return Source(name, TableSource(draw(PATHS), kind, tuple(columns_)))
        case "files":
            return Source(name, FileSource(f"{draw(PATHS)}/**/*", draw(dimension_names({}))))
        case _:
            columns_ = draw(st.lists(dimension_names({}), min_size=1, max_size=2, unique=True))
            include = draw(st.lists(st.sampled_from(["a*", "[!b]"]), max_size=2))
            return Source(name, Existing(tuple(columns_), tuple(include)))


@st.composite
def links(draw: st.DrawFn, known: Mapping[str, tuple[str, ...]], nodes: list[str]) -> Link:
    source = draw(st.sampled_from(sorted(known)))
    output = draw(st.just("") | PATHS) if source in nodes else ""
    collapse = draw(st.lists(st.sampled_from(known[source]), unique=True)) if known[source] else []
    after = [name for name in known[source] if name not in collapse]
    select, expand = None, ""
    if output:
        expand = draw(st.just("") | dimension_names(dict.fromkeys(after)))
    if expand:
        select = draw(st.none() | st.sampled_from(SELECTIONS))
    numbers = st.integers(1, 9).map(lambda number: Require(number, None))
    requires = numbers | st.floats(0.01, 1.0).map(lambda share: Require(None, share))
    require = draw(st.just(Require()) | requires) if collapse else Require()
    return Link(source, output, select, tuple(collapse), expand, require)


@st.composite
def nodes_of(
    draw: st.DrawFn, name: str, network: Network, known: Mapping[str, tuple[str, ...]]
) -> Node:
    earlier = [node.name for node in network.nodes]
    if draw(st.booleans()):
        found = draw(
            st.lists(links(known, earlier), min_size=1, max_size=2, unique_by=lambda it: it.source)
        )
        if len(found) > 1:
            found = [Link(it.source) for it in found]
        inputs = [Input(it.source, (it,)) for it in found]
    else:
        names = draw(st.lists(WORDS, min_size=1, max_size=2, unique=True))
        groups = st.sampled_from(["", "g", "h"])
        inputs = []
        for it in names:
            link_ = draw(links(known, earlier))
            several = (link_,) * draw(st.integers(1, 2))
            inputs.append(Input(it, several, draw(groups)))
    taken = {key for dims in known.values() for key in dims}
    taken |= {link.expand for it in inputs for link in it.links}
    constants = draw(st.dictionaries(dimension_names(dict.fromkeys(taken)), CONSTANTS, max_size=2))
    return Node(
        name,
        draw(st.just(name) | TEXTS.filter(bool)),
        tuple(inputs),
        draw(st.sampled_from(["join", "zip", "plug-in"])),
        constants,
        draw(st.sampled_from(["auto", "own"])),
    )


@st.composite
def networks(draw: st.DrawFn) -> Network:
    names = draw(st.lists(WORDS, min_size=1, max_size=6, unique=True))
    number = draw(st.integers(1, len(names)))
    network = Network(
        draw(WORDS),
        tuple(draw(sources(name)) for name in names[:number]),
        (),
        (),
        Schedule(
            draw(st.sampled_from(["sample", "row", "source:-1", "mine"])),
            draw(st.sampled_from(["jobs", "pilot", "mine"])),
            Gather(draw(st.integers(0, 99)), draw(st.just(0) | st.integers(1, 10**7))),
            Pilot(
                draw(st.integers(1, 99)),
                draw(st.integers(60, 10**7)),
                draw(st.none() | st.integers(1, 10**6)),
                draw(st.integers(0, 9)),
                draw(st.integers(1, 10**5)),
                draw(st.integers(1, 9)),
            ),
            draw(st.booleans()),
        ),
    )
    first: dict[str, tuple[str, ...]] = {}
    for source in network.sources:
        data = source.data
        if isinstance(data, Values):
            first[source.name] = tuple(data.dimensions)
        elif isinstance(data, FileSource):
            first[source.name] = (data.dimension,)
        else:  # a table that says nothing has one column of whatever name
            first[source.name] = data.dimensions or ("column",)
    known = dict(first)
    for name in names[number:]:
        node = draw(nodes_of(name, network, known))
        candidate = Network(
            network.name, network.sources, (*network.nodes, node), (), network.schedule
        )
        known[name] = shape(candidate, first).dimensions(name)
        network = candidate
    if network.nodes:
        publish = st.sampled_from(
            ["r/{sample}{ext}", "{{{network}}}/{node}/{file}", 'a"\\b'[:2] + "{sample}"]
        )
        sinks = [
            Sink(f"k{at}", draw(st.sampled_from(names[number:])), draw(PATHS), draw(publish))
            for at in range(draw(st.integers(0, 2)))
        ]
        network = Network(
            network.name, network.sources, network.nodes, tuple(sinks), network.schedule
        )
    return network


@given(networks())
def test_what_is_written_is_read_again_as_it_was(network: Network) -> None:
    text = to_toml(network)

    again = read(text)

    assert again == network
    assert repr(again) == repr(network)  # also 1, 1.0 and true, and the order of keys
    assert to_toml(again) == text


def test_places_are_nothing_but_places() -> None:
    text = to_toml(Build("p").source("s", a=[1]).node("n", "s").network())
    placed = parse_network(text.encode(), "f", "p").network
    assert placed.nodes[0].place != NetworkPosition()
    assert placed == Build("p").source("s", a=[1]).node("n", "s").network()
