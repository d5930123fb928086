"""The files of the embedded queue: one folder per machine and user, without a server.

    jobs/<id>/spec.json   the submission; the same file as tokens/<hash>, by link(2)
    jobs/<id>/script      the script
    jobs/<id>/environ     the submitter's environment (mode 0600), removed when the job has begun
    jobs/<id>/claim       the process that runs the job, or its cancellation
    jobs/<id>/end         how the job ended, with all details that are needed later
    tokens/<hash>         spec.json, later replaced by `end`, so that a token is found for long

Three steps are compare-and-swap by link(2), and a crash leaves each of them done or not done: the
link of a token commits a submission, the claim decides which process runs or cancels a job, and the
end is final. A folder in `jobs` whose token was never linked is litter. The next id is one more
than the highest folder, which is therefore never removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import (
    publish_new,
    read_bounded,
    replace_file,
    sync_folder,
    write_synced,
)
from rowtui.core.base.lazy import hashlib
from rowtui.core.clusters.schedulers.base import JobSpec, JobState
from rowtui.core.clusters.schedulers.local.records import (
    FORMAT_VERSION,
    RECORD_LIMIT,
    Claim,
    End,
    QueuedJob,
    encode_record,
    parse_end,
    parse_job,
    queued_job,
    read_record,
    spec_record,
)
from rowtui.core.clusters.schedulers.local.wake import inherited_environment

KEEP_ENDED_SECONDS = 7 * 86_400
KEEP_TOKENS_SECONDS = 400 * 86_400  # so that even after a long absence no job runs twice
KEEP_LITTER_SECONDS = 86_400


class CommitUncertainError(RowtuiError):
    """It is uncertain whether the job is in the queue."""


class LocalQueue:
    """The files under one folder. All methods are synchronous and may wait for the disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.jobs = folder / "jobs"
        self.tokens = folder / "tokens"

    def prepare(self) -> None:
        """Make the folders, for this user alone. Raises: OSError."""
        if not self.tokens.is_dir():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.jobs.mkdir(mode=0o700, exist_ok=True)
            self.tokens.mkdir(mode=0o700, exist_ok=True)

    # -- submission -------------------------------------------------------------------------

    def commit(self, job: JobSpec, grace_seconds: float, kill_seconds: float) -> int:
        """Put a job into the queue, or find it by its token, and return its id.

        Raises: CommitUncertainError. Raises: OSError, ValueError or RowtuiError if the queue
        certainly does not contain the job.
        """
        self.prepare()
        known = self.find_token(job.token)
        if known is not None:
            return known[0].id
        folder = self._make_job_folder()
        try:
            queued = queued_job(job, int(folder.name), grace_seconds, kill_seconds)
            environment = inherited_environment().items()
            entries = [key + b"=" + value + b"\0" for key, value in environment]
            write_synced(folder / "environ", b"".join(entries), 0o600)
            write_synced(folder / "script", job.script.encode("utf-8", "surrogateescape"), 0o600)
            # In one step, because the supervisor may read the folder at any time.
            replace_file(folder / "spec.json", encode_record(spec_record(queued)), 0o600)
            sync_folder(self.jobs)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        # From here on the folder may be a committed job: it is removed only if it certainly is not.
        if self._link_token(folder / "spec.json", job.token):
            return queued.id
        shutil.rmtree(folder, ignore_errors=True)
        known = self.find_token(job.token)
        if known is None:
            raise RowtuiError("another submission of the same job was removed meanwhile")
        return known[0].id

    def _make_job_folder(self) -> Path:
        number = max(self.ids(), default=0) + 1
        while True:
            folder = self.jobs / str(number)
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                number += 1
            else:
                return folder

    def _link_token(self, spec: Path, token: str) -> bool:
        """Commit the job; return False if the same token is already committed."""
        path = self._token_path(token)
        try:
            os.link(spec, path)
        except OSError as error:
            # A network file system may repeat a link that was made, or lose the answer to it.
            try:
                linked = os.path.samefile(spec, path)
            except FileNotFoundError:
                linked = False
            except OSError as doubt:
                raise CommitUncertainError(str(doubt)) from error
            if not linked and isinstance(error, FileExistsError):
                return False
            if not linked:
                shutil.rmtree(spec.parent, ignore_errors=True)
                raise
        with contextlib.suppress(OSError):
            sync_folder(self.tokens)
        return True

    # -- reading ----------------------------------------------------------------------------

    def ids(self) -> list[int]:
        """Return all ids in use, in order, including submissions that are not committed yet."""
        try:
            names = os.listdir(self.jobs)
        except FileNotFoundError:
            return []
        return sorted(int(name) for name in names if name.isascii() and name.isdecimal())

    def find_token(self, token: str) -> tuple[QueuedJob, End | None] | None:
        """Return the committed job with this token, and its end if it has ended.

        Raises: OSError, RowtuiError if the file cannot be read.
        """
        record = read_record(self._token_path(token))
        if record is None:
            return None
        job = parse_job(record)
        end = parse_end(record) if "end" in record else self.read_end(job.id)
        return job, end

    def read_job(self, number: int) -> QueuedJob | None:
        """Return a job as submitted; None if it was never committed or has been removed."""
        record = read_record(self.jobs / str(number) / "spec.json")
        if record is None:
            return None
        job = parse_job(record)
        committed = read_record(self._token_path(job.token))
        return job if committed is not None and committed.get("id") == job.id else None

    def read_ended(self, number: int) -> tuple[QueuedJob, End] | None:
        """Return an ended job from its end record alone; None if the job has not ended."""
        record = read_record(self.jobs / str(number) / "end")
        return None if record is None else (parse_job(record), parse_end(record))

    def has_ended(self, number: int) -> bool:
        """Whether a job has ended. This is much faster than reading the record."""
        return (self.jobs / str(number) / "end").exists()

    def read_end(self, number: int) -> End | None:
        """Return how a job ended, None if it has not ended."""
        ended = self.read_ended(number)
        return ended[1] if ended else None

    def read_claim(self, number: int) -> Claim | None:
        """Return the claim of a job, None while the job waits."""
        record = read_record(self.jobs / str(number) / "claim")
        if record is None:
            return None
        record.pop("version", None)
        record["gpus"] = tuple(record.get("gpus", ()))
        try:
            return Claim(**record)
        except TypeError as error:
            raise RowtuiError(f"{self.jobs / str(number) / 'claim'} is not a claim") from error

    def read_environment(self, number: int) -> dict[bytes, bytes]:
        """Return the environment that the job was submitted with. Raises: OSError."""
        text = read_bounded(self.jobs / str(number) / "environ", RECORD_LIMIT)
        pairs = (entry.partition(b"=") for entry in text.split(b"\0") if entry)
        return {key: value for key, _, value in pairs}

    def script_path(self, number: int) -> Path:
        """Return the path of the job's script."""
        return self.jobs / str(number) / "script"

    # -- changes to a job -------------------------------------------------------------------

    def claim(self, number: int, claim: Claim) -> bool:
        """Claim a waiting job, to run or cancel it; False if another process has claimed it."""
        record = {"version": FORMAT_VERSION, **claim._asdict()}
        return bool(publish_new(self.jobs / str(number) / "claim", encode_record(record)))

    def finish(self, job: QueuedJob, end: End) -> None:
        """Record how a job ended; a second record is ignored. Raises: OSError."""
        ended = {**end._asdict(), "state": end.state.name}
        record = {**spec_record(job), "end": ended}
        publish_new(self.jobs / str(job.id) / "end", encode_record(record))
        self.forget_environment(job.id)

    def cancel_waiting(self, job: QueuedJob, reason: str) -> bool:
        """Cancel a job without a claim; False if it is claimed. Raises: OSError."""
        if not self.claim(job.id, Claim(pid=0, reason=reason)):
            return False
        self.finish(job, End(JobState.CANCELLED, time.time(), reason=reason))
        return True

    def forget_environment(self, number: int) -> None:
        """Remove the stored environment, because it may contain sensitive values."""
        with contextlib.suppress(OSError):
            os.unlink(self.jobs / str(number) / "environ")

    def remove_old(self, now: float) -> None:
        """Remove jobs that ended long ago, and litter; never an active job.

        Raises: OSError if the folder cannot be read. Files that cannot be removed are kept.
        """
        for number in self.ids()[:-1]:  # the highest stays, so that ids are never reused
            folder = self.jobs / str(number)
            end = _modified(folder / "end")
            begun = _modified(folder)
            with contextlib.suppress(OSError, RowtuiError, ValueError, KeyError):
                if end is not None and now - end > KEEP_ENDED_SECONDS:
                    self._retire(number)
                elif end is None and begun is not None and now - begun > KEEP_LITTER_SECONDS:
                    self._discard_if_uncommitted(number)
        for path in self._orphaned_tokens():
            if now - (_modified(path) or now) > KEEP_TOKENS_SECONDS:
                path.unlink(missing_ok=True)

    def _retire(self, number: int) -> None:
        folder = self.jobs / str(number)
        record = read_bounded(folder / "end", RECORD_LIMIT)
        token = json.loads(record)["token"]
        replace_file(self._token_path(token), record)
        self._discard(folder)

    def _discard_if_uncommitted(self, number: int) -> None:
        if self.read_job(number) is None and self.read_claim(number) is None:
            self._discard(self.jobs / str(number))

    def _discard(self, folder: Path) -> None:
        # In one step, so that a delayed submitter finds its whole folder or none of it.
        gone = self.folder / f".gone-{folder.name}-{os.getpid()}"
        os.rename(folder, gone)
        shutil.rmtree(gone, ignore_errors=True)

    def _orphaned_tokens(self) -> Iterator[Path]:
        """Yield the token files whose jobs have been removed."""
        for entry in os.scandir(self.tokens):
            with contextlib.suppress(OSError):
                if entry.stat().st_nlink == 1 and entry.name[0] != ".":
                    yield Path(entry.path)

    def _token_path(self, token: str) -> Path:
        # A token may be any text; its hash is a valid file name on every file system.
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
        return self.tokens / digest[:40]


def _modified(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None
