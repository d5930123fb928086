from __future__ import annotations

import ast
import gc
import inspect
import re
import textwrap
from cProfile import Profile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.mapping.code.patterns import compile_pattern
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.lint import attributes as lint_attributes
from rowtui.core.mapping.lint import code as lint_code
from rowtui.core.mapping.lint import dialect as lint_dialect
from rowtui.core.mapping.lint import entities as lint_entities
from rowtui.core.mapping.lint import lint as lint_all
from rowtui.core.mapping.lint import patterns as lint_patterns
from rowtui.core.mapping.lint import reach as lint_reach
from rowtui.core.mapping.lint import rules as lint_rules
from rowtui.core.mapping.lint import tags as lint_tags
from rowtui.core.mapping.lint.lint import CODES, LintFinding, lint
from rowtui.core.mapping.lint.patterns import shape_of
from rowtui.core.mapping.yaml.dump import scalar


def findings(*texts: str, ignore: frozenset[str] = frozenset()) -> tuple[LintFinding, ...]:
    """What is found in files called a.yml, b.yml, ..."""
    files = [
        parse_mapping(textwrap.dedent(text).encode(), f"{name}.yml")
        for name, text in zip("abc", texts, strict=False)
    ]
    return lint(merge_files(files), ignore=ignore)


def codes(*texts: str) -> list[tuple[str, int]]:
    return [(finding.code, finding.place.line) for finding in findings(*texts)]


def only(code: str, *texts: str) -> list[LintFinding]:
    return [finding for finding in findings(*texts) if finding.code == code]


def tpv3(text: str) -> str:
    return "global: {dialect: tpv3}\n" + textwrap.dedent(text)


# The whole


CLEAN = """\
global:
  default_inherits: default
  context: {LIMIT: 10}
tools:
  default:
    abstract: true
    cores: 2
    mem: cores * 4
    params: {spec: "--mem={mem} {env[0]['value']}"}
    env: {A: "{cores}"}
    rules:
      - {id: big, if: input_size > LIMIT and not user, fail: "{input_size} is too large"}
      - if: |
          limits = [limit for limit in (1, 2)]
          any(entity.cores > limit for limit in limits)
        gpus: 1
    rank: |
      def by_score(d):
          return -d.score(entity)
      sorted(candidate_destinations, key=by_score)
  # a special one
  bowtie:
    mem: 7
    rules: [{id: big, if: false}]
users:
  admin@.*: {cores: 4, mem: mem_of_users, context: {mem_of_users: 3}}
"""


def test_files_with_which_nothing_is_wrong_have_no_findings() -> None:
    seed = CLEAN + "destinations: {slurm: {runner: greatlakes, cores: 16, mem: 64}}\n"
    assert findings(seed) == ()
    assert findings(seed, "global: {dialect: seed}") == ()
    today = CLEAN + "destinations: {slurm: {runner: greatlakes, max_accepted_cores: 16}}\n"
    assert findings(today, "global: {dialect: tpv3}") == ()


EXAMPLES = Path(__file__).parents[4] / "examples" / "mapping"
MAPPINGS = sorted(path for path in EXAMPLES.glob("*.yml") if path.name != "cases.yml")


@pytest.mark.parametrize("path", MAPPINGS, ids=lambda path: path.name)
def test_the_examples_of_the_seed_text_have_notes_at_most(path: Path) -> None:
    found = lint(merge_files([parse_mapping(path.read_bytes(), path.name)]))
    # in one of them the text itself wants an action that no destination takes
    worse = {(each.code, path.name) for each in found if each.severity != "note"}
    assert worse <= {("M405", "tags.yml")}


def test_problems_of_reading_are_findings_and_keep_their_severity() -> None:
    found = findings("tools:\n  t:\n    cores: [1]\n    colour: red\n    mem: (\n")
    assert [(each.code, each.severity, each.place.line) for each in found] == [
        ("M001", "error", 3),
        ("T104", "warning", 4),
        ("M001", "error", 5),
    ]
    assert found[1].message == "unknown key `colour` in tool `t` is ignored"


def test_findings_are_in_the_order_of_the_files_and_their_lines() -> None:
    found = findings(
        "tools:\n  a: {cores: 1, context: {x: 1}}\n  b+c: {cores: 1}\n", "tools: {d: {cores: 1}}"
    )
    assert [(each.place.file, each.place.line) for each in found] == [
        ("a.yml", 2),
        ("a.yml", 2),
        ("a.yml", 3),
        ("a.yml", 3),
        ("b.yml", 1),
    ]


def test_a_file_that_nobody_trusts_is_checked_like_any_other() -> None:
    text = b"tools: {t: {cores: inputsize, mem: 1, gpus: 9}}\n" + D.replace("64", "1").encode()
    found = [
        {each.code for each in lint(merge_files([parse_mapping(text, "a.yml", sealed=sealed)]))}
        for sealed in (True, False)
    ]
    assert found == [{"M101", "M501"}] * 2
    text = text.replace(b"inputsize", b"9")
    sealed = merge_files([parse_mapping(text, "a.yml", sealed=True)])
    assert "M405" in {each.code for each in lint(sealed)}


def test_a_comment_silences_findings_about_its_entity() -> None:
    text = """\
    tools:
      a:
        # noqa
        cores: 1
        context: {x: 1}
      b:
        # noqa: T102,M999
        cores: 1
        context: {y: 1}
      c:
        cores: 1
    """
    assert codes(text) == [("M504", 9), ("T102", 11)]


def test_a_comment_does_not_silence_what_makes_jobs_fail_when_the_file_is_read() -> None:
    assert codes("tools:\n  a:\n    # noqa\n    cores: (\n    mem: 1\n") == [("M001", 4)]


def test_codes_that_are_not_wanted_are_left_out() -> None:
    assert findings("tools: {a: {cores: 1}}", ignore=frozenset({"T102"})) == ()


def test_a_file_that_is_no_mapping_has_its_problem_and_nothing_else() -> None:
    assert [each.code for each in findings("- 1")] == ["M001"]


def test_a_finding_reads_as_compilers_write_them() -> None:
    (found,) = findings("tools: {a: {cores: 1}}")
    assert str(found).splitlines()[0] == ("a.yml:1: warning T102: tool `a` sets cores, but no mem")


def test_names_from_files_cannot_write_to_the_terminal() -> None:
    found = findings('tools: {"a\\e[31m+b\\n": {cores: 1, rules: [{if: false, cores: 2}]}}')
    assert len(found) >= 2
    assert not any(char in str(each) for each in found for char in "\x1b")
    assert not any("\n" in each.message for each in found)


def test_every_code_is_in_the_table_and_every_code_of_the_table_is_used() -> None:
    modules = [
        lint_all, lint_attributes, lint_code, lint_dialect, lint_entities,
        lint_patterns, lint_reach, lint_rules, lint_tags,
    ]  # fmt: skip
    used = {
        node.value
        for module in modules
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Constant) and re.fullmatch(r"[MT]\d{3}", str(node.value))
    }
    assert used | {"M001", "M208", "T104"} == set(CODES)


# What is found, and its cousin that is all right

D = "destinations: {d: {runner: r, max_accepted_cores: 64, max_accepted_mem: 999}}\n"

FOUND = {
    # code, severity, a word of the message, the text, the text that is all right
    "T101": ("warning", "default", "global: {dialect: tpv3, default_inherits: default}\n"
             "tools: {default: {%s}}", "", "abstract: true"),
    "T102": ("warning", "no mem", "tools: {t: {cores: 2%s}}", "", ", mem: 3"),
    "M101": ("note", "`max_cores`", "tools: {t: {%s: 3}}", "max_cores", "gpus"),
    "M102": ("error", "forces every job", tpv3("destinations: {d: {runner: r, cores: 3%s}}"),
             "", ", max_accepted_cores: 8"),
    "M103": ("warning", "`mem`, `params`", tpv3("tools: {t: {rules: [{if: input_size > 1, %s"
             "execute: entity.gpus = 1}]}}"), "mem: 1, params: {a: b}, ", ""),
    "M104": ("warning", "`max_gpus: 0`", tpv3("tools: {t: {max_gpus: %s}}"), "0", "1"),
    "M105": ("note", "leftovers", tpv3("tools: {t: {gpus: %s}}"), "len(globals())", "input_size"),
    "M106": ("warning", "constant LIMIT", tpv3("tools: {a: {gpus: LIMIT, context: {LIMIT: 1}},\n"
             " b: {inherits: a%s}}"), ", context: {LIMIT: 2}", ""),
    "M107": ("note", "replacement", tpv3("tools: {t: {rank: %scandidate_destinations%s}}"),
             ("helpers.weighted_random_sampling(", ")"), ("(", ")")),
    "M108": ("warning", "no other destination",
             tpv3("destinations: {d: {runner: r, rules: [{if: input_size > 1, %s}]}}"),
             "fail: no", "cores: 1"),
    "M109": ("warning", "`destination_name_override`",
             tpv3("destinations: {a: {runner: r, destination_name_override: x},\n"
                  "  b: {inherits: a%s}}"), "", ", destination_name_override: y"),
    "M110": ("note", "rejected", tpv3("tools: {t: {rules: [{if: '%s', gpus: 1}]}}"),
             "helpers.tag_values_match(entity, [])", "input_size > 1"),
    "M111": ("note", "`max_mem` of user", tpv3("tools: {t: {max_mem: 4}}\n"
             "users: {u: {max_mem: %s}}"), "8", "3"),
    "M201": ("warning", "`dataplant*`", "roles: {%s: {gpus: 1}}", "dataplant*", "dataplant.*"),
    "M202": ("error", "`default_x`", "global: {dialect: seed}\n"
             "tools: {%s: {abstract: true}, default_x: {gpus: 1}}", "default", "default$"),
    "M203": ("warning", "being later", "tools: {bwa_mem2: {mem: 1}, %s: {gpus: 1}}",
             "bwa", "bwa$"),
    "M204": ("warning", "the same", "tools: {bwa: {gpus: 1}, %s: {gpus: 1, mem: 1}}",
             "bwa.*", "bwa/.*"),
    "M205": ("warning", "are replaced by", "tools: {bwa/1: {gpus: 1%s}, bwa/.*: {gpus: 2}}",
             "", ", mem: 1"),
    "M206": ("warning", "every role", "global: {default_inherits: %s}\n"
             "roles: {default: {gpus: 1}, r: {gpus: 2}}", "default", "other"),
    "M207": ("warning", "nothing inherits", "global: {dialect: seed%s}\n"
             "tools: {default: {gpus: 1}}", "", ", default_inherits: default"),
    "M208": ("warning", "no such entity", "global: {default_inherits: %s}\n"
             "tools: {default: {gpus: 1}}", "defualt", "default"),
    "M301": ("warning", "never applies", "tools: {t: {rules: [{if: %s, gpus: 1}]}}",
             "false", "input_size > 3"),
    "M302": ("warning", "never run", "tools: {t: {rules: [{if: %s, fail: no},\n"
             "  {if: true, gpus: 1}]}}", "true", "input_size > 1"),
    "M303": ("error", "every job fails", "tools: {.*: {rules: [{if: %s, fail: no}]}}",
             "true", "input_size > 1"),
    "M304": ("note", "without changing", "tools: {a: {rules: [{id: x, if: input_size, gpus: 1}]},\n"
             "  b: {inherits: a, rules: [{id: x, if: input_size, gpus: %s}]}}", "1", "2"),
    "M305": ("warning", "has no effect",
             "tools: {t: {rules: [{if: input_size > 1, gpus: 1%s}]}}", ", inherits: x", ""),
    "M401": ("error", "no `runner`", tpv3("destinations: {d: {%s}}"), "", "runner: r"),
    "M402": ("warning", "no job can go to", "tools: {t: {scheduling: {%s: [secret]}}}\n"
             "destinations: {d: {runner: r, scheduling: {require: [secret]}}}", "reject", "accept"),
    "M403": ("warning", "`high-mem`", "tools: {t: {scheduling: {prefer: [%s]}}}\n"
             "destinations: {d: {runner: r, scheduling: {accept: [highmem]}}}",
             "high-mem", "highmem"),
    "M404": ("warning", "no destination has", "roles: {t: {scheduling: {require: [%s]}}}\n"
             "destinations: {d: {runner: r, scheduling: {accept: [gpu]}}}", "pulsar", "gpu"),
    "M405": ("warning", "no destination can take",
             D + "tools: {t: {cores: %s, mem: 1}}", "65", "64"),
    "M406": ("warning", "at least 8, at most 4", "destinations: {d: {runner: r,\n"
             "  max_accepted_cores: 4, min_accepted_cores: %s}}", "8", "4"),
    "M410": ("note", "nothing inherits", "tools: {a: {abstract: true}, b: {%s}}",
             "", "inherits: a"),
    "M411": ("note", "no destination has it", "tools: {t: {scheduling: {prefer: [%s]}}}\n"
             "destinations: {d: {runner: r, scheduling: {reject: [gpu]}}}", "pulsar", "gpu"),
    "M501": ("error", "`inputsize`", "tools: {t: {gpus: %s}}", "inputsize", "input_size"),
    "M502": ("error", "reads mem, which is worked out later", "tools: {t: {cores: %s, mem: 2}}",
             "mem / 2", "gpus"),
    "M503": ("warning", "`user` hides", "tools: {t: {gpus: %s, context: {%s: 3}}}",
             ("user", "user"), ("users", "users")),
    "M504": ("note", "nothing reads", "tools: {t: {gpus: %s, context: {size: 3}}}", "1", "size"),
    "M505": ("note", "urllib", "tools: {t: {rank: 'import %s; candidate_destinations'}}",
             "urllib.request", "math"),
    "M506": ("error", "reads `entity.tpv_tags.combined`, which rowtui",
             "tools: {t: {cores: 'entity.tpv_tags.%s({}) or 1', mem: 1}}", "combined", "combine"),
    "M507": ("warning", "rowtui has no preferences of a user",
             "tools: {t: {cores: 'int(user.%s)', mem: 1}}", "extra_preferences.get(0)", "id"),
    "M508": ("error", "imports `sqlalchemy_of_nobody`, which is not installed",
             "tools: {t: {rank: 'import %s; candidate_destinations'}}",
             "sqlalchemy_of_nobody.orm", "json"),
}  # fmt: skip


@pytest.mark.parametrize("code", FOUND)
def test_a_finding_is_where_it_should_be_and_not_where_all_is_right(code: str) -> None:
    severity, words, text, bad, good = FOUND[code]

    found = only(code, text % bad)

    assert [each.severity for each in found] == [severity], findings(text % bad)
    assert words in found[0].message
    assert only(code, text % good) == []


def test_all_codes_that_need_no_cluster_are_tried_here() -> None:
    assert set(CODES) - set(FOUND) == {"M001", "T104", "M407", "M408", "M409"}


# Dialects


def test_words_of_tpv3_are_only_noted_where_the_file_says_that_it_is_seed() -> None:
    (found,) = only("M101", "global: {dialect: seed}\ntools: {t: {max_cores: 3, abstract: true}}")
    assert (found.severity, found.place.line) == ("note", 2)
    assert "seed: `max_cores`" in found.message
    assert "dialect: tpv3" in found.hint


def test_the_traps_of_tpv3_are_not_there_in_seed() -> None:
    text = """\
    tools:
      t: {max_gpus: 0, rules: [{if: input_size > 1, mem: 1, execute: entity.gpus = 1}]}
    destinations:
      d: {runner: r, cores: 3, rules: [{if: input_size > 1, fail: no}]}
    """
    assert {code for code, _ in codes(text)} == {"M101"}
    assert {"M102", "M103", "M104", "M108"} <= {code for code, _ in codes(tpv3(text))}


def test_a_protected_variable_of_another_file_is_told() -> None:
    one, other = "global: {dialect: tpv3, context: {_a: 1}}", "global: {context: {_a: 2}}"
    assert [(each.place.file, each.place.line) for each in only("M106", one, other)] == [
        ("b.yml", 1)
    ]


# Ids


def test_an_abstract_entity_is_told_once_with_how_many_it_stops() -> None:
    text = "tools: {it: {abstract: true}, it_a: {gpus: 1}, it_b: {gpus: 1}, .*it.*: {mem: 1}}"
    (found,) = only("M202", text)
    assert "also matches `it_a` and 1 more" in found.message


def test_an_id_in_the_middle_of_a_path_does_not_match_by_accident() -> None:
    assert only("M203", "tools: {a/bwa/: {gpus: 1}, a/bwa/1.0: {gpus: 2}}") == []


def test_an_earlier_id_that_begins_like_a_later_one_is_only_noted() -> None:
    (found,) = only("M203", "tools: {bwa: {gpus: 1}, bwa_mem2: {gpus: 2}}")
    assert found.severity == "note"


def test_a_template_that_others_inherit_from_is_not_said_to_be_replaced() -> None:
    text = "tools: {bwa/1: {gpus: 1}, bwa/.*: {gpus: 2}, x: {inherits: bwa/1}}"
    assert only("M205", text) == []


def test_the_same_id_written_differently_in_another_file_is_only_noted() -> None:
    found = only("M204", "tools: {bwa: {gpus: 1}}", "tools: {bwa.*: {mem: 1}}")
    assert [(each.severity, each.place.file) for each in found] == [("note", "b.yml")]


parts = st.text("ab/_", max_size=4)
simple = st.builds(
    lambda before, name, after: before + name + after,
    st.sampled_from(["", "^", ".*"]),
    parts,
    st.sampled_from(["", ".*", "$"]),
)


@given(simple, simple, st.lists(st.text("ab/_", max_size=8), max_size=20))
def test_a_pattern_that_covers_another_matches_all_that_it_matches(
    one: str, other: str, subjects: list[str]
) -> None:
    wide, narrow = shape_of(one), shape_of(other)
    assert wide is not None
    assert narrow is not None
    mine = compile_pattern(one)
    for subject in (*subjects, narrow.name, narrow.name + "q", "q" + narrow.name):
        if compile_pattern(other).match(subject):
            assert not wide.covers(narrow) or mine.match(subject)


def test_patterns_of_another_form_are_left_alone() -> None:
    assert [shape_of(key) for key in ("a|b", "a+", "[ab]", "(a)", "a.+b", r"a\d")] == [None] * 6


# Rules


def test_switching_off_a_rule_that_another_entity_has_is_all_right() -> None:
    text = """\
    global: {default_inherits: default}
    tools:
      default: {rules: [{id: small, if: true, fail: only listed tools run here}]}
      bwa: {rules: [{id: small, if: false}]}
    """
    assert {code for code, _ in codes(text)} == {"T101"}


def test_a_rule_of_the_default_that_is_repeated_word_for_word_is_noted() -> None:
    text = """\
    global: {default_inherits: default}
    tools:
      default: {rules: [{id: small, if: input_size < 3, gpus: 1}]}
      bwa: {rules: [{id: small, if: input_size < 3}]}
    """
    (found,) = only("M304", text)
    assert found.place.line == 4
    assert "a.yml:3" in found.message


# Expressions


def test_a_name_is_found_on_its_line_of_the_code() -> None:
    text = """\
    tools:
      t:
        rank: |
          first = candidate_destinations
          [d for d in first if d.id != unknwon]
        params: {a: "{cores} {entty.id}", b: "{candidate_destinations}"}
    """
    assert [(each.place.line, each.place.column, each.message) for each in only("M501", text)] == [
        (5, 30, "name `unknwon` is not defined in rank of tool `t`"),
        (6, 17, "name `entty` is not defined in params.a of tool `t`"),
        (6, 42, "name `candidate_destinations` is not defined in params.b of tool `t`"),
    ]
    assert only("M501", text)[1].hint == "did you mean 'entity'?"


def test_names_that_code_binds_itself_are_known() -> None:
    text = """\
    tools:
      t:
        rank: |
          import os as system, math
          from json import loads
          try:
              found = system.getpid()
          except OSError as error:
              other = str(error)
          def f(a, *b, **c):
              global found
              return a, b, c
          class K: pass
          if (n := 3) > 2:
              late = 1
          [x for x, (y, z) in []] or (lambda q: q)(1)
          found, other, f, K, late, math, loads, n, candidate_destinations
    """
    assert only("M501", text) == []


def test_amounts_are_read_in_the_order_in_which_they_are_worked_out() -> None:
    good = "{min_cores: gpus, gpus: min_cores, cores: gpus + max_cores, mem: cores}"
    found = only("M502", f"tools: {{t: {good}}}")
    assert [each.message for each in found] == [
        "`min_cores` of tool `t` reads gpus, which is worked out later"
    ]


def test_a_condition_may_not_read_cores_but_that_of_a_destination_may() -> None:
    rule = "rules: [{if: cores > 2, params: {a: b}}]"
    (found,) = only("M502", f"tools: {{t: {{{rule}}}}}")
    assert "`entity.cores`" in found.hint
    assert only("M502", f"destinations: {{d: {{runner: r, {rule}}}}}") == []


def test_a_variable_of_any_entity_is_known_and_read_by_any_other() -> None:
    text = "tools: {t: {gpus: size}}\nusers: {u: {context: {size: 1}}}"
    assert findings(text) == ()


def test_an_expression_that_builds_on_the_value_that_it_replaces_is_an_error() -> None:
    (found,) = only("M502", "tools: {t: {rules: [{if: job.state == 'new', mem: mem * 2}]}}")
    assert "reads mem itself" in found.message


def test_a_class_that_is_only_caught_stops_nobody_until_something_is_raised() -> None:
    text = """\
    tools:
      t:
        rules:
          - if: input_size > 1
            execute: |
              try:
                  x = int(user.name)
              except (OperationalError, KeyError):
                  raise NotThere()
    """
    assert [(each.severity, each.place.line, each.hint) for each in only("M501", text)] == [
        ("warning", 8, "a class has to be imported first"),
        ("error", 9, "a class has to be imported first"),
    ]


def test_where_code_sets_variables_nothing_is_sure() -> None:
    text = """\
    tools:
      t:
        gpus: size
        rules: [{if: input_size > 1, execute: "entity.context['size'] = 1"}]
    """
    assert [each.severity for each in only("M501", text)] == ["warning"]


def test_what_tpv_shows_by_accident_is_known_in_tpv3_only() -> None:
    text = "tools: {t: {gpus: 'functools.reduce(max, [1])'}}"
    assert only("M501", tpv3(text)) == []
    assert len(only("M501", text)) == 1


# Tags and reach


def test_tags_are_no_concern_where_no_destination_is_described() -> None:
    assert findings("tools: {t: {scheduling: {require: [a], prefer: [b]}}}") == ()


def test_numbered_tags_are_not_taken_for_misspelt_ones() -> None:
    text = """\
    tools: {t: {scheduling: {prefer: [pulsar-1]}}}
    destinations:
      a: {runner: r, scheduling: {accept: [pulsar-1]}}
      b: {runner: r, scheduling: {accept: [pulsar-2]}}
    """
    assert only("M403", text) == []


def test_the_nearest_destination_is_named_with_what_is_missing() -> None:
    text = """\
    tools:
      t: {cores: 96, mem: 8, scheduling: {require: [highmem]}}
    destinations:
      small: {runner: r, max_accepted_cores: 16}
      large: {runner: r, max_accepted_cores: 64, scheduling: {accept: [highmem]}}
    """
    (found,) = only("M405", text)
    assert found.hint.startswith("Nearest is large: cores 96, at most 64.")


@pytest.mark.parametrize(
    "change",
    [
        "max_cores: 64",
        "rules: [{if: input_size < 1, cores: 1}]",
        "rules: [{if: input_size < 1, execute: entity.cores = 1}]",
        "abstract: true",
    ],
)
def test_a_tool_whose_amounts_are_not_certain_is_not_said_to_fit_nowhere(change: str) -> None:
    assert only("M405", D + f"tools: {{t: {{cores: 96, mem: 8, {change}}}}}") == []


def test_a_tag_that_a_role_may_bring_is_not_missing() -> None:
    text = """\
    tools: {t: {mem: 1}}
    roles: {r: {scheduling: {accept: [restricted]}}}
    destinations: {d: {runner: r, scheduling: {require: [restricted]}}}
    """
    assert codes(text) == []


def test_what_a_tool_inherits_and_also_matches_counts_for_where_it_fits() -> None:
    text = (
        D
        + """\
global: {default_inherits: default}
tools:
  default: {abstract: true, cores: 100, mem: 1}
  bwa.*: {cores: 4}
  bwa_mem: {gpus: 0}
  other: {gpus: 0}
"""
    )
    assert [each.message for each in only("M405", text)] == ["no destination can take tool `other`"]


def on_clusters(text: str) -> list[LintFinding]:
    partitions = (Partition("standard", maximum_cpus_per_job=36), Partition("gpu"))
    cluster = Cluster("greatlakes", Identify(), "slurm", partitions)
    local = Cluster("local", Identify(), "bash")
    file = parse_mapping(textwrap.dedent(text).encode(), "a.yml")
    clusters = {each.name: each for each in (cluster, local)}
    return [each for each in lint(merge_files([file]), clusters=clusters) if each.code != "M101"]


def test_destinations_are_held_against_the_clusters() -> None:
    found = on_clusters("""\
    destinations:
      good: {runner: greatlakes, params: {partition: standard}, max_accepted_cores: 36}
      gpu: {runner: greatlakes}
      anywhere: {runner: greatlakes, params: {partition: "{entity.id}"}}
      here: {runner: local}
      typo: {runner: graetlakes}
      nowhere: {runner: greatlakes, params: {partition: standrad}}
      greatlakes/old: {runner: greatlakes}
      wide: {runner: greatlakes, params: {partition: standard}, max_accepted_cores: 72}
    """)
    assert [(each.code, each.place.line, each.severity, each.hint[:30]) for each in found] == [
        ("M407", 6, "warning", "did you mean 'greatlakes'?"),
        ("M408", 7, "warning", "did you mean 'standard'?"),
        ("M408", 8, "warning", "it has standard, gpu"),
        ("M409", 9, "note", "Larger jobs are refused by the"),
    ]


# Whatever is written

words = st.sampled_from(
    ["a", "b.*", "a+", "*", "default", "cores", "mem * 2", "input_siz", "x = 1", "{cores}", "(", ""]
)
values = words | st.integers(0, 3) | st.booleans()
bodies = st.dictionaries(
    st.sampled_from(
        ["cores", "mem", "max_cores", "rank", "abstract", "inherits", "runner", "max_accepted_mem"]
    ),
    values,
    max_size=3,
)
tags = st.dictionaries(
    st.sampled_from(["require", "reject", "prefer"]), st.lists(words, max_size=2)
)
rule = st.fixed_dictionaries(
    {}, optional={"if": values, "fail": words, "execute": words, "scheduling": tags, "id": words}
)
whole = st.dictionaries(
    st.sampled_from(["tools", "roles", "users", "destinations"]),
    st.dictionaries(
        words,
        st.builds(lambda body, extra: {**body, **extra}, bodies, st.fixed_dictionaries(
            {}, optional={"rules": st.lists(rule, max_size=2), "scheduling": tags,
                          "context": st.dictionaries(st.sampled_from(["X", "tool", "a"]), values)}
        )),
        max_size=3,
    ),
)  # fmt: skip


@given(whole, st.sampled_from(["seed", "tpv3"]))
def test_whatever_is_written_is_linted_without_an_exception(
    content: dict[str, object], dialect: str
) -> None:
    named = {**content, "global": {"dialect": dialect, "default_inherits": "default"}}
    file = parse_mapping(scalar(named).encode(), "a.yml")
    found = lint(merge_files([file]), clusters={})
    assert {each.code for each in found} <= set(CODES)
    assert len(set(found)) == len(found)


def test_a_constant_beyond_all_floats_is_checked_without_a_fault() -> None:
    found = findings(f"tools: {{t: {{cores: '{'9' * 400}'}}}}\ndestinations: {{d: {{runner: r}}}}")
    assert all(finding.severity != "error" for finding in found)


def test_odd_code_is_checked_without_a_word_on_stderr(recwarn: pytest.WarningsRecorder) -> None:
    gc.collect()  # what tests before this one left behind may complain now, not below
    recwarn.clear()
    code = "      x = '\\d' is 1\n      import socket\n      nope\n"
    found = findings(f"tools:\n  t:\n    mem: |\n{code}destinations: {{d: {{runner: r}}}}\n")
    assert {"M501", "M505"} <= {finding.code for finding in found}
    assert list(recwarn) == []


def test_the_place_of_a_name_counts_characters_not_bytes() -> None:
    [found] = only("M501", "tools:\n  t:\n    mem: |\n      1\n      'ééé' + nope\n")
    assert (found.place.line, found.place.column) == (5, 9)


# What objects and modules have


@pytest.mark.parametrize(
    "code",
    [
        "entity.cores and entity.params.get('a') or entity.context['b']",
        "user.email.startswith('a') and [r.name for r in user.all_roles()]",
        "tool.id.lower() or job.get_param_values(app)",
        "helpers.tag_values_match(entity, ['a']) or mapper.destinations['d'].max_accepted_mem",
        "sorted(candidate_destinations, key=lambda d: (d.score(entity), d.dest_name))",
        "tool = dict(id=1)\ntool.popitem()",
        "[app.x for app in []]",
        "entity.dest_name",
    ],
)
def test_what_objects_have_is_no_finding(code: str) -> None:
    text = "tools:\n  t:\n    rank: |\n" + textwrap.indent(code, " " * 6)
    assert not {each.code for each in findings(text)} & {"M506", "M507", "M508"}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("app.model.context.query(1)", ["app.model"]),
        ("entity.tpv_tags.combin(1)\nentity.tpv_tags.combin(2)", ["entity.tpv_tags.combin"]),
        ("helpers.nothing(job)", ["helpers.nothing"]),
        ("mapper.config.tools", ["mapper.config"]),
        ("entity.params.cores", ["entity.params.cores"]),
        ("[d for d in candidate_destinations if d.free]", ["d.free"]),
        ("sorted(candidate_destinations, key=lambda d: d.scor(entity))", ["d.scor"]),
        ("import galaxy.model\n1", ["galaxy.model"]),
        ("from tpv.core.entities import Tag, Tags\n1", ["tpv.core.entities.Tags"]),
    ],
)
def test_what_objects_and_modules_lack_is_an_error(code: str, names: list[str]) -> None:
    text = "tools:\n  t:\n    rank: |\n" + textwrap.indent(code, " " * 6)
    found = [each for each in findings(text) if each.code in {"M506", "M508"}]

    assert [re.findall(r"`([^`]+)`", each.message)[2] for each in found] == names
    assert {each.severity for each in found} == {"error"}


def test_what_code_asks_for_before_it_reads_it_is_a_warning() -> None:
    text = "tools: {t: {rank: \"hasattr(app, 'model') and app.model or [] \"}}"
    assert [each.severity for each in only("M506", text)] == ["warning"]
    code = "try:\n  import nope_nope\nexcept ImportError:\n  pass\n[]"
    text = "tools:\n  t:\n    rank: |\n" + textwrap.indent(code, " " * 6)
    assert [each.severity for each in only("M508", text)] == ["warning"]


def test_a_python_without_pip_gets_another_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "tools:\n  t:\n    rank: |\n      import nope_nope\n      0"
    assert only("M508", text)[0].hint.endswith("-m pip install nope_nope")
    monkeypatch.setattr(lint_code, "_is_installed", lambda module: False)
    hint = "Install rowtui with nope_nope: uv tool install --with nope_nope rowtui"
    assert only("M508", text)[0].hint == hint


def test_an_attribute_that_some_code_sets_is_there() -> None:
    text = (
        "tools: {t: {rules: [{if: true, execute: 'entity.own = 3'}, {if: entity.own > 2, mem: 1}]}}"
    )
    assert only("M506", text) == []


# Findings that are many, or would be wrong


def test_ids_that_look_like_file_patterns_are_one_finding_for_each_file() -> None:
    text = "tools:\n" + "".join(f"  shed/tool{n}/*: {{gpus: 1}}\n" for n in range(50))
    [found] = only("M201", text + "  data*: {gpus: 1}\n")[:1]
    assert (found.severity, found.place.line) == ("note", 2)
    assert "so are those of 49 more" in found.message

    both = only("M201", text + "  data*: {gpus: 1}\n  plant*: {gpus: 1}\n")
    assert [each.severity for each in both] == ["note", "warning"]


@pytest.mark.parametrize(
    ("code", "computed"),
    [
        ("entity.tpv_tags.require.append(f'site_{user.id}')", True),
        ("entity.tpv_tags.add_tag_override(TagType.REQUIRE, job.params['site'])", True),
        ("entity.tpv_tags = entity.tpv_tags.combine(SchedulingTags(require=names))", True),
        ("entity.tpv_tags.require = [n for n in roles]", True),
        ("entity.tpv_tags.require.append('near')", False),
        ("entity.tpv_tags.add_tag_override(TagType.REQUIRE, 'near')", False),
        ("entity.params['a'] = user.id", False),
    ],
)
def test_tags_that_code_works_out_may_be_any_tag(code: str, computed: bool) -> None:
    text = (
        "tools:\n  t:\n    gpus: 1\n    rules:\n      - if: true\n        execute: |\n"
        f"          {code}\n"
        "destinations:\n  d: {runner: r, scheduling: {require: [far], prefer: [x]}}\n"
        "  e: {runner: r}\n"
    )
    found = {each.code for each in findings(text)}
    assert found & {"M402", "M411"} == (set() if computed else {"M402", "M411"})


def test_the_counted_distance_is_that_of_the_checks_that_fail() -> None:
    words = ("require", "prefer", "accept", "reject")
    tools = "tools:\n" + "".join(
        f"  t{a}{b}: {{cores: {c}, mem: 1, scheduling: {{{a}: [x], {b}: [y]}}}}\n"
        for a in words for b in words for c in [4] if a != b
    )  # fmt: skip
    places = "destinations:\n" + "".join(
        f"  d{a}{b}: {{runner: r, max_accepted_cores: 2, scheduling: {{{a}: [x], {b}: [z]}}}}\n"
        for a in words for b in words if a != b
    )  # fmt: skip
    configuration = merge_files([parse_mapping((tools + places).encode(), "a.yml")])
    sides = lint_tags.sides_of(configuration)
    lookup = lint_reach.EntityLookup(configuration)
    offers = lint_reach.offers_of(lookup.destinations(), None)
    counted = lint_reach._Places(offers, sides)
    for tool in configuration.of_kind("tools").values():
        amounts = lint_reach.Amounts(None, 4, 1)
        job = lint_reach._Asked(tool, amounts)
        for at, offer in enumerate(offers):
            request = lint_reach.MappingRequest(tool.id)
            failed = lint_reach._certain_failures(offer, tool, amounts, request, sides)
            of_tags = sum(1 for each in failed if each.tag)
            assert counted.distance(at, job) == (len(failed), of_tags)


def test_a_long_chain_of_parents_says_each_value_once() -> None:
    text = "tools:\n  t0: {cores: 1}\n" + "".join(
        f"  t{n}: {{inherits: t{n - 1}, cores: {n}}}\n" for n in range(1, 400)
    )
    configuration = merge_files([parse_mapping(text.encode(), "a.yml")])
    last = configuration.of_kind("tools")["t399"]

    assert [said.value for said in last.said["cores"]] == [*range(399, 0, -1), 1]


def test_a_chain_of_thousands_keeps_the_newest_origins_and_one_in_an_untrusted_file() -> None:
    text = "tools:\n" + "".join(
        f"  t{n}: {{inherits: t{n - 1}, cores: {n}}}\n" for n in range(1, 4000)
    )
    files = [
        parse_mapping(b"tools: {t0: {cores: 1}}", "old.yml", sealed=True),
        parse_mapping(text.encode(), "a.yml"),
    ]
    said = merge_files(files).of_kind("tools")["t3999"].said["cores"]

    assert len(said) < 1000
    assert [each.value for each in said[:300]] == [*range(3999, 3699, -1)]
    assert said[-1].origin.sealed


def test_chains_that_pass_on_too_many_values_stop_with_one_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rowtui.core.mapping.files.load._MOST_INHERITED", 100)
    text = "tools:\n  t0: {cores: 1}\n  u: {inherits: t0}\n" + "".join(
        f"  t{n}: {{inherits: t{n - 1}, params: {{p{n}: x}}}}\n" for n in range(1, 40)
    )
    configuration = merge_files([parse_mapping(text.encode(), "a.yml")])
    (problem,) = configuration.problems
    tools = configuration.of_kind("tools")
    broken = [name for name in tools if ("tools", name) in configuration.broken]

    assert problem.message == f"tool {broken[0]} inherits too much"
    assert problem.hint == "all chains of `inherits` together may pass on 100 values"
    assert broken == [f"t{n}" for n in range(int(broken[0][1:]), 40)]
    assert len(tools["t9"].params) == 9
    assert len(tools["t39"].params) == 1


def test_a_chain_of_tools_that_each_require_one_more_tag_takes_no_minutes() -> None:
    short, _ = linted_chain(200)
    long, found = linted_chain(800)

    assert len(found) == 799
    assert found[99].hint.startswith("Nearest is d: tag a1: the job requires it")
    assert found[99].hint.endswith("; and 90 more")
    assert long < 16 * short  # 8.7; 26 if each tag is looked for among all


def linted_chain(length: int) -> tuple[int, list[LintFinding]]:
    """Lint tools of which each requires one tag more than the one before it.

    Returns the number of calls, which no machine changes, and what no destination takes.
    """
    text = "tools:\n  t0000: {}\n" + "".join(
        f"  t{n:04}: {{inherits: t{n - 1:04}, scheduling: {{require: [a{n}]}}}}\n"
        for n in range(1, length)
    )
    text += "destinations: {d: {runner: r, scheduling: {accept: [b]}}}\n"
    with Profile(builtins=False) as profile:
        found = only("M405", text)
    return sum(each.callcount for each in profile.getstats()), found
