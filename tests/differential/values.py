"""Random JSON texts: every type, numbers in all their spellings, nested, missing, mixed."""

from __future__ import annotations

import json
from random import Random

SMALL = ("0", "1", "2", "3", "4", "5", "7", "10", "-1", "-2")
SPELLINGS = (
    *("-0", "0.0", "-0.0", "1.0", "2.0", "1e0", "1E2", "1e+2", "1e-2", "0.1", "0.5", "1.5", "2.50"),
    *("0.30000000000000004", "1e-5", "1e-7", "2.5e-5", "1e15", "1e16", "1e17", "1e21", "1e22"),
    *("123456789.125", "1234567890123456789", "9007199254740993", "9223372036854775807"),
    *("9223372036854775808", "-9223372036854775808", "-9223372036854775809"),
    *("18446744073709551615", "18446744073709551616", "100000000000000000000", "1e300"),
    *("1.7976931348623157e308", "5e-324", "2.2250738585072014e-308", "123456789012345680.0"),
    *("3.141592653589793", "100", "1000000", "-1.5", "-1e-10", "4.35", "1e2"),
)
STRINGS = (
    *("", "a", "b", "ab", "a b", "B", "ü", "é", "日本", "😀", 'say "hi"', "it's", "back\\slash"),
    *("/slash", "$HOME", "`id`", "*", "10", "9", "true", "null", "\t", "~", "x" * 40, "Z", "-"),
)
KEYS = ("a", "b", "k/ey", "t~ilde", "ünï", "sp ace", "", "0", "nested", "list", "n")
KINDS = (
    *("small", "small", "small", "number", "number", "string", "string", "bool", "pair", "null"),
    *("object", "mixed", "array"),
)
SORTABLE = frozenset({"small", "number", "string", "bool", "pair", "null"})


def number(rng: Random) -> str:
    """The text of a number."""
    pick = rng.random()
    if pick < 0.4:
        return rng.choice(SMALL)
    if pick < 0.8:
        return rng.choice(SPELLINGS)
    if pick < 0.9:
        return str(rng.randint(-(2**70), 2**70))
    return repr(rng.uniform(-1000, 1000))


def string(rng: Random) -> str:
    """The text of a string, with all kinds of escapes."""
    text = rng.choice(STRINGS)
    if rng.random() < 0.2:
        return json.dumps(text)  # \\u escapes, surrogate pairs
    return json.dumps(text, ensure_ascii=False)


def of_kind(rng: Random, kind: str, depth: int = 0) -> str:
    """The text of a value of one kind."""
    if kind == "small":
        return rng.choice(SMALL)
    if kind == "number":
        return number(rng)
    if kind == "string":
        return string(rng)
    if kind == "bool":
        return rng.choice(("true", "false"))
    if kind == "null":
        return "null"
    if kind == "pair":
        return f"[{rng.choice(SMALL)}, {rng.choice(SMALL)}]"
    if kind == "array":
        return "[" + ",".join(anything(rng, depth + 1) for _ in range(rng.randint(0, 3))) + "]"
    if kind == "object":
        return object_text(rng, depth + 1)
    return anything(rng, depth + 1)


def anything(rng: Random, depth: int = 0) -> str:
    """The text of any value."""
    kinds = KINDS if depth < 3 else ("small", "number", "string", "bool", "null")
    return of_kind(rng, rng.choice([kind for kind in kinds if kind != "mixed"]), depth)


def object_text(rng: Random, depth: int) -> str:
    """The text of an object with a few keys, now and then one of them twice."""
    keys = [rng.choice(KEYS) for _ in range(rng.randint(0, 3))]
    pairs = (f"{json.dumps(key)}: {anything(rng, depth + 1)}" for key in keys)
    return "{" + ", ".join(pairs) + "}"


def pointer_of(*keys: str) -> str:
    """A JSON pointer to these keys."""
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


def document(rng: Random, fields: dict[str, str]) -> bytes:
    """A value file with these keys and texts, in some layout."""
    items = list(fields.items())
    rng.shuffle(items)
    comma, colon = rng.choice(((",", ":"), (", ", ": "), (",\n  ", " : ")))
    inside = comma.join(f"{json.dumps(key)}{colon}{text}" for key, text in items)
    return ("{" + inside + "}" + rng.choice(("", "\n", " \r\n\t"))).encode()


BROKEN = (
    *(b"", b"{", b"NaN", b'{"a": Infinity}', b'{"a": 1} x', b"\xef\xbb\xbf{}", b'{"a": 1e999}'),
    *(b'{"a": "\xff"}', b'{"a": "\\ud800"}', b"[1,]", b"{'a': 1}", b'{"a": 01}', b"\x00", b"-"),
    *(b'{"a": +1}', b'{"a": .5}', b'{"a": 1.}', b'{"a": "\t"}', b"[" * 200 + b"]" * 200),
)
