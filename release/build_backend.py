"""Builds rowtui with setuptools, after a check of the Python.

An older Python gets the metadata alone: pip then ends with one sentence, which names the Python
that rowtui needs. Without this module, pip would list versions of setuptools. This file runs on
Python 3.6 and newer.
"""

import os
import re
import sys
from importlib import import_module
from typing import Any, List  # noqa: UP035

IS_OLD = sys.version_info < (3, 11)
NEEDED = ["setuptools>=77"]


def get_requires_for_build_wheel(_: Any = None) -> List[str]:  # noqa: UP006
    """Return what a build needs."""
    return [] if IS_OLD else NEEDED


get_requires_for_build_sdist = get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(folder: str, settings: Any = None) -> str:
    """Write the metadata into a folder, and return the name of what was written."""
    if not IS_OLD:
        return _setuptools("prepare_metadata_for_build_wheel", folder, settings)
    with open("pyproject.toml", encoding="utf-8") as file:
        needed = re.findall('^requires-python = "(.*)"', file.read(), re.MULTILINE)[0]
    os.mkdir(os.path.join(folder, "rowtui-0.dist-info"))
    with open(os.path.join(folder, "rowtui-0.dist-info", "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\nName: rowtui\nVersion: 0\n")
        file.write("Requires-Python: {}\n".format(needed))  # noqa: UP032
    return "rowtui-0.dist-info"


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(folder: str, settings: Any = None, metadata: Any = None) -> str:
    """Build a wheel, and return its name."""
    return _setuptools("build_wheel", folder, settings, metadata)


def build_sdist(folder: str, settings: Any = None) -> str:
    """Build a source distribution, and return its name."""
    return _setuptools("build_sdist", folder, settings)


def build_editable(folder: str, settings: Any = None, metadata: Any = None) -> str:
    """Build a wheel that refers to this folder, and return its name."""
    return _setuptools("build_editable", folder, settings, metadata)


def _setuptools(hook: str, *arguments: Any) -> str:
    done: str = getattr(import_module("setuptools.build_meta"), hook)(*arguments)
    return done
