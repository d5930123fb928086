"""Fetch a mapping file from an https URL within limits, and keep a copy of it.

The input is a URL and the cache folder; the output is the content with its digest. TLS is verified,
the whole transfer has one time limit and one size limit, and redirects lead only to https. The last
valid response is stored under its digest, and only a valid response replaces it. The copy is used,
with a notice, whenever the server does not respond or its response is invalid: status, time and
content are checked.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urldefrag

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, replace_file
from rowtui.core.base.text import visible
from rowtui.core.mapping.files.https import (
    CacheValidators,
    HttpsResponse,
    NoAnswerError,
    ask,
    header,
    refuse_url,
)
from rowtui.core.mapping.files.trust import LARGEST_SOURCE, day, digest_of

FRESH_SECONDS = 600.0  # a copy younger than this is used without a request
_PAUSE_SECONDS = 60.0  # after a failure, the copy is used for this long before the next request
_LARGEST_ENTRY = 1 << 16  # bytes of the index of one URL
_VERSION = 1


class Fetched(NamedTuple):
    """The content of a URL. `at`: when the server last confirmed it (seconds since 1970).

    `from_cache`: the bytes come from the copy on disk. `notice`: why an older copy is used, or why
    this content could not be stored; "" if neither applies.
    """

    data: bytes
    digest: str
    at: float
    from_cache: bool
    notice: str = ""


def fetch(
    url: str,
    cache: Path,
    *,
    now: float,
    seconds: float = 10.0,
    most_bytes: int = LARGEST_SOURCE,
    fresh_seconds: float = FRESH_SECONDS,
    fetch_allowed: bool = True,
    why_not: str = "nothing is fetched now",
    check: Callable[[bytes], str] | None = None,
) -> Fetched:
    """Return the content of `url`, new or from the last valid copy.

    `now`: seconds since 1970. `seconds`: the time limit for everything from the name lookup to the
    last byte. `fresh_seconds`: 0 always sends a request. `fetch_allowed`: False uses only the copy,
    with the reason `why_not`. `check`: returns the problem of a new content ("" if there is none);
    an invalid content does not replace the copy. Raises: RowtuiError if the URL is refused, or
    there is no response and no copy.
    """
    refuse_url(url)
    url = urldefrag(url).url
    copies = _Copies(cache, url, most_bytes)
    copy = copies.read()
    if copy is not None and 0 <= now - copy.at < fresh_seconds:
        return Fetched(copy.data, copy.digest, copy.at, True)
    if not fetch_allowed:
        return _older(url, copy, why_not)
    pause = min(_PAUSE_SECONDS, fresh_seconds)
    if copy is not None and copy.failure and 0 <= now - copy.failed_at < pause:
        return _older(url, copy, copy.failure)
    known = None if copy is None else CacheValidators(copy.url, copy.etag, copy.modified)
    try:
        answer = ask(url, known, seconds, most_bytes)
        if answer.data is not None:
            _refuse_content(answer, check)
    except NoAnswerError as error:
        if copy is not None:
            copies.note(copy._replace(failed_at=now, failure=str(error)))
        return _older(url, copy, str(error), error.hint)
    data = answer.data
    if data is None:  # not modified since the copy was stored
        assert copy is not None
        copies.note(copy._replace(at=now, failure="", failed_at=0.0))
        return Fetched(copy.data, copy.digest, now, True)
    new = _Copy(data, digest_of(data), now, answer.url, answer.etag, answer.modified)
    trouble = copies.keep(new, copy)
    notice = f"{visible(url)} could not be kept for later: {trouble}" if trouble else ""
    return Fetched(data, new.digest, now, False, notice)


def _older(url: str, copy: _Copy | None, why: str, hint: str = "") -> Fetched:
    failed = f"{visible(url)} could not be fetched ({why})"
    if copy is None:
        raise RowtuiError(f"{failed}, and there is no copy of it", hint)
    notice = f"{failed}: the copy of {day(copy.at)} is used"
    return Fetched(copy.data, copy.digest, copy.at, True, notice)


def _refuse_content(answer: HttpsResponse, check: Callable[[bytes], str] | None) -> None:
    """Refuse content that is no file: servers send status 200 for log-in and error pages too."""
    data = answer.data or b""
    start = data[:1000].lstrip(b"\xef\xbb\xbf \t\r\n")
    kind = answer.content_type.partition(";")[0].strip().lower()
    if not data.strip():
        raise NoAnswerError("the server sent an empty file")
    if kind in ("text/html", "application/xhtml+xml") or start.startswith(b"<"):
        hint = "the address of a web page? Take that of the raw file"
        raise NoAnswerError("the server sent a web page, not YAML", hint)
    wrong = check(data) if check is not None else ""
    if wrong:
        raise NoAnswerError(f"the server's answer is not usable: {wrong}")


class _Copy(NamedTuple):
    """The response of a server: `at` when it last confirmed it, `url` the final address.

    `failed_at`, `failure`: the last request, if it failed.
    """

    data: bytes
    digest: str
    at: float
    url: str
    etag: str = ""
    modified: str = ""
    failed_at: float = 0.0
    failure: str = ""


class _Copies:
    """The cache entries of one URL: an index by the URL, and contents by their digest."""

    def __init__(self, folder: Path, url: str, most_bytes: int) -> None:
        self.folder = folder
        self.url = url
        self.most_bytes = most_bytes
        self.index = folder / f"{digest_of(url.encode())}.json"

    def read(self) -> _Copy | None:
        """Return the copy; None if there is none or any part of it is damaged."""
        try:
            entry = json.loads(read_bounded(self.index, _LARGEST_ENTRY))
            if entry["version"] != _VERSION or entry["for"] != self.url:
                return None
            digest = str(entry["digest"])
            data = read_bounded(self._content(digest), self.most_bytes)
            if digest_of(data) != digest:
                return None
            return _Copy(
                data,
                digest,
                float(entry["at"]),
                str(entry["url"]),
                header(str(entry["etag"])),
                header(str(entry["modified"])),
                float(entry["failed_at"]),
                visible(str(entry["failure"])),
            )
        except (OSError, RowtuiError, ValueError, LookupError, TypeError, RecursionError):
            return None

    def keep(self, copy: _Copy, before: _Copy | None) -> str:
        """Store a new copy, the content first; return the error message, or ""."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self._content(copy.digest), copy.data)
            self._write_index(copy)
            if before is not None and before.digest != copy.digest:
                self._forget(before.digest)
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def note(self, copy: _Copy) -> None:
        """Store a change of the copy's index; after a failure the server is only asked sooner."""
        with contextlib.suppress(OSError):
            self._write_index(copy)

    def _write_index(self, copy: _Copy) -> None:
        entry = {"version": _VERSION, "for": self.url, **copy._asdict()}
        del entry["data"]
        replace_file(self.index, json.dumps(entry, indent=1).encode() + b"\n")

    def _content(self, digest: str) -> Path:
        return self.folder / f"{digest[:64]}.yml"

    def _forget(self, digest: str) -> None:
        """Remove a content that no URL refers to any more."""
        for file in os.listdir(self.folder):
            if file.endswith(".json"):
                with contextlib.suppress(OSError, RowtuiError):
                    if digest.encode() in read_bounded(self.folder / file, _LARGEST_ENTRY):
                        return
        self._content(digest).unlink(missing_ok=True)
