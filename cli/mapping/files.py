"""Shared steps of commands on mapping files: finding the files, and reporting their problems."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.cli.output.output import Output
from rowtui.core.base.errors import NoProjectError
from rowtui.core.base.text import plural
from rowtui.core.mapping.files.places import Fetching, FoundSources, user_places
from rowtui.core.mapping.files.sources import find_sources, sources_from
from rowtui.core.workflow.find import find_project

if TYPE_CHECKING:
    from rowtui.core.project.mapping import ProjectMapping

SHOWN = 5  # problems of mapping files that other commands name individually


def say_problems(mapping: ProjectMapping, out: Output) -> None:
    """Report the first problems of the mapping files, and unusual facts about the files."""
    for source in mapping.sources.sources:
        if source.notice:
            out.warn(source.notice)
    problems = sorted(
        mapping.configuration.problems, key=lambda each: each.severity != "error"
    )  # the worst first
    out.problems(problems[:SHOWN])
    if len(problems) > SHOWN:
        more = plural(len(problems) - SHOWN, "more problem is", "more problems are")
        out.warn(f"{more} listed by 'rowtui mapping lint'")


def project_root() -> Path | None:
    """Return the folder of the project here, None if there is none."""
    try:
        return find_project(Path.cwd())
    except NoProjectError:
        return None


def usual_files() -> FoundSources:
    """Return the mapping files in effect: the user's, and those of the project, if there is one."""
    return find_sources(project_root(), places=user_places(os.environ), now=time.time())


def named_files(names: Sequence[str], *, for_untrusted: bool = False) -> FoundSources:
    """Return the files, folders and URLs that the user named, with their includes.

    `for_untrusted`: also fetch the includes of untrusted files.
    """
    return sources_from(
        names,
        base=Path.cwd(),
        places=user_places(os.environ),
        now=time.time(),
        fetching=Fetching(for_untrusted=for_untrusted),
    )
