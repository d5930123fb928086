from __future__ import annotations

import re
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.files.sources import read_includes
from rowtui.core.mapping.model.configuration import MappingFile
from rowtui.core.mapping.model.entities import Destination, Entity, Pool
from rowtui.core.mapping.model.fields import FIELDS_OF, HOLDERS
from rowtui.core.mapping.model.origin import FilePosition, Origin
from rowtui.core.mapping.model.tags import SchedulingTags


def parsed(text: str, name: str = "m.yml") -> MappingFile:
    return parse_mapping(textwrap.dedent(text).encode(), name)


def clean(text: str) -> MappingFile:
    """A file with which nothing is wrong."""
    file = parsed(text)
    assert file.problems == ()
    assert file.broken == {}
    return file


def complaints(text: str) -> list[tuple[int, int, str, str]]:
    """(line, column, severity, message) of all problems."""
    problems = parsed(text).problems
    assert all(problem.file == "m.yml" for problem in problems)
    return [(p.line, p.column, p.severity, p.message) for p in problems]


def hints(text: str) -> list[str]:
    return [problem.hint for problem in parsed(text).problems]


def tool(text: str) -> Entity:
    """The tool t of a file with properties that are all right."""
    body = textwrap.indent(textwrap.dedent(text), "    ")
    return clean(f"tools:\n  t:\n{body}").entities["tools"]["t"]


def test_an_empty_file_is_a_mapping_file_without_entities() -> None:
    assert clean("") == MappingFile("m.yml")
    assert clean("# nothing\n") == MappingFile("m.yml")


def test_entities_of_every_kind_are_listed_in_the_order_of_the_file() -> None:
    file = clean("""\
        tools: {b: {}, a: {}}
        roles: {r.*: {}}
        users: {u: {}}
        destinations: {d: {}}
        pools: {p: {}}
    """)
    assert {kind: list(found) for kind, found in file.entities.items()} == {
        "tools": ["b", "a"],
        "roles": ["r.*"],
        "users": ["u"],
        "destinations": ["d"],
        "pools": ["p"],
    }
    kinds = [entity.kind for found in file.entities.values() for entity in found.values()]
    assert kinds == ["tool", "tool", "role", "user", "destination", "pool"]


def test_amounts_are_kept_as_written_with_the_place_of_each() -> None:
    file = clean("tools:\n  t:\n    cores: 4\n    mem: cores * 4\n    max_gpus: 1.5\n")
    found = file.entities["tools"]["t"]
    assert (found.cores, found.mem, found.max_gpus, found.gpus) == (4, "cores * 4", 1.5, None)
    assert found.origin == Origin("tool", "t", FilePosition("m.yml", 2, 3))
    assert found.whence("cores") == Origin("tool", "t", FilePosition("m.yml", 3, 12))
    assert found.whence("mem").place == FilePosition("m.yml", 4, 10)
    assert found.said["mem"][0].value == "cores * 4"


def test_a_value_knows_that_its_file_is_not_trusted() -> None:
    file = parse_mapping(
        b"global: {context: {a: 1}}\ntools: {t: {cores: 1, rules: [{if: 'True', mem: 1}]}}",
        "m.yml",
        digest="abc",
        sealed=True,
    )
    found = file.entities["tools"]["t"]
    assert (file.sealed, file.digest) == (True, "abc")
    assert found.whence("cores").sealed
    assert all(rule.whence("mem").sealed for rule in found.rules.values())
    assert file.context["a"].origin == Origin(
        "global", "", FilePosition("m.yml", 1, 23), sealed=True
    )


@pytest.mark.parametrize("value", ["true", "[1]", "{a: 1}", '""', ".nan"])
def test_an_amount_that_is_no_number_and_no_expression_is_an_error(value: str) -> None:
    file = parsed(f"tools: {{t: {{cores: {value}, mem: 2}}, u: {{cores: 1}}}}")
    assert [problem.severity for problem in file.problems] == ["error"]
    assert file.broken == {("tools", "t"): file.problems[0]}
    assert file.entities["tools"]["t"].mem == 2
    assert file.entities["tools"]["u"].cores == 1


def test_what_a_destination_accepts_is_a_number_or_text_that_is_one() -> None:
    found = clean(
        "destinations: "
        "{d: {max_accepted_cores: '8', max_accepted_mem: ' 1.5', min_accepted_gpus: 0}}"
    ).entities["destinations"]["d"]
    assert isinstance(found, Destination)
    assert (found.max_accepted_cores, found.max_accepted_mem, found.min_accepted_gpus) == (
        8,
        1.5,
        0,
    )
    assert isinstance(found.max_accepted_cores, int)


@pytest.mark.parametrize("value", ["cores * 2", "true", "'nan'", "[8]", "'\uff18'"])
def test_what_a_destination_accepts_is_never_an_expression(value: str) -> None:
    text = f"destinations: {{d: {{max_accepted_cores: {value}}}}}"
    [(line, _, severity, message)] = complaints(text)
    assert (line, severity) == (1, "error")
    assert message.startswith("`max_accepted_cores` of destination `d` must be a number")


@pytest.mark.parametrize(
    "number", ["9" * 400, "-" + "9" * 400, "0x" + "f" * 290, "'" + "9" * 320 + "'"]
)
def test_a_whole_number_that_no_float_holds_is_refused_with_its_place(number: str) -> None:
    [(line, column, severity, _), *_] = complaints(
        f"users: {{u: {{max_concurrent_mem: {number}}}}}"
    )
    assert (line, column, severity) == (1, 33, "error")


def test_a_whole_number_of_300_digits_can_be_compared_with_any_other() -> None:
    found = clean(f"users: {{u: {{max_concurrent_mem: {'9' * 300}}}}}").entities["users"]["u"]
    assert float(found.max_concurrent_mem) == 1e300


def test_env_as_a_map_becomes_text_as_python_writes_it() -> None:
    found = tool("env: {A: 5, B: true, C: null, D: 1.50, E: '{cores+1}'}")
    assert found.env == [
        {"name": "A", "value": "5"},
        {"name": "B", "value": "True"},
        {"name": "C", "value": "None"},
        {"name": "D", "value": "1.5"},
        {"name": "E", "value": "{cores+1}"},
    ]
    assert found.said["env.D"][0].value == "1.5"


def test_env_as_a_list_has_variables_files_and_commands() -> None:
    found = tool("env: [{name: A, value: x}, {file: /e.sh}, {execute: module load x}]")
    assert found.env == [
        {"name": "A", "value": "x"},
        {"file": "/e.sh"},
        {"execute": "module load x"},
    ]
    assert found.whence("env.A").place == FilePosition("m.yml", 3, 28)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[{name: A, value: 5}]", "`value` of tool `t` must be text, but is a number"),
        ("[A=5]", "an entry of `env` of tool `t` is text"),
        ("[{name: A}]", "an entry of `env` of tool `t` sets nothing"),
        ("[{}]", "an entry of `env` of tool `t` sets nothing"),
        ("text", "`env` of tool `t` must be a map or a list, but is text"),
        ("{A: [1]}", "`A` of tool `t` must be text or a number, but is a list"),
    ],
)
def test_env_of_another_form_is_an_error(value: str, message: str) -> None:
    [(_, _, severity, found)] = complaints(f"tools: {{t: {{env: {value}}}}}")
    assert (severity, found) == ("error", message)


def test_a_variable_that_a_shell_cannot_export_is_doubted() -> None:
    [(_, _, severity, message)] = complaints("tools: {t: {env: {'A;rm -rf ~': 1}}}")
    assert severity == "warning"
    assert message == "`A;rm -rf ~` in `env` of tool `t` is not the name of a variable"


def test_params_and_context_keep_what_is_in_them() -> None:
    found = tool("""\
        params:
          a: {b: [1, "{cores}", null]}
          c: 0o17
        context:
          x: yes
          y: [1]
    """)
    assert found.params == {"a": {"b": [1, "{cores}", None]}, "c": 15}
    assert found.context == {"x": "yes", "y": [1]}
    assert found.whence("params.a").place == FilePosition("m.yml", 4, 7)
    assert found.whence("context.x").place == FilePosition("m.yml", 7, 10)


@pytest.mark.parametrize("name", ["a-b", "1a", "for", "''"])
def test_a_context_variable_that_no_expression_can_name_is_an_error(name: str) -> None:
    file = parsed(
        f"global: {{context: {{{name}: 1, ok: 2}}}}\ntools: {{t: {{context: {{{name}: 1}}}}}}"
    )
    assert [problem.severity for problem in file.problems] == ["error", "error"]
    assert set(file.broken) == {("global", ""), ("tools", "t")}
    assert list(file.context) == ["ok"]


def test_resubmit_is_a_map_of_handlers() -> None:
    found = tool("resubmit: {again: {condition: any_failure, delay: 5, destination: null}}")
    assert found.resubmit == {
        "again": {"condition": "any_failure", "delay": 5, "destination": None}
    }
    assert found.whence("resubmit.again").place == FilePosition("m.yml", 3, 16)
    assert [
        message for *_, message in complaints("tools: {t: {resubmit: {a: {b: [1]}, c: 5}}}")
    ] == [
        "`b` of tool `t` must be a single value, but is a list",
        "`c` of tool `t` must be a map, but is a number",
    ]


def test_tags_of_a_job_and_of_a_destination_are_different_things() -> None:
    tags = "scheduling: {require: [a], prefer: null, accept: [b], reject: []}"
    file = clean(f"tools: {{t: {{{tags}}}}}\ndestinations: {{d: {{{tags}}}}}")
    t, d = file.entities["tools"]["t"], file.entities["destinations"]["d"]
    assert isinstance(d, Destination)
    wanted = SchedulingTags(require=["a"], accept=["b"])
    assert (t.tpv_tags, d.tpv_tags, d.tpv_dest_tags) == (wanted, SchedulingTags(), wanted)
    assert t.said["tags.b"][0].value == "accept"
    assert d.whence("tags.a").place == FilePosition("m.yml", 2, 43)


@pytest.mark.parametrize("lists", ["{require: [a], reject: [a]}", "{require: [a, b, a]}"])
def test_a_tag_that_is_there_twice_is_an_error_that_names_both_places(lists: str) -> None:
    [(line, column, severity, message)] = complaints(f"tools: {{t: {{scheduling: {lists}}}}}")
    first = f"tools: {{t: {{scheduling: {lists}}}}}".index("[a") + 2
    assert (line, severity) == (1, "error")
    assert column > first
    assert message.startswith("the tag `a` of tool `t` is there twice: in `require`")
    assert message.endswith(f"at line 1, column {first}")


def test_tags_of_wrong_kinds_are_errors_and_an_unknown_list_is_doubted() -> None:
    assert complaints("tools: {t: {scheduling: {require: a, prefer: [1], rejects: [x]}}}") == [
        (1, 35, "error", "`require` of tool `t` must be a list of tags, but is text"),
        (1, 47, "error", "a tag in `prefer` of tool `t` must be text, but is a number"),
        (1, 51, "warning", "unknown key `rejects` in `scheduling` of tool `t` is ignored (T104)"),
    ]
    assert hints("tools: {t: {scheduling: {require: a, prefer: [1], rejects: [x]}}}") == [
        "write require: [a]",
        'write it in quotes: "1"',
        "did you mean 'reject'?",
    ]


def test_rules_have_the_ids_that_they_give_themselves() -> None:
    rules = tool("""\
        rules:
          - {id: big, if: input_size > 5, cores: 8}
          - {if: true, id: 7, mem: 1}
    """).rules
    assert list(rules) == ["big", "7"]
    assert (rules["big"].if_condition, rules["7"].if_condition) == ("input_size > 5", True)
    assert rules["big"].whence("cores") == Origin("tool", "t", FilePosition("m.yml", 4, 46), "big")


def test_a_map_of_rules_gives_them_their_ids() -> None:
    rules = tool("rules: {big: {if: 1}, small: {if: 'False'}}").rules
    assert {name: rule.if_condition for name, rule in rules.items()} == {
        "big": "1",
        "small": "False",
    }


def test_an_id_inside_a_rule_of_a_map_is_ignored() -> None:
    assert complaints("tools: {t: {rules: {a: {if: x, id: b}, c: {if: x, id: c}}}}") == [
        (1, 32, "warning", "`id` inside rule `a` of tool `t` is ignored")
    ]


def test_rules_without_an_id_never_share_one_with_those_of_another_entity_or_file() -> None:
    text = """\
        tools:
          t: &t
            rules: [{if: a}, {if: b}]
          u: *t
        users: {t: *t}
    """
    ids = [
        rule
        for name in ("m.yml", "n.yml")
        for found in parsed(text, name).entities.values()
        for entity in found.values()
        for rule in entity.rules
    ]
    assert len(ids) == len(set(ids)) == 12
    assert ids[0] == "#1 of tool t in m.yml"


def test_a_rule_without_an_id_says_which_one_it_is() -> None:
    rules = tool("rules: [{if: a}, {if: b}]").rules
    assert [str(rule.whence("if_condition")) for rule in rules.values()] == [
        "rule #1 of tool t in m.yml:3",
        "rule #2 of tool t in m.yml:3",
    ]


def test_of_two_rules_with_one_id_the_later_counts_where_the_first_stood() -> None:
    text = "tools: {t: {rules: [{id: a, if: x, mem: 3}, {id: b, if: x}, {id: a, if: y}]}}"
    file = parsed(text)
    rules = file.entities["tools"]["t"].rules
    assert list(rules) == ["a", "b"]
    assert (rules["a"].if_condition, rules["a"].mem) == ("y", None)
    [problem] = file.problems
    assert problem.severity == "warning"
    assert problem.message == "tool `t` has two rules `a`; the first is ignored"


def test_a_rule_without_a_condition_breaks_its_entity_alone() -> None:
    file = parsed("tools: {t: {cores: 1, rules: [{id: a, cores: 2}]}, u: {cores: 1}}")
    assert [problem.message for problem in file.problems] == ["rule `a` of tool `t` has no `if`"]
    assert list(file.broken) == [("tools", "t")]
    assert list(file.entities["tools"]) == ["t", "u"]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("[text]", "rule `#1` of tool `t` must be a map, not text"),
        ("5", "`rules` of tool `t` must be a list of rules, but is a number"),
        ("[{if: [a]}]", "`if` of rule `#1` of tool `t` must be an expression, or true or false"),
        ("[{if: x, fail: 5}]", "`fail` of rule `#1` of tool `t` must be text, but is a number"),
        ("[{if: x, id: [a]}]", "`id` of rule `#1` of tool `t` must be text, but is a list"),
        ("[{if: null}]", "rule `#1` of tool `t` has no `if`"),
    ],
)
def test_a_rule_of_another_form_is_an_error(rules: str, message: str) -> None:
    [(_, _, severity, found)] = complaints(f"tools: {{t: {{rules: {rules}}}}}")
    assert severity == "error"
    assert found.startswith(message)


def test_code_of_several_lines_begins_at_its_own_first_line() -> None:
    found = tool("""\
        rank: |
          x = 1
          candidate_destinations
        rules:
          - if: |
              True
            execute: >
              pass
            fail: one line
    """)
    [rule] = found.rules.values()
    assert found.whence("rank").place == FilePosition("m.yml", 4, 1)
    assert rule.whence("if_condition").place == FilePosition("m.yml", 8, 1)
    assert rule.whence("execute").place == FilePosition("m.yml", 10, 1)
    assert rule.whence("fail").place == FilePosition("m.yml", 11, 15)


def test_a_destination_has_what_only_destinations_have() -> None:
    found = clean("""\
        destinations:
          d:
            runner: slurm
            destination_name_override: "{cores}-wide"
            tags: [a, "{x}"]
    """).entities["destinations"]["d"]
    assert isinstance(found, Destination)
    assert (found.runner, found.name_override, found.handler_tags) == (
        "slurm",
        "{cores}-wide",
        ["a", "{x}"],
    )
    assert found.whence("name_override").place == FilePosition("m.yml", 4, 32)
    [(*_, severity, message)] = complaints("tools: {t: {runner: x}}")
    assert (severity, message) == ("warning", "unknown key `runner` in tool `t` is ignored (T104)")
    assert hints("tools: {t: {runner: x}}") == ["only destinations have `runner`"]


def test_a_pool_selects_jobs_by_what_it_requires_and_rejects() -> None:
    found = clean("""\
        pools:
          p:
            max_concurrent_cores: 4
            fail_open: yes
            oversize: {max_concurrent: 1, reserve_pool: true, hard_max_mem: 1.5}
            scheduling: {require: [a]}
    """).entities["pools"]["p"]
    assert isinstance(found, Pool)
    assert (found.max_concurrent_cores, found.fail_open) == (4, True)
    assert found.oversize == {"max_concurrent": 1, "reserve_pool": True, "hard_max_mem": 1.5}
    assert found.tpv_dest_tags == SchedulingTags(require=["a"])
    assert [message for *_, message in complaints("pools: {p: {scheduling: {prefer: [a]}}}")] == [
        "`prefer` means nothing to pool `p`"
    ]
    assert [
        message
        for *_, message in complaints(
            "pools: {p: {oversize: {max_concurent: 1, max_concurrent: .inf}}}"
        )
    ] == [
        "unknown key `max_concurent` in `oversize` of pool `p`",
        "`max_concurrent` of pool `p` must be a whole number, but is a number",
    ]


# What TPV 3.3.0 makes of each value; None: it loads nothing.
_TRUTHS = {
    **dict.fromkeys(("true", "'true'", "Yes", "on", "Y", "t", "'1'", "1", "1.0"), True),
    **dict.fromkeys(("false", "no", "off", "N", "F", "'0'", "0", "0.0"), False),
    **dict.fromkeys(("maybe", "''", "none", "'null'", "'1.0'", "'2'", "truthy"), None),
}


@pytest.mark.parametrize(
    ("value", "wanted"),
    [*_TRUTHS.items(), *dict.fromkeys(("2", "-1", "0.5", ".nan", "' Yes '"), True).items()],
)
def test_abstract_takes_what_tpv_takes(value: str, wanted: bool | None) -> None:
    file = parsed(f"tools:\n  t:\n    abstract: {value}\n    cores: 3\n")
    if wanted is not None:
        assert file.problems == ()
        assert file.entities["tools"]["t"].abstract is wanted
        return
    [problem] = file.problems
    assert (problem.line, problem.column, problem.severity) == (3, 15, "error")
    assert problem.message == "`abstract` of tool `t` must be true or false, but is text"
    assert problem.hint == "write true or false, without quotes"
    assert file.broken == {("tools", "t"): problem}


@pytest.mark.parametrize(
    ("value", "wanted"),
    [*_TRUTHS.items(), *dict.fromkeys(("2", "-1", "0.5", ".nan", "' Yes '")).items()],
)
@pytest.mark.parametrize("field", ["fail_open", "reserve_pool"])
def test_truth_values_of_a_pool_take_what_tpv_takes(
    field: str, value: str, wanted: bool | None
) -> None:
    body = f"{{{field}: {value}}}"
    file = parsed(f"pools: {{p: {body if field == 'fail_open' else f'{{oversize: {body}}}'}}}")
    pool = file.entities["pools"]["p"]
    assert isinstance(pool, Pool)
    if wanted is not None:
        assert file.problems == ()
        assert (pool.fail_open if field == "fail_open" else pool.oversize[field]) is wanted
        return
    [problem] = file.problems
    assert problem.severity == "error"
    assert problem.message.startswith(f"`{field}` of pool `p` must be true or false, but is ")
    assert problem.hint == "write true or false, without quotes"


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("'3.0'", 3), ("' 8 '", 8), ("1.0", 1), ("'1e3'", None), ("'8.'", None), ("1.5", None)],
)
def test_a_whole_number_takes_what_tpv_takes(value: str, wanted: int | None) -> None:
    file = parsed(f"pools: {{p: {{oversize: {{max_concurrent: {value}}}}}}}")
    pool = file.entities["pools"]["p"]
    assert isinstance(pool, Pool)
    assert pool.oversize == ({} if wanted is None else {"max_concurrent": wanted})
    assert [each.severity for each in file.problems] == ["error"] * (wanted is None)


@pytest.mark.parametrize(
    ("value", "wanted"), [("true", True), ("1", "1"), ("0.0", "0.0"), ("'2'", "2"), ("x", "x")]
)
def test_a_condition_is_text_or_a_truth_value(value: str, wanted: bool | str) -> None:
    [rule] = tool(f"rules: [{{if: {value}, cores: 2}}]").rules.values()
    assert rule.if_condition == wanted
    assert type(rule.if_condition) is type(wanted)


@pytest.mark.parametrize("value", ["2", "-1", "0.5", ".nan", "[x]"])
def test_a_condition_that_is_another_number_or_a_list_is_an_error(value: str) -> None:
    file = parsed(f"tools: {{t: {{rules: [{{if: {value}, cores: 2}}]}}}}")
    [problem] = file.problems
    assert problem.severity == "error"
    assert "must be an expression, or true or false, but is " in problem.message


def test_an_entity_without_properties_is_told_how_to_be_written() -> None:
    file = parsed("tools:\n  t:\n  u: {}\n")
    [problem] = file.problems
    assert (problem.line, problem.column, problem.severity) == (2, 3, "error")
    assert problem.message == "tool `t` has no properties"
    assert problem.hint == "write t: {} for an entity without properties"
    assert file.broken == {("tools", "t"): problem}
    assert list(file.entities["tools"]) == ["t", "u"]


def test_an_id_inside_an_entity_is_ignored() -> None:
    file = parsed("tools: {t: {id: zzz}}")
    assert file.entities["tools"]["t"].id == "t"
    assert [(p.severity, p.message) for p in file.problems] == [
        ("warning", "`id` inside tool `t` is ignored")
    ]


def test_the_global_section_speaks_for_the_file() -> None:
    file = clean("""\
        global:
          dialect: tpv3
          default_inherits: base
          context: {A: 1}
          include: [a.yml, https://x/b.yml]
          resource_pool_store: {class: X}
    """)
    assert (file.dialect, file.dialect_place) == ("tpv3", FilePosition("m.yml", 2, 12))
    assert (file.default_inherits, file.default_inherits_place.line) == ("base", 3)
    assert file.context["A"].value == 1
    assert [name for name, _ in file.include] == ["a.yml", "https://x/b.yml"]
    assert file.has_pool_store


def test_one_file_may_be_included_without_a_list() -> None:
    assert clean("global: {include: a.yml}").include == (("a.yml", FilePosition("m.yml", 1, 19)),)


def test_what_cannot_be_included_is_said_once_by_all_who_look() -> None:
    text = "global: {include: [a.yml, 5, '', [b]]}"
    _, problems = read_includes(text.encode(), "m.yml")
    assert parsed(text).problems == problems
    assert len(problems) == 3


def test_what_is_wrong_in_the_global_section_is_named() -> None:
    text = "global: {dialect: tpv, include: {}, contxt: {}, default_inherits: [a]}"
    assert [(severity, message) for _, _, severity, message in complaints(text)] == [
        ("error", "there is no dialect `tpv`"),
        ("error", "`include` names something that is not a file, a folder or an https URL"),
        ("warning", "unknown key `contxt` in `global` is ignored (T104)"),
        ("error", "`default_inherits` of `global` must be text, but is a list"),
    ]
    assert hints(text)[0] == "did you mean 'tpv3'?"
    assert list(parsed(text).broken) == [("global", "")]


def test_unknown_sections_are_doubted_but_not_those_for_anchors() -> None:
    text = (
        "x-base: &b {cores: 3}\n.hidden: 1\ntoolz: {}\ngroups: {}\ntools: {t: {<<: *b, mem: 1}}\n"
    )
    assert complaints(text) == [
        (3, 1, "warning", "unknown key `toolz` in the file is ignored (T104)"),
        (4, 1, "warning", "unknown key `groups` in the file is ignored (T104)"),
    ]
    assert hints(text) == ["did you mean 'tools'?", "groups of users are `roles`"]
    assert parsed(text).entities["tools"]["t"].cores == 3


@pytest.mark.parametrize("text", ["- a\n", "text\n", "5\n"])
def test_a_file_that_is_not_a_map_is_an_error(text: str) -> None:
    file = parsed(text)
    assert [problem.severity for problem in file.problems] == ["error"]
    assert list(file.broken) == [("", "")]


def test_a_section_that_is_not_a_map_spares_the_others() -> None:
    file = parsed("tools: [a]\nusers:\nroles: {r: {}}\n")
    assert [problem.line for problem in file.problems] == [1]
    assert list(file.broken) == [("tools", "")]
    assert list(file.entities["roles"]) == ["r"]


@pytest.mark.parametrize(
    "data", [b"\xff\xfe", b"a: [", b"a: 1\na: 2", b"tools: {t: !!python/x {}}"]
)
def test_a_file_that_cannot_be_read_is_a_problem_and_never_raises(data: bytes) -> None:
    file = parse_mapping(data, "m.yml", digest="d")
    assert file.problems
    assert file.entities == {}
    assert file.broken == {("", ""): file.problems[0]}
    assert file.digest == "d"


def test_comments_silence_lint_messages_as_in_tpv() -> None:
    file = parsed("""\
        tools:
          all:
            # noqa
            colour: red
          one:
            # why
            # noqa: T101,T102
            colour: red
          behind: # noqa: T104
            colour: red
          late:
            colour: red
            # noqa
          inline: {colour: red} # noqa
          base: &b
            # noqa: T1
            colour: red
          alias: *b # noqa
          merged: !!map # noqa: T2
            <<: *b
          "quoted # key":
            # noqa
            {colour: red}
    """)
    assert file.silenced == {
        2: frozenset(),
        5: frozenset({"T101", "T102"}),
        9: frozenset({"T104"}),
        15: frozenset({"T1"}),
        19: frozenset({"T2"}),
        21: frozenset(),
    }
    assert [problem.line for problem in file.problems] == [8, 12, 14, 17, 17, 17]


def test_every_problem_of_a_file_is_named_at_once() -> None:
    text = """\
        tools:
          t: {cores: true, mem: [1], scheduling: {require: [a, a]}, rules: [{}, 5]}
        destinations: {d: {max_accepted_mem: x}}
        global: {dialect: x}
    """
    assert [line for line, *_ in complaints(text)] == [2, 2, 2, 2, 2, 3, 4]


def test_names_with_control_characters_are_made_visible() -> None:
    [(*_, message)] = complaints('tools: {"a\\e[31m\\n": 5}')
    assert "\x1b" not in message
    assert "a\\x1b[31m\\n" in message


_NAMES = st.sampled_from(
    sorted({name for holder in HOLDERS for name in FIELDS_OF[holder]} | {"x", "require", "name"})
)
_SCALARS = st.sampled_from(
    ["1", "true", "null", "''", "'a b'", ".nan", ".inf", "-1", "1e400", '"\\u202e"', "0x10", "~"]
)
_NODES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.dictionaries(_NAMES, inner, max_size=4).map(
            lambda table: "{" + ", ".join(f"{k}: {v}" for k, v in table.items()) + "}"
        ),
    ),
    max_leaves=12,
)
_SECTIONS = st.sampled_from(["global", "tools", "roles", "users", "destinations", "pools", "x"])


@given(st.dictionaries(_SECTIONS, st.dictionaries(st.sampled_from("ab"), _NODES, max_size=2)))
def test_whatever_a_person_writes_is_read_or_explained(
    sections: dict[str, dict[str, str]],
) -> None:
    # given any values under any known keys
    text = "".join(
        f"{section}:\n" + "".join(f"  {name}: {node}\n" for name, node in entities.items())
        for section, entities in sections.items()
    )
    # when it is read
    file = parse_mapping(text.encode(), "m.yml")
    # then every entity is listed, errors have a place, and broken ones have an error of their own
    for kind, entities in sections.items():
        if kind in file.entities:
            assert list(file.entities[kind]) == list(entities)
    errors = [problem for problem in file.problems if problem.severity == "error"]
    assert all(problem.line > 0 and problem.column > 0 for problem in errors)
    assert set(file.broken.values()) <= set(errors)
    assert bool(file.broken) == bool(errors)


def test_text_in_the_place_of_properties_is_told_how_they_are_written() -> None:
    [problem] = parsed("tools:\n  t:\n    cores = 4\n").problems
    assert problem.message == "tool `t` must be a map, not text"
    assert problem.hint == "write `t:` and indented below it lines like `cores: 4`"


@pytest.mark.parametrize(
    ("body", "severity", "hint"),
    [
        ("env: {A: {cores}}", "error", 'put it in quotes if it is an expression: "{cores}"'),
        ("params: {a: {cores}}", "warning", 'put it in quotes if it is an expression: "{cores}"'),
        ("mem: {cores * 4}", "error", "an expression stands here without braces: cores * 4"),
    ],
)
def test_braces_without_quotes_are_told_what_they_lack(body: str, severity: str, hint: str) -> None:
    [problem] = parsed(f"tools: {{t: {{{body}}}}}").problems
    assert (problem.severity, problem.hint) == (severity, hint)


def test_a_map_that_is_meant_as_one_is_no_doubt() -> None:
    assert not parsed("tools: {t: {params: {a: {b: 1}, c: {d: , e: }}}}").problems


@pytest.mark.parametrize(
    "text",
    [
        "params: {1: a}",
        "params: {true: a}",
        "env: {2.5: a}",
        "resubmit: {1: {condition: attempt}}",
        "resubmit: {again: {1: attempt}}",
    ],
)
def test_a_key_that_is_no_text_is_refused_as_in_tpv(text: str) -> None:
    file = parse_mapping(f"tools:\n  t:\n    {text}\n".encode(), "m.yml")

    assert ("tools", "t") in file.broken
    assert "is not text" in file.problems[0].message
    assert "in quotes" in file.problems[0].hint
    quoted = re.sub(r"\b(1|true|2\.5):", r'"\1":', text)
    file = parse_mapping(f"tools:\n  t:\n    {quoted}\n".encode(), "m.yml")
    assert not file.broken
