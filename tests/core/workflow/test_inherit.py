from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.base.errors import WorkflowError
from rowtui.core.workflow.load import parse_workflow
from rowtui.core.workflow.model import Action, SubmitOptions, Workflow


def parsed(text: str) -> Workflow:
    return parse_workflow(text.encode(), Path("/p"), "workflow.toml")


# Every key that is inherited: three different values, and how to read the result.
KEYS = {
    "name": ("'own'", "'from'", "'default'"),
    "command": ("'own'", "'from'", "'default'"),
    "launchers": ("['own']", "[]", "['default']"),
    "previous_actions": ("[]", "['target']", "['third']"),
    "products": ("['own']", "[]", "['default']"),
    "resources.processes": ("{per_submission = 1}", "{per_directory = 2}", "{per_submission = 3}"),
    "resources.threads_per_process": ("1", "2", "3"),
    "resources.gpus_per_process": ("1", "2", "3"),
    "resources.memory_per_cpu_mb": ("0", "2", "3"),
    "resources.memory_per_gpu_mb": ("0", "2", "3"),
    "resources.walltime": (
        "{per_submission = '1d'}",
        "{per_directory = '2d'}",
        "{per_submission = '3d'}",
    ),
    "group.include": ("[]", "[{all = []}]", "[{condition = ['', '==', 1]}]"),
    "group.sort_by": ("[]", "['']", "['', '']"),
    "group.split_by_sort_key": ("false", "true", "true"),
    "group.reverse_sort": ("false", "true", "true"),
    "group.maximum_size": ("1", "2", "3"),
    "group.submit_whole": ("false", "true", "true"),
    "submit_options.x.account": ("''", "'from'", "'default'"),
    "submit_options.x.setup": ("''", "'from'", "'default'"),
    "submit_options.x.custom": ("['own']", "['from']", "['default']"),
    "submit_options.x.partition": ("''", "'from'", "'default'"),
    "submit_options.x.output_file_path": ("''", "'from'", "'default'"),
    "submit_options.x.output_file_name": ("''", "'from'", "'default'"),
}


def value(action: Action, key: str) -> object:
    first, _, rest = key.partition(".")
    if first == "submit_options":
        return getattr(action.submit_options["x"], rest.split(".")[1])
    return getattr(getattr(action, first), rest) if rest else getattr(action, first)


def build(key: str, own: str | None, source: str | None, default: str | None) -> Workflow:
    """The action at index 0 is `own`, the element at index 1 is its `from`."""

    def line(written: str | None) -> str:
        return "" if written is None else f"{key} = {written}\n"

    must = {"name": "name = 'target'\n", "command": "command = 'target'\n"}
    must.pop(key, None)
    own_name = "" if key == "name" else "name = 'first'\n"
    return parsed(
        f"[default.action]\n{line(default)}{'' if key == 'command' else must['command']}"
        f"[[action]]\nfrom = 'target'\n{own_name}{line(own)}"
        f"[[action]]\n{must.get('name', '')}{line(source)}"
        f"[[action]]\nname = 'third'\ncommand = 'third'\n"
    )


def direct(key: str, written: str) -> object:
    """What the key gives when an action without any inheritance sets it."""
    name = "" if key == "name" else "name = 'target'\n"
    command = "" if key == "command" else "command = 'x'\n"
    text = f"[[action]]\n{name}{command}{key} = {written}\n"
    return value(parsed(text + "[[action]]\nname = 'third'\ncommand = 'x'\n").actions[0], key)


@pytest.mark.parametrize("key", [key for key in KEYS if key != "name"])
def test_own_goes_before_from_before_default(key: str) -> None:
    own, source, default = KEYS[key]
    assert value(build(key, own, source, default).actions[0], key) == direct(key, own)
    assert value(build(key, own, source, None).actions[0], key) == direct(key, own)
    assert value(build(key, own, None, default).actions[0], key) == direct(key, own)
    assert value(build(key, None, source, default).actions[0], key) == direct(key, source)
    assert value(build(key, None, source, None).actions[0], key) == direct(key, source)
    assert value(build(key, None, None, default).actions[0], key) == direct(key, default)


def test_the_name_is_inherited_too() -> None:
    workflow = parsed(
        "[default.action]\nname = 'd'\ncommand = 'x'\n"
        "[[action]]\n[[action]]\nname = 'a'\n[[action]]\nfrom = 'a'\ngroup.maximum_size = 1\n"
    )
    assert [action.name for action in workflow.actions] == ["d", "a", "a"]
    assert [action.index for action in workflow.actions] == [0, 1, 2]
    assert workflow.action_names() == ("d", "a")


def test_a_name_of_the_default_action_cannot_be_a_from() -> None:
    with pytest.raises(WorkflowError, match="is not in this file"):
        parsed("[default.action]\nname = 'a'\ncommand = 'x'\n[[action]]\nfrom = 'a'\n")


def test_from_takes_the_first_element_of_that_name_as_written() -> None:
    workflow = parsed(
        "[[action]]\nname = 'a'\ncommand = 'first'\n[[action]]\nname = 'a'\ncommand = 'second'\n"
        "[[action]]\nname = 'b'\nfrom = 'a'\n"
    )
    assert workflow.actions[2].command == "first"


def test_only_one_level_of_from_is_allowed() -> None:
    with pytest.raises(WorkflowError, match="recursive"):
        parsed(
            "[[action]]\nname = 'a'\ncommand = 'x'\n[[action]]\nname = 'b'\nfrom = 'a'\n"
            "[[action]]\nname = 'c'\nfrom = 'b'\n"
        )


def test_an_empty_custom_list_cannot_reset_an_inherited_one() -> None:
    workflow = parsed(
        "[default.action]\nname = 'a'\ncommand = 'x'\n"
        "submit_options.x = {custom = ['--a'], account = 'd'}\nsubmit_options.y.account = 'y'\n"
        "[[action]]\nsubmit_options.x = {custom = [], account = 'own'}\n"
    )
    assert workflow.actions[0].submit_options == {
        "x": SubmitOptions("own", custom=("--a",)),
        "y": SubmitOptions("y"),
    }


def test_a_processes_table_is_inherited_as_a_whole() -> None:
    workflow = parsed(
        "[default.action]\nresources.processes.per_directory = 2\nname = 'a'\ncommand = 'x'\n"
        "[[action]]\nresources.processes.per_submission = 3\n[[action]]\n"
    )
    assert [action.resources.processes.per_directory for action in workflow.actions] == [
        False,
        True,
    ]


@pytest.mark.parametrize("key", ["products", "previous_actions"])
def test_elements_of_one_name_must_agree_and_unset_is_not_empty(key: str) -> None:
    head = "[[action]]\nname = 'a'\ncommand = 'x {directory}'\n"
    with pytest.raises(WorkflowError, match=f"must have the same `{key}`") as caught:
        parsed(head + head + f"{key} = []\n")
    assert caught.value.problems[0].line == 7
    assert "line 1" in caught.value.problems[0].hint
    assert len(parsed(head + f"{key} = []\n" + head + f"{key} = []\n").actions) == 2


def test_a_zero_of_the_action_overrides_gpus_of_the_default_and_means_none() -> None:
    workflow = parsed(
        "[default.action]\nresources.gpus_per_process = 2\ncommand = 'x {directory}'\n"
        "[[action]]\nname = 'a'\nresources.gpus_per_process = 0\n"
    )
    assert workflow.actions[0].resources.gpus_per_process is None
