"""`python -m bench` as it is used: one command, every line told, whatever could not be measured."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import choose, command, main, parser
from bench.lines import LINES
from bench.suites import SUITES, Suite, ask

ROOT = Path(__file__).parents[2]


def test_one_command_tells_every_line_as_a_table_and_as_json(tmp_path: Path) -> None:
    words = ["--quick", "--sizes", "200", "--only", "commands,start"]

    done = subprocess.run(
        [sys.executable, "-m", "bench", *words, "--json", tmp_path / "all.json"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    table = done.stdout.partition("## What is to be reached")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    told = json.loads((tmp_path / "all.json").read_text())
    assert len(rows) == len(told["lines"]) == len(LINES)
    for row, one, line in zip(rows, told["lines"], LINES, strict=True):
        assert row.startswith(f"| {line.name}")
        measured = line.suite in {"commands", "start"} and not line.needs
        assert bool(one["best"]) == measured
        assert one["state"] != "not measured" or one["why"]
    assert "floor: interpreter" in done.stdout
    assert not [row for row in told["rows"] if row.get("error")]
    assert "commands: -m bench.commands" in done.stderr


def test_all_lines_and_benches_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--list"])

    said = capsys.readouterr().out
    assert all(line.name in said for line in LINES)
    assert all(f"  {suite.name} " in said for suite in SUITES)
    assert {line.suite for line in LINES} <= {suite.name for suite in SUITES}


def test_the_page_on_measuring_names_options_that_there_are() -> None:
    page = (ROOT / "docs/bench.md").read_text()

    options = set(re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", page))
    known = {option for action in parser()._actions for option in action.option_strings}
    assert len(options) > 10
    assert options - known == {"--io-threads"}


def test_words_choose_benches_and_commands() -> None:
    assert choose(["queue", "start"]) == (["start", "queue"], [])
    names, cases = choose(["dry-run"])
    assert names == ["commands"]
    assert cases == ["submit --dry-run -n 1", "submit --dry-run"]
    assert choose(["dry-run", "commands"])[1] == []
    with pytest.raises(SystemExit, match="'nothing-like-it'"):
        choose(["nothing-like-it"])


def test_a_bench_that_is_missing_or_fails_is_a_reason(capfd: pytest.CaptureFixture[str]) -> None:
    absent = ask(Suite("absent", "", lambda _: [[]]), [])
    wrong = ask(Suite("queue", "", lambda _: [[]]), ["--no-such-option"])

    assert absent == ([], f"{sys.executable}: No module named bench.absent")
    assert wrong[0] == []
    assert "unrecognized arguments: --no-such-option" in wrong[1]
    assert "unrecognized" in capfd.readouterr().err


def test_a_saved_table_says_what_was_asked_without_places_of_the_machine() -> None:
    words = ["--sizes", "10", "--keep", "/x/y", "--row=/opt/row", "--note", "a b", "--quick"]

    assert command(words) == "python -m bench --sizes 10 --row=PATH --quick"
