"""Refuses older Pythons in plain words, and finds the packages; the rest is in pyproject.toml.

pip compares versions of dependencies first, and complains about those.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(
        "rowtui needs Python 3.11 or newer, and this is Python "
        + ".".join(map(str, sys.version_info[:2]))
    )

from setuptools import find_packages, setup

FOLDERS = ("core", "cli", "tui", "themes")
below = [f"rowtui.{folder}.{name}" for folder in FOLDERS for name in find_packages(folder)]
setup(packages=["rowtui", *(f"rowtui.{folder}" for folder in FOLDERS), *below])
