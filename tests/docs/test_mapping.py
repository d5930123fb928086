"""docs/mapping.md: its files load, its tables are those of the code, its dialects differ so."""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from rowtui.cli.parser import build_parser
from rowtui.core.clusters.schedulers.slurm import options as placed
from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.helper_functions import HELPERS
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.engine.namespace import KNOWN_NAMES
from rowtui.core.mapping.files.case_reader import read_cases
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.decision import MappingOutcome, Placement
from rowtui.core.mapping.model.dialect import DIALECTS, SEED, TPV3, Dialect
from rowtui.core.mapping.model.entities import Destination, Tool
from rowtui.core.mapping.model.fields import AMOUNTS, BOUNDS, FIELDS, HOLDERS, SECTIONS
from rowtui.core.mapping.model.request import ClusterFacts, MappingRequest, Person
from rowtui.core.mapping.model.tags import (
    STRENGTHS,
    IncompatibleTagsError,
    SchedulingTags,
    tag_clashes,
)

PAGE = (Path(__file__).parents[2] / "docs" / "mapping.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def table(heading: str, number: int = 0) -> list[list[str]]:
    """The rows of a table below a heading, without its own heading."""
    _, _, rest = PAGE.partition(f"\n{heading}\n")
    section = re.split(r"\n#+ ", rest)[0]
    tables = re.findall(r"(?:^\|.*\n)+", section + "\n", re.MULTILINE)
    lines = tables[number].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def names_in(cell: str) -> list[str]:
    return re.findall(r"`([a-zA-Z_]+)", cell)


# Files


@pytest.mark.parametrize("block", [each for each in BLOCKS if "# cases.yml" not in each])
def test_every_mapping_file_of_the_page_is_right(block: str) -> None:
    configuration = merge_files([parse_mapping(block.encode(), "mapping.yml")])

    assert [str(problem) for problem in configuration.problems] == []
    assert configuration.broken == {}


def test_the_cases_of_the_page_can_be_read() -> None:
    (block,) = [each for each in BLOCKS if "# cases.yml" in each]

    cases = read_cases(block.encode(), "cases.yml")
    assert (len(cases.cases), cases.problems) == (1, ())


def test_the_first_example_does_what_its_comments_say() -> None:
    mapper = Mapper(merge_files([parse_mapping(BLOCKS[0].encode(), "mapping.yml")]))

    small = mapper.place(MappingRequest("simulate", input_size=1))
    assert (small.destination, small.amounts) == ("normal", (None, 16, 64))
    large = mapper.place(MappingRequest("simulate", input_size=400))
    assert large.destination == "large"
    assert mapper.place(MappingRequest("anything")).amounts == (None, 1, 4)


TYPED = [
    *re.findall(r"^\$ rowtui (.*?)(?: +#.*)?$", PAGE, re.MULTILINE),
    *re.findall(r"`rowtui ((?:explain|mapping) [^`]*)`", re.sub(r"\[[A-Z.]+\]", "", PAGE)),
    *re.findall(r"# cases.yml: rowtui (.*)", PAGE),
]


@pytest.mark.parametrize("typed", sorted(set(TYPED)))
def test_every_command_of_the_page_can_be_typed(typed: str) -> None:
    build_parser().parse_args(shlex.split(typed))


# Tables


def test_the_names_are_those_that_expressions_see() -> None:
    listed = [name for row in table("### Names") for name in names_in(row[0])]

    later = {*AMOUNTS, "env", "params", "candidate_destinations"}
    assert len(listed) == len(set(listed))
    assert set(listed) == KNOWN_NAMES | later


def test_the_helpers_are_all_of_them() -> None:
    listed = [names_in(row[0])[0] for row in table("### Helpers")]

    assert len(listed) == len(set(listed))
    assert set(listed) == HELPERS


def test_the_properties_are_all_of_them_and_belong_where_the_page_says() -> None:
    rows = table("## Entities and properties", 1)
    words = {
        "all": set(HOLDERS),
        "all but rules": set(SECTIONS),
        "rules": {"rules"},
        "destinations": {"destinations"},
        "pools": {"pools"},
    }
    holders: dict[str, set[str]] = {}
    for field in FIELDS:
        if field.shape != "ignored":
            holders.setdefault(field.name, set()).update(field.holders)

    assert {names_in(row[0])[0]: words[row[1]] for row in rows} == holders


def test_the_parameters_are_those_that_become_options() -> None:
    listed = {names_in(row[0])[0]: row[1] for row in table("### Parameters")}

    options = {f"`{option}`" for option in placed._OPTIONS.values()}
    flags = {
        f"`{flag}`, if true" + (f"; `{flag}={kinds[0]}` and `={kinds[1]}`" if kinds else "")
        for flag, kinds in placed._SWITCHES.values()
    }
    assert {*listed} == {
        *placed._OPTIONS, *placed._SWITCHES, "partition", "account", "nativeSpecification",
    }  # fmt: skip
    assert options | flags <= {*listed.values()}
    assert all(f"`{name}`" in PAGE for name in placed._NATIVE)


def test_the_table_of_tags_is_that_of_the_engine() -> None:
    rows = table("## Tags", 0)
    kinds = (*STRENGTHS, "")

    found = {}
    for job, row in zip(kinds, rows, strict=True):
        for offered, cell in zip(kinds, row[1:], strict=True):
            found[job, offered] = cell == "yes"
    assert found == {
        (job, offered): not list(tag_clashes(_tags(job), _tags(offered)))
        for job in kinds
        for offered in kinds
    }


def _tags(strength: str) -> SchedulingTags:
    return SchedulingTags(**({strength: ["t"]} if strength else {}))


def test_the_weights_and_the_example_of_a_score_are_those_of_the_engine() -> None:
    weights = {row[0].strip("`"): tuple(map(int, row[1:])) for row in table("## Tags", 1)}
    assert weights == {name: dialect.weights for name, dialect in DIALECTS.items()}

    for dialect, expected in ((SEED, 2 * 1 - 1 + 1), (TPV3, 3 * 2 - 2 + 1)):
        offered, job = Destination("d"), Tool("t")
        offered.dialect = dialect
        offered.tpv_dest_tags = SchedulingTags(require=["a"], prefer=["b"], reject=["c"])
        job.tpv_tags = SchedulingTags(prefer=["a", "z"])
        assert offered.score(job) == expected


def test_the_stronger_claim_stays_when_tags_are_combined() -> None:
    order = ("reject", "require", "prefer", "accept")
    for at, strong in enumerate(order):
        for weak in order[at:]:
            if strong == "reject" and weak in ("require", "prefer"):
                with pytest.raises(IncompatibleTagsError):
                    _tags(weak).combined_over(_tags(strong), SEED)
            else:
                whole = _tags(weak).combined_over(_tags(strong), SEED)
                assert whole.strengths() == {"t": strong}


def test_the_answers_are_named_on_the_page() -> None:
    _, _, rest = PAGE.partition("The answer is one of:")
    paragraph = rest.partition("\n\n")[0]
    assert [each.value for each in MappingOutcome if each.value not in paragraph] == []


# Dialects

U = Person("u", ("staff",))


class Asked(NamedTuple):
    """A file, who asks, and what each dialect answers to `seen`."""

    text: str
    seed: Any
    tpv3: Any
    seen: str = "amounts.cores"
    user: Person | None = None
    draws: int = 1


D = "destinations: {d: {runner: r}, e: {runner: r}}\n"
NEXT = "helpers.try_next()"

DIFFER: dict[str, Asked] = {
    "early": Asked(
        "tools: {t: {rules: [{if: \"'p' in entity.params\", cores: 2}]}}\n"
        f"users: {{u: {{params: {{p: x}}}}}}\n{D}",
        None, 2, user=U,
    ),
    "lower_wins": Asked(f"tools: {{t: {{cores: 4}}}}\nusers: {{u: {{cores: 9}}}}\n{D}",
                        4, 9, user=U),
    "own_amounts_are_capacity": Asked(
        "tools: {t: {cores: 8}}\ndestinations: {d: {cores: 4}, e: {cores: 16}}\n",
        ("e", 8), ("d", 4), "destination amounts.cores",
    ),
    "prefer_against_reject": Asked(
        "tools: {t: {scheduling: {prefer: [x]}}}\n"
        f"users: {{u: {{scheduling: {{reject: [x]}}}}}}\n{D}",
        "incompatible", "chosen", "outcome.value", U,
    ),
    "weights": Asked(
        "tools: {t: {scheduling: {prefer: [x], accept: [y]}}}\n"
        "destinations: {d: {scheduling: {prefer: [x], accept: [z, q]}}, "
        "e: {scheduling: {accept: [x], reject: [v]}}}\n",
        "d", "e", "destination",
    ),
    "tool_type_tags": Asked(
        "tools: {t: {params: {a: '{entity.tpv_tags.accept}'}}}\n" + D,
        "[]", "['tool_type_default']", "params.a",
    ),
    "inherits_per_file": Asked(
        f"tools: {{p: {{cores: 1}}, t: {{inherits: p}}}}\n{D}"
        "# next file\ntools: {p: {cores: 5}}\n",
        5, 1,
    ),
    "guarded_context": Asked(
        "global: {context: {LIMIT: 1}}\ntools: {t: {context: {LIMIT: 2}, cores: LIMIT}}\n" + D,
        ("broken", None), ("chosen", 2), "outcome.value amounts.cores",
    ),
    "execute_keeps_rule": Asked(
        "tools: {t: {cores: 1, rules: [{if: true, cores: 5, execute: '0'}]}}\n" + D, 5, 1),
    "fresh_namespace": Asked(
        f"destinations: {{d: {{context: {{v: 1}}, rules: [{{if: true, execute: '{NEXT}'}}]}}, "
        "e: {params: {p: \"{'v' in globals()}\"}}}\n",
        "False", "True", "params.p",
    ),
    "input_size_by_text": Asked(
        "tools: {t: {rules: [{if: \"locals().get('input' + '_size', 'nothing') == 0\", cores: 2}]"
        "}}\n" + D, None, 2),
    "zero_is_a_bound": Asked("tools: {t: {gpus: 2, max_gpus: 0}}\n" + D, 0, 2, "amounts.gpus"),
    "fail_ends_all": Asked(
        "destinations: {d: {rules: [{if: true, fail: no}]}, e: {}}\n",
        ("chosen", "e"), ("failed", ""), "outcome.value destination",
    ),
    "text_as_tpv": Asked("tools: {t: {params: {a: \"it's'\"}}}\n" + D,
                         "it's'", None, "params.a"),
    "name_is_inherited": Asked(
        "destinations: {p: {abstract: true, destination_name_override: n}, d: {inherits: p}}\n",
        "n", "d", "name",
    ),
    "keeps_id": Asked("tools: {t: {rules: [{id: r, if: true}], params: {a: '{entity.id}'}}}\n" + D,
                      "t", "r, Rule: r", "params.a"),
    "sampling_repeats": Asked(
        "tools: {t: {rank: helpers.weighted_random_sampling(candidate_destinations)}}\n"
        "destinations: {d: {params: {weight: 2}}, e: {params: {weight: 2}}}\n",
        {2}, {1, 2}, "ranked", draws=30,
    ),
    "numbers_only": Asked("tools: {t: {cores: \"'4'\"}}\n" + D, None, "4"),
    "bad_rules_are_errors": Asked(
        "tools: {t: {cores: 1, rules: [{if: input_size > 100, cores: '1 +'}]}}\n" + D,
        "broken", "chosen", "outcome.value",
    ),
    "changes_in_place": Asked(
        "tools: {t: {params: {a: '0'}}}\n"
        "destinations:\n"
        "  d: {rules: [{if: true, execute: \"entity.params['a'] = '1'\"}, "
        f"{{if: true, execute: '{NEXT}'}}]}}\n"
        "  e: {rules: [{if: true, execute: \"entity.params['b'] = entity.params['a']\"}]}\n",
        "0", "1", "params.b",
    ),
}  # fmt: skip


def ask(asked: Asked, dialect: str) -> Any:
    said = parse_mapping(f"global: {{dialect: {dialect}}}\n".encode(), "dialect.yml")
    texts = asked.text.split("# next file\n")
    files = [parse_mapping(text.encode(), f"m{at}.yml") for at, text in enumerate(texts)]
    configuration = merge_files([said, *files])
    request = MappingRequest("t", asked.user, input_size=6)
    if asked.seen == "ranked":
        return {_ranked(Mapper(configuration, chance=random.Random(n)), request)
                for n in range(asked.draws)}  # fmt: skip
    placement = Mapper(configuration).place(request)
    seen = tuple(_look(placement, path) for path in asked.seen.split())
    return seen if len(seen) > 1 else seen[0]


def _ranked(mapper: Mapper, request: MappingRequest) -> int:
    return sum(1 for each in decide(mapper, request).candidates if each.rank)


def _look(placement: Placement, path: str) -> Any:
    value: Any = placement
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else getattr(value, name)
    return value


def test_a_parent_may_be_in_a_later_file_in_seed_alone() -> None:
    text = f"tools: {{t: {{inherits: p}}}}\n{D}# next file\ntools: {{p: {{cores: 5}}}}\n"

    assert ask(Asked(text, 0, 0, "outcome.value amounts.cores"), "seed") == ("chosen", 5)
    assert ask(Asked(text, 0, 0, "outcome.value"), "tpv3") == "broken"


@pytest.mark.parametrize("question", DIFFER)
def test_the_dialects_answer_differently(question: str) -> None:
    asked = DIFFER[question]

    assert ask(asked, "seed") == asked.seed
    assert ask(asked, "tpv3") == asked.tpv3


def test_every_choice_of_a_dialect_is_a_row_of_the_page_and_is_tried() -> None:
    questions = [name for name in Dialect._fields if name != "name"]

    assert list(DIFFER) == questions
    assert len(table("## Dialects")) == len(questions)


# Differences from TPV, and readings of the texts


def placed_by(text: str, dialect: str = "tpv3", user: Person | None = None) -> Placement:
    said = parse_mapping(f"global: {{dialect: {dialect}}}\n".encode(), "dialect.yml")
    configuration = merge_files([said, parse_mapping(text.encode(), "m.yml")])
    return Mapper(configuration).place(MappingRequest("t", user, input_size=6))


@pytest.mark.parametrize(
    "bad",
    [
        "bad: {cores: '1 +'}",
        "bad: {inherits: nobody}",
        "bad: {inherits: bad}",
        "bad: {env: 5}",
        "bad: {scheduling: {require: [a, a]}}",
        "bad: ",
        "'(bad': {cores: 3}",
        "'a**t': {cores: 3}",
        "bad: {coers: 3}",
    ],
)
def test_a_wrong_entity_is_told_and_stops_no_other(bad: str) -> None:
    text = f"tools: {{t: {{cores: 1}}, {bad}}}\n{D}"

    assert parse_and_merge_problems(text)
    assert placed_by(text).amounts.cores == 1


def parse_and_merge_problems(text: str) -> Sequence[object]:
    return merge_files([parse_mapping(text.encode(), "m.yml")]).problems


def test_a_condition_changes_only_a_copy() -> None:
    text = (
        "tools: {t: {rules: [{if: true, cores: 2}, "
        "{if: \"entity.params.update(x='1') or True\", mem: 1}]}}\n" + D
    )
    for dialect in DIALECTS:
        assert placed_by(text, dialect).params == {}


def test_rank_must_give_a_list() -> None:
    text = "tools: {t: {rank: (d for d in candidate_destinations)}}\n" + D

    refused = placed_by(text)
    assert (refused.outcome, refused.cause) == (MappingOutcome.ERROR, "TypeError")
    by_score = placed_by(text, "seed")
    assert by_score.destination == "d"
    assert "by score" in by_score.notices[0]


def test_pools_need_no_store_and_refuse_what_never_fits() -> None:
    text = "tools: {t: {cores: 4}}\npools: {p: {max_concurrent_cores: %d}}\n" + D

    assert placed_by(text % 4, user=U).chosen
    assert placed_by(text % 3, user=U).outcome is MappingOutcome.FAILED


def test_a_destination_without_a_runner_is_refused_where_clusters_are_known() -> None:
    text = "destinations: {d: {}, e: {runner: here}}\n"
    mapper = Mapper(merge_files([parse_mapping(text.encode(), "m.yml")]))

    facts = ClusterFacts(reachable=frozenset({"here"}))
    assert mapper.place(MappingRequest("t"), facts).destination == "e"


def test_galaxys_objects_are_an_error_that_names_them() -> None:
    refused = placed_by("tools: {t: {cores: app.model.count}}\n" + D)

    assert refused.outcome is MappingOutcome.ERROR
    assert "app.model is part of Galaxy" in refused.message


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        # a user's rule of the same id does not replace the tool's
        ("tools: {t: {cores: 8, rules: [{id: a, if: true, cores: 2}]}}\n"
         "users: {u: {rules: [{id: a, if: false}]}}\n", (None, 2, None)),
        # the default lies underneath the whole chain, once
        ("global: {default_inherits: z}\ntools: {z: {cores: 1, mem: 2}, p: {cores: 4}, "
         "'t': {inherits: p}, 't.*': {gpus: 1}}\n", (1, 4, 2)),
        # the lower of a value and none
        ("users: {u: {cores: 3}}\n", (None, 3, None)),
        # the lower of 2 and 0
        ("tools: {t: {gpus: 2}}\nroles: {staff: {gpus: 0}}\n", (0, None, None)),
        # a user's memory of others' cores; a tool's of its own
        ("tools: {t: {cores: 8, mem: 100}}\nusers: {u: {mem: cores * 2}}\n", (None, 8, 16)),
        ("tools: {t: {cores: 8, mem: cores * 4}}\nusers: {u: {cores: 2}}\n", (None, 2, 32)),
        # several bounds
        ("tools: {t: {cores: 8, max_cores: 6}}\nusers: {u: {max_cores: 7}}\n", (None, 6, None)),
        ("tools: {t: {cores: 1, min_cores: 2}}\nusers: {u: {min_cores: 4}}\n", (None, 4, None)),
        ("tools: {t: {cores: 1, min_cores: 9, max_cores: 5}}\n", (None, 5, None)),
        ("tools: {t: {min_cores: 4}}\n", (None, None, None)),
        # bounds and rules of destinations
        ("tools: {t: {cores: 8}}\ndestinations: {d: {max_cores: 4}}\n", (None, 4, None)),
        ("tools: {t: {cores: 8, mem: cores * 2}}\n"
         "destinations: {d: {cores: 9, rules: [{if: true, cores: 30}]}}\n", (None, 30, 16)),
    ],
)  # fmt: skip
def test_what_seed_reads_where_the_texts_are_silent(text: str, amounts: object) -> None:
    text += "" if "destinations" in text else D

    assert placed_by(text, "seed", U).amounts == amounts


def test_capacity_and_max_accepted_together_are_the_lower_one() -> None:
    text = "tools: {t: {cores: 8}}\ndestinations: {d: {cores: 16, max_accepted_cores: 4}, e: {}}\n"

    assert placed_by(text, "seed").destination == "e"


def test_an_amount_is_worked_out_once() -> None:
    text = (
        "tools: {t: {cores: '__import__(\"random\").randrange(10**12)', params: {p: '{cores}'}}}\n"
        "destinations: {d: {params: {q: '{cores}'}}}\n"
    )
    placement = placed_by(text, "seed")
    assert placement.params == {
        "p": str(placement.amounts.cores),
        "q": str(placement.amounts.cores),
    }


@pytest.mark.parametrize("name", [*BOUNDS, *AMOUNTS])
def test_amounts_are_worked_out_in_the_order_of_the_page(name: str) -> None:
    _, _, rest = PAGE.partition("3. **Amounts**, in this order:")
    listed = re.findall(r"`([a-z_]+)`", rest.partition(" Each can use")[0])

    assert listed == [*BOUNDS, *AMOUNTS]
    before = listed[: listed.index(name)]
    values = "".join(f"{each}: {at + 1}, " for at, each in enumerate(before))
    assert placed_by(f"tools: {{t: {{{values}{name}: {' + '.join(['0', *before])}}}}}\n{D}").chosen
