"""Changing the resources of one action in workflow.toml, however a person wrote it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import WorkflowError
from rowtui.core.workflow.edit import edit_resources
from rowtui.core.workflow.edit_amounts import EditRefusedError, Key, Settings, Totals, settings_for
from rowtui.core.workflow.load import parse_workflow
from rowtui.core.workflow.model import Resources, Workflow


def read(data: bytes) -> Workflow:
    return parse_workflow(data, Path("/"), "workflow.toml")


def edited(text: str, totals: Totals, action: int = 0, directories: int = 10) -> str:
    data = text.encode()
    resources = read(data).actions[action].resources
    settings = settings_for(resources, directories, totals)
    new = edit_resources(data, action, settings)
    assert read(new).actions[action].resources == settings.resources
    return new.decode()


def changed(old: str, new: str) -> list[str]:
    """The lines that are gone or new, with their signs."""
    lines = difflib.ndiff(old.splitlines(keepends=True), new.splitlines(keepends=True))
    return [line for line in lines if line[0] in "+-"]


HEAD = """\
# the project
[[action]]  # first
name = "a"
command = "x {directory}"  # runs
"""


@pytest.mark.parametrize(
    ("rest", "totals", "lines"),
    [
        ("", Totals(walltime=60), ['+ resources.walltime.per_directory = "00:00:06"\n']),
        (
            "\n[action.group]\nmaximum_size = 10\n",
            Totals(cores=2),
            ["+ resources.threads_per_process = 2\n"],
        ),
        (
            '[action.resources]\nwalltime.per_submission = "01:00:00"  # long\n\n# end\n',
            Totals(cores=3, walltime=7200),
            [
                '- walltime.per_submission = "01:00:00"  # long\n',
                '+ walltime.per_submission = "02:00:00"  # long\n',
                "+ threads_per_process = 3\n",
            ],
        ),
        (
            "[action.resources.walltime]\n  per_submission = '01:00:00'\n[action.group]\n",
            Totals(cores=3, walltime=7200),
            [
                "-   per_submission = '01:00:00'\n",
                "+   per_submission = '02:00:00'\n",
                "+ [action.resources]\n",
                "+ threads_per_process = 3\n",
                "+ \n",
            ],
        ),
        (
            "resources = { processes.per_submission = 4 }  # mpi\n",
            Totals(cores=8, mem=8),
            [
                "- resources = { processes.per_submission = 4 }  # mpi\n",
                "+ resources = { processes.per_submission = 4, threads_per_process = 2, "
                "memory_per_cpu_mb = 1024 }  # mpi\n",
            ],
        ),
        ("resources = {}\n", Totals(cores=2), None),
        ("resources = { gpus_per_process = 2 }\n", Totals(gpus=0), None),
        (
            "[action.resources]\ngpus_per_process = 2  # two\nthreads_per_process = 4\n",
            Totals(gpus=0),
            ["- gpus_per_process = 2  # two\n"],
        ),
        (
            "resources . 'processes' . per_directory = 0x2\n",
            Totals(cores=30),
            [
                "- resources . 'processes' . per_directory = 0x2\n",
                "+ resources . 'processes' . per_directory = 3\n",
            ],
        ),
        (
            '["action" . resources]\nprocesses = { per_submission = 2 }\n'
            '[action.resources.walltime]\nper_submission = "PT1H"',
            Totals(walltime=60),
            ['- per_submission = "PT1H"', '+ per_submission = "00:01:00"'],
        ),
    ],
)
def test_only_the_lines_that_say_it_change(
    rest: str, totals: Totals, lines: list[str] | None
) -> None:
    new = edited(HEAD + rest, totals)
    if lines is None:
        assert len(changed(HEAD + rest, new)) == 2
    else:
        assert sorted(changed(HEAD + rest, new)) == sorted(lines)


def test_actions_in_an_array_of_inline_tables_are_changed_too() -> None:
    text = 'action = [{name="a", command="{directory}"}, { name = "b", command = "{directory}" }]\n'
    assert edited(text, Totals(cores=4), 1) == text.replace(
        '"{directory}" }', '"{directory}", resources.threads_per_process = 4 }'
    )


def test_line_ends_the_byte_order_mark_and_a_missing_last_line_end_stay() -> None:
    text = "\N{BYTE ORDER MARK}" + HEAD.replace("\n", "\r\n").rstrip()
    new = edited(text, Totals(cores=4))
    assert new == text + "\r\nresources.threads_per_process = 4"


def test_a_new_key_stands_above_the_comment_of_the_next_table() -> None:
    for comment in (
        "\n# The second action:\n[[action]]\nname = 'b'\ncommand = 'y {directory}'\n",
        "# end",
    ):
        new = edited(HEAD + comment, Totals(cores=4))
        assert new == f"{HEAD}resources.threads_per_process = 4\n{comment}"


def test_actions_between_other_tables_stay_in_their_places() -> None:
    second = HEAD.replace('"a"', '"b"')
    text = f"{HEAD}[workspace]\npath = 'w'\n{second}"
    assert edited(text, Totals(cores=4), 1) == text + "resources.threads_per_process = 4\n"


def test_the_other_form_of_the_time_limit_takes_the_place_of_the_present_one() -> None:
    settings = settings_for(Resources(), 1, Totals())
    walltime = settings.resources.walltime._replace(per_directory=False, seconds=60)
    keys = {("walltime", "per_directory"): None, ("walltime", "per_submission"): 60}
    settings = Settings(keys, settings.resources._replace(walltime=walltime))
    for text in (
        "resources.walltime.per_directory = '01:00:00'\n",
        "resources = { walltime = { per_directory = '01:00:00' } }\n",
        "[action.resources.walltime]  # long\nper_directory = '01:00:00'\n",
    ):
        new = edit_resources((HEAD + text).encode(), 0, settings).decode()
        pair = text.replace("per_directory = '01:00:00'", 'per_submission = "00:01:00"')
        assert new == HEAD + pair


SHARED = HEAD + 'resources.threads_per_process = 2\n[[action]]\nname = "b"\nfrom = "a"\n'


def test_an_action_that_others_inherit_from_is_refused_by_their_names() -> None:
    with pytest.raises(EditRefusedError, match="b takes its resources from this action"):
        edited(SHARED, Totals(cores=4))
    assert edited(SHARED, Totals(cores=4), 1) == SHARED + "resources.threads_per_process = 4\n"
    alone = SHARED + "resources.threads_per_process = 1\n"
    assert "threads_per_process = 4" in edited(alone, Totals(cores=4))


def test_what_is_inherited_from_the_defaults_is_said_in_the_action() -> None:
    text = "[default.action.resources]\nprocesses.per_directory = 2\ngpus_per_process = 1\n" + HEAD
    new = edited(text, Totals(cores=40))
    assert new == text + "resources.threads_per_process = 2\n"
    with pytest.raises(EditRefusedError, match="inherited"):
        edited(text, Totals(gpus=0))


def test_a_change_that_brings_a_problem_of_its_own_is_refused() -> None:
    long = 2_400_000_001 * 3600
    text = HEAD + 'resources.walltime.per_submission = "01:00:00"\n'
    with pytest.raises(EditRefusedError, match="not usable"):
        edited(text, Totals(walltime=long))
    settings = settings_for(Resources(), 1, Totals(cores=2))
    with pytest.raises(WorkflowError):
        edit_resources(b"[[action]\n", 0, settings)


COMMENT = st.sampled_from(["", "  # [action.resources]", " # Größe = {", "\t#"])
NAMES = {
    "threads_per_process": "3",
    "memory_per_cpu_mb": "1_000",
    "gpus_per_process": "0x1",
    "processes": "per_submission = 6",
    "walltime": "per_directory = '01:00:00'",
}


@st.composite
def resources(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Lines for the action's own table, and lines of tables below it."""
    names = draw(st.lists(st.sampled_from(sorted(NAMES)), unique=True))
    style = draw(st.sampled_from(["dotted", "inline", "lines", "table", "tables", "inner"]))
    own: list[str] = []
    tables: list[str] = []
    pairs = []
    for name in names:
        inner = name in ("processes", "walltime")
        key = draw(st.sampled_from([name, f'"{name}"']))
        if inner and style in ("tables", "inner"):
            tables += [f"[action.resources.{key}]", NAMES[name] + draw(COMMENT)]
        elif inner and draw(st.booleans()):
            pairs.append(f"{key} = {{ {NAMES[name]} }}")
        else:
            pairs.append(f"{key}.{NAMES[name]}" if inner else f"{key} = {NAMES[name]}")
    if style == "inline":
        own.append("resources = { " + ", ".join(pairs) + " }" + draw(COMMENT))
    elif style == "lines":
        own += ["resources = {\n" + ",\n".join(pair for pair in pairs) + "\n}" + draw(COMMENT)]
    elif style in ("dotted", "inner"):
        own += [f"resources.{pair}{draw(COMMENT)}" for pair in pairs]
    else:
        body = ["[action.resources]" + draw(COMMENT), *(pair + draw(COMMENT) for pair in pairs)]
        tables = [*tables, *body] if draw(st.booleans()) else [*body, *tables]
    return own, tables


HEADS = (
    ["# \N{SNOWMAN} = 1", "[default.action]", "command = '''", "{directory}", "'''"],
    ["[workspace]  # why", "path = 'w'"],
    ["[default.action.submit_options.x]  # [action]", "partition = 'p'", ""],
    [],
)


@st.composite
def tables(draw: st.DrawFn, number: int) -> list[str]:
    """Lines of an action with a header."""
    own, below = draw(resources())
    products = draw(st.sampled_from(['["""x""", "y"]', "[\n  'x',  # first\n]"]))
    fields = [f'name = "ä{number}"', *own, f"products = {products}", "previous_actions = []"]
    if number and draw(st.booleans()):
        fields.append('from = "ä0"')
    fields = draw(st.permutations(fields))
    group = ["[action.group]", "# why", 'include = [{condition = ["/a", "==", "}"]}]']
    more = draw(st.permutations([[], group]))
    indents = st.sampled_from(draw(st.sampled_from([("",), ("  ",), ("", "\t", "    ")])))
    lines = ["[[ action ]]" + draw(COMMENT), *(draw(indents) + line for line in fields)]
    lines += ["", *more[0], *below, *more[1]]
    return lines + draw(st.sampled_from([[], [""], ["", "# the end of it", ""]]))


@st.composite
def workflows(draw: st.DrawFn) -> str:
    actions = draw(st.integers(1, 3))
    if draw(st.integers(0, 3)):
        lines = list(HEADS[0])
        rest = draw(st.permutations(HEADS[1:]))
        for number in range(actions):
            lines += [
                *draw(tables(number)),
                *(rest[number] if rest[number][:1] != HEADS[2] else []),
            ]
    else:
        lines = ["action = [  # all"]
        for number in range(actions):
            own = [line.partition("#")[0].strip() for line in draw(resources())[0]]
            pairs = [f'name = "ä{number}"', "command = '{directory}'", *own]
            lines += ["  { " + ", ".join(draw(st.permutations(pairs))) + " }," + draw(COMMENT)]
        lines += ["]", *HEADS[1]]
    text = "\n".join(lines) + draw(st.sampled_from(["", "\n"]))
    ends = st.sampled_from(draw(st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"]])))
    return "".join(line.replace("\n", draw(ends)) for line in text.splitlines(keepends=True))


AMOUNTS = st.builds(
    Totals,
    cores=st.none() | st.integers(1, 12).map(lambda number: number * 30),
    gpus=st.none() | st.integers(0, 3).map(lambda number: number * 1800),
    mem=st.none() | st.integers(100, 4000),
    walltime=st.none() | st.integers(100, 400_000),
)


COMMENTS = re.compile(r"#[^\r\n]*")
LAST_COMMA = re.compile(r",(?=\r?\n)")
LINE_ENDS = re.compile(r"\r?\n")
REASONS = ("resources from this action", "inherited", "shared out evenly", "less than 1 MB")


@given(workflows(), AMOUNTS, st.data())
def test_however_it_is_written_only_what_was_asked_for_is_another(
    text: str, totals: Totals, data: st.DataObject
) -> None:
    # given a file of some form, and totals that come out even (or are refused)
    before = read(text.encode())
    at = data.draw(st.integers(0, len(before.actions) - 1))
    try:
        settings = settings_for(before.actions[at].resources, 5, totals)
        new = edit_resources(text.encode(), at, settings).decode()
    except EditRefusedError as error:
        if any(words in error.message for words in REASONS):
            return
        raise
    # then the totals are those
    got = settings.resources
    assert totals.cores in (None, got.total_cpus(5))
    assert totals.gpus in (None, got.total_gpus(5))
    assert totals.walltime is None or 0 <= totals.walltime - got.walltime.total_seconds(5) < 5
    # and the values in the file differ in the settings alone
    assert with_keys(tomli.loads(new), at, {}) == with_keys(tomli.loads(text), at, settings.keys)
    assert read(new.encode()).actions == tuple(
        it._replace(resources=got) if it.index == at else it for it in before.actions
    )
    # and every line is the same to the byte, except those of the settings, a new header, and a
    # comma behind which no pair is left
    different = changed(LAST_COMMA.sub("", text), LAST_COMMA.sub("", new))
    gone = [line for line in different if line[0] == "-"]
    come = [line for line in different if line[0] == "+"]
    ended = text.endswith("\n") or len(new.splitlines()) == len(text.splitlines())
    assert len(gone) <= len(settings.keys) + (not ended)
    assert len(come) <= len(settings.keys) + 2 + (not ended)
    # and with them every comment, except those beside a removed setting
    removed = sum(value is None for value in settings.keys.values())
    lost = COMMENTS.findall(text)
    for comment in COMMENTS.findall(new):
        lost.remove(comment)
    assert len(lost) <= removed
    # and the line ends are those of the file, and of the lines above
    assert removed or new.endswith("\n") == text.endswith("\n")
    assert {*LINE_ENDS.findall(new)} <= {*(LINE_ENDS.findall(text) or ["\n"])}
    assert bool(settings.keys) == (new != text)


def with_keys(
    tables: dict[str, Any], action: int, keys: Mapping[Key, int | None]
) -> dict[str, Any]:
    """The tables with these settings of an action, and without an empty table of resources."""
    resources = tables["action"][action].setdefault("resources", {})
    for (*parents, name), value in keys.items():
        table = resources
        for parent in parents:
            table = table.setdefault(parent, {})
        if value is None:
            table.pop(name, None)
        elif parents == ["walltime"]:
            table[name] = f"{value // 3600:02}:{value // 60 % 60:02}:{value % 60:02}"
        else:
            table[name] = value
    if not resources:
        del tables["action"][action]["resources"]
    return tables


def test_what_does_not_come_out_even_is_rounded_down_or_refused() -> None:
    three = Resources(threads_per_process=3)
    assert settings_for(three, 7, Totals(walltime=14_400)).resources.walltime.seconds == 2057
    assert settings_for(three, 1, Totals(mem=64)).resources.memory_per_cpu_mb == 21_845
    assert settings_for(Resources(), 1, Totals(mem=0.3)).resources.memory_per_cpu_mb == 307
    many = Resources(threads_per_process=2)._replace(
        processes=Resources().processes._replace(value=4)
    )
    assert settings_for(many, 1, Totals(cores=16)).keys == {("threads_per_process",): 4}
    assert settings_for(many, 1, Totals(cores=6)).keys == {("processes", "per_submission"): 3}
    for totals, why in (
        (Totals(cores=7), "7 CPUs cannot be shared out evenly among 4 processes"),
        (Totals(cores=7.5), "no words for 7.5 cores"),
        (Totals(cores=0), "shared out"),
        (Totals(gpus=3), "3 GPUs cannot"),
        (Totals(mem=0), "less than 1 MB"),
        (Totals(walltime=0), "less than a second"),
    ):
        with pytest.raises(EditRefusedError, match=why):
            settings_for(many, 1, totals)


def test_processes_with_gpus_keep_their_number() -> None:
    with_gpus = Resources(gpus_per_process=1)
    with_gpus = with_gpus._replace(processes=with_gpus.processes._replace(value=4))
    assert settings_for(with_gpus, 1, Totals(cores=8)).keys == {("threads_per_process",): 2}
    assert settings_for(with_gpus, 1, Totals(cores=8, gpus=8)).keys == {
        ("threads_per_process",): 2,
        ("gpus_per_process",): 2,
    }
    assert settings_for(with_gpus, 1, Totals(mem=8)).keys == {("memory_per_gpu_mb",): 2048}
    assert settings_for(with_gpus, 1, Totals(cores=4, gpus=4, mem=None)).keys == {}
