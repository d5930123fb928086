"""The two dialects of mapping files, as one table of choices.

`seed` is what the texts "Concepts and Organisation" and "TPV by example" describe (TPV 1.x), with
the traps of later versions taken out; `tpv3` is TPV 3.3 as it was measured, traps included, so that
the files of a site work as they are. Nothing else in this room asks which dialect it is: everything
asks one of these questions. docs/mapping.md lists the differences.
"""

from __future__ import annotations

from typing import NamedTuple


class Dialect(NamedTuple):
    """What the words of a mapping file mean. The defaults are those of TPV's documentation."""

    name: str = "seed"

    # Combining and evaluating
    early: bool = True
    """Rules and cores, mem, gpus are evaluated for tool, role and user each, before combining."""
    lower_wins: bool = True
    """Combined cores, mem, gpus and max_* are the lower of two values (min_* the higher);
    otherwise user over role over tool."""
    own_amounts_are_capacity: bool = True
    """cores, mem, gpus of a destination say what it has; otherwise they are forced on the job."""
    prefer_against_reject: bool = True
    """A tag that one side prefers and the other rejects cannot be combined."""
    weights: tuple[int, int, int, int] = (2, 1, 0, -1)
    """What require, prefer, accept and reject count in a score."""
    tool_type_tags: bool = False
    """Tools carry the tag tool_type_<type>; destinations reject tool_type_user_defined."""
    inherits_per_file: bool = False
    """Chains of `inherits` are followed file by file, so that what a later file says of a parent
    reaches the children of earlier ones only where these say nothing."""
    guarded_context: bool = True
    """CONSTANT and _protected context variables are enforced."""

    # Traps
    execute_keeps_rule: bool = True
    """A rule's other properties count also beside `execute`."""
    fresh_namespace: bool = True
    """Nothing of one evaluation is seen by the next: not of the first run of an expression by its
    second, nor of one destination by another."""
    input_size_by_text: bool = False
    """input_size is 0 in expressions whose text does not name it."""
    zero_is_a_bound: bool = True
    """max_cores: 0 and the like are bounds; otherwise a bound of 0 is ignored."""
    fail_ends_all: bool = False
    """`fail` in a rule of a destination ends the mapping; otherwise it refuses the destination."""
    text_as_tpv: bool = False
    """Text that ends in a quote is a syntax error."""
    name_is_inherited: bool = True
    """destination_name_override and the handler tags of a destination are inherited."""
    keeps_id: bool = True
    """An entity keeps its id when a rule applies to it."""
    sampling_repeats: bool = False
    """Weighted sampling draws with replacement; tag_values_match counts rejected tags."""
    numbers_only: bool = True
    """cores, mem and gpus must be numbers when they have been evaluated."""
    bad_rules_are_errors: bool = True
    """A syntax error in a rule concerns every job of its entity; otherwise only a job that
    evaluates it."""
    changes_in_place: bool = False
    """What `execute` of a destination's rule does to the job stays for the next destination."""


SEED = Dialect()
TPV3 = Dialect(
    name="tpv3",
    early=False,
    lower_wins=False,
    own_amounts_are_capacity=False,
    prefer_against_reject=False,
    weights=(3, 2, 1, -1),
    tool_type_tags=True,
    inherits_per_file=True,
    guarded_context=False,
    execute_keeps_rule=False,
    fresh_namespace=False,
    input_size_by_text=True,
    zero_is_a_bound=False,
    fail_ends_all=True,
    text_as_tpv=True,
    name_is_inherited=False,
    keeps_id=False,
    sampling_repeats=True,
    numbers_only=False,
    bad_rules_are_errors=False,
    changes_in_place=True,
)
DIALECTS = {dialect.name: dialect for dialect in (SEED, TPV3)}

# Words that only one dialect gives a meaning; a file of the other gets a lint message.
WORDS_OF_TPV3 = frozenset(
    {f"{bound}_accepted_{what}" for bound in ("max", "min") for what in ("cores", "mem", "gpus")}
    | {f"{bound}_{what}" for bound in ("max", "min") for what in ("cores", "mem", "gpus")}
    | {f"max_concurrent_{what}" for what in ("cores", "mem", "gpus")}
    | {"abstract", "destination_name_override", "pools", "resource_pool_store"}
)
