"""What known_hosts files say of a machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import asyncssh
import pytest
from rowtui.core.clusters.transports.login import UnknownHostKey
from rowtui.core.clusters.transports.ssh_keys import believe, look_up, question

ONE, TWO, OTHER = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(3))


def line(names: str, key: asyncssh.SSHKey) -> str:
    return f"{names} {key.export_public_key().decode().strip()}\n"


def test_names_patterns_and_hashes_are_found_with_their_lines(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    hashed = tmp_path / "hashed"
    hashed.write_text(line("login.site", OTHER))
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", hashed], check=True)
    first.write_text("# mine\n\n" + line("a,login.site", ONE) + line("else.where", OTHER))
    second.write_text(line("*.site,!other.site", TWO) + hashed.read_text())

    known = look_up([first, tmp_path / "missing", second], "login.site", 22)

    assert [(Path(place.file).name, place.line) for _, place in known.keys] == [
        ("first", 3),
        ("second", 1),
        ("second", 2),
    ]
    assert all(known.vouches(key) for key in (ONE, TWO, OTHER))
    assert not look_up([first, second], "other.site", 22).keys


def test_lines_that_make_no_sense_hide_no_others(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    bad = b"one-word\n@nonsense h ssh-ed25519 AAAA\n|1|bad ssh-ed25519 AAAA\n\xff\xfe\n host\n"
    file.write_bytes(bad + line("h", ONE).encode())

    known = look_up([file], "h", 22)

    assert [place.line for _, place in known.keys] == [6]


def test_a_name_without_port_vouches_for_another_port_but_never_speaks_against_it(
    tmp_path: Path,
) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(line("h", ONE))

    known = look_up([file], "h", 2222)

    assert known.vouches(ONE)
    assert known.denies(TWO) == ()
    assert look_up([file], "h", 22).denies(TWO)[0].fingerprint == ONE.get_fingerprint()


def test_a_revoked_key_is_denied_even_where_another_line_vouches(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(line("h", ONE) + line("@revoked *", ONE))

    known = look_up([file], "h", 22)

    assert [place.line for place in known.denies(ONE)] == [2]


def test_a_file_that_cannot_be_read_is_an_error_not_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="regular file"):
        look_up([tmp_path], "h", 22)


def test_believing_creates_a_private_file_and_writes_each_key_once(tmp_path: Path) -> None:
    file = tmp_path / "new" / "known_hosts"
    asked = question("h", 2222, ONE)

    believe(file, asked)
    believe(file, asked)

    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert len(file.read_text().splitlines()) == 1
    assert look_up([file], "h", 2222).vouches(ONE)
    assert asked.fingerprint == ONE.get_fingerprint()


def test_processes_that_believe_at_once_lose_no_line(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text("no newline")
    code = (
        "import sys; from pathlib import Path;"
        "from rowtui.core.clusters.transports.ssh_keys import believe;"
        "from rowtui.core.clusters.transports.login import UnknownHostKey;"
        "[believe(Path(sys.argv[1]), UnknownHostKey('', '', '', f'h{sys.argv[2]}x{n} k AAAA'))"
        " for n in range(50)]"
    )
    argv = [sys.executable, "-c", code, str(file)]

    writers = [subprocess.Popen([*argv, str(number)]) for number in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]

    lines = file.read_text().splitlines()
    assert lines[0] == "no newline"
    assert sorted(lines[1:]) == sorted(f"h{i}x{n} k AAAA" for i in range(3) for n in range(50))


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(OSError):
        believe(tmp_path / "file" / "known_hosts", UnknownHostKey("h", "k", "f", "h k AAAA"))
    assert os.listdir(tmp_path) == ["file"]
