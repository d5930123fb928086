"""What one command becomes on its way to a cluster."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.clusters.transports.remote_line import StreamReader, remote_line

WORDS = st.binary(max_size=20).map(lambda data: os.fsdecode(data.replace(b"\0", b"'")))
# As text too: what matters to shells comes up more often there.
TEXTS = st.text("ab '\"$`\\!\n~*{}#=%-é;&|<>()[]", max_size=12)
SHELLS = [shell for shell in ("dash", "bash", "tcsh", "fish") if shutil.which(shell)]


def run(text: str, shell: str = "sh", **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([shell, "-c", text], capture_output=True, **options)  # type: ignore[call-overload]


def after(marker: bytes, stream: bytes) -> bytes:
    _before, found, rest = stream.partition(marker)
    assert found, stream
    return rest


@settings(max_examples=40)
@given(words=st.lists(WORDS | TEXTS, min_size=1, max_size=4), value=WORDS)
def test_any_bytes_arrive_as_arguments_and_in_the_environment(words: list[str], value: str) -> None:
    line = remote_line(["printf", "%s\\0", *words], env={"V": value})
    environment = remote_line(["sh", "-c", 'printf %s "$V"'], env={"V": value})

    for shell in SHELLS:
        # Once /bin/sh as it is, once a bash in its place.
        for sh in ("/bin/sh", "/bin/bash --posix"):
            done = run(line.text.replace("/bin/sh", sh, 1), shell)
            said = after(line.start, done.stdout).split(b"\0")[:-1]
            assert said == [os.fsencode(word) for word in words]
    assert after(environment.start, run(environment.text).stdout) == os.fsencode(value)


@given(words=st.lists(WORDS | TEXTS, min_size=1, max_size=4), folder=WORDS)
def test_a_line_holds_nothing_that_login_shells_read_differently(
    words: list[str], folder: str
) -> None:
    text = remote_line(["echo", *words], cwd=Path("/" + folder), env={"A": words[0]}).text

    # csh: `!` and newlines; fish: `\\` and `\'`; all: one pair of quotes around everything.
    assert text.isascii()
    assert text.isprintable()
    assert "!" not in text
    assert "\\\\" not in text
    assert text.startswith("exec /bin/sh -c '")
    assert text.count("'") == 2
    assert text.endswith("'")


def test_plain_commands_can_be_read_in_the_line() -> None:
    text = remote_line(["sbatch", "--parsable", "--hold", "--job-name=a-1"]).text

    assert text.endswith("""exec sbatch --parsable --hold "--job-name=a-1"'""")


def test_options_of_slurm_in_the_remote_environment_are_removed_before_our_own_are_set() -> None:
    line = remote_line(["env"], env={"SQUEUE_FORMAT": "ours", "GONE": None})
    environment = {
        "PATH": os.environ["PATH"], "SBATCH_PARTITION": "x", "SQUEUE_FORMAT": "y  SINFO_$(z)=1",
        "SLURM_CONF": "/conf", "SBATCH_ACCOUNT": "mine", "GONE": "1", "MINE": "* a SLURM_X=1",
    }  # fmt: skip

    said = after(line.start, run(line.text, env=environment).stdout).decode().splitlines()

    assert {"SQUEUE_FORMAT=ours", "SLURM_CONF=/conf", "SBATCH_ACCOUNT=mine"} <= set(said)
    assert "MINE=* a SLURM_X=1" in said
    assert not [line for line in said if line.startswith(("SBATCH_PARTITION", "GONE"))]


def test_a_command_that_is_not_there_or_a_folder_that_is_not_there_prints_no_marker() -> None:
    missing = remote_line(["no-such-command"])
    nowhere = remote_line(["pwd"], cwd=Path("/no/such folder"))

    no_command, no_folder = run(missing.text), run(nowhere.text)

    assert missing.start not in no_command.stdout
    assert no_command.stderr == b"no-such-command: not found\n"
    assert nowhere.start not in no_folder.stdout
    assert b"/no/such folder" in no_folder.stderr


def test_a_shell_that_prints_what_it_runs_does_not_print_the_marker_early() -> None:
    line = remote_line(["echo", "done"])

    done = run(f"set -xv; {line.text}", "bash")

    assert after(line.start, done.stdout) == b"done\n"
    assert after(line.start, done.stderr) == b""


def test_the_status_is_reported_where_it_is_asked_for() -> None:
    line = remote_line(["sh", "-c", "echo sorry >&2; exit 255"], report_status=True)

    done = run(line.text)

    assert done.returncode == 255
    assert after(line.start, done.stderr) == b"sorry\n" + line.end + b" 255\n"


@pytest.mark.parametrize(
    ("argv", "env"),
    [
        ([], {}),
        ([""], {}),
        (["a\0b"], {}),
        (["a", "\ud800"], {}),
        (["a"], {"B C": "1"}),
        (["a"], {"B\n": "1"}),
        (["a", "b" * 120_000], {}),
        (["a", "é" * 20_000], {}),
    ],
)
def test_what_cannot_be_a_command_is_refused(argv: list[str], env: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        remote_line(argv, env=env)


def test_a_line_of_almost_the_greatest_length_is_run() -> None:
    line = remote_line(["sh", "-c", "echo ${#1}", "x", "b" * 118_000])

    assert after(line.start, run(line.text).stdout) == b"118000\n"


@given(noise=st.binary(max_size=9000), said=st.binary(max_size=50), cut=st.integers(1, 5000))
def test_an_answer_begins_after_the_marker_however_the_stream_was_cut(
    noise: bytes, said: bytes, cut: int
) -> None:
    marker = b"0123456789abcdef0123456789abcdef\n"
    answer = StreamReader(marker, 40)
    stream = noise + marker + said

    for start in range(0, len(stream), cut):
        answer.add(stream[start : start + cut])

    assert answer.started
    assert bytes(answer.data) == said[:40]
    assert answer.spilled is (len(said) > 40)
