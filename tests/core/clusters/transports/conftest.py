"""Login nodes of real sshd and of asyncssh's server, and people who answer from a list."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from rowtui.core.clusters.transports.asyncssh_login import Timing
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.login import NoUser, Prompt, SshTarget, UnknownHostKey

from tests.rig.faulty import FaultyLogin, faulty_login
from tests.rig.login import LoginNode

MARK = re.compile(r'printf "%s%s\\012" ([0-9a-f]{16}) ([0-9a-f]{16})')


class Person:
    """Answers from a list, and remembers what was asked. Without an answer left, gives up."""

    def __init__(self, *answers: Sequence[str] | None, believes: bool = False) -> None:
        self.answers = list(answers)
        self.believes = believes
        self.prompts: list[list[Prompt]] = []
        self.keys: list[UnknownHostKey] = []

    async def ask(self, prompts: Sequence[Prompt]) -> Sequence[str] | None:
        self.prompts.append(list(prompts))
        return self.answers.pop(0) if self.answers else None

    async def host_key(self, question: UnknownHostKey) -> bool:
        self.keys.append(question)
        return self.believes


class Reach:
    """Opens transports and faulty nodes, and closes them at the end of the test."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._nodes = 0

    async def faulty(self, **options: object) -> FaultyLogin:
        self._nodes += 1
        folder = self._folder / f"node{self._nodes}"
        name = f"faulty{self._nodes}"
        return await self._stack.enter_async_context(faulty_login(folder, name=name, **options))

    def __call__(
        self,
        node: FaultyLogin | LoginNode,
        person: Person | None = None,
        *,
        config: Path | None = None,
        **options: object,
    ) -> AsyncsshTransport:
        options.setdefault("timing", Timing(connect=10))
        target = SshTarget(node.name, config=(config or node.ssh_config,))
        transport = AsyncsshTransport(target, person or NoUser(), **options)  # type: ignore[arg-type]
        self._stack.push_async_callback(transport.close)
        return transport


@pytest.fixture
async def reach(tmp_path: Path) -> AsyncIterator[Reach]:
    async with AsyncExitStack() as stack:
        yield Reach(tmp_path, stack)
