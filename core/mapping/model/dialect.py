"""The two dialects of mapping files, as one table of choices.

`seed` is the dialect of the texts "Concepts and Organisation" and "TPV by example" (TPV 1.x),
without the pitfalls of later versions. `tpv3` is the measured behaviour of TPV 3.3, including its
pitfalls, so that the existing files of a site work unchanged. The other modules of this package
check the single fields of the table, and the name of the dialect only for a few messages.
docs/mapping.md lists the differences.
"""

from __future__ import annotations

from typing import NamedTuple


class Dialect(NamedTuple):
    """The meaning of the words of a mapping file. The defaults are those of TPV's documentation."""

    name: str = "seed"

    # Combining and evaluating
    early: bool = True
    """Rules and cores, mem, gpus are evaluated for tool, role and user each, before combining."""
    lower_wins: bool = True
    """Combined cores, mem, gpus and max_* are the lower of two values (min_* the higher).

    Otherwise user overrides role, and role overrides tool.
    """
    own_amounts_are_capacity: bool = True
    """cores, mem, gpus of a destination are its capacity; otherwise they are forced on the job."""
    prefer_against_reject: bool = True
    """A tag that one side prefers and the other rejects cannot be combined."""
    weights: tuple[int, int, int, int] = (2, 1, 0, -1)
    """The points of require, prefer, accept and reject in a score."""
    tool_type_tags: bool = False
    """Tools carry the tag tool_type_<type>; destinations reject tool_type_user_defined."""
    inherits_per_file: bool = False
    """Chains of `inherits` are resolved file by file.

    Values that a later file gives to a parent then reach the children in earlier files only where
    the earlier files set no value.
    """
    guarded_context: bool = True
    """CONSTANT and _protected context variables are enforced."""

    # Pitfalls
    execute_keeps_rule: bool = True
    """The other properties of a rule apply even if it has `execute`."""
    fresh_namespace: bool = True
    """An evaluation does not see the names of an earlier one.

    Neither a second run of an expression sees names of the first, nor a destination names of
    another.
    """
    input_size_by_text: bool = False
    """input_size is 0 in expressions whose text does not name it."""
    zero_is_a_bound: bool = True
    """max_cores: 0 and other bounds of 0 apply; otherwise a bound of 0 is ignored."""
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
    """A syntax error in a rule affects every job of its entity.

    Otherwise it affects only a job that evaluates the rule.
    """
    changes_in_place: bool = False
    """Changes to the job by `execute` of a destination's rule persist for the next destination."""


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

# Words that only one dialect defines; a file of the other dialect gets a lint message.
WORDS_OF_TPV3 = frozenset(
    {f"{bound}_accepted_{what}" for bound in ("max", "min") for what in ("cores", "mem", "gpus")}
    | {f"{bound}_{what}" for bound in ("max", "min") for what in ("cores", "mem", "gpus")}
    | {f"max_concurrent_{what}" for what in ("cores", "mem", "gpus")}
    | {"abstract", "destination_name_override", "pools", "resource_pool_store"}
)
