"""The place where a project's jobs run, and the files that their scripts left there.

A `Site` is the project's folder as a cluster sees it: the same folder, if this machine sees the
same file system, or a copy on the cluster, which is inspected with a few shell commands. An
uncertain result raises `OSError`, so that a missing answer never counts as an answer. The files are
those of `fence.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rowtui.core.base.files import sync_folder
from rowtui.core.base.lazy import asyncio
from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.commands import LocalTransport, Transport
from rowtui.core.clusters.schedulers.base import Scheduler
from rowtui.core.submission.sending.fence import (
    ABANDONED,
    Ended,
    abandon,
    begun_at,
    endings_there,
    fence_path,
    fences_there,
    parse_ended,
    read_ended,
    read_fence,
)

if TYPE_CHECKING:
    from rowtui.core.clusters.command_log import CommandLog

LOOK_SECONDS = 60.0


class Traces(NamedTuple):
    """The files of one job: who made its fence ("" for no fence), and how it ended, if reported.

    `fence_at`: when the fence was made, in epoch seconds of the file system, 0 if unknown.
    """

    fence: str = ""
    ended: Ended | None = None
    fence_at: float = 0.0

    @property
    def began(self) -> bool:
        """Whether the job certainly began."""
        return self.ended is not None or self.fence not in ("", ABANDONED)


NO_TRACES = Traces()


class Site(Protocol):
    """A project's folder as a cluster sees it."""

    @property
    def workdir(self) -> Path:
        """Return the folder in which scripts start, by its name on the cluster."""
        ...

    async def traces(self, tokens: Collection[str]) -> Mapping[str, Traces]:
        """Return the traces of jobs; jobs without traces are left out. Raises: OSError."""
        ...

    async def abandon(self, token: str) -> str:
        """Keep a job from ever running; return "" on success, else who runs or ran it already.

        Raises: OSError; the outcome is then unknown.
        """
        ...

    async def close_fences(self, tokens: Collection[str]) -> Mapping[str, str]:
        """As `abandon` for several jobs, with one command. Raises: OSError."""
        ...

    async def make_folders(self, paths: Collection[str]) -> None:
        """Make folders below the project, as far as possible."""
        ...

    async def shell(self, script: str, *words: str, stdin: bytes = b"") -> bytes:
        """Return the output of a plain sh script, whose first word is the folder.

        Raises: OSError.
        """
        ...


class Access(NamedTuple):
    """How a project's jobs reach one cluster, and where they run there."""

    scheduler: Scheduler
    site: Site


class LocalSite:
    """The project's folder on this machine, whose name on the cluster may differ."""

    def __init__(
        self, root: Path, workdir: Path | None = None, *, log: CommandLog | None = None
    ) -> None:
        self._root = root
        self._workdir = workdir or root
        self._log = log

    @property
    def workdir(self) -> Path:
        """See `Site`."""
        return self._workdir

    async def traces(self, tokens: Collection[str]) -> Mapping[str, Traces]:
        """See `Site`."""
        return await asyncio.to_thread(self._traces, tuple(tokens)) if tokens else {}

    def _traces(self, tokens: Collection[str]) -> dict[str, Traces]:
        fences, endings = fences_there(self._root), endings_there(self._root)
        found = {}
        for token in tokens:
            if token in fences or token in endings:
                at = begun_at(self._root, token) or 0.0
                fence, ended = read_fence(self._root, token), read_ended(self._root, token)
                found[token] = Traces(fence, ended, at)
        return found

    async def abandon(self, token: str) -> str:
        """See `Site`."""
        return await asyncio.to_thread(abandon, self._root, token)

    async def close_fences(self, tokens: Collection[str]) -> Mapping[str, str]:
        """See `Site`."""
        return await asyncio.to_thread(self._close_fences, tuple(tokens)) if tokens else {}

    def _close_fences(self, tokens: Collection[str]) -> dict[str, str]:
        closed = {token: abandon(self._root, token, durable=False) for token in tokens}
        sync_folder(fence_path(self._root, "-").parent)
        return closed

    async def make_folders(self, paths: Collection[str]) -> None:
        """See `Site`."""
        await asyncio.to_thread(self._make_folders, tuple(paths))

    async def shell(self, script: str, *words: str, stdin: bytes = b"") -> bytes:
        """See `Site`."""
        return await _printed(LocalTransport(log=self._log), script, self._root, words, stdin)

    def _make_folders(self, paths: Collection[str]) -> None:
        for path in paths:
            try:
                (self._root / path).mkdir(parents=True, exist_ok=True)
            except (OSError, ValueError):
                continue  # the scheduler will report the problem


# Each line of an end marker with the marker's name before it; each fence with its target.
_TRACES = """\
cd -- "$1" || exit 3
[ -d .row/rowtui ] || exit 0
cd .row/rowtui || exit 3
tokens=$(cat)
[ -d fence ] && printf '%s\\n' "$tokens" | sed 's,^,fence/,' |
    LC_ALL=C xargs -d '\\n' sh -c 'find "$@" -maxdepth 0 -type l -printf "f %f %T@ %l\\n"; :' sh
[ -d ended ] && printf '%s\\n' "$tokens" | sed 's,^,ended/,' |
    LC_ALL=C xargs -d '\\n' sh -c 'grep -a -H "" -- /dev/null "$@"; :' sh | sed 's,^,e ,'
echo done
"""
_CLOSE = """\
cd -- "$1" && mkdir -p .row/rowtui/fence && cd .row/rowtui/fence || exit 3
while IFS= read -r token; do
    ln -sT abandoned "$token" 2>/dev/null
    printf '%s %s\\n' "$token" "$(readlink "$token")"
done
"""
_MISSING = "No such file or directory"


class RemoteSite:
    """A copy of the project's folder on a cluster, accessed through a transport."""

    def __init__(self, transport: Transport, root: Path) -> None:
        self._transport = transport
        self._root = root

    @property
    def workdir(self) -> Path:
        """See `Site`."""
        return self._root

    async def traces(self, tokens: Collection[str]) -> Mapping[str, Traces]:
        """See `Site`. One command serves all tokens."""
        if not tokens:
            return {}
        given = "".join(f"{token}\n" for token in tokens).encode()
        result = await self._shell(_TRACES, stdin=given)
        for line in result.stderr.decode(errors="replace").splitlines():
            if not line.endswith(_MISSING):
                raise OSError(f"{self._root}: {line}")
        lines = result.stdout.decode("utf-8", "surrogateescape").split("\n")
        if result.stdout and lines[-2:] != ["done", ""]:
            raise OSError("the cluster's answer was cut off")
        fences: dict[str, tuple[str, float]] = {}
        ended: dict[str, list[str]] = {}
        for line in lines[:-2]:
            kind, _, rest = line.partition(" ")
            if kind == "f":
                token, at, fence = rest.split(" ", 2)
                fences[token] = fence, float(at)
            else:
                name, _, text = rest.partition(":")
                ended.setdefault(name.removeprefix("ended/"), []).append(text)
        return {
            token: Traces(fence, parse_ended(ended.get(token, ())), at)
            for token in tokens
            if token in fences or token in ended
            for fence, at in (fences.get(token, ("", 0.0)),)
        }

    async def abandon(self, token: str) -> str:
        """See `Site`."""
        return (await self.close_fences([token]))[token]

    async def close_fences(self, tokens: Collection[str]) -> Mapping[str, str]:
        """See `Site`."""
        given = "".join(f"{token}\n" for token in tokens).encode()
        result = await self._shell(_CLOSE, stdin=given) if tokens else None
        lines = result.stdout.decode(errors="replace").splitlines() if result else ()
        there = dict(line.split(" ", 1) for line in lines)
        if there.keys() != set(tokens) or not all(there.values()):
            raise OSError(f"{self._root}: no fence could be made")
        return {token: "" if fence == ABANDONED else fence for token, fence in there.items()}

    async def make_folders(self, paths: Collection[str]) -> None:
        """See `Site`."""
        if paths:
            script = 'cd -- "$1" && shift && mkdir -p -- "$@" || :'
            await self._shell(script, *paths)

    async def shell(self, script: str, *words: str, stdin: bytes = b"") -> bytes:
        """See `Site`."""
        return await _printed(self._transport, script, self._root, words, stdin)

    async def _shell(self, script: str, *words: str, stdin: bytes = b"") -> CommandResult:
        return await _run(self._transport, script, self._root, words, stdin)


async def _printed(
    transport: Transport, script: str, root: Path, words: Sequence[str], stdin: bytes
) -> bytes:
    return (await _run(transport, script, root, words, stdin)).stdout


async def _run(
    transport: Transport, script: str, root: Path, words: Sequence[str], stdin: bytes
) -> CommandResult:
    """Run a script with the folder and these words. Raises: OSError if it did not end well."""
    result = await transport.run(
        ["sh", "-c", script, "sh", str(root), *words], stdin=stdin, timeout=LOOK_SECONDS
    )
    if result.exit_status != 0 or result.truncated:
        raise OSError(result.complaint or "the cluster's answer was too long")
    return result
