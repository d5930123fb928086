"""Records that are defined quickly behave as those of typing."""

from __future__ import annotations

import subprocess
import sys

# The same statements in a process of its own, before and after `define_records_quickly`.
STATEMENTS = """\
from __future__ import annotations
import copy, pickle, sys, typing
from typing import Any, Generic, NamedTuple, TypeVar
if sys.argv[1] == "quickly":
    from rowtui.core.base.lazy import define_records_quickly
    define_records_quickly()
T = TypeVar("T")
class Pair(NamedTuple):
    "Two."
    first: int
    second: str = "b"
    def both(self): return f"{self.first}{self.second}"
class Holder(NamedTuple, Generic[T]):
    value: T
class Other(Generic[T], NamedTuple):
    value: T
class Nothing(NamedTuple):
    pass
def attempt(function: Any, *values: Any, **named: Any) -> Any:
    try:
        return function(*values, **named)
    except (AttributeError, TypeError, ValueError) as error:
        return str(error)
pair = Pair(1)
print(pair, pair.both(), Pair(second="c", first=2), Holder(3), Holder[int](4), Other(5), Nothing())
if sys.version_info >= (3, 13):
    print(copy.replace(pair, first=6))
print(pair == (1, "b"), hash(pair) == hash((1, "b")), pair[1], [*pair], Pair.__doc__)
print(pair._replace(first=5), pair._asdict(), Pair._make([1, "d"]), Pair._fields)
print(Pair._field_defaults, Pair.__match_args__, Pair.__mro__[-2:], Nothing._fields)
print(pickle.loads(pickle.dumps(pair)), copy.deepcopy(pair), typing.get_type_hints(Pair))
print(attempt(Pair), attempt(Pair, 1, 2, 3), attempt(Pair, 1, third=3))
print(attempt(setattr, pair, "first", 2) is None, attempt(Pair._make, [1, 2, 3]) == pair)
"""


def output(how: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", STATEMENTS, how], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_record_that_is_defined_quickly_is_a_named_tuple() -> None:
    assert output("quickly") == output("as typing does")
