"""Sources that may have no samples: with a default, or left away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.network.definition.load import NetworkError, parse_network
from rowtui.core.network.definition.spec import Source
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs.directories.inputs import inputs_of
from rowtui.core.runs.directories.source_files import read_source
from rowtui.core.runs.snapshot import frozen_bytes, read_frozen, read_study

from tests.core.runs.driving import action, drive, make, ran

NETWORK = """
[[source]]
name = "patient"
values = { patient = [1, 2] }

[[source]]
name = "mask"
csv = "masks.csv"
dimensions = ["patient", "mask"]
OPTIONAL

[[node]]
name = "register"
from = ["patient", "mask"]
"""
REGISTER = action("register", "cp value.json inputs.json ../..; echo > field", ["field"])


def project(root: Path, optional: str, network: str = NETWORK) -> OpenProject:
    make(root, network.replace("OPTIONAL", optional), REGISTER)
    return OpenProject.open(root, cluster="local")


def source(text: str, part: str = "") -> Source:
    network = f'[[source]]\nname = "s"\n{text}\n[[node]]\nname = "n"\nfrom = "s"\n{part}'
    return parse_network(network.encode(), "network.toml", "p").network.sources[0]


def test_without_data_the_default_is_used_for_every_sample(here: Path) -> None:
    opened = project(here, 'default = { mask = "none" }')
    study = read_study(opened)
    assert study.flow.directories("register") == [
        "register,patient=1,mask=none",
        "register,patient=2,mask=none",
    ]
    assert study.notices == ("source 'mask' has no samples: its default is used",)

    (here / "masks.csv").write_text("patient,mask\n1,a.nii\n")
    assert read_study(opened).flow.directories("register") == ["register,patient=1,mask=a.nii"]
    (here / "masks.csv").write_text("patient,mask\n")
    assert len(read_study(opened).flow.directories("register")) == 2


def test_without_a_default_the_input_is_left_away(here: Path) -> None:
    opened = project(here, "optional = true")
    driven = drive(here)
    assert driven.told[-1].success
    assert ran(here) == {f"register,patient={at}: register": 1 for at in (1, 2)}
    assert "mask" not in json.loads((here / "value.json").read_bytes())
    inputs = json.loads((here / "inputs.json").read_bytes())
    assert inputs["inputs"]["mask"] == []
    assert [it["input"] for it in inputs["left_out"]] == ["mask"]
    network, rows = read_frozen(frozen_bytes(driven.running.growth.flow.network, []))
    assert (network.sources[1].default, rows) == ({}, ())
    assert read_study(opened).notices == ("source 'mask' has no samples: jobs run without it",)


def test_a_job_with_no_other_input_is_not_run_without_data(here: Path) -> None:
    only = NETWORK.replace('from = ["patient", "mask"]', 'from = "mask"\ndirectories = "own"')
    project(here, "optional = true", only)
    driven = drive(here)
    assert driven.told[-1].success
    assert ran(here) == {}
    growth = driven.running.growth
    (job,) = growth.jobs("register").tolist()
    assert inputs_of(growth, {}, job) is not None


def test_a_source_may_have_nothing_but_its_default(here: Path) -> None:
    assert source("default = { k = 2 }").data == source("values = { k = [2] }").data
    opened = project(here, "optional = true")
    assert read_source(opened, source("optional = true")).rows.count == 1
    assert read_source(opened, source("default = { k = 2 }")).rows.values == ((2,),)


@pytest.mark.parametrize(
    ("text", "part", "message"),
    [
        ("default = { k = [1] }", "", "the dimension 'k' of the default must be a number"),
        ("default = 2", "", "`default` must be a table"),
        ("optional = 1", "", "`optional` must be true or false"),
        ('files = "*.nii"\noptional = true', 'collapse = ["s"]', "may have no samples to collapse"),
    ],
)
def test_a_default_that_cannot_be_is_an_error(text: str, part: str, message: str) -> None:
    with pytest.raises(NetworkError) as caught:
        source(text, part)
    assert any(message in it.message for it in caught.value.problems)


def test_what_a_default_has_may_be_collapsed() -> None:
    assert source('files = "*"\ndefault = { s = "" }', 'collapse = ["s"]').default == {"s": ""}


scalars = st.one_of(
    st.booleans(), st.integers(-(2**60), 2**60), st.text("ab =,%é", max_size=4)
)  # fmt: skip


@given(default=st.dictionaries(st.sampled_from(["mask", "level"]), scalars, min_size=1))
def test_a_default_gives_the_samples_of_a_table_with_this_one_row(
    tmp_path_factory: pytest.TempPathFactory, default: dict[str, object]
) -> None:
    root = tmp_path_factory.mktemp("project")
    written = ", ".join(f"{key} = {json.dumps(value)}" for key, value in default.items())
    opened = project(root, f"default = {{ {written} }}")
    flow = read_study(opened).flow
    assert len(flow.directories("register")) == 2
    for row in range(2):
        value = flow.value("register", row)
        assert {key: value[key] for key in default} == default
        assert value.keys() == {"node", "patient", *default}
