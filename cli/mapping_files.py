"""What commands on mapping files share: finding them, and saying what is wrong with them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.errors import NoProjectError
from rowtui.core.text import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowtui.cli.output import Output
    from rowtui.core.mapping.sources import Found
    from rowtui.core.project.mapping import ProjectMapping

SHOWN = 5  # problems of mapping files that other commands name one by one


def say_problems(mapping: ProjectMapping, out: Output) -> None:
    """The first problems of the mapping files, and what is unusual about them."""
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
    """The folder of the project here, None if there is none."""
    from rowtui.core.workflow.find import find_project

    try:
        return find_project(Path.cwd())
    except NoProjectError:
        return None


def usual_files() -> Found:
    """The mapping files that count here: the user's, and the project's if this is one."""
    from rowtui.core.mapping.sources import find_sources, user_places

    return find_sources(project_root(), places=user_places(os.environ), now=time.time())


def named_files(names: Sequence[str], *, for_untrusted: bool = False) -> Found:
    """The files, folders and URLs that somebody named, with what they include.

    `for_untrusted`: fetch also what a file includes that is not trusted.
    """
    from rowtui.core.mapping.sources import Fetching, sources_from, user_places

    return sources_from(
        names,
        base=Path.cwd(),
        places=user_places(os.environ),
        now=time.time(),
        fetching=Fetching(for_untrusted=for_untrusted),
    )
