"""Which actions are complete in a directory: Row's rule, for many directories at a time.

An action is complete if every one of its products exists, with any type and size; a broken symlink
exists. An action without products is never complete. Products may lie in subdirectories. Products
are relative; `""` and a path with a trailing slash never match, as in Row 1.1.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping, Sequence

# A listing of a directory takes as long as looks at four names in it, and asks a file server twice.
FEW = 2

# The errors of a name that is not there. Others prove nothing.
_ABSENT = frozenset((errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG))


class Products:
    """The products of all actions, prepared for the search.

    `complete_in` returns bits: bit k is the k-th action of `actions`. Up to `few` products directly
    inside a directory are looked at by name, like those in its subdirectories; more are found in
    one listing.
    """

    def __init__(self, products: Mapping[str, tuple[str, ...]], few: int = 0) -> None:
        self.actions = tuple(products)
        self._listed: dict[bytes, int] = {}  # names directly inside the directory -> their bit
        self._named: dict[bytes, int] = {}  # paths that are looked at -> their bit
        self._needs: list[tuple[int, int]] = []  # (bits of all products, bit of the action)
        bits: dict[str, int] = {}
        for position, wanted in enumerate(products.values()):
            if not wanted or not all(map(_can_exist, wanted)):
                continue
            need = 0
            for product in wanted:
                bit = bits.setdefault(product, 1 << len(bits))
                (self._named if "/" in product else self._listed)[os.fsencode(product)] = bit
                need |= bit
            self._needs.append((need, 1 << position))
        if len(self._listed) <= few:
            self._named |= self._listed
            self._listed = {}
        self._known: dict[int, int] = {}  # bits found -> actions complete

    def __bool__(self) -> bool:
        """Whether there are products to search for."""
        return bool(self._needs)

    @property
    def lists(self) -> bool:
        """Whether directories have to be listed."""
        return bool(self._listed)

    def as_bits(self) -> tuple[dict[bytes, int], dict[bytes, int], list[int]]:
        """Return the bits of listed names and of other paths, and each action's bits (0: none).

        All are empty if there are no products to search for.
        """
        needs = {action: need for need, action in self._needs}
        every = [needs.get(1 << position, 0) for position in range(len(self.actions))]
        return self._listed, self._named, every if needs else []

    def complete_in(self, entries: Iterable[bytes], root: int, folder: bytes) -> int:
        """Return the actions that are complete in a directory with these entries.

        `folder` is the directory's path from the descriptor `root`, with a slash at its end.
        Raises: OSError if the directory does not let anybody look.
        """
        found = 0
        wanted = self._listed.get
        for entry in entries:
            found |= wanted(entry, 0)
        for path, bit in self._named.items():
            try:
                os.stat(folder + path, dir_fd=root, follow_symlinks=False)
            except OSError as error:
                if error.errno not in _ABSENT and b"/" not in path:
                    raise
                continue
            found |= bit
        complete = self._known.get(found)
        if complete is None:
            complete = 0
            for need, action in self._needs:
                if found & need == need:
                    complete |= action
            self._known[found] = complete
        return complete

    def bit_sets(self, found: Sequence[int]) -> dict[str, int]:
        """Return each action's bit set over positions, from the results of `complete_in`."""
        sets = dict.fromkeys(self.actions, 0)
        # There are few distinct results; each becomes a row of text digits that int() parses at
        # once.
        kinds = {kind: chr(code) for code, kind in enumerate(dict.fromkeys(found), 0x100)}
        if not any(kinds):
            return sets
        row = "".join([kinds[kind] for kind in reversed(found)])
        for position, action in enumerate(self.actions):
            digits = {ord(char): "01"[kind >> position & 1] for kind, char in kinds.items()}
            sets[action] = int(row.translate(digits), 2)
        return sets


def is_complete(folder: str, products: Sequence[str]) -> bool:
    """Whether one directory has all products of an action; a stat for each product."""
    return bool(products) and all(
        _can_exist(product) and os.path.lexists(os.path.join(folder, product))
        for product in products
    )


def _can_exist(product: str) -> bool:
    return bool(product) and not product.endswith(("/", "/.")) and "\0" not in product
