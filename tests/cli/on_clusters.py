"""The command line in this process, where two real clusters are reached over SSH."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rowtui.cli.main import main

from tests.schemas import printed

BOTH = """\
[[cluster]]
name = "alpha"
[cluster.ssh]
host = "alpha"
config = ["{config}"]
paths = [{{ local = "/", remote = "/" }}]

[[cluster]]
name = "beta"
[cluster.ssh]
host = "beta"
config = ["{config}"]
paths = [{{ local = "/", remote = "/" }}]
"""


class Done(NamedTuple):
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


class OnClusters:
    """The command line in this process, with a home of its own."""

    def __init__(self, home: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.home, self.capture = home, capture

    def __call__(self, *words: str) -> Done:
        self.capture.readouterr()
        code = main(list(words))
        done = Done(code, *self.capture.readouterr())
        assert "unexpected" not in done.err
        assert "\x1b" not in done.out + done.err
        printed(words, done.out)
        return done

    def json(self, *words: str, code: int = 0) -> dict[str, Any]:
        done = self("queue", "--json", *words)
        assert done.code == code, done.err
        return {cluster["name"]: cluster for cluster in json.loads(done.out)["clusters"]}


def configure(home: Path, text: str) -> None:
    file = home / ".config/rowtui/clusters.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
