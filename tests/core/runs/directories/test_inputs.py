"""inputs.json: what it says, and that it is only written when that changed."""

from __future__ import annotations

import json
import os
from pathlib import Path

from rowtui.core.runs.directories.inputs import (
    InputSample,
    MissingMember,
    SampleInputs,
    write_inputs,
)

INPUTS = SampleInputs(
    "average,temperature=1.0",
    "average",
    {"temperature": 1.0},
    {
        "simulate": (
            InputSample("state,t=0", "energy.json", {"temperature": 1.0, "replica": 0}),
            InputSample("state,t=1", "", {"temperature": 1.0, "replica": 1}),
            InputSample("split", "folds.json", {}, None, True),
            InputSample("average,temperature=1.0", "own.json", {}),
        ),
        "none": (),
    },
    (MissingMember("state,t=2", "simulate", "failed"),),
)


def written(workspace: Path) -> Path:
    folder = workspace / INPUTS.directory
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "inputs.json"


def test_it_has_the_members_with_their_paths(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / "state,t=0").mkdir()
    (tmp_path / "state,t=0" / "energy.json").write_text("7")

    result = write_inputs(tmp_path, [INPUTS])

    assert result.written == [INPUTS.directory]
    found = json.loads(path.read_bytes())
    assert found == {
        "version": 1,
        "node": "average",
        "sample": {"temperature": 1.0},
        "inputs": {
            "simulate": [
                {
                    "directory": "state,t=0",
                    "path": "../state,t=0/energy.json",
                    "sample": {"temperature": 1.0, "replica": 0},
                },
                {
                    "directory": "state,t=1",
                    "path": "../state,t=1",
                    "sample": {"temperature": 1.0, "replica": 1},
                },
                {"directory": "split", "path": "../split/folds.json", "sample": {}, "value": None},
                {"directory": "average,temperature=1.0", "path": "own.json", "sample": {}},
            ],
            "none": [],
        },
        "left_out": [{"directory": "state,t=2", "input": "simulate", "reason": "failed"}],
    }
    assert (path.parent / found["inputs"]["simulate"][0]["path"]).read_text() == "7"


def test_it_is_only_replaced_if_it_changed(tmp_path: Path) -> None:
    path = written(tmp_path)
    write_inputs(tmp_path, [INPUTS])
    before = path.stat()

    again = write_inputs(tmp_path, [INPUTS])
    assert again.unchanged == [INPUTS.directory]
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)

    other = write_inputs(tmp_path, [INPUTS._replace(left_out=())])
    assert other.written == [INPUTS.directory]
    assert json.loads(path.read_bytes())["left_out"] == []
    assert os.listdir(path.parent) == ["inputs.json"]


def test_a_link_in_its_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / "precious").write_text("mine")
    path.symlink_to(tmp_path / "precious")

    assert write_inputs(tmp_path, [INPUTS]).written

    assert not path.is_symlink()
    assert (tmp_path / "precious").read_text() == "mine"


def test_one_that_cannot_be_written_stops_no_other(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "blocked" / "inputs.json" / "x").mkdir(parents=True)

    result = write_inputs(
        tmp_path,
        [
            INPUTS._replace(directory="nowhere"),
            INPUTS._replace(directory="file"),
            INPUTS._replace(directory="blocked"),
            INPUTS._replace(directory="x\0y"),
            INPUTS._replace(sample={"t": float("nan")}),
            INPUTS,
        ],
    )

    assert result.written == [INPUTS.directory]
    assert [name for name, _ in result.failed] == [
        "nowhere", "file", "blocked", "x\0y", INPUTS.directory,
    ]  # fmt: skip
    assert all("inputs.json cannot be written" in why for _, why in result.failed)
    assert os.listdir(tmp_path / "blocked") == ["inputs.json"]


def test_each_of_many_is_written_or_said_in_their_order(tmp_path: Path) -> None:
    samples = [INPUTS._replace(directory=f"d{number}") for number in range(200)]
    for each in samples[:-1]:
        (tmp_path / each.directory).mkdir()

    result = write_inputs(tmp_path, samples)

    assert result.written == [each.directory for each in samples[:-1]]
    assert [name for name, _ in result.failed] == ["d199"]
    assert all(
        json.loads((tmp_path / name / "inputs.json").read_bytes()) for name in result.written
    )


def test_names_that_are_not_utf8_survive(tmp_path: Path) -> None:
    path = written(tmp_path)
    name = os.fsdecode(b"odd\xff'\n")
    odd = INPUTS._replace(inputs={"a": (InputSample(name, "p", {}),)})

    write_inputs(tmp_path, [odd])

    (member,) = json.loads(path.read_bytes())["inputs"]["a"]
    assert member["directory"] == name
    assert member["path"] == f"../{name}/p"
