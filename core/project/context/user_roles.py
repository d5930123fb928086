"""Users as mapping files see them: a name, and roles from the groups of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable

from rowtui.core.mapping.model.request import Person


def this_person() -> Person:
    """Return the user of this process with the names of their Unix groups, the main group first."""
    from rowtui.core.clusters.schedulers.local.machine import user_name

    return Person(user_name(), _names((os.getegid(), *os.getgroups())))


def person_named(name: str, roles: tuple[str, ...] | None = None) -> Person:
    """Return a user with these roles, by default their Unix groups here, the main group first.

    A user unknown to this machine (or an e-mail address) has no roles.
    """
    return Person(name, unix_groups(name) if roles is None else roles)


def unix_groups(name: str) -> tuple[str, ...]:
    """Return the names of a user's groups on this machine."""
    import pwd

    try:
        main = pwd.getpwnam(name).pw_gid
        return _names((main, *os.getgrouplist(name, main)))
    except (KeyError, OSError, ValueError):
        return ()


def _names(numbers: Iterable[int]) -> tuple[str, ...]:
    """Return the names of groups, each number once. A group without a name cannot be matched."""
    import grp

    names = []
    for number in dict.fromkeys(numbers):
        try:
            names.append(grp.getgrgid(number).gr_name)
        except KeyError:
            continue
    return tuple(names)
