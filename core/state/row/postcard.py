"""Row's completed.postcard and submitted.postcard as bytes, in both directions.

The input is bytes from disk, the result the names of directories by action (as bytes, because they
are looked up among sorted bytes). Parsing is strict: every varint is bounded, every length is
checked against the remaining bytes, every string must be UTF-8, and only rowtui's own trailer may
follow the value. A file of zeros, as after a crash, is therefore not accepted as an empty record.
The encoding is sorted, so that equal records are equal bytes.

    completed : count { action-string  count { name-string } }
    submitted : count { action-string  count { name-string  cluster-string  jobid-varint } }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from struct import iter_unpack

from rowtui.core.base.errors import RowtuiError

CompletedNames = dict[str, Sequence[bytes]]
SubmittedNames = dict[str, dict[bytes, tuple[str, int]]]

# Fewer names than this are decoded one by one, because checking for a block is not worthwhile.
BLOCK_FROM = 64

# The bytes that rowtui writes after Row's value begin with this: see `row_files.py`.
TRAILER_MAGIC = b"\0rowtui\0"

_U64_BYTES, _U64_LAST = 10, 0x01
_U32_BYTES, _U32_LAST = 5, 0x0F
_SLASH = 0x2F


class PostcardError(RowtuiError):
    """Bytes that Row does not write: cut short, impossible lengths, not UTF-8."""


class NameBlock(Sequence[bytes]):
    """Names of one length, kept as the bytes they were read from (a length byte before each)."""

    __slots__ = ("block", "width")

    def __init__(self, block: bytes, width: int) -> None:
        self.block = block
        self.width = width

    def __len__(self) -> int:
        return len(self.block) // (self.width + 1)

    def __iter__(self) -> Iterator[bytes]:
        return (name for (name,) in iter_unpack(f"x{self.width}s", self.block))

    def __getitem__(self, index: int) -> bytes:  # type: ignore[override]
        start = range(0, len(self.block), self.width + 1)[index] + 1
        return self.block[start : start + self.width]


def decode_completed(data: bytes) -> CompletedNames:
    """Return the names of the directories that completed each action, in the order of the file.

    Raises: PostcardError.
    """
    reader = _Reader(data)
    found: CompletedNames = {}
    for _ in range(reader.count()):
        action = reader.text()
        found[action] = reader.names(reader.count())
    reader.close()
    return found


def decode_submitted(data: bytes) -> SubmittedNames:
    """Return action -> directory name -> (cluster, job id).

    Raises: PostcardError.
    """
    reader = _Reader(data)
    found: SubmittedNames = {}
    clusters: dict[str, str] = {}
    for _ in range(reader.count()):
        action = reader.text()
        jobs: dict[bytes, tuple[str, int]] = {}
        for _ in range(reader.count()):
            name = reader.directory()
            cluster = reader.text()
            jobs[name] = (clusters.setdefault(cluster, cluster), reader.job_id())
        found[action] = jobs
    reader.close()
    return found


def encode_completed_blocks(records: Mapping[str, tuple[int, bytes]]) -> bytes:
    """Return Row's bytes for each action's (count, bytes) of sorted, encoded names."""
    out = [varint(len(records))]
    for action in sorted(records):
        count, names = records[action]
        out += (_string(action.encode()), varint(count), names)
    return b"".join(out)


def encode_submitted(records: Mapping[str, Mapping[bytes, tuple[str, int]]]) -> bytes:
    """Return Row's bytes for these jobs; actions and names are sorted."""
    out = [varint(len(records))]
    tails: dict[tuple[str, int], bytes] = {}
    for action in sorted(records):
        jobs = records[action]
        out += (_string(action.encode()), varint(len(jobs)))
        for name in sorted(jobs):
            job = jobs[name]
            tail = tails.get(job)
            if tail is None:
                tail = tails[job] = _string(job[0].encode()) + varint(job[1])
            out += (_string(name), tail)
    return b"".join(out)


def encode_names(names: Iterable[bytes]) -> bytes:
    """Return the concatenated names, each with its length before it; no count."""
    names = list(names)
    lengths = set(map(len, names))
    if len(lengths) == 1 and (length := lengths.pop()) < 0x80:
        return _SMALL[length] + _SMALL[length].join(names)
    return b"".join(map(_string, names))


def is_utf8(name: bytes) -> bool:
    """Whether Row can store this name."""
    if name.isascii():
        return True
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def varint(number: int) -> bytes:
    """Return unsigned LEB128: seven bits a byte, the low ones first."""
    if number < 0x80:
        return _SMALL[number]
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


_SMALL = tuple(bytes([number]) for number in range(0x80))


def _string(text: bytes) -> bytes:
    length = len(text)
    return (_SMALL[length] if length < 0x80 else varint(length)) + text


class _Reader:
    __slots__ = ("at", "data", "end")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.end = len(data)

    def close(self) -> None:
        """Check that the value ends here."""
        if self.at < self.end and not self.data.startswith(TRAILER_MAGIC, self.at):
            raise PostcardError(f"other bytes follow its end at byte {self.at}")

    def count(self) -> int:
        """Return a number of items; each item takes at least one byte."""
        number = self._varint(_U64_BYTES, _U64_LAST)
        if number > self.end - self.at:
            raise PostcardError(
                f"{number:,} entries are announced at byte {self.at}, "
                f"but only {self.end - self.at:,} bytes follow"
            )
        return number

    def job_id(self) -> int:
        return self._varint(_U32_BYTES, _U32_LAST)

    def text(self) -> str:
        return self.name().decode()

    def name(self) -> bytes:
        length = self.count()
        start = self.at
        self.at += length
        name = self.data[start : self.at]
        if not name.isascii():
            _check_utf8(name, start)
        return name

    def directory(self) -> bytes:
        """Return a directory's name. Row writes `d0/` if the user typed that, and means `d0`."""
        name = self.name()
        return name.rstrip(b"/") or name if name.endswith(b"/") else name

    def names(self, count: int) -> Sequence[bytes]:
        """Return `count` names: as one block if all have the same length, else one by one."""
        if count >= BLOCK_FROM:
            width = self.data[self.at]
            size = count * (width + 1)
            if 0 < width < 0x80 and size <= self.end - self.at:
                block = self.data[self.at : self.at + size]
                one_length = block[:: width + 1].count(width) == count
                slashes = count if width == _SLASH else 0  # then only the length bytes are slashes
                if one_length and block.isascii() and block.count(_SLASH) == slashes:
                    self.at += size
                    return NameBlock(block, width)
        return [self.directory() for _ in range(count)]

    def _varint(self, most: int, last: int) -> int:
        number = shift = 0
        for place in range(most):
            if self.at >= self.end:
                raise PostcardError(f"it ends in the middle, after {self.end:,} bytes")
            byte = self.data[self.at]
            self.at += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                if place == most - 1 and byte > last:
                    break
                return number
            shift += 7
        raise PostcardError(f"the number that ends at byte {self.at} is too large")


def _check_utf8(name: bytes, start: int) -> None:
    try:
        name.decode()
    except UnicodeDecodeError:
        raise PostcardError(f"the text at byte {start} is not UTF-8") from None
