"""The bytes of Row's larger files, from columns.

The input is names, values and sets of positions; the result is directories.json, and the parts of
completed.postcard.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import compress, islice
from json.encoder import encode_basestring

from rowtui.core.state.directories import StoredDirectories
from rowtui.core.state.model import DirectorySet
from rowtui.core.state.names import NUMPY_FROM, NameTable, flags
from rowtui.core.state.row.postcard import encode_names


def directories_json(directories: StoredDirectories, workspace_mtime_ns: int) -> bytes:
    """Return Row's directories.json.

    Bad directories are left out. The time is then one that never matches, so that Row lists the
    directories itself and reports the problem.
    """
    bad, nameless = directories.bad_set, directories.nameless_set
    seconds, nanoseconds = divmod(workspace_mtime_ns, 1_000_000_000)
    if bad:
        seconds = nanoseconds = 0
    kept = flags(~(bad | nameless) & ((1 << len(directories)) - 1), len(directories))
    out = bytearray(f'{{"modified_time":[{seconds},{nanoseconds}],"values":{{'.encode())
    entries = zip(
        compress(_as_keys(directories.table), kept),
        compress(directories.raw_values(), kept),
        strict=True,
    )
    separator = b""
    while some := [key + (raw or b"null") for key, raw in islice(entries, _AT_ONCE)]:
        out += separator
        out += b",".join(some)
        separator = b","
    out += b"}}"
    return bytes(out)


_AT_ONCE = 1 << 14  # entries; a list of all entries takes more memory than the file


def _as_keys(table: NameTable) -> Iterable[bytes]:
    """Yield each name as JSON with a colon; for names that are not UTF-8 the text is arbitrary."""
    blob = bytes(table.blob)
    if (
        blob.isascii()
        and blob.decode("ascii").isprintable()
        and not (b'"' in blob or b"\\" in blob)
    ):
        return (b'"%b":' % name for name in table.all())
    return (
        encode_basestring(name.decode(errors="replace")).encode() + b":" for name in table.all()
    )


def completed_blocks(
    table: NameTable, records: Mapping[str, DirectorySet]
) -> dict[str, tuple[int, bytes]]:
    """Return each action's names, encoded in order."""
    total = sum(members.bit_count() for members in records.values())
    if total >= NUMPY_FROM and 0 < table.width < 0x80:
        return blocks_at_once(table, records)
    names = table.all() if total else []
    blocks = {}
    for action, members in records.items():
        chosen: Iterable[bytes] = compress(names, flags(members, len(table)))
        blocks[action] = (members.bit_count(), encode_names(chosen))
    return blocks


def blocks_at_once(
    table: NameTable, records: Mapping[str, DirectorySet]
) -> dict[str, tuple[int, bytes]]:
    """As `completed_blocks` for names of one length, with numpy."""
    from rowtui.core.base.lean_numpy import np

    rows = np.empty((len(table), table.width + 1), dtype=np.uint8)
    rows[:, 0] = table.width
    rows[:, 1:] = np.frombuffer(table.blob, dtype=np.uint8).reshape(len(table), table.width)
    blocks = {}
    for action, members in records.items():
        chosen = np.frombuffer(flags(members, len(table)), dtype=np.bool_)
        blocks[action] = (members.bit_count(), rows[chosen].tobytes())
    return blocks
