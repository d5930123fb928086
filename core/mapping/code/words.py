"""The builtins, methods and modules that the analysis of expressions recognises, by effect."""

from __future__ import annotations

import builtins


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BUILTINS = frozenset(dir(builtins))
_EXCEPTIONS = frozenset(
    name
    for name in BUILTINS
    if isinstance(kind := getattr(builtins, name), type) and issubclass(kind, BaseException)
)
PURE = _EXCEPTIONS | _words(
    "abs all any ascii bin bool bytes callable chr complex dict divmod enumerate filter float "
    "format frozenset getattr hasattr hex int isinstance issubclass iter len list map max min next "
    "oct ord pow range repr reversed round set slice sorted str sum tuple type zip "
    "True False None NotImplemented Ellipsis"
)
# These iterate over their argument inside one step of the interpreter.
CONSUMERS = _words("all any dict frozenset list max min set sorted sum tuple")
LOOKS_AT_NAMESPACE = _words("globals locals vars dir exec eval")
RUNS_ANYTHING = _words("exec eval compile __import__ open super memoryview")

MUTATORS = _words(
    "add add_tag_override append clear difference_update discard drop extend insert "
    "intersection_update pop popitem put remove reverse setdefault shuffle sort "
    "symmetric_difference_update update __setattr__ __setitem__ __delattr__ __delitem__"
)
# Methods of rowtui's objects that the analysis reports as read attributes.
OF_OURS = _words("all_roles get_param_values get_state score")
# Methods of plain values, and of rowtui's objects, that are short and change nothing.
SHORT_METHODS = OF_OURS | _words(
    "all_tag_values as_integer_ratio bit_length capitalize casefold copy count decode difference "
    "encode endswith filter find format format_map fromkeys get hex index intersection is_integer "
    "isalnum isalpha isascii isdecimal isdigit isdisjoint isidentifier islower isnumeric isspace "
    "issubset issuperset istitle isupper items join keys lower lstrip partition removeprefix "
    "removesuffix replace rfind rindex rpartition rsplit rstrip split splitlines startswith strip "
    "swapcase symmetric_difference title union upper values"
)
LOG_METHODS = _words("debug info warning error critical exception log")
# Names that TPV provides and whose methods do more than read a value.
NOT_VALUES = _words("app ast functools job_wrapper log logging util")
# Functions of these modules do not change their arguments, except for the mutators above.
HARMLESS_MODULES = _words(
    "collections datetime decimal fractions galaxy itertools json logging math numbers os "
    "random re statistics string time tpv typing"
)
