"""`rowtui notify`, and the messages that commands send, with a program that keeps them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Shell
from tests.cli.small_network import small_network

WORKFLOW = """\
[[action]]
name = "one"
command = "[ {directory} != c ] && touch workspace/{directory}/out"
products = ["out"]
group.maximum_size = 1
"""


def configure(shell: Shell, tmp_path: Path, more: str = "") -> Path:
    """A channel that adds a line for each event, and the file with the lines."""
    out = tmp_path / "messages"
    program = tmp_path / "tell"
    program.write_text(f'#!/bin/sh\n{{ echo "$ROWTUI_MESSAGE_KIND"; cat; }} >> {out}\n')
    program.chmod(0o755)
    path = Path(shell.environment["HOME"]) / ".config" / "rowtui" / "messages.toml"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'[[channel]]\nkind = "command"\nname = "me"\ncommand = ["{program}"]\n{more}\n'
    )
    return out


@pytest.fixture
def study(empty_folder: Shell) -> Shell:
    for name in "abc":
        (empty_folder.folder / "workspace" / name).mkdir(parents=True)
    (empty_folder.folder / "workflow.toml").write_text(WORKFLOW)
    return empty_folder


def test_without_a_file_the_command_says_how_to_make_one(empty_folder: Shell) -> None:
    done = empty_folder("notify")
    assert done.returncode == 0
    assert "There is no channel" in done.stdout
    assert "notify --init" in done.stderr


def test_init_writes_an_example_that_only_the_user_can_read_and_never_replaces_a_file(
    empty_folder: Shell,
) -> None:
    path = Path(empty_folder.environment["HOME"]) / ".config" / "rowtui" / "messages.toml"
    assert empty_folder("notify", "--init", stdin="n\n").returncode == 1
    assert not path.exists()
    empty_folder.succeed("notify", "--init", stdin="y\n")
    assert os.stat(path).st_mode & 0o777 == 0o600
    path.write_text("# mine\n")
    done = empty_folder("notify", "--init", "--yes")
    assert done.returncode == 1
    assert "exists" in done.stderr
    assert path.read_text() == "# mine\n"


def test_test_sends_a_message_and_prints_the_outcome_of_each_channel(
    empty_folder: Shell, tmp_path: Path
) -> None:
    more = '[[channel]]\nkind = "command"\nname = "bad"\ncommand = ["/nowhere"]'
    out = configure(empty_folder, tmp_path, more)
    done = empty_folder("notify", "--test")
    assert done.returncode == 1
    assert "me: sent" in done.stdout
    assert "bad: failed: there is no program nowhere (/nowhere)" in done.stderr
    assert "test message" in out.read_text()
    assert empty_folder("notify", "--test", "me").returncode == 0
    wrong = empty_folder("notify", "--test", "mee")
    assert wrong.returncode == 1
    assert "did you mean 'me'?" in wrong.stderr


def test_json_has_the_channels_and_the_outcomes_of_tests(
    empty_folder: Shell, tmp_path: Path
) -> None:
    configure(empty_folder, tmp_path, 'min_interval = "1m"')
    found = json.loads(empty_folder.succeed("notify", "--test", "--json"))
    (channel,) = found["channels"]
    assert channel["name"] == "me"
    assert channel["min_interval_seconds"] == 60
    assert channel["test"]["outcome"] == "sent"
    assert channel["last"] is None
    assert found["problems"] == []


def test_a_mistake_in_the_file_is_printed_with_its_line_and_stops_no_submission(
    study: Shell, tmp_path: Path
) -> None:
    out = configure(study, tmp_path, '[[channel]]\nkind = "maill"')
    done = study("notify")
    assert done.returncode == 1
    assert "messages.toml:6" in done.stderr
    assert "did you mean 'mail'?" in done.stderr
    study("submit", "--yes", cluster="local")
    assert "done: 2 jobs completed, 1 failed" in out.read_text()


def test_an_attached_submission_tells_of_the_first_failure_and_the_end(
    study: Shell, tmp_path: Path
) -> None:
    out = configure(study, tmp_path)
    study("submit", "--yes", cluster="local")
    text = out.read_text()
    assert text.count("first failure of one: exit code 1") == 1
    assert text.count("done: 2 jobs completed, 1 failed") == 1
    listed = study.succeed("notify")
    assert "sent" in listed
    study("submit", "--yes", cluster="local")  # the same cause within a day is no news
    assert out.read_text().count("first failure") == 1


def test_commands_that_only_show_send_nothing(study: Shell, tmp_path: Path) -> None:
    out = configure(study, tmp_path)
    study("submit", "--yes", "--detach", cluster="local")
    for _ in range(2):
        study("show", "jobs", cluster="local")
        study("show", "status", cluster="local")
    assert not out.exists()
    assert not (study.folder / ".row" / "rowtui" / "messages").exists()


def test_without_channels_no_record_is_made(study: Shell) -> None:
    study("submit", "--yes", cluster="local")
    assert not (study.folder / ".row" / "rowtui" / "messages").exists()


def test_a_program_that_fails_is_a_warning_and_changes_no_exit_code(
    study: Shell, tmp_path: Path
) -> None:
    configure(study, tmp_path)
    (tmp_path / "tell").write_text("#!/bin/sh\nexit 3\n")
    (study.folder / "workspace" / "c").rmdir()
    done = study("submit", "--yes", cluster="local")
    assert done.returncode == 0, done.stderr
    assert "no message by me: tell ended with exit code 3" in done.stderr


def test_clean_removes_the_record(study: Shell, tmp_path: Path) -> None:
    configure(study, tmp_path)
    study("submit", "--yes", cluster="local")
    record = study.folder / ".row" / "rowtui" / "messages" / "record.jsonl"
    assert record.exists()
    study.succeed("clean", cluster="local")
    assert not record.exists()


@pytest.fixture
def network(tmp_path: Path) -> Shell:
    (tmp_path / "home").mkdir()
    return Shell(small_network(tmp_path / "project"), tmp_path / "home")


def test_a_run_tells_of_its_end_and_of_its_budget_once(network: Shell, tmp_path: Path) -> None:
    out = configure(network, tmp_path)
    network.succeed("network", "run", "--yes", "--max-cpu-hours", "0.07", cluster="local")
    text = out.read_text()
    assert text.count("is finished: all jobs are completed") == 1
    assert text.count("of its limit in CPU-hours") == 1


def test_a_run_that_pauses_tells_why(network: Shell, tmp_path: Path) -> None:
    out = configure(network, tmp_path)
    done = network("network", "run", "--yes", "--max-cpu-hours", "0.04", cluster="local")
    assert done.returncode == 1
    text = out.read_text()
    assert "run_paused" in text
    assert "CPU-hours" in text
    assert "To continue: rowtui network run --run" in text
