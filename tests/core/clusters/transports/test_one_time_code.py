"""A real OpenSSH server with PAM, which wants a password and then a code that counts once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest
from rowtui.core.clusters.transports.login import LoginError, LoginTrouble

from tests.core.clusters.transports.conftest import Person, Reach
from tests.rig.login import LoginNode
from tests.rig.one_time_codes import OneTimeCodes
from tests.rig.slurm import SlurmRig

pytestmark = pytest.mark.slurm


def codes_of(node: LoginNode) -> OneTimeCodes:
    assert node.codes is not None
    return node.codes


def asked(person: Person) -> list[str]:
    return [prompt.text for prompts in person.prompts for prompt in prompts]


if os.geteuid() == 0:  # nobody else can give sshd another PAM

    @pytest.fixture(scope="module")
    def guarded(slurm_rig: SlurmRig) -> Iterator[LoginNode]:
        """A login node where a password and a code are the only way in."""
        node = LoginNode(slurm_rig.keeper, slurm_rig.cluster, name="guarded", one_time_codes=True)
        yield node
        node.kill()
        node.cut()

    @pytest.fixture(scope="module")
    def doubly_guarded(slurm_rig: SlurmRig) -> Iterator[LoginNode]:
        """A login node that wants the key first, then password and code."""
        node = LoginNode(
            slurm_rig.keeper,
            slurm_rig.cluster,
            name="doubly-guarded",
            one_time_codes=True,
            settings={"AuthenticationMethods": "publickey,keyboard-interactive"},
        )
        yield node
        node.kill()
        node.cut()

    async def test_password_and_code_are_asked_once_and_serve_until_the_connection_is_lost(
        reach: Reach, guarded: LoginNode
    ) -> None:
        codes = codes_of(guarded)
        person = Person([codes.password], [codes.code()], [codes.password], [codes.code()])
        transport = reach(guarded, person)

        one = await transport.run(["scontrol", "ping"], timeout=60)
        await asyncio.gather(*(transport.run(["true"], timeout=60) for _ in range(5)))
        asked_at_first = asked(person)
        await asyncio.to_thread(guarded.cut)
        again = await transport.run(["echo", "again"], timeout=60)

        assert b"is UP" in one.stdout
        code_prompt = f"One-time password (OATH) for `{guarded.user}':"
        assert asked_at_first == ["Password:", code_prompt]
        assert not any(prompt.echo for prompts in person.prompts for prompt in prompts)
        assert again.stdout == b"again\n"
        assert asked(person) == asked_at_first * 2

    async def test_a_wrong_password_a_wrong_code_and_a_used_one_are_asked_again(
        reach: Reach, guarded: LoginNode
    ) -> None:
        codes = codes_of(guarded)
        used = codes.code()
        first = Person([codes.password], [used])
        wrong = [["no"], [codes.password], ["123"], [codes.password], [used]]
        second = Person(*wrong, [codes.password], [codes.code()])

        await reach(guarded, first).reconnect()
        await reach(guarded, second).reconnect()

        assert (first.answers, second.answers) == ([], [])

    async def test_who_never_has_the_right_code_is_denied_and_no_answer_is_repeated(
        reach: Reach, guarded: LoginNode
    ) -> None:
        codes = codes_of(guarded)
        person = Person(*[[codes.password], ["000-wrong"]] * 9)  # sshd allows six attempts

        with pytest.raises(LoginError) as caught:
            await reach(guarded, person).reconnect()

        assert caught.value.trouble is LoginTrouble.DENIED
        assert caught.value.tried[-1] == f"questions of the server ({len(person.prompts)} times)"
        assert person.answers
        words = f"{caught.value.message} {caught.value.hint}"
        assert codes.password not in words
        assert "000-wrong" not in words

    async def test_a_key_alone_is_not_enough_where_a_code_is_wanted_too(
        reach: Reach, doubly_guarded: LoginNode
    ) -> None:
        codes = codes_of(doubly_guarded)
        nobody = Person(None)
        person = Person([codes.password], [codes.code()])

        with pytest.raises(LoginError) as caught:
            await reach(doubly_guarded, nobody).reconnect()
        done = await reach(doubly_guarded, person).run(["echo", "in"], timeout=60)

        assert caught.value.trouble is LoginTrouble.CANCELLED
        assert done.stdout == b"in\n"
        assert "Accepted key ED25519" in doubly_guarded.listener.words()
