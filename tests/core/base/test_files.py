"""Files are replaced whole or not at all, and reads are bounded."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import publish_new, read_bounded, replace_file


def test_a_replaced_file_has_the_new_content_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "state"
    replace_file(path, b"one")
    replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["state"]


def test_a_full_disk_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "state"
    replace_file(path, b"old")
    script = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from rowtui.core.base.files import replace_file\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n    replace_file(Path(sys.argv[1]), b'x' * 5000)\n"
        "except OSError as error:\n    print('refused:', error.errno)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, text=True, check=True
    )
    assert "refused:" in done.stdout
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["state"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_only_one_of_two_publishes(tmp_path: Path) -> None:
    path = tmp_path / "done.7"
    assert publish_new(path, b"first")
    assert not publish_new(path, b"second")
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["done.7"]


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as file:
        file.truncate(200 << 20)
    with pytest.raises(RowtuiError, match="209,715,200 bytes"):
        read_bounded(path, 64 << 20)


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(RowtuiError, match="not a regular file"):
        read_bounded(path, 100)


def test_a_file_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
