"""Commands over one kept connection, against a node that fails on request."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from rowtui.core.clusters.command_log import Trouble
from rowtui.core.clusters.transports.asyncssh_login import Timing
from rowtui.core.clusters.transports.login import LoginError, LoginTrouble, SshTarget

from tests.core.clusters.transports.conftest import MARK, Person, Reach
from tests.rig.faults import DropAfter, DropBefore, DropOutput, Hang, Refuse


async def test_output_status_and_errors_come_back_as_they_are(reach: Reach) -> None:
    node = await reach.faulty()
    transport = reach(node)

    done = await transport.run(["sh", "-c", "printf 'a\\377\\n'; echo b >&2; exit 3"], timeout=20)
    killed = await transport.run(["sh", "-c", "kill -9 $$"], timeout=20)

    assert (done.exit_status, done.stdout, done.stderr) == (3, b"a\xff\n", b"b\n")
    assert done.trouble is None
    assert not done.truncated
    # The node's own shell tells of the signal by its status.
    assert killed.exit_status in (-9, 137)


async def test_folder_environment_and_input_reach_the_command(reach: Reach, tmp_path: Path) -> None:
    node = await reach.faulty(env={"PATH": "/usr/bin:/bin", "GONE": "1", "SQUEUE_FORMAT": "x"})
    transport = reach(node, env={"ALWAYS": "1", "NOW": "0"})
    folder = tmp_path / "a'b\n !$x \udcff"
    folder.mkdir()
    stdin = bytes(range(256)) * 9000

    env = {"NOW": "two words", "GONE": None}
    told = await transport.run(["env"], timeout=20, env=env)
    where = await transport.run(["pwd"], timeout=20, cwd=folder)
    echoed = await transport.run(["cat"], timeout=20, stdin=stdin)
    unread = await transport.run(["true"], timeout=20, stdin=stdin)

    lines = told.stdout.splitlines()
    assert {b"ALWAYS=1", b"NOW=two words"} <= set(lines)
    assert not [line for line in lines if line.startswith((b"GONE", b"SQUEUE"))]
    assert where.stdout == bytes(folder) + b"\n"
    assert echoed.stdout == stdin
    assert unread.exit_status == 0


async def test_what_a_command_says_beyond_the_limit_is_thrown_away(reach: Reach) -> None:
    node = await reach.faulty()
    transport = reach(node, limit=1000)

    done = await transport.run(["head", "-c", "5000000", "/dev/zero"], timeout=20)

    assert done.exit_status == 0
    assert done.stdout == bytes(1000)
    assert done.truncated


async def test_all_commands_share_one_login_and_at_most_four_channels(reach: Reach) -> None:
    node = await reach.faulty()
    transport = reach(node)
    most = 0
    fault = node.fault_for

    def watched(command: str) -> object:
        nonlocal most
        most = max(most, sum(not asked.ended.is_set() for asked in node.asked) + 1)
        return fault(command)

    node.fault_for = watched  # type: ignore[method-assign, assignment]

    results = await asyncio.gather(
        *(transport.run(["echo", str(number)], timeout=60) for number in range(60))
    )

    assert [result.stdout for result in results] == [b"%d\n" % n for n in range(60)]
    assert len([login for login in node.logins if login.accepted]) == 2  # offered, then signed
    assert len(node.connections) == 1
    assert most <= 5  # the node hears of an end a moment after the client


async def test_a_refused_channel_is_asked_for_again(reach: Reach) -> None:
    node = await reach.faulty()
    transport = reach(node)
    node.refuse_channels = 3

    done = await transport.run(["echo", "in"], timeout=20)

    assert done.stdout == b"in\n"
    assert len(node.asked) == 1


async def test_a_node_that_refuses_every_channel_did_certainly_not_start_the_command(
    reach: Reach,
) -> None:
    node = await reach.faulty()
    transport = reach(node)
    node.inject("echo", Refuse(), times=None)

    done = await transport.run(["echo", "in"], timeout=20)

    assert done.trouble is Trouble.UNREACHABLE
    assert f"{transport.target} opens no channel" in done.complaint


@pytest.mark.parametrize("fault", [DropBefore(), DropAfter()])
async def test_a_connection_lost_while_a_command_ran_leaves_its_outcome_unknown(
    reach: Reach, fault: DropBefore | DropAfter
) -> None:
    node = await reach.faulty()
    transport = reach(node)
    node.inject("sbatch", fault)

    lost = await transport.run(["echo", "sbatch"], timeout=20)
    alive = transport.alive
    again = await transport.run(["echo", "again"], timeout=20)

    assert (lost.trouble, lost.exit_status) == (Trouble.LOST, None)
    assert not alive
    assert again.stdout == b"again\n"
    assert transport.alive


MARKER = 33  # bytes of the line that comes before the output of a command


@pytest.mark.parametrize("kept", [0, MARKER + 2])
async def test_a_connection_lost_between_status_and_output_is_no_whole_answer(
    reach: Reach, kept: int
) -> None:
    node = await reach.faulty()
    transport = reach(node)
    node.inject("sbatch", DropOutput(kept))

    result = await transport.run(["echo", "sbatch"], timeout=20)

    assert node.asked[-1].stdout.endswith(b"sbatch\n")  # it ran
    if kept:
        assert (result.exit_status, result.stdout, result.truncated) == (0, b"sb", True)
    else:
        assert (result.trouble, result.exit_status) == (Trouble.LOST, None)


async def test_a_connection_that_died_between_two_commands_is_opened_again(reach: Reach) -> None:
    node = await reach.faulty()
    transport = reach(node)
    await transport.run(["true"], timeout=20)

    node.cut()
    done = await transport.run(["echo", "in"], timeout=20)

    assert done.stdout == b"in\n"


async def test_after_the_time_out_the_command_goes_on(reach: Reach, tmp_path: Path) -> None:
    node = await reach.faulty()
    transport = reach(node)
    let_go = asyncio.Event()
    node.inject("touch", Hang(let_go))

    late = await transport.run(["touch", str(tmp_path / "done")], timeout=1)
    let_go.set()
    asked = await node.asked_for("touch")
    await asked.ended.wait()
    next_one = await transport.run(["echo", "next"], timeout=20)

    assert late.trouble is Trouble.TIMED_OUT
    assert (tmp_path / "done").exists()
    assert next_one.stdout == b"next\n"
    assert len(node.connections) == 1


async def test_a_command_that_waits_in_vain_for_a_channel_was_not_started(reach: Reach) -> None:
    node = await reach.faulty()
    transport = reach(node)
    let_go = asyncio.Event()
    node.inject("first", Hang(let_go), times=None)
    slow = [asyncio.create_task(transport.run(["echo", "first"], timeout=60)) for _ in range(4)]
    await node.asked_for("first", 4)

    fifth = await transport.run(["echo", "fifth"], timeout=0.1)
    let_go.set()

    assert fifth.trouble is Trouble.UNREACHABLE
    assert fifth.complaint == f"no channel to {transport.target} was free within 0 s"
    assert [(await task).stdout for task in slow] == [b"first\n"] * 4


async def test_a_command_whose_caller_gave_up_frees_its_channel(reach: Reach) -> None:
    node = await reach.faulty()
    transport = reach(node)
    node.inject("first", Hang(), times=None)
    slow = [asyncio.create_task(transport.run(["echo", "first"], timeout=60)) for _ in range(4)]
    await node.asked_for("first", 4)

    for task in slow:
        task.cancel()
    done = await transport.run(["echo", "next"], timeout=20)

    assert done.stdout == b"next\n"
    assert all(task.cancelled() for task in slow)


async def test_a_command_that_is_not_there_was_not_started(reach: Reach) -> None:
    transport = reach(await reach.faulty())

    missing = await transport.run(["no-such-command"], timeout=20)
    nowhere = await transport.run(["true"], cwd=Path("/no/such"), timeout=20)
    nonsense = await transport.run(["a\0"], timeout=20)

    assert missing.trouble is Trouble.NOT_STARTED
    assert missing.detail == "no-such-command: not found"
    assert nowhere.trouble is Trouble.NOT_STARTED
    assert "/no/such" in nowhere.detail
    assert nonsense.trouble is Trouble.NOT_STARTED


async def test_one_login_is_shared_by_all_who_wait_for_it(reach: Reach) -> None:
    node = await reach.faulty(keys=False, password="right")
    person = Person(["right"])
    transport = reach(node, person)

    results = await asyncio.gather(*(transport.run(["true"], timeout=20) for _ in range(8)))

    assert [result.exit_status for result in results] == [0] * 8
    assert len(person.prompts) == 1


async def test_what_a_person_must_mend_is_not_tried_again_by_itself(reach: Reach) -> None:
    node = await reach.faulty(keys=False, password="right")
    person = Person(None, ["right"])
    transport = reach(node, person)

    first = await transport.run(["true"], timeout=20)
    second = await transport.run(["true"], timeout=20)
    asked_so_far = len(person.prompts)
    await transport.reconnect()
    third = await transport.run(["true"], timeout=20)

    assert first.trouble is second.trouble is Trouble.UNREACHABLE
    assert "given up" in first.detail
    assert asked_so_far == 1
    assert third.exit_status == 0
    assert transport.error is None


async def test_a_node_that_is_down_is_tried_again_after_a_pause_that_doubles(reach: Reach) -> None:
    node = await reach.faulty()
    now = 100.0
    transport = reach(node, clock=lambda: now)
    await node.close()

    first = await transport.run(["true"], timeout=20)
    error = transport.error
    now += 0.9
    await transport.run(["true"], timeout=20)
    too_early = transport.error
    now += 0.2
    await transport.run(["true"], timeout=20)
    second_error = transport.error
    await node.open()
    now += 1.9
    still = await transport.run(["true"], timeout=20)
    now += 0.2
    back = await transport.run(["true"], timeout=20)

    assert first.trouble is Trouble.UNREACHABLE
    assert error is not None
    assert error.trouble is LoginTrouble.REFUSED
    assert first.complaint == error.message
    assert too_early is error
    assert second_error is not error
    assert still.trouble is Trouble.UNREACHABLE
    assert back.exit_status == 0


async def test_a_frozen_node_is_noticed_by_keep_alive(reach: Reach) -> None:
    node = await reach.faulty()
    transport = reach(node, timing=Timing(alive_interval=0.2, alive_count=2))
    node.inject("hang", Hang())
    running = asyncio.create_task(transport.run(["echo", "hang"], timeout=60))
    await node.asked_for("hang")

    for connection in node.connections:  # it no longer hears anything
        connection.get_extra_info("socket")
        connection._transport.pause_reading()  # type: ignore[union-attr]
    done = await running

    assert done.trouble is Trouble.LOST
    assert not transport.alive


async def test_a_closed_transport_opens_nothing_any_more(reach: Reach) -> None:
    node = await reach.faulty(keys=False, password="right")
    asked = asyncio.Event()

    class Silent(Person):
        async def ask(self, prompts: object) -> None:
            asked.set()
            await asyncio.Event().wait()

    transport = reach(node, Silent())
    waiting = asyncio.create_task(transport.run(["true"], timeout=20))
    await asked.wait()

    await transport.close()
    waited = await waiting
    after = await transport.run(["true"], timeout=20)

    assert waited.trouble is after.trouble is Trouble.UNREACHABLE
    assert "was closed" in waited.detail
    assert "was closed" in after.detail
    assert not node.logins


async def test_a_name_that_would_be_an_option_or_has_no_address_is_explained(
    reach: Reach, tmp_path: Path
) -> None:
    from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport

    config = tmp_path / "config"
    config.write_text("Port many\n")
    wrong = {
        SshTarget("-oProxyCommand=x", config=()): LoginTrouble.CONFIG,
        SshTarget("host", "a b", config=()): LoginTrouble.CONFIG,
        SshTarget("no-such-host.invalid", config=()): LoginTrouble.NAME_NOT_FOUND,
        SshTarget("host", config=(config,)): LoginTrouble.CONFIG,
    }

    for target, trouble in wrong.items():
        transport = AsyncsshTransport(target, Person())
        with pytest.raises(LoginError) as caught:
            await transport.reconnect()
        assert caught.value.trouble is trouble
    assert f"{config} line 1" in caught.value.message


async def test_a_canned_answer_needs_the_markers_of_the_line(reach: Reach) -> None:
    # What tests of schedulers build upon: the two halves stand in the line.
    node = await reach.faulty()
    transport = reach(node)
    await transport.run(["echo", "x"], timeout=20)

    found = MARK.search(node.asked[0].command)

    assert found is not None
    assert node.asked[0].stdout.startswith("".join(found.groups()).encode() + b"\n")


def test_asyncssh_is_loaded_only_when_a_connection_is_opened() -> None:
    code = (
        "import sys; import rowtui.core.clusters.transports.asyncssh_transport;"
        "print(sorted({'asyncssh', 'cryptography', 'numpy'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.stdout == "[]\n", done.stderr
