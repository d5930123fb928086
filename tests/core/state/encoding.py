"""Row's completed.postcard for names in any order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rowtui.core.state.row.postcard import encode_completed_blocks, encode_names


def encode_completed(records: Mapping[str, Iterable[bytes]]) -> bytes:
    blocks = {}
    for action, given in records.items():
        names = sorted(set(given))
        blocks[action] = len(names), encode_names(names)
    return encode_completed_blocks(blocks)
