"""Refuses older Pythons in plain words, finds the packages, and makes the README for PyPI.

The rest is in pyproject.toml.
"""

import re
import sys

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(
        "rowtui needs Python 3.11 or newer, and this is Python "
        + ".".join(map(str, sys.version_info[:2]))
    )

import tomllib
from pathlib import Path

from setuptools import find_packages, setup

FOLDERS = ("core", "cli", "tui", "themes")
PICTURES = (".svg", ".png", ".gif", ".webp")
HERE = Path(__file__).parent


def readme() -> str:
    """Return README.md with absolute addresses of pictures and links, in this version's files."""
    home = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["urls"]["Homepage"]
    version = (HERE / "core/__init__.py").read_text().split('__version__ = "')[1].partition('"')[0]

    def absolute(found: re.Match[str]) -> str:
        kind = "raw" if found[2].partition("#")[0].endswith(PICTURES) else "blob"
        return f"{found[1]}{home}/{kind}/v{version}/{found[2]}"

    # The targets of Markdown's links and of HTML's, unless they have a scheme or name a heading.
    link = r"""(\]\(|\b(?:src|href|srcset)=")(?![a-z]+:|#)([^)\s"]+)"""
    return re.sub(link, absolute, (HERE / "README.md").read_text())


below = [f"rowtui.{folder}.{name}" for folder in FOLDERS for name in find_packages(folder)]
setup(
    packages=["rowtui", *(f"rowtui.{folder}" for folder in FOLDERS), *below],
    long_description=readme(),
    long_description_content_type="text/markdown",
)
