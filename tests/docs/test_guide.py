"""The pages name commands and variables that there are, and all of them; no link is broken."""

from __future__ import annotations

import argparse
import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from rowtui.cli.parser import build_parser
from rowtui.core.workflow.load import parse_workflow
from rowtui.tui.commands.command import TITLES, VIEWS

ROOT = Path(__file__).parents[2]
WRITTEN_BY_SCRIPTS = {"commands.md", "keys.md", "verbs.md"}
PAGES = {
    page: page.read_text(encoding="utf-8")
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if page.name not in WRITTEN_BY_SCRIPTS
}
GUIDE = "\n".join(PAGES.values())
TYPED = re.findall(r"^\$ (?:.*\| )?rowtui (.*?)(?: \| .*)?$", GUIDE, re.MULTILINE)
for block in re.findall(r"^```sh\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL):
    TYPED += re.findall(r"^rowtui (.*)$", block, re.MULTILINE)


@pytest.mark.parametrize("typed", sorted(set(TYPED) - {"--version"}))
def test_every_command_that_is_shown_can_be_typed(typed: str) -> None:
    build_parser().parse_args(shlex.split(typed, comments=True))


def commands(
    parser: argparse.ArgumentParser, name: str = "rowtui"
) -> Iterator[tuple[str, set[str]]]:
    """Each command with its own options."""
    options = {option for action in parser._actions for option in action.option_strings}
    yield name, {option for option in options if option.startswith("--")}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, sub in action.choices.items():
                yield from commands(sub, f"{name} {word}")


def test_every_command_is_shown_or_named() -> None:
    names = [name for name, _ in commands(build_parser())]
    assert [name for name in names if name not in GUIDE] == []


def test_every_option_is_named_somewhere() -> None:
    obvious = {"--help", "--version", "--verbose", "--quiet", "--signac", "--workspace"}
    short = {"--action": "-a", "--n-groups": "-n", "--lines": "-n", "--follow": "-f"}
    options = {option for _, found in commands(build_parser()) for option in found} - obvious
    missing = {it for it in options if it not in GUIDE and short.get(it, it) not in GUIDE}
    # What the help of `demo` and of `show` says is enough.
    assert missing - {"--keep", "--directories"} == set()


def test_the_variables_of_the_guide_are_those_of_the_code() -> None:
    guide = "\n".join(text for page, text in PAGES.items() if page.parent.name == "guide")
    named = set(re.findall(r"`(ROWTUI_[A-Z_]+)`", guide))
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for room in ("core", "cli")
        for path in (ROOT / room).rglob("*.py")
    )
    of_commands = {
        f"ROWTUI_{word}" for word in re.findall(r'environment_\w+\(\s*"([A-Z_]+)"', code)
    }
    of_the_queue = set(re.findall(r"ROWTUI_(?:LOCAL_[A-Z]+(?:_MB)?|JOB_ID|TOKEN)\b", code))
    assert named == of_commands | of_the_queue


def test_every_workflow_that_is_shown_is_read_without_a_complaint() -> None:
    shown = [
        (page, block)
        for page, text in PAGES.items()
        for block in re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        if "[workspace]" in block
    ]
    assert {page.parent.name for page, _ in shown} >= {"docs", "from"}
    for page, block in shown:
        workflow = parse_workflow(block.encode(), page.parent, page.name)
        assert workflow.problems == (), page


def without_code(text: str) -> str:
    return re.sub(r"^( *)```.*?^\1```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text: str) -> set[str]:
    """The anchors of a page, as GitHub and the site make them from its headings."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", without_code(text), re.MULTILINE):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).strip().replace(" ", "-")
        found.add(name if name not in found else f"{name}-{sum(name in it for it in found)}")
    return found


def broken_links(page: Path) -> list[str]:
    wrong = []
    text = without_code(page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^) ]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if "://" in link or link.startswith("mailto:"):
            continue
        target, _, heading = link.partition("#")
        there = page.parent / target if target else page
        if not there.exists() or (
            heading and heading not in anchors(there.read_text(encoding="utf-8"))
        ):
            wrong.append(f"{page.name}: {link}")
    return wrong


def test_every_page_and_heading_that_is_linked_to_is_there() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    assert [link for page in pages for link in broken_links(page)] == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One *thing*\n[a](#one-thing) [b](#two) [c](no.md)\n```\n# two\n[d](no.md)\n```\n"
    )
    assert broken_links(page) == ["page.md: #two", "page.md: no.md"]


def test_each_page_has_one_place_in_the_navigation_of_the_site() -> None:
    conf = runpy.run_path(str(ROOT / "docs" / "site" / "conf.py"))
    groups = [pages.split() for below in conf["NAVIGATION"].values() for pages in below.values()]
    placed = sorted(page for pages in groups for page in pages)
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs).with_suffix("")) for page in docs.rglob("*.md")} - {"index"}
    assert sorted(set(placed)) == placed
    assert set(placed) == pages


def test_each_view_has_a_page_and_each_page_is_in_the_index() -> None:
    folder = ROOT / "docs" / "views"
    pages = {page.stem for page in folder.glob("*.md")} - {"README"}
    assert set(TITLES) <= pages
    index = (folder / "README.md").read_text(encoding="utf-8")
    assert {page for page in pages if f"({page}.md)" not in index} == set()


def test_the_page_of_each_view_shows_it_in_80_columns() -> None:
    for page in TITLES:
        text = (ROOT / "docs" / "views" / f"{page}.md").read_text(encoding="utf-8")
        assert re.search(r"^!\[.+\]\(../../screenshots/[\w-]+-80x24.png\)$", text, re.M), page


def test_the_readme_lists_each_numbered_view_and_counts_them() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = [int(number) for number in re.findall(r"^- \*\*\[(\d) ", readme, re.MULTILINE)]
    assert listed == sorted(number for number, _ in VIEWS.values())
    words = ("eight", "nine", "ten")
    assert f"{words[len(listed) - 8]} numbered views, opened with the keys 1 to {len(listed)}," in (
        readme
    )


def test_no_page_denies_that_runs_retry() -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")}
    assert "retries failures that have a known cure" in pages[ROOT / "docs/run.md"]
    denied = re.compile(r"(nothing|never)\s[^.]{0,40}\bretried\s+automatically", re.IGNORECASE)
    assert [page.name for page, text in pages.items() if denied.search(text)] == []
