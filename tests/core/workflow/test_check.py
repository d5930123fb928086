from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.workflow.load import parse_workflow
from rowtui.core.workflow.model import Workflow

HEAD = '[[action]]\nname = "a"\ncommand = "x {directory}"\n'


def parsed(text: str) -> Workflow:
    return parse_workflow(text.encode(), Path("/p"), "workflow.toml")


VALUES = "workspace.value_file = 'v.json'\n"


@pytest.mark.parametrize(
    ("line", "severity", "words"),
    [
        ("resources.processes.per_submission = 0", "error", "it asks for 0 processes"),
        ("resources.threads_per_process = 0", "warning", "0 threads per process"),
        ("resources.gpus_per_process = 0", "warning", "0 GPUs per process"),
        ("resources.walltime.per_directory = '00:00'", "warning", "the walltime is 0"),
        ("group.maximum_size = 0", "error", "`maximum_size` is 0"),
        ("group.sort_by = ['x']", "error", "'x' is not a JSON pointer"),
        ("group.include = [{condition = ['x', '==', 1]}]", "error", "'x' is not a JSON pointer"),
        ("group.include = [{condition = ['/x', '==', {}]}]", "error", "cannot be compared"),
        ("group.include = [{condition = ['/x', '==', 2020-01-01]}]", "error", "table or date"),
        ("group.include = [{condition = ['/x', '==', inf]}]", "warning", "compared as null"),
        ("group.include = [{condition = ['/x', '==', 1, 2]}]", "warning", "others are ignored"),
        ("products = ['x', 'x']", "warning", "'x' is named twice"),
        ("products = ['']", "warning", "not the name of a file"),
        ("products = ['x/']", "warning", "not the name of a file"),
        ("previous_actions = ['a']", "error", "it waits for itself: 'a' after 'a'"),
        ('submit_options.d.account = "a\\nb"', "error", "`account` has control characters"),
        ('submit_options.d.custom = ["a\\nb"]', "error", "`custom` has control characters"),
        ('submit_options.d.setup = "a\\u0000b"', "error", "`setup` has a NUL character"),
    ],
)
def test_problems_of_one_action_are_told_and_the_project_still_opens(
    line: str, severity: str, words: str
) -> None:
    workflow = parsed(VALUES + HEAD + line + "\n")
    assert len(workflow.actions) == 1
    problem = workflow.problems[0]
    assert words in problem.message
    assert (problem.severity, problem.line) == (severity, 5)


def test_a_ring_of_actions_is_one_error_of_bounded_length() -> None:
    count = 500
    text = "".join(
        f"[[action]]\nname = 'a{at}'\ncommand = 'x {{directory}}'\nproducts = ['x']\n"
        f"previous_actions = ['a{(at + 1) % count}']\n"
        for at in range(count)
    )
    (problem,) = parsed(text).problems
    assert problem.message.startswith(
        "action 'a0': it waits for itself: 'a0' after 'a1' after 'a2'"
    )
    assert problem.message.endswith(" and so on, 500 actions in all")
    assert len(problem.message) < 200


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("x", "neither {directory} nor {directories}"),
        ("{directory} {directories}", "both"),
        ("{directories} {/x}", "value template"),
        ("{directory} ${HOME}", "{HOME}"),
        ("", "neither"),
    ],
)
def test_a_broken_template_is_found_at_load(command: str, words: str) -> None:
    workflow = parsed(f"[[action]]\nname = 'a'\ncommand = '{command}'\n")
    (problem,) = workflow.problems
    assert words in problem.message
    assert (problem.line, problem.column, problem.action, problem.severity) == (3, 1, 0, "error")


@pytest.mark.parametrize("line", ["group.sort_by = ['/x']", "command = 'y {directory} {/x}'"])
def test_pointers_without_a_value_file_are_an_error_but_the_whole_value_is_not(line: str) -> None:
    command = "" if "command" in line else "command = '{directory}'"
    text = f"[[action]]\nname = 'a'\n{command}\n"
    (problem,) = parsed(text + line).problems
    assert "`value_file` is not set" in problem.message
    assert problem.line == 4
    assert parsed(text + line.replace("/x", "")).problems == ()
    assert parsed(VALUES + text + line).problems == ()


def test_an_inherited_mistake_is_shown_where_it_is_written() -> None:
    workflow = parsed(
        "[default.action]\ncommand = 'broken'\n[[action]]\nname = 'a'\n[[action]]\nname = 'b'\n"
    )
    assert [(problem.line, problem.action) for problem in workflow.problems] == [(2, 0), (2, 1)]


def test_a_cycle_is_told_once_with_its_way_round_and_those_behind_it_are_not() -> None:
    elements = [("a", ["c"]), ("b", ["a"]), ("c", ["b"]), ("behind", ["c"]), ("free", [])]
    workflow = parsed(
        "".join(
            f"[[action]]\nname = '{name}'\ncommand = '{{directory}}'\n"
            f"products = ['p']\nprevious_actions = {before}\n"
            for name, before in elements
        )
    )
    (problem,) = workflow.problems
    assert (problem.action, problem.line) == (0, 5)
    assert "'a' after 'c' after 'b' after 'a'" in problem.message


def test_an_action_that_others_wait_for_but_that_cannot_complete_is_a_warning() -> None:
    second = "[[action]]\nname = 'b'\ncommand = '{directory}'\nprevious_actions = ['a']\n"
    (problem,) = parsed(HEAD + second).problems
    assert "never completes and 'b' waits for ever" in problem.message
    assert (problem.severity, problem.action, problem.line) == ("warning", 0, 2)
    assert parsed(HEAD + "products = ['x']\n" + second).problems == ()
    assert parsed(HEAD).problems == ()


def test_a_name_with_an_escape_sequence_is_an_error_and_shown_harmless() -> None:
    (problem,) = parsed('[[action]]\nname = "\\u001b[31m"\ncommand = "{directory}"\n').problems
    assert "control characters" in problem.message
    assert "\x1b" not in str(problem)
