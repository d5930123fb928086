"""messages.toml: every mistake has its place, and one wrong channel leaves the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.messages.model import ORDINARY, StudyEventKind
from rowtui.core.messages.settings import EXAMPLE, MessageSettings, load_messages


def load(tmp_path: Path, text: str) -> MessageSettings:
    path = tmp_path / "rowtui" / "messages.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
    return load_messages({"XDG_CONFIG_HOME": str(tmp_path)})


def test_without_a_file_there_is_no_channel_and_no_problem(tmp_path: Path) -> None:
    found = load_messages({"HOME": str(tmp_path)})
    assert found == (tmp_path / ".config" / "rowtui" / "messages.toml", (), ())
    assert load_messages({}).path is None


def test_the_example_is_valid_with_and_without_its_comments(tmp_path: Path) -> None:
    assert load(tmp_path, EXAMPLE).problems == ()
    assert load(tmp_path, EXAMPLE).channels == ()
    lines = EXAMPLE.partition("\n\n")[2].splitlines()
    found = load(tmp_path, "\n".join(line.removeprefix("#").strip() for line in lines))
    assert found.problems == ()
    names = [channel.name for channel in found.channels]
    assert names == ["mail", "server", "slack", "command", "desktop", "terminal"]
    assert found.channels[0].on == ORDINARY
    assert found.channels[-1].on == frozenset()


def test_intervals_and_events_are_read(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        '[[channel]]\nkind = "desktop"\nmin_interval = "1h"\non = ["job_started"]\n'
        '[[channel]]\nkind = "desktop"\nmin_interval = 30\n',
    )
    assert [(it.name, it.interval) for it in found.channels] == [
        ("desktop", 3600.0),
        ("desktop-2", 30.0),
    ]
    assert found.channels[0].on == {StudyEventKind.JOB_STARTED}


def test_the_program_of_a_channel_may_be_named_from_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    found = load(tmp_path, '[[channel]]\nkind = "command"\ncommand = ["~/tell.sh", "~/x"]')
    assert found.channels[0].command == ("/home/me/tell.sh", "~/x")


def test_mail_on_this_machine_is_encrypted_where_a_password_is_sent(tmp_path: Path) -> None:
    local = '[[channel]]\nkind = "mail"\nto = "a@b.org"\nhost = "localhost"\n'
    found = load(tmp_path, f'{local}{local}user = "me"\n')
    assert found.problems == ()
    assert [it.mail.starttls for it in found.channels if it.mail] == [False, True]


MAIL = 'kind = "mail"\n'
HOOK = 'kind = "webhook"\n'


@pytest.mark.parametrize(
    ("channel", "message", "hint"),
    [
        ('kind = "slak"', "`kind` cannot be 'slak'", "did you mean 'slack'?"),
        ("name = 'x'", "is missing `kind`", "one of command"),
        ('kind = "desktop"\nurl = "x"', "unknown key `url`", ""),
        ('kind = "desktop"\non = ["run_finish"]', "no event 'run_finish'", "'run_finished'"),
        ('kind = "desktop"\nmin_interval = "soon"', "is no time", "5m"),
        ('kind = "desktop"\nmin_interval = true', "is no time", ""),
        ('kind = "desktop"\nmin_interval = -1', "between 0 and 7 days", ""),
        ('kind = "desktop"\nname = "a b"', "`name` cannot be 'a b'", ""),
        ('kind = "command"', "is missing `command`", "without a shell"),
        ('kind = "command"\ncommand = []', "is empty", ""),
        ('kind = "command"\ncommand = "ls"', "must be an array", "without a shell"),
        (HOOK, "is missing `url`", ""),
        (HOOK + 'url = "http://example.org/x"', "must begin with https://", ""),
        (HOOK + 'url = "file:///etc/passwd"', "is no address", ""),
        (HOOK + 'url = "https://me:pw@example.org/"', "no password", ""),
        (HOOK + 'url = "https://example.org/a\\r\\nX: y"', "is no address", ""),
        (MAIL, "needs `to`", ""),
        (MAIL + 'to = "a@b.org\\nBcc: c@d.org"', "is no mail address", ""),
        (MAIL + 'to = "-oQ/tmp@b.org"', "is no mail address", ""),
        (MAIL + 'to = "me@b.org"\nport = 25', "`port` needs `host`", ""),
        (
            MAIL + 'to = "me@b.org"\nhost = "h"\nuser = "me"\nstarttls = false',
            "only over an encrypted",
            "remove `starttls = false`",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_leaves_the_others(
    tmp_path: Path, channel: str, message: str, hint: str
) -> None:
    found = load(tmp_path, f'[[channel]]\nkind = "desktop"\n\n[[channel]]\n{channel}\n')
    assert [it.name for it in found.channels] == ["desktop"]
    problem = found.problems[0]
    assert message in problem.message
    assert hint in problem.hint
    assert problem.line >= 4
    assert problem.file.endswith("messages.toml")


def test_no_problem_and_no_list_repeats_the_address_of_a_webhook(tmp_path: Path) -> None:
    secret = "T0KEN"
    wrong = load(tmp_path, f'[[channel]]\nkind = "slack"\nurl = "http://example.org/{secret}"\n')
    assert secret not in str(wrong.problems)
    right = load(tmp_path, f'[[channel]]\nkind = "slack"\nurl = "https://example.org/{secret}"\n')
    assert right.channels[0].target == "https://example.org/…"


def test_a_file_with_webhooks_that_others_can_read_is_a_warning(tmp_path: Path) -> None:
    load(tmp_path, '[[channel]]\nkind = "slack"\nurl = "https://example.org/x"\n')
    path = tmp_path / "rowtui" / "messages.toml"
    os.chmod(path, 0o644)
    found = load_messages({"XDG_CONFIG_HOME": str(tmp_path)})
    assert len(found.channels) == 1
    assert [it.severity for it in found.problems] == ["warning"]


def test_a_channel_that_is_not_there_is_named_with_a_near_one(tmp_path: Path) -> None:
    found = load(tmp_path, '[[channel]]\nkind = "desktop"\nname = "phone"\n')
    with pytest.raises(RowtuiError, match=r"no channel 'fone'") as error:
        found.named("fone")
    assert "phone" in error.value.hint
