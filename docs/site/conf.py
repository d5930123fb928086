"""Sphinx builds the site of the documentation from this file: `./setup.sh site`.

The pages are plain Markdown, so that they also read well in the repository. The order of the pages
in the navigation is here. The strict build reports a page that has no place in it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

NAVIGATION = {
    "index": {
        "Begin": "guide/install tutorial faq",
        "How to": "howto/job-waits howto/job-was-killed howto/overnight connect howto/share-nodes "
        "check",
        "Coming from": "from/row from/snakemake from/signac-flow",
        "Use": "views/README guide python",
        "Look up": "commands keys verbs formats differences-from-row",
        "Understand": "architecture background/README bench dependencies",
    },
    "guide": {
        "Projects": "guide/browser guide/workflow-toml guide/states guide/show "
        "guide/scan-and-clean guide/sharing",
        "Jobs": "guide/submit guide/explain guide/jobs guide/retry run usage messages packing",
        "Networks": "network guide/network-runs",
        "Clusters": "guide/clusters-toml guide/local-queue guide/grid-engine guide/ssh guide/login "
        "guide/ssh-messages guide/copies guide/node-types mapping guide/passwords",
        "More": "guide/programs guide/troubleshooting accessibility themes",
    },
    "views/README": {
        "Views": "views/status views/groups views/explain views/pack views/submit views/queue "
        "views/log views/network views/past views/clusters views/home views/keys-and-commands "
        "views/files views/places views/terminals views/demo",
    },
    "background/README": {
        "Background": "background/state background/clusters background/submission "
        "background/mapping background/packing background/network background/screens "
        "background/speed background/scaling",
    },
}
"""Pages below a page, by the captions of their groups. A page that does not exist is left out."""

project = "rowtui"
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["site"]
# Anchors of headings as on GitHub.
myst_heading_anchors = 4
highlight_language = "text"
# Sphinx has no colours for `ssh-config`, GitHub has.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = "rowtui"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False
html_show_copyright = False


def add_navigation(_app: Any, name: str, source: list[str]) -> None:
    """Append the pages below this page to it."""
    for caption, pages in NAVIGATION.get(name, {}).items():
        there = [f"/{page}" for page in pages.split() if (DOCS / f"{page}.md").exists()]
        lines = ["```{toctree}", f":caption: {caption}", ":hidden:", "", *there, "```"]
        source[0] += "\n\n" + "\n".join(lines) + "\n"


def name_files_of_the_sources(_app: Any, name: str, source: list[str]) -> None:
    """Replace links to folders, and to files outside of docs, by their paths in the sources."""
    folder = (DOCS / name).parent

    def replaced(link: re.Match[str]) -> str:
        path = Path(os.path.normpath(folder / link[2]))
        if not path.exists() or (path.is_relative_to(DOCS) and path.is_file()):
            return link[0]
        inside = f"`{path.relative_to(ROOT)}`"
        return inside if link[1].strip("`") in inside else f"{link[1]} ({inside} of the sources)"

    source[0] = re.sub(r"(?<!!)\[([^]]*)\]\(([^)#:]+)[^)]*\)", replaced, source[0])


def setup(app: Any) -> None:
    """Connect the functions above to Sphinx."""
    app.connect("source-read", name_files_of_the_sources)
    app.connect("source-read", add_navigation)
