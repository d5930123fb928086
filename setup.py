"""Refuses older Pythons in plain words; everything about the package is in pyproject.toml.

pip compares versions of dependencies first, and complains about those.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(
        "rowtui needs Python 3.11 or newer, and this is Python "
        + ".".join(map(str, sys.version_info[:2]))
    )

from setuptools import setup

setup()
