"""People as mapping files see them: a name, and the roles that this machine knows."""

from __future__ import annotations

import os
from collections.abc import Iterable

from rowtui.core.mapping.request import Person


def this_person() -> Person:
    """The user of this process with the names of their Unix groups, the main one first."""
    from rowtui.core.clusters.schedulers.local_machine import user_name

    return Person(user_name(), _names((os.getegid(), *os.getgroups())))


def person_named(name: str, roles: tuple[str, ...] | None = None) -> Person:
    """A user with these roles, by default their Unix groups here, the main one first.

    Somebody whom this machine does not know (or an e-mail address) has no roles.
    """
    return Person(name, unix_groups(name) if roles is None else roles)


def unix_groups(name: str) -> tuple[str, ...]:
    """The names of a user's groups on this machine."""
    import pwd

    try:
        main = pwd.getpwnam(name).pw_gid
        return _names((main, *os.getgrouplist(name, main)))
    except (KeyError, OSError, ValueError):
        return ()


def _names(numbers: Iterable[int]) -> tuple[str, ...]:
    """The names of groups, each number once; one without a name cannot be matched."""
    import grp

    names = []
    for number in dict.fromkeys(numbers):
        try:
            names.append(grp.getgrgid(number).gr_name)
        except KeyError:
            continue
    return tuple(names)
