"""The real TPV in a process of its own: started once, asked case by case."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

PROGRAM = Path(__file__).with_name("tpv_process.py")
Json = dict[str, Any]


class TpvError(Exception):
    """TPV's process ended or does not speak as it should."""


class Tpv:
    """A context manager around the process. `python` belongs to an environment that has TPV."""

    def __init__(self, python: str) -> None:
        self._process = subprocess.Popen(
            [python, "-W", "ignore", str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.version = ""

    def __enter__(self) -> Self:
        self.version = self._read()["ready"]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _pipe(self._process.stdin).close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        _pipe(self._process.stdout).close()

    def ask(self, files: Mapping[str, str], requests: Sequence[Json]) -> list[Json]:
        """TPV's answers, one for each request."""
        sender = _pipe(self._process.stdin)
        try:
            sender.write(json.dumps({"files": dict(files), "requests": list(requests)}) + "\n")
            sender.flush()
        except BrokenPipeError as error:
            raise TpvError("TPV's process has ended") from error
        answers: list[Json] = self._read()["answers"]
        return answers

    def _read(self) -> Json:
        line = _pipe(self._process.stdout).readline()
        if not line:
            raise TpvError("TPV's process has ended")
        told: Json = json.loads(line)
        return told


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise TpvError("TPV's process was started without pipes")
    return pipe
