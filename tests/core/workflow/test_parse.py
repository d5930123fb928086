from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rowtui.core.base.errors import WorkflowError
from rowtui.core.workflow.load import parse_workflow
from rowtui.core.workflow.model import (
    Action,
    Condition,
    GroupRule,
    Processes,
    Resources,
    Selector,
    SubmitOptions,
    Walltime,
    Workflow,
)

ROOT = Path("/project")
HEAD = '[[action]]\nname = "a"\ncommand = "x {directory}"\n'


def parsed(text: str) -> Workflow:
    return parse_workflow(text.encode(), ROOT, "workflow.toml")


def refused(text: str) -> list[tuple[int, str]]:
    """(line, message) of each problem of a file that cannot be used."""
    with pytest.raises(WorkflowError) as caught:
        parsed(text)
    assert all(problem.file == "workflow.toml" for problem in caught.value.problems)
    return [(problem.line, problem.message) for problem in caught.value.problems]


def test_an_empty_file_is_a_workflow_without_actions() -> None:
    assert parsed("") == Workflow(ROOT)
    assert parsed("").workspace == ROOT / "workspace"


def test_every_default_is_rows() -> None:
    (action,) = parsed(HEAD).actions
    assert action == Action(0, "a", "x {directory}")
    assert action.launchers == action.previous_actions == action.products == ()
    assert action.resources == Resources(Processes(1, False), None, None, Walltime(3600, True))
    assert action.group == GroupRule((), (), False, False, None, False)
    assert action.submit_options == {}
    assert (action.resources.memory_per_cpu_mb, action.resources.memory_per_gpu_mb) == (None, None)


def test_every_key_arrives_where_it_belongs() -> None:
    workflow = parsed(
        """
[workspace]
path = "data/w"
value_file = "v.json"
[[action]]
name = "first"
command = "f {directories}"
products = ["f.out"]
[[action]]
name = "second"
command = "s {directory} {/x}"
launchers = ["openmp", "mpi"]
previous_actions = ["first"]
products = ["a.out", "sub/b.out"]
[action.resources]
processes.per_directory = 3
threads_per_process = 4
gpus_per_process = 2
walltime.per_submission = "4d 05:32:11"
memory_per_cpu_mb = 100
memory_per_gpu_mb = 200
[action.group]
include = [
    {condition = ["/x", "<", 1.5]},
    {all = [["/y", "!=", "s"], ["", "==", [1, true]]]},
    {all = []},
]
sort_by = ["/x", ""]
split_by_sort_key = true
reverse_sort = true
maximum_size = 7
submit_whole = true
[action.submit_options.delta]
account = "acc"
setup = "module load x"
custom = ["--mail=x"]
partition = "cpu"
output_file_path = "logs"
output_file_name = "{action_name}.out"
"""
    )
    assert (workflow.workspace_path, workflow.value_file) == ("data/w", "v.json")
    assert workflow.problems == ()
    assert workflow.actions[1] == Action(
        1,
        "second",
        "s {directory} {/x}",
        ("openmp", "mpi"),
        ("first",),
        ("a.out", "sub/b.out"),
        Resources(Processes(3, True), 4, 2, Walltime(365_531, False), 100, 200),
        GroupRule(
            (
                Selector((Condition("/x", "<", 1.5),)),
                Selector((Condition("/y", "!=", "s"), Condition("", "==", [1, True]))),
                Selector(()),
            ),
            ("/x", ""),
            True,
            True,
            7,
            True,
        ),
        {
            "delta": SubmitOptions(
                "acc", "module load x", ("--mail=x",), "cpu", "logs", "{action_name}.out"
            )
        },
    )


@pytest.mark.parametrize("path", ["", ".", "/absolute", "a/../b"])
def test_any_workspace_path_is_taken_as_it_is(path: str) -> None:
    workflow = parsed(f"[workspace]\npath = '{path}'\n")
    assert workflow.workspace_path == path
    assert workflow.workspace == ROOT / path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("zz = 1", "unknown key `zz` in `action`"),
        ("produts = []", "unknown key `produts`"),
        ("name2 = 'b'", "unknown key `name2`"),
        ("launchers = 'mpi'", "`launchers` must be an array of strings, not a string"),
        ("products = [1]", "element 0 of `products` must be a string, not an integer"),
        ("previous_actions = ['b']", "the previous action 'b' of action 'a' is not in this file"),
        ("products = ['/x']", "the product '/x' of action 'a' is an absolute path"),
        ("products = ['../x']", "has './', '../' or '//' in it"),
        ("products = ['a//b']", "has './', '../' or '//' in it"),
        ("products = ['a./b']", "has './', '../' or '//' in it"),
        ("products = ['a/..']", "leads out of the directory"),
        ("products = ['..']", "leads out of the directory"),
        ("products = ['a\\b']", "has a backslash"),
        ('products = ["\\u0000"]', "has a NUL character"),
        ("resources.zz = 1", "unknown key `zz` in `action.resources`"),
        ("resources.processes = 3", "`processes` must be a table, not an integer"),
        ("resources.processes = {}", "wanted exactly 1 element"),
        (
            "resources.processes = {per_submission = 1, per_directory = 1}",
            "wanted exactly 1 element: `per_submission` or `per_directory`, found both",
        ),
        ("resources.processes.per_submission = -1", "must be a non-negative integer"),
        ("resources.processes.per_submission = 1.0", "must be an integer, not a float"),
        ("resources.walltime = '1d'", "`walltime` must be a table, not a string"),
        ("resources.walltime.per_directory = 3600", "must be a string, not an integer"),
        ("resources.walltime.per_directory = '3600'", "the walltime '3600' is not usable"),
        ("resources.walltime.per_directory = '-1d'", "a duration cannot be negative"),
        ("resources.walltime.per_directory = ''", "the duration is empty"),
        ("resources.threads_per_process = -1", "must be a non-negative integer"),
        ("resources.gpus_per_process = true", "must be an integer, not a boolean"),
        ("resources.memory_per_cpu_mb = '2G'", "must be an integer, not a string"),
        ("group.zz = 1", "unknown key `zz` in `action.group`"),
        ("group.include = {}", "`include` must be an array of tables, not a table"),
        ("group.include = [{}]", "wanted exactly 1 element"),
        ("group.include = ['all']", "must be a table, not a string"),
        ("group.include = [{condition = ['/x', '==', 1], all = []}]", "found both"),
        ("group.include = [{any = []}]", "unknown key `any`"),
        ("group.include = [{condition = ['/x', '==']}]", "has 3 elements, not 2"),
        ("group.include = [{condition = ['/x', '~', 1]}]", "cannot be '~'"),
        ("group.include = [{condition = ['/x', 1, 1]}]", "cannot be an integer"),
        ("group.include = [{condition = [1, '==', 1]}]", "must be a string, not an integer"),
        ("group.include = [{all = [1]}]", "must be an array, not an integer"),
        ("group.include = [{all = [['/x']]}]", "has 3 elements, not 1"),
        ("group.sort_by = '/x'", "must be an array of strings"),
        ("group.maximum_size = -1", "must be a non-negative integer"),
        ("group.submit_whole = 1", "must be true or false, not an integer"),
        ("group.reverse_sort = 'no'", "must be true or false, not a string"),
        ("group.split_by_sort_key = 0", "must be true or false, not an integer"),
        ("submit_options.account = 'x'", "`account` must be a table, not a string"),
        ("submit_options.delta.zz = 1", "unknown key `zz`"),
        ("submit_options.delta.account = 1", "must be a string"),
        ("submit_options.delta.custom = '--x'", "must be an array of strings"),
        ("from = 3", "`from` must be a string"),
        ("from = 'zz'", "the action 'zz' named by `from` is not in this file"),
        ("from = 'a'", "`from = 'a'` is recursive"),
    ],
)
def test_each_wrong_key_of_an_action_is_told_on_its_line(line: str, words: str) -> None:
    found = refused(HEAD + line + "\n")
    assert len({message for _, message in found}) >= 1
    assert found[0][0] == 4
    assert any(words in message for _, message in found), found


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("workspce = 1", 1, "unknown key `workspce`"),
        ("workspace = 'w'", 1, "`workspace` must be a table, not a string"),
        ("[workspace]\nzz = 1", 2, "unknown key `zz` in `workspace`"),
        ("[workspace]\npath = 1", 2, "`path` must be a string"),
        ("[workspace]\nvalue_file = 'a'\npath = \"\\u0000\"", 3, "NUL"),
        ("[default]\nzz = 1", 2, "unknown key `zz` in `default`"),
        ("[default.action]\nfrom = 'a'", 2, "the default action must not set `from`"),
        ("[default.action]\nzz = 1", 2, "unknown key `zz` in `default.action`"),
        ("[action]\nname = 'a'", 1, "`action` must be an array of tables"),
        ("action = [1]", 1, "element 0 of `action` must be a table"),
        ("[[action]]\ncommand = 'x'", 1, "the action at index 0 is missing `name`"),
        ("[[action]]\nname = 'x'", 1, "the action 'x' is missing `command`"),
        ("a = ", 1, "not valid TOML"),
    ],
)
def test_each_wrong_key_outside_actions_is_told_on_its_line(
    text: str, line: int, words: str
) -> None:
    found = refused(text)
    assert found[0][0] == line
    assert words in found[0][1]


def test_all_problems_of_a_file_come_at_once_in_the_order_of_its_lines() -> None:
    found = refused(
        """\
[workspace]
pth = "x"
[[action]]
command = 3
[[action]]
name = "b"
command = "x"
previous_actions = ["a"]
products = ["/x"]
[[action]]
name = "c"
from = "nope"
[[action]]
name = "d"
command = "x"
previous_actions = ["c"]
"""
    )
    assert [line for line, _ in found] == [2, 3, 4, 8, 9, 12]
    assert "'a' of action 'b' is not in this file" in found[3][1]
    assert "is missing `name`" in found[1][1]


def test_a_bad_product_that_no_action_inherits_does_no_harm() -> None:
    text = "[default.action]\nproducts = ['/x']\n"
    assert parsed(text + HEAD + "products = ['x']\n").actions[0].products == ("x",)
    assert [line for line, _ in refused(text + HEAD)] == [2]


def test_an_action_whose_from_leads_nowhere_is_checked_as_far_as_it_can_be() -> None:
    found = refused(
        HEAD + "[[action]]\nname = 'b'\nfrom = 'zz'\nprevious_actions = ['q']\n"
        "[[action]]\nname = 'b'\ncommand = 'x'\nproducts = ['x']\n"
    )
    assert [line for line, _ in found] == [6, 7]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (HEAD + "produts = []", "did you mean 'products'?"),
        (HEAD + "previous_actions = ['A']", "did you mean 'a'?"),
        (HEAD + "resources.processes = 3", "write processes.per_submission = 3"),
        (HEAD + "resources.walltime = '1d'", 'write walltime.per_submission = "..."'),
        (HEAD + "group.include = [{condition = ['/x', '=', 1]}]", "did you mean '=='?"),
        (HEAD + "submit_options.acount = 'x'", "did you mean 'account' of a cluster?"),
        (HEAD + "resources.walltime.per_directory = '90m'", 'did you mean "PT90M"?'),
        (HEAD + "[[action]]\nname = 'b'\nfrom = 'aa'\ncommand = 'x'", "did you mean 'a'?"),
    ],
)
def test_hints_say_what_was_probably_meant(text: str, hint: str) -> None:
    with pytest.raises(WorkflowError) as caught:
        parsed(text)
    assert hint in caught.value.problems[0].hint


@pytest.mark.parametrize(
    ("written", "operand"),
    [
        ("1", 1),
        ("1.5", 1.5),
        ("true", True),
        ("'s'", "s"),
        ("[1, 'a', [inf]]", [1, "a", [None]]),
        ("inf", None),
        ("-nan", None),
        ("{a = 1}", {"a": 1}),
        ("2020-01-01", {"datetime": "2020-01-01"}),
    ],
)
def test_operands_become_the_json_values_that_row_compares_with(written: str, operand: Any) -> None:
    text = HEAD + f"group.include = [{{condition = ['', '==', {written}]}}]"
    assert parsed(text).actions[0].group.include[0].conditions[0].operand == operand
