"""A mapping file as read, the folders of the user, and how URLs are fetched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import Problem
from rowtui.core.base.files import own_config_folder


class MappingSource(NamedTuple):
    """One mapping file as read.

    `name`: for the user, a path below the project or with ~, or the URL. `trusted`: whether its
    expressions may run, with the reason `trusted_because`. `notice`: an unusual condition, for
    example that a URL did not respond and an older copy is used. `place`: the absolute path or the
    URL, the name under which `TrustStore` stores its contents.
    """

    name: str
    data: bytes
    digest: str
    trusted: bool
    trusted_because: str
    notice: str = ""
    place: str = ""


class FileTrust(NamedTuple):
    """A mapping file, whether its code may run, and why."""

    name: str
    trusted: bool
    because: str


class FoundSources(NamedTuple):
    """The sources in the order in which they are merged, and the problems of reading them."""

    sources: tuple[MappingSource, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def trust(self) -> tuple[FileTrust, ...]:
        """Return the trust in each source."""
        return tuple(FileTrust(it.name, it.trusted, it.trusted_because) for it in self.sources)


class UserFolders(NamedTuple):
    """The user's folders. `configuration` and `home` are None if there is no home."""

    configuration: Path | None
    trust: Path
    cache: Path
    home: Path | None = None


class Fetching(NamedTuple):
    """How URLs are fetched. `seconds` for each, `total_seconds` for all of them together.

    `for_untrusted`: also fetch the includes of untrusted files. With this option, opening the
    project of another person makes this machine send requests to any address in its mapping file.
    """

    allowed: bool = True
    seconds: float = 10.0
    total_seconds: float = 30.0
    fresh_seconds: float = 600.0
    for_untrusted: bool = False


def user_places(environ: Mapping[str, str]) -> UserFolders:
    """Return the folders of this user's configuration, trust and copies, by the XDG rules."""
    own = own_config_folder(environ)
    home = environ.get("HOME")
    return UserFolders(
        None if own is None else own / "mapping",
        _xdg(environ, "XDG_DATA_HOME", ".local/share") / "rowtui/trust",
        _xdg(environ, "XDG_CACHE_HOME", ".cache") / "rowtui/mapping",
        Path(home) if home else None,
    )


def _xdg(environ: Mapping[str, str], name: str, usual: str) -> Path:
    """Return a folder by the XDG rules, which ignore relative paths."""
    folder = environ.get(name, "")
    if folder.startswith("/"):
        return Path(folder)
    return Path(environ.get("HOME") or Path.home()) / usual
