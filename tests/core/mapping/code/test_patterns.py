"""What is accepted ends soon, what could hang is refused, and what was meant is guessed."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.mapping.code.patterns import (
    LONGEST_PATTERN,
    LONGEST_SUBJECT,
    PatternError,
    compile_pattern,
    looks_like_glob,
)

SITE_PATTERNS = [
    ("toolshed.g2.bx.psu.edu/repos/iuc/.*/bwa/.*", "toolshed.g2.bx.psu.edu/repos/iuc/x/bwa/1.0"),
    (".*hisat2.*", "toolshed/repos/iuc/hisat2/hisat2/2.2"),
    ("training-.*", "training-pxe"),
    ("(a|b)+_x", "abba_x"),
    ("interactive_tool_.*", "interactive_tool_jupyter"),
    ("^(?!.*x).*$", "bwa"),
    (r"[a-z]+@[a-z.]+\.org", "someone@galaxy.example.org"),
    (r".*@(one|two)\.example\.(com|org)$", "a.b@two.example.org"),
    (r"(?:[^/]+/)*bwa/[0-9.]+(\+galaxy[0-9]+)?$", "a/b/bwa/0.7.17+galaxy1"),
    (r"([0-9]{1,3}\.){3}[0-9]{1,3}", "127.0.0.1"),
    ("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{40}", "0123abcd-00ff-" + "a" * 40),
    (r"\d{4}\d{2}\d{2}\d{2}.*", "2026112113"),
    ("(?i)foo.*bar", "FOO-BAR"),
    ("(?:foo_)?(?:bar_)?.*", "bar_x"),
    (r"(\w+)@\1", "me@me"),
    ("(?=.*one)(?=.*two).*", "two one"),
    (".*.*.*x", "aaax"),
    (".*/(bwa|hisat2)/.*/(one|two)/.*x$", "a/bwa/b/two/x"),
    (".*one.*two.*three.*", "one two three"),
    ("|".join(f"user{number}@example.org" for number in range(300)), "user299@example.org"),
]

SLOW_PATTERNS = [
    "(a+)+",
    "(a+)+?b",
    "(a*)*b",
    "(.*)*x",
    "(a|ab|b)*c",
    "(a|aa)+$",
    "([^,]|.)*x",
    "(.|\\n)*x",
    "(?:a|(?:a))+b",
    "(a|b|ab)*c",
    "([a-z]+)*x",
    "(x+x+)+y",
    r"(\w+\s?)*$",
    "(?:.*,)*x",
    "(.*a){20}",
    "(a?){30}a{30}",
    "a?" * 30 + "a" * 30,
    "(?:a?b?)*c",
    "((x?|y?)z)*w",
    "(?:a{2,3})+b",
    "(a{0,512}){0,512}b",
    "(^a|a)+b",
    "(?>(a+)+)b",
    "(?=(a+)+b).*",
    "x(?!(a|a.|.a)*b)",
    ".*.*.*.*x",
    "(?s).*.*.*.*x",
    "a*.*[a-z]*.*x",
    "(.*?,){11}P",
    r"((a*)\2)*b",
    r"(a*)(\1)*b",
    r"(c)?((?(1)a|a.?))*x",
    r"\w??(?:\w(?:\w([ab]?)+?){3})x",
    "(?:a.)*.*.*x",
]


@pytest.mark.parametrize(("pattern", "subject"), SITE_PATTERNS)
def test_patterns_of_real_sites_are_accepted(pattern: str, subject: str) -> None:
    assert compile_pattern(pattern).match(subject)


@pytest.mark.parametrize("pattern", SLOW_PATTERNS)
def test_a_pattern_that_could_hang_is_refused_with_its_reason(pattern: str) -> None:
    with pytest.raises(PatternError) as caught:
        compile_pattern(pattern)
    assert "could take forever: " in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    "pattern", ["[", "*.txt", "a**", "(?P<x", "a{99999999999}", "(" * 3000, "a)", "\\", "(?<=a*)b"]
)
def test_an_invalid_pattern_is_explained(pattern: str) -> None:
    with pytest.raises(PatternError, match="is not a regular expression") as caught:
        compile_pattern(pattern)
    assert caught.value.hint


def test_a_pattern_that_is_too_long_or_has_too_many_alternatives_is_refused() -> None:
    with pytest.raises(PatternError, match="characters"):
        compile_pattern("a" * (LONGEST_PATTERN + 1))
    with pytest.raises(PatternError, match="too many alternatives"):
        compile_pattern("(" + "|".join(f"{n}x" for n in range(1000)) + ")+y")


def test_the_message_shows_a_long_or_hostile_pattern_short_and_visible() -> None:
    with pytest.raises(PatternError) as caught:
        compile_pattern("\x1b[31m(a+)+" + "b" * 1000)
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 250


def test_overlap_by_case_is_seen_only_where_case_is_ignored() -> None:
    compile_pattern("(a|[A]x?)*b")
    with pytest.raises(PatternError):
        compile_pattern("(?i)(ax?|[A]x?)*b")
    with pytest.raises(PatternError):
        compile_pattern("(?i:ax?|[A]x?)*b")


def test_characters_beyond_latin_1_overlap() -> None:
    with pytest.raises(PatternError):
        compile_pattern(r"(\w|é|ж.?)*!")


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("dataplant*", "`dataplant.*`"),
        ("training-pxe-test*", "`training-pxe-test.*`"),
        ("/repos/iuc/*/bwa", "`/repos/iuc/.*/bwa`"),
        ("*.txt", r"`.*\.txt`"),
        ("*", "`.*`"),
        ("2.1.0+galaxy7", r"`2.1.0\+galaxy7`"),
        (".*/hisat2/2.1.0+galaxy7", r"`.*/hisat2/2.1.0\+galaxy7`"),
    ],
)
def test_a_glob_or_a_bare_plus_gets_the_pattern_that_was_meant(pattern: str, meant: str) -> None:
    assert meant in looks_like_glob(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["bwa", ".*", "a.*b", "[a-z]*x", r"\d*", r"\w+x", "(ab)*", r"2.1.0\+galaxy7", "[*+]", ".+"],
)
def test_ordinary_patterns_get_no_hint(pattern: str) -> None:
    assert looks_like_glob(pattern) == ""


@given(st.text(alphabet="ab*+?.()[]|\\{}1,^$-", max_size=30))
def test_any_text_is_compiled_or_refused(text: str) -> None:
    try:
        outcome: PatternError | re.Pattern[str] = compile_pattern(text)
    except PatternError as error:
        outcome = error
    assert outcome.hint if isinstance(outcome, PatternError) else outcome.pattern == text
    assert isinstance(looks_like_glob(text), str)


ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^b]", r"\w", "aa", "ab"])
REPEATS = st.sampled_from(
    ["", "", "*", "+", "?", "*?", "+?", "{2,4}", "{3}", "{0,20}", "{1,100}", "*+"]
)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = st.sampled_from(["({})", "(?:{}){}", "(?={})", "(?!{})", "(?>{}){}"])
    branches = st.lists(inner, min_size=1, max_size=3).map("|".join)
    repeated = st.tuples(group, branches, REPEATS).map(lambda part: part[0].format(*part[1:]))
    return st.lists(repeated | _repeated_atoms(), min_size=1, max_size=4).map("".join)


def _repeated_atoms() -> st.SearchStrategy[str]:
    return st.tuples(ATOMS, REPEATS).map(lambda part: f"(?:{part[0]}){part[1]}")


PATTERNS = st.tuples(
    st.recursive(_repeated_atoms(), _grown, max_leaves=12), st.sampled_from(["", "!x", "$"])
).map("".join)

MATCH_ALL = """
import json, re, sys
for pattern in json.load(sys.stdin):
    for subject in ("a" * 200 + "!", "ab" * 100 + "!", "aab" * 66 + "!", "b" * 100 + "a" * 100):
        re.match(pattern, subject)
print("all ended")
"""


def test_no_accepted_pattern_hangs_on_hostile_subjects() -> None:
    # given: what is accepted of many drawn patterns
    accepted: list[str] = []
    drawn = 0

    @settings(max_examples=400, database=None)
    @given(PATTERNS)
    def draw(pattern: str) -> None:
        nonlocal drawn
        drawn += 1
        try:
            accepted.append(compile_pattern(pattern).pattern)
        except PatternError:
            pass

    draw()
    accepted += [pattern for pattern, _ in SITE_PATTERNS]

    # when: a process of their own matches them all
    child = [sys.executable, "-W", "ignore", "-c", MATCH_ALL]
    ended = subprocess.run(
        child, input=json.dumps(accepted), capture_output=True, text=True, timeout=20
    )

    # then: it comes to its end, and not because there was nothing to do
    assert ended.stdout == "all ended\n", ended.stderr
    assert len(accepted) > drawn / 10


def test_the_worst_that_is_accepted_ends_also_on_the_longest_subject() -> None:
    pattern = compile_pattern(".*.*.*x")
    assert pattern.match("a" * LONGEST_SUBJECT) is None


def test_what_is_compiled_is_the_pattern_itself() -> None:
    assert compile_pattern("bwa").match("bwa_mem2")  # anchored at the start only, as in TPV
    assert isinstance(compile_pattern("(a|b)"), re.Pattern)
