"""What programs print where files cannot be written is reported with its meaning and its place."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from rowtui.core.mirror.model import Cause, explain
from rowtui.core.mirror.transfer.arriving import explain_here

TAR = "tar: Exiting with failure status due to previous errors"


@pytest.mark.parametrize(
    ("said", "cause", "means"),
    [
        (f"tar: ./a: Cannot write: No space left on device\n{TAR}", Cause.FULL, "the disk is full"),
        (f"tar: ./a: Wrote only 8192 of 9728 bytes\n{TAR}", Cause.FULL, "the disk is full or"),
        (
            "mkdir: cannot create directory 'a': Disk quota exceeded",
            Cause.FULL,
            "quota is exceeded",
        ),
        ("dd: error writing './a': File too large", Cause.FULL, "larger than is allowed"),
        (f"tar: a: Cannot open: Read-only file system\n{TAR}", Cause.DENIED, "is read-only"),
        (f"tar: a: Cannot open: Permission denied\n{TAR}", Cause.DENIED, "permission is denied"),
    ],
)
def test_a_program_that_cannot_write_is_explained(said: str, cause: Cause, means: str) -> None:
    error = explain(said, "alpha", "sending files", "/scratch/me")
    assert error.cause is cause
    assert means in error.message
    assert "in /scratch/me on alpha" in error.message
    assert said.splitlines()[0] in error.message
    assert error.hint


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_a_file_that_cannot_be_written_here_is_explained(number: int) -> None:
    error = explain_here(OSError(number, os.strerror(number)), "fetching files", Path("/home/me/p"))
    assert error.cause is (Cause.FULL if number in (errno.ENOSPC, errno.EDQUOT) else Cause.DENIED)
    assert "in /home/me/p on this machine" in error.message
