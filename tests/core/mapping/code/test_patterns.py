"""Matching ends soon, a pattern means what it means to Python, and what was meant is guessed."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.mapping.code.patterns import (
    LONGEST_PATTERN,
    LONGEST_SUBJECT,
    PatternError,
    TimedPattern,
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
@pytest.mark.parametrize("subject", ["a" * 300, "ab," * 100, "a" * LONGEST_SUBJECT + "!"])
def test_a_pattern_that_could_hang_ends_or_is_an_error_with_its_hint(
    pattern: str, subject: str
) -> None:
    compiled, message = compile_pattern(pattern), ""
    try:
        compiled.match(subject)
    except PatternError as error:
        message = error.message

    assert not message or "takes more than 0.5 s" in message


def test_a_pattern_that_takes_too_long_is_interrupted() -> None:
    with pytest.raises(PatternError, match=r"matching the pattern .* takes more than 0.5 s"):
        compile_pattern("(a|aa)+$").match("a" * 40 + "!")
    with pytest.raises(PatternError, match=r"matching the pattern .* takes more than 0.5 s"):
        compile_pattern("(?:a|(?:a))+b").search("a" * 40)


@pytest.mark.parametrize(
    "pattern", ["[", "*.txt", "a**", "(?P<x", "a{99999999999}", "(" * 3000, "a)", "\\", "(?<=a*)b"]
)
def test_an_invalid_pattern_is_explained(pattern: str) -> None:
    with pytest.raises(PatternError, match="is not a regular expression") as caught:
        compile_pattern(pattern)
    assert caught.value.hint


def test_a_pattern_that_is_too_long_is_refused() -> None:
    with pytest.raises(PatternError, match="characters"):
        compile_pattern("a" * (LONGEST_PATTERN + 1))


def test_the_message_shows_a_long_or_hostile_pattern_short_and_visible() -> None:
    with pytest.raises(PatternError) as caught:
        compile_pattern("\x1b[31m(a+)+(" + "b" * 1000)
    assert "\x1b" not in caught.value.message
    assert len(caught.value.message) < 250


# The two matchers mean the same


@pytest.mark.parametrize(
    ("pattern", "subject", "matches"),
    [
        ("[[:alpha:]]x", "bx", False),  # a set of `[:alph`, and a bracket: no class of characters
        ("[[:alpha:]]", "a]", True),
        ("(?:a){e<=1}", "b", False),  # no error is allowed for
        ("(?:a){e<=1}", "a{e<=1}", True),
        ("(a){}b", "a{}b", True),
        ("(a){,2}b", "aab", True),
        (r"(\[a)[\[b]", "[a[", True),
        (r"(\N{DIGIT ONE})", "1", True),
        ("(?x) (a [b]) # [c", "ab", True),
        ("[+--]x", "-x", True),
        ("(?i)(K)", "\u212a", True),  # the Kelvin sign
        ("(?i)(s)", "\u017f", True),  # a long s
        ("(?i)(\u03c3)", "\u03c2", True),
        ("(?i)(\xdf)", "ss", False),
        (r"(\w)", "\xe9", True),
        (r"(\d)", "\u0663", True),
        ("(a|b)$", "a\n", True),
        ("(?s)(.)$", "\n", True),
        ("(.)", "\n", False),
        (r"(a)\b", "a-", True),
    ],
)
def test_a_pattern_means_what_it_means_to_python(pattern: str, subject: str, matches: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert bool(re.match(pattern, subject)) == matches
    assert compile_pattern(pattern).match(subject) == matches


@given(
    st.text(alphabet="ab*+?.()[]|\\{}1,^$-:e<=dw", max_size=12),
    st.lists(st.text(alphabet="ab1-\n{}[e:", max_size=6), min_size=1, max_size=5),
)
def test_any_pattern_means_what_it_means_to_python(text: str, subjects: list[str]) -> None:
    try:
        compiled = compile_pattern(text)
    except PatternError:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = re.compile(text)
    for subject in subjects:
        assert compiled.match(subject) == bool(known.match(subject))
        assert compiled.search(subject) == bool(known.search(subject))


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
        outcome: PatternError | TimedPattern = compile_pattern(text)
    except PatternError as error:
        outcome = error
    assert outcome.hint if isinstance(outcome, PatternError) else outcome.text == text
    assert isinstance(looks_like_glob(text), str)


def test_the_worst_that_is_matched_without_a_limit_ends_on_the_longest_subject() -> None:
    pattern = compile_pattern(".*.*.*x")
    assert not pattern.match("a" * LONGEST_SUBJECT)


def test_what_is_compiled_is_the_pattern_itself() -> None:
    assert compile_pattern("bwa").match("bwa_mem2")  # anchored at the start only, as in TPV
