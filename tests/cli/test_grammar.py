"""The grammar refuses what Row refuses: short forms of options, repeated options, empty names."""

from __future__ import annotations

import argparse
from typing import Any

import pytest
from rowtui.cli.main import main
from rowtui.cli.parser import build_parser

from tests.cli.in_process import Here, prepared

WORKFLOW = """\
[[action]]
name = "one"
command = "touch workspace/{directory}/x"
products = ["x"]
"""
COLLECTING = (argparse._AppendAction, argparse._CountAction)


@pytest.fixture
def project(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    return prepared(tmp_path, monkeypatch, capsys, WORKFLOW)


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What the command line says of words that it does not take."""
    capsys.readouterr()
    assert main(words) == 2, words
    out, err = capsys.readouterr()
    assert out == ""
    return err


def commands(parser: Any, words: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Every command with its parser."""
    found = [(words, parser)]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            names = {sub: name for name, sub in reversed(action.choices.items())}  # no aliases
            for sub, name in reversed(names.items()):
                found += commands(sub, (*words, name))
    return found


def options_of(parser: Any) -> list[tuple[Any, list[str]]]:
    """The options of one command, each with words that give it once."""
    given = []
    for action in parser._actions:
        if not action.option_strings or action.dest in ("help", "version"):
            continue
        action.type = str  # which words it takes does not matter here
        value = ["1"] if action.nargs != 0 else []
        if action.choices:
            value = [next(iter(action.choices))]
        given.append((action, [action.option_strings[-1], *value]))
    return given


ALL = [(words, parser) for words, parser in commands(build_parser()) if parser._actions]


@pytest.mark.parametrize(("words", "parser"), ALL, ids=[" ".join(words) for words, _ in ALL])
def test_no_option_is_abbreviated_or_given_twice(
    words: tuple[str, ...], parser: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for action, given in options_of(parser):
        several = action.dest == "cluster" and parser.several_clusters
        if not (several or isinstance(action, COLLECTING)):
            with pytest.raises(SystemExit):
                parser.parse_args([*given, *given])
            assert "given more than once" in capsys.readouterr().err, given
        for option in action.option_strings:
            if option.startswith("--") and option[:-1] not in parser._option_string_actions:
                with pytest.raises(SystemExit):
                    parser.parse_args(["=".join([option[:-1], *given[1:]])])
                said = capsys.readouterr().err
                assert "unrecognized arguments: " in said or "required" in said, option


def test_what_is_short_for_an_option_is_answered_with_the_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = refused(capsys, "show", "status", "--elig")
    assert "unrecognized arguments: --elig; did you mean --eligible?" in said
    assert "Usage: rowtui show status" in said
    assert "-y; did you mean --yes?" in refused(capsys, "submit", "-y")
    assert "--actoin; did you mean --action?" in refused(capsys, "plan", "--actoin", "x")


@pytest.mark.parametrize(
    "line",
    [
        "show status -a one -a two",
        "show directories -a one --action two",
        "show directories -a one -n 1 -n 2",
        "show status --all --all",
        "--no-progress --no-progress show status",
        "submit --dry-run -n 1 -n 2",
        "plan --array --no-array",
        "show status --cluster none --cluster local",
    ],
)
def test_an_option_with_one_value_is_given_once(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "given more than once" in refused(capsys, *line.split())


def test_an_option_may_stand_before_and_after_the_command_and_the_last_one_counts(
    project: Here,
) -> None:
    # As in Row: both are options of parsers of their own. `project` gives --cluster first.
    assert project("show", "cluster", "--short", "--cluster", "local").out == "local\n"


def test_a_number_of_groups_needs_an_action_even_if_it_is_0(project: Here) -> None:
    done = project("show", "directories", "-n", "0")
    assert (done.code, done.out) == (2, "")
    assert "--n-groups needs --action" in done.err
    assert project("show", "directories", "-a", "one", "-n", "0").out == "No matches.\n"


@pytest.mark.parametrize(
    "line", ["show status", "show status --all", "show cluster", "submit --dry-run", "queue"]
)
def test_an_empty_name_of_a_cluster_is_refused(
    line: str, project: Here, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project("show", "status")  # whose answer is now known without a look
    capsys.readouterr()
    assert main([*line.split(), "--cluster="]) == 1
    assert "--cluster is empty" in capsys.readouterr().err
    for variable in ("ROWTUI_CLUSTER", "ROW_CLUSTER"):
        with monkeypatch.context() as changed:
            changed.setenv(variable, "")
            assert main(line.split()) == 1
            out, err = capsys.readouterr()
            assert out == ""
            assert "CLUSTER is empty" in err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("submitt", "there is no command 'submitt'; did you mean 'submit' or"),
        ("statsu", "there is no command 'statsu'; did you mean 'show status'?"),
        ("show jbos", "there is no command 'jbos'; did you mean 'jobs'?"),
        ("mapping lnt", "there is no command 'lnt'; did you mean 'lint'?"),
        ("xyzzy", "there is no command 'xyzzy'\n"),
    ],
)
def test_a_mistyped_command_is_answered_with_the_one_that_is_meant(
    capsys: pytest.CaptureFixture[str], words: str, meant: str
) -> None:
    assert meant in refused(capsys, *words.split())


@pytest.mark.parametrize("name", ["nope", "nine", "non"])
def test_a_mistyped_cluster_never_leads_to_none(project: Here, name: str) -> None:
    project.cluster = name
    done = project("submit", "--yes")
    assert done.code == 1
    assert f"cluster '{name}' not found" in done.err
    assert "none" not in done.err


@pytest.mark.parametrize("command", ["plan", "pack", "retry", "run"])
def test_an_action_that_does_not_exist_is_an_error(project: Here, command: str) -> None:
    done = project(command, "-a", "NOTHERE")
    assert done.code == 1
    assert "No actions match 'NOTHERE'.\n        the actions are one" in done.err


def test_with_a_limit_only_the_jobs_within_it_decide_about_the_exit_code(project: Here) -> None:
    workflow = project.folder / "workflow.toml"
    workflow.write_text(
        WORKFLOW
        + "group.maximum_size = 1\n"
        + WORKFLOW.replace('"one"', '"two"')
        + "resources.threads_per_process = 100_000\n"
    )
    project.cluster = "local"
    assert project("submit", "--yes", "-n", "1").code == 0
    assert project("submit", "--yes").code == 1  # `two` is left out
