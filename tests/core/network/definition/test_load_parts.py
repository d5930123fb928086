"""Networks that are nodes of other networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import Problem
from rowtui.core.network.definition.load import NetworkError, load_network
from rowtui.core.network.definition.load_parts import DEEPEST, MOST_PARTS
from rowtui.core.network.definition.spec import Input, Link, Network, Node, Require, Values

REGISTRATION = """
[[source]]
name = "image"
[[source]]
name = "template"
values = { template = ["adult", "child"] }

[[node]]
name = "affine"
[node.inputs]
image = { from = "image", collapse = ["echo"], require = 2 }
template = "template"
[[node]]
name = "warp"
from = "affine"
output = "affine.mat"

[[sink]]
name = "field"
from = "warp"
output = "field.nii"
"""
HEAD = """
[[source]]
name = "scan"
values = { patient = [1, 2], echo = [1, 2, 3] }
[[node]]
name = "denoise"
from = "scan"
"""
USE = """
[[node]]
name = "left"
network = "registration.toml"
inputs.image = { from = "denoise", output = "clean.nii" }
"""
STUDY = f"""{HEAD}{USE}
[[node]]
name = "mean"
from = "left"
collapse = ["patient"]
[[sink]]
name = "all"
from = "left"
output = "field"
publish = "results/{{sample}}"
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[[Mapping[str, str]], Network]:
    def loaded(files: Mapping[str, str]) -> Network:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return load_network(tmp_path).network

    return loaded


Load = Callable[[Mapping[str, str]], Network]


def problems(load: Load, files: Mapping[str, str]) -> tuple[Problem, ...]:
    with pytest.raises(NetworkError) as caught:
        load(files)
    return caught.value.problems


def shown(load: Load, files: Mapping[str, str]) -> list[tuple[str, int, str]]:
    return [(Path(it.file).name, it.line, it.message) for it in problems(load, files)]


def study(text: str = STUDY, registration: str = REGISTRATION) -> dict[str, str]:
    return {"network.toml": text, "registration.toml": registration}


def test_the_nodes_of_a_file_stand_in_place_of_the_node(load: Load) -> None:
    network = load(study())

    affine, warp, mean = network.nodes[1:]
    image = Link("denoise", "clean.nii", None, ("echo",), "", Require(number=2))
    assert affine == Node(
        "left.affine",
        "affine",
        (Input("image", (image,)), Input("template", (Link("left.template"),))),
    )
    assert warp == Node(
        "left.warp", "warp", (Input("affine", (Link("left.affine", "affine.mat"),)),)
    )
    field = Link("left.warp", "field.nii", None, ("patient",))
    assert mean == Node("mean", "mean", (Input("left", (field,)),))
    assert [source.name for source in network.sources] == ["scan", "left.template"]
    (sink,) = network.sinks
    assert (sink.name, sink.source, sink.output) == ("all", "left.warp", "field.nii")


def test_a_link_replaces_the_data_of_a_source(load: Load) -> None:
    other = '[[source]]\nname = "other"\nvalues = { template = ["old"] }\n'
    network = load(study(other + STUDY.replace(USE, f'{USE}inputs.template = "other"\n')))
    assert {source.name for source in network.sources} == {"other", "scan"}
    affine = network.node("left.affine")
    assert affine is not None
    assert affine.inputs[1].links[0].source == "other"


def test_networks_are_nodes_of_networks_that_are_nodes(load: Load) -> None:
    both = """
[[source]]
name = "picture"
[[node]]
name = "first"
network = "parts/registration.toml"
inputs.image = "picture"
[[node]]
name = "second"
network = "./parts//registration.toml"
inputs.image = { from = "first", output = "field" }
[[sink]]
name = "end"
from = "second"
output = "field"
"""
    main = STUDY.replace("registration.toml", "both.toml").replace("image", "picture")
    main = main.replace('output = "field"', 'output = "end"')
    part = REGISTRATION.replace(', collapse = ["echo"], require = 2', "")
    network = load(
        {
            "network.toml": main,
            "both.toml": both,
            "parts/registration.toml": part,
        }
    )
    links = {node.name: [it.links[0] for it in node.inputs] for node in network.nodes}
    assert links["left.first.affine"][0] == Link("denoise", "clean.nii")
    assert links["left.second.affine"][0] == Link("left.first.warp", "field.nii")
    assert links["mean"][0] == Link("left.second.warp", "field.nii", None, ("patient",))
    assert network.sinks[0].source == "left.second.warp"
    assert len(network.nodes) == 6


def test_an_error_names_the_file_and_the_line_of_the_inner_network(load: Load) -> None:
    wrong = REGISTRATION.replace('["echo"]', '["ecko"]').replace("[[sink]]", "[[sink]]\nto = 1")
    assert shown(load, study(registration=wrong)) == [
        (
            "registration.toml",
            11,
            "node 'left.affine', input 'image': there is no dimension 'ecko' to collapse; those of"
            " 'denoise' are patient x echo",
        ),
        ("registration.toml", 19, "unknown key `to` in `sink`"),
    ]
    dangling = REGISTRATION.replace('from = "affine"', 'from = "afine"')
    assert shown(load, study(registration=dangling)) == [
        ("registration.toml", 15, "node 'left.warp': there is no source or node 'left.afine'")
    ]


@pytest.mark.parametrize(
    ("main", "part", "file", "message"),
    [
        (("image =", "picture ="), ("", ""), "network.toml", "has no source 'picture'"),
        (("inputs.image", "#"), ("", ""), "registration.toml", "node 'left' has no input 'image'"),
        (('output = "field"', 'output = "fild"'), ("", ""), "network.toml",
         "`output` must name a sink of the network 'left', not 'fild'"),
        (('clean.nii"', 'clean.nii", collapse = ["patient"]'), ("", ""), "registration.toml",
         "the links into and behind 'left.image' both have `collapse`"),
        (('name = "mean"', 'name = "left"'), ("", ""), "network.toml",
         "a network is called 'left', too"),
        (("[[node]]\nname = \"left\"", "[[node]]\naction = \"a\"\nname = \"left\""), ("", ""),
         "network.toml", "`action` belongs in registration.toml, to one of its nodes"),
        (("registration.toml", "there.toml"), ("", ""), "network.toml",
         "there is no file 'there.toml' in the project"),
        (("registration.toml", "../x.toml"), ("", ""), "network.toml",
         "the path '../x.toml' leads out of the project"),
        (("registration.toml", "network.toml"), ("", ""), "network.toml",
         "a network cannot contain itself: network.toml -> network.toml"),
        (("", ""), ("[[sink]]", "[[sink"), "registration.toml", "not valid TOML"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_an_error_at_its_place(
    load: Load, main: tuple[str, str], part: tuple[str, str], file: str, message: str
) -> None:
    files = study(STUDY.replace(*main, 1), REGISTRATION.replace(*part, 1))
    found = shown(load, files)
    assert len(found) >= 1
    assert any(file == name and message in text for name, _, text in found), found


def test_a_circle_of_files_is_named(load: Load) -> None:
    one = '[[node]]\nname = "x"\nnetwork = "two.toml"\n'
    files = {"network.toml": one, "two.toml": one.replace("two.", "three.")}
    files["three.toml"] = one.replace("two.", "./two.")
    ((file, line, message),) = shown(load, files)
    assert (file, line) == ("three.toml", 3)
    assert message == "a network cannot contain itself: two.toml -> three.toml -> two.toml"


def test_depth_and_number_of_nodes_are_bounded(load: Load) -> None:
    def next_to(name: object, times: int) -> str:
        return "".join(
            f'[[node]]\nname = "n{at}"\nnetwork = "{name}.toml"\n' for at in range(times)
        )

    files = {f"{at}.toml": next_to(at + 1, 1) for at in range(DEEPEST + 2)}
    files["network.toml"] = next_to(0, 1)
    assert "inside each other" in shown(load, files)[0][2]
    files = {f"{at}.toml": next_to(at + 1, 22) for at in range(4)} | {"4.toml": ""}
    files["network.toml"] = next_to(0, 2)
    assert f"more than {MOST_PARTS:,} nodes" in shown(load, files)[0][2]


def test_a_link_that_leads_through_networks_to_itself_is_an_error(load: Load) -> None:
    through = '[[source]]\nname = "i"\n[[sink]]\nname = "o"\nfrom = "i"\noutput = "f"\n'
    use = '[[node]]\nname = "t"\nnetwork = "through.toml"\ninputs.i = "t"\n'
    files = {"network.toml": f'{use}[[node]]\nname = "n"\nfrom = "t"\n', "through.toml": through}
    assert problems(load, files)


OUTPUTS = ("a.json", "b.json")


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[Node], list[bool]]:
    """Nodes of a flat network, and which of them belong in a file of their own."""
    nodes: list[Node] = []
    for at in range(draw(st.integers(1, 6))):
        names = draw(st.lists(st.integers(-1, at - 1), min_size=1, max_size=3, unique=True))
        links = [
            Link("s") if name < 0 else Link(f"n{name}", draw(st.sampled_from(OUTPUTS)))
            for name in names
        ]
        inputs = tuple(Input(f"i{place}", (link,)) for place, link in enumerate(links))
        nodes.append(Node(f"n{at}", f"act{at}", inputs))
    return nodes, draw(st.lists(st.booleans(), min_size=len(nodes), max_size=len(nodes)))


def written(nodes: list[Node], inside: list[bool], part: bool) -> str:
    """The nodes of network.toml, or of the file of its node `m`, with its inputs and outputs."""
    mine = {it.name for it, is_inside in zip(nodes, inside, strict=True) if is_inside == part}
    lines: list[str] = []
    for node in nodes:
        if node.name in mine:
            lines.append(f'[[node]]\nname = "{node.name}"\naction = "{node.action}"')
        for it in node.inputs:
            (link,) = it.links
            name, output = link.source, link.output
            entry = f"i_{name}_{OUTPUTS.index(output)}" if output else "i_s"
            crosses = name not in mine and (part or name != "s")
            if node.name not in mine:
                if not part and name in ({"s"} | mine):
                    # It goes into the node that is a network.
                    text = f'from = "{name}"' + (f', output = "{output}"' if output else "")
                    lines.append(f"#{entry} = {{ {text} }}")
                elif part and name in mine:
                    lines.append(f'#[[sink]]\n#name="{entry}"\n#from="{name}"\n#output="{output}"')
                continue
            if crosses and part:
                lines.append(f'inputs.{it.name} = "{entry}"')
                lines.append(f'#[[source]]\n#name = "{entry}"')
            elif crosses:
                lines.append(f'inputs.{it.name} = {{ from = "m", output = "{entry}" }}')
            else:
                text = f'from = "{name}"' + (f', output = "{output}"' if output else "")
                lines.append(f"inputs.{it.name} = {{ {text} }}")
    ends = dict.fromkeys(line[1:].replace("\n#", "\n") for line in lines if line[0] == "#")
    body = "\n".join(line for line in lines if line[0] != "#")
    if part:
        return "\n".join([body, *ends, ""])
    head = '[[source]]\nname = "s"\nvalues = { k = [1] }\n'
    inputs = ["[node.inputs]", *ends] if ends else []
    return "\n".join([head, body, '[[node]]\nname = "m"\nnetwork = "m.toml"', *inputs])


@given(networks())
def test_any_part_of_a_network_can_be_a_network_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[list[Node], list[bool]]
) -> None:
    nodes, inside = drawn
    root = tmp_path_factory.mktemp("network")
    (root / "network.toml").write_text(written(nodes, inside, part=False))
    (root / "m.toml").write_text(written(nodes, inside, part=True))
    network = load_network(root).network

    prefix = {it.name: "m." * is_in for it, is_in in zip(nodes, inside, strict=True)} | {"s": ""}
    expected = {
        prefix[node.name] + node.name: replace(
            node,
            name=prefix[node.name] + node.name,
            inputs=tuple(
                replace(it, links=tuple(
                    replace(link, source=prefix[link.source] + link.source) for link in it.links
                ))
                for it in node.inputs
            ),
        )
        for node in nodes
    }  # fmt: skip
    assert {node.name: node for node in network.nodes} == expected
    assert [source.data for source in network.sources] == [Values({"k": [1]})]
