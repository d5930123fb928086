"""The section "Network runs" of docs/formats.md: files have what the page says, and no more."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.network.definition.spec import Network, Source, SourceRows, Values
from rowtui.core.project.open_project import OpenProject
from rowtui.core.runs import model
from rowtui.core.runs.directories.directories import make_directories
from rowtui.core.runs.directories.inputs import (
    InputSample,
    MissingMember,
    SampleInputs,
    write_inputs,
)
from rowtui.core.runs.directories.trash import delete_retired
from rowtui.core.runs.limits.limits import RunLimits
from rowtui.core.runs.store import Run, RunStore

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
SECTION = PAGE.partition("## Network runs\n")[2].partition("\n## ")[0]


def table(first: str) -> dict[str, set[str]]:
    """The table whose head begins with this: what its first column names, and the second."""
    found: dict[str, set[str]] = {}
    for line in SECTION.partition(f"| {first} |")[2].splitlines()[2:]:
        if not line.startswith("|"):
            break
        names, words = line.split("|")[1:3]
        found |= dict.fromkeys(_named(names), _named(words))
    return found


def _named(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "p"
    root.mkdir()
    (root / "workflow.toml").write_text('[workspace]\nvalue_file = "v.json"\n')
    return root


@pytest.fixture
def run(root: Path) -> Run:
    network = Network("study", (Source("state", Values({"t": [1, 2]})),))
    rows = SourceRows("state", ("t",), ((1, 2),), ((0, 1),), ({"k": 1}, {}))
    run = RunStore(root).create(network, [rows], limits=RunLimits(cpu_hours=5.0), user="me")
    project = OpenProject.open(root, cluster="local")
    names = [(f"state,t={t}", {"node": "state", "t": t}) for t in (1, 2)]
    make_directories(project, names, run.note_made)
    return run


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


def test_the_folder_has_the_files_of_the_page(root: Path, run: Run) -> None:
    with run.hold():
        assert set(json.loads((run.folder / "lock").read_bytes())) == {
            "v", "host", "pid", "since", "job",
        }  # fmt: skip
    run.append(model.RunStarted(1.0))

    files = {path.name for path in run.folder.iterdir()}

    assert files == set(table("file"))
    assert (run.folder / "lock").read_bytes() == b""
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-1", run.id)
    assert run.id in (root / ".row/rowtui/network/ids").read_text().split("\n")
    assert read(run.folder / "made.jsonl") == {"v": 1, "names": ["state,t=1", "state,t=2"]}


def test_the_network_and_the_run_have_the_keys_of_the_page(run: Run) -> None:
    network = read(run.folder / "network.json")
    assert set(network) == {"version", "network", "rows"}
    assert network["version"] == 3
    assert set(network["rows"][0]) == set(table("key"))
    assert network["rows"][0]["codes"] == [[0, 1]]
    assert network["network"]["sources"][0]["data"]["made_of"] == "values"
    about = read(run.folder / "run.json")
    assert about.pop("version") == 1
    assert all(f"`{key}`" in SECTION for key in about)
    assert about["limits"] == {"cpu_hours": 5.0}
    assert all(f"`{key}`" in SECTION for key in RunLimits._fields)


def test_every_event_is_on_the_page_with_its_keys() -> None:
    samples = {
        "why": "x", "limits": RunLimits(), "user": "", "plan_id": "p", "jobs": (), "cpu_hours": 1.0,
        "node": "n", "sample": "s", "samples": (), "output": "o", "dimension": "d",
        "digest": "", "entries": (), "sink": "k", "path": "p", "success": True,
    }  # fmt: skip
    written = {}
    for kind in model.Event.__args__:
        given = {name: samples[name] for name in kind._fields if name in samples}
        fields = json.loads(model.line_of(kind(at=1.0, **given)))
        assert fields.pop("v") == 1
        assert fields.pop("at") == 1.0
        name = fields.pop("event")
        written[name] = set(fields)

    page = table("`event`")
    assert page["not sent"] == {"submitted"}  # "as `submitted`"
    page["not sent"] = page["submitted"]
    assert page == written


def test_trash_and_inputs_are_as_the_page_says(root: Path, run: Run) -> None:
    project = OpenProject.open(root, cluster="local")
    inputs = SampleInputs(
        "state,t=1", "n", {"t": 1}, {"a": (InputSample("state,t=2", "p", {"t": 2}, 7, True),)},
        (MissingMember("x", "a", "failed"),),
    )  # fmt: skip
    assert write_inputs(root / "workspace", [inputs]).written
    moved = delete_retired(project, ["state,t=2"], run.made(), confirmed=True)

    trash = root / ".row/rowtui/network/trash" / moved.trash
    inside = sorted(path.name for path in trash.iterdir())
    assert inside == ["directories", "products", "trash.json"]
    assert set(read(trash / "trash.json")) == {"version", "at", "names"}
    written = read(root / "workspace" / "state,t=1" / "inputs.json")
    for key in (*written, *written["inputs"]["a"][0], *written["left_out"][0]):
        assert key == "version" or f"`{key}`" in SECTION, key
