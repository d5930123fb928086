"""Somebody else as mapping files see them: a name, and the roles that this machine knows."""

from __future__ import annotations

import os

from rowtui.core.mapping.request import Person


def person_named(name: str, roles: tuple[str, ...] | None = None) -> Person:
    """A user with these roles, by default their Unix groups here, the main one first.

    Somebody whom this machine does not know (or an e-mail address) has no roles.
    """
    return Person(name, unix_groups(name) if roles is None else roles)


def unix_groups(name: str) -> tuple[str, ...]:
    """The names of a user's groups on this machine."""
    import grp
    import pwd

    try:
        main = pwd.getpwnam(name).pw_gid
        numbers = dict.fromkeys((main, *os.getgrouplist(name, main)))
    except (KeyError, OSError, ValueError):
        return ()
    names = []
    for number in numbers:
        try:
            names.append(grp.getgrgid(number).gr_name)
        except KeyError:
            continue  # a group without a name cannot be matched
    return tuple(names)
