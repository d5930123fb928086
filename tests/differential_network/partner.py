"""The real Fastr in a process of its own, which makes the jobs of one network after another."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

Json = dict[str, Any]


class Fastr:
    """Started once: its import takes seconds."""

    def __init__(self, python: str) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="fastr-")
        process = Path(__file__).with_name("fastr_process.py")
        self._process = subprocess.Popen(
            [python, str(process)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            # It keeps its tools and logs at home.
            env={**os.environ, "HOME": self._home.name},
        )
        self.version: str = self._read()["ready"]

    def plan(self, network: Json) -> Json:
        """Fastr's jobs of a network, or what it says instead."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(network) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Json:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"Fastr has ended with exit code {self._process.wait()}")
        answer: Json = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()
        self._home.cleanup()
