"""What programs print where files cannot be written is reported with its meaning and its place."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from rowtui.core.mirror.model import CopyFailure, explain
from rowtui.core.mirror.transfer.arriving import explain_here

TAR = "tar: Exiting with failure status due to previous errors"


@pytest.mark.parametrize(
    ("said", "cause", "means"),
    [
        (
            f"tar: ./a: Cannot write: No space left on device\n{TAR}",
            CopyFailure.FULL,
            "the disk is full",
        ),
        (
            f"tar: ./a: Wrote only 8192 of 9728 bytes\n{TAR}",
            CopyFailure.FULL,
            "the disk is full or",
        ),
        (
            "mkdir: cannot create directory 'a': Disk quota exceeded",
            CopyFailure.FULL,
            "quota is exceeded",
        ),
        ("dd: error writing './a': File too large", CopyFailure.FULL, "larger than is allowed"),
        (f"tar: a: Cannot open: Read-only file system\n{TAR}", CopyFailure.DENIED, "is read-only"),
        (
            f"tar: a: Cannot open: Permission denied\n{TAR}",
            CopyFailure.DENIED,
            "permission is denied",
        ),
    ],
)
def test_a_program_that_cannot_write_is_explained(
    said: str, cause: CopyFailure, means: str
) -> None:
    error = explain(said, "alpha", "sending files", "/scratch/me")
    assert error.cause is cause
    assert means in error.message
    assert "in /scratch/me on alpha" in error.message
    assert said.splitlines()[0] in error.message
    assert error.hint


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_a_file_that_cannot_be_written_here_is_explained(number: int) -> None:
    error = explain_here(OSError(number, os.strerror(number)), "fetching files", Path("/home/me/p"))
    assert error.cause is (
        CopyFailure.FULL if number in (errno.ENOSPC, errno.EDQUOT) else CopyFailure.DENIED
    )
    assert "in /home/me/p on this machine" in error.message
