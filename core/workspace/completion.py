"""Which actions are complete in a directory: Row's rule, for many directories at a time.

An action is complete if every one of its products exists, with any type and size; a broken symlink
exists. An action without products is never complete. Products may lie in subdirectories. Products
are relative; `""` and a path with a trailing slash never match, as in Row 1.1.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence


class Products:
    """The products of all actions, prepared for the search.

    `complete_in` returns bits: bit k is the k-th action of `actions`.
    """

    def __init__(self, products: Mapping[str, tuple[str, ...]]) -> None:
        self.actions = tuple(products)
        self._plain: dict[bytes, int] = {}  # names directly inside the directory -> their bit
        self._nested: dict[bytes, int] = {}  # paths with a slash -> their bit
        self._needs: list[tuple[int, int]] = []  # (bits of all products, bit of the action)
        bits: dict[str, int] = {}
        for position, wanted in enumerate(products.values()):
            if not wanted or not all(map(_can_exist, wanted)):
                continue
            need = 0
            for product in wanted:
                bit = bits.setdefault(product, 1 << len(bits))
                (self._nested if "/" in product else self._plain)[os.fsencode(product)] = bit
                need |= bit
            self._needs.append((need, 1 << position))
        self._known: dict[int, int] = {}  # bits found -> actions complete

    def __bool__(self) -> bool:
        """Whether there are products to search for."""
        return bool(self._needs)

    def as_bits(self) -> tuple[list[bytes], list[int]]:
        """Return all paths, and for each action which of them it needs, as bits; 0: it has none.

        Both are empty if there are no products to search for.
        """
        bits = {**self._plain, **self._nested}
        needs = {action: need for need, action in self._needs}
        every = [needs.get(1 << position, 0) for position in range(len(self.actions))]
        return sorted(bits, key=bits.__getitem__), every if needs else []

    def complete_in(self, entries: Iterable[bytes], root: int, folder: bytes) -> int:
        """Return the actions that are complete in a directory with these entries.

        One listing of the directory serves all products directly inside it. `folder` is the
        directory's path from the descriptor `root`, with a slash at its end; products in
        subdirectories cost a stat each.
        """
        found = 0
        wanted = self._plain.get
        for entry in entries:
            found |= wanted(entry, 0)
        for path, bit in self._nested.items():
            try:
                os.stat(folder + path, dir_fd=root, follow_symlinks=False)
            except OSError:  # missing, or a file where a folder is needed
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
