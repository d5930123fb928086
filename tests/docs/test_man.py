from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from rowtui.cli.parser import build_parser

from tests.cli.test_grammar import commands

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def make_man() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_man", DOCS / "make_man.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_manual_page_is_what_the_grammar_says(make_man: ModuleType) -> None:
    written = (DOCS / "rowtui.1").read_text(encoding="utf-8")
    assert written == make_man.page(), "run: python docs/make_man.py"
    written = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert written == make_man.commands_page(), "run: python docs/make_man.py"


def test_the_manual_page_has_every_command_with_every_option(make_man: ModuleType) -> None:
    page = make_man.page().replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")
    for words, parser in commands(build_parser()):
        if any(isinstance(it, argparse._SubParsersAction) for it in parser._actions):
            continue
        (section,) = (
            part for part in page.split("\n.SS ") if part.startswith(f"rowtui {' '.join(words)}\n")
        )
        for action in parser._actions:
            if action.option_strings and make_man._is_shown(action):
                own = ", ".join(action.option_strings)
                assert own in section or own in page.split(".SH COMMANDS")[0], (words, own)


def test_no_line_of_the_manual_page_is_an_unknown_request(make_man: ModuleType) -> None:
    known = {"TH", "SH", "SS", "TP", "PP", "B", "I", "BR", "IR", "nf", "fi", "TQ"}
    lines = make_man.page().split("\n")
    requests = {line[1:].split(" ")[0] for line in lines if line.startswith((".", "'"))}
    assert requests <= known
