"""Options that a mapping file may pass to sbatch: parameters and native specifications.

The input is evaluated values; the result is options, each one line of a batch header that sbatch
reads back as exactly these words. Options are refused with the reason if they would change what a
job is (`--array`, `--wrap`), its owner, or where rowtui finds the job and its log. Source: sbatch's
manual (options, their short forms; unambiguous prefixes are accepted), and the options that
`SlurmScheduler.submit` and `SlurmKind.header` pass themselves.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import has_control, header_value, visible

_NO_JOB = "no job would be submitted"
_ORDER = "rowtui sets the dependencies of jobs"
_LOG = "rowtui shows this log; output_file_name in workflow.toml sets its path"
_WHOSE = "jobs are those of the user who submits them"
_REFUSED: Mapping[str, str] = {
    "array": "one script is one job here, for one group of directories",
    "wrap": "the script is rowtui's",
    "comment": "rowtui finds its jobs by it",
    "job-name": "rowtui names its jobs itself",
    "dependency": _ORDER,
    "kill-on-invalid-dep": _ORDER,
    "output": _LOG,
    "error": _LOG,
    "chdir": "jobs run in the folder of the project",
    "clusters": "the destination's runner sets the cluster",
    "parsable": "rowtui passes it itself",
    "wait": "the submission would last until the job has ended",
    "test-only": _NO_JOB,
    "help": _NO_JOB,
    "usage": _NO_JOB,
    "version": _NO_JOB,
    "uid": _WHOSE,
    "gid": _WHOSE,
}
_SHORT: Mapping[str, str] = {
    "a": "array", "d": "dependency", "P": "dependency", "D": "chdir", "e": "error", "h": "help",
    "J": "job-name", "M": "clusters", "o": "output", "u": "usage", "V": "version", "W": "wait",
}  # fmt: skip
_OTHER_NAMES: Mapping[str, str] = {"workdir": "chdir", "cluster": "clusters"}
# short options without a value: others may follow in the same word
_SHORT_ALONE = frozenset("hHOQsuvVW")
_YES = frozenset({"true", "yes", "on", "1", "t", "y"})
_NO = frozenset({"false", "no", "off", "0", "f", "n", "none", ""})


# Parameter -> the option of sbatch that it becomes.
_OPTIONS: Mapping[str, str] = {
    "qos": "--qos",
    "constraint": "--constraint",
    "reservation": "--reservation",
    "licenses": "--licenses",
    "gres": "--gres",
    "nice": "--nice",
    "nodes": "--nodes",
    "nodelist": "--nodelist",
    "exclude": "--exclude",
    "tmp": "--tmp",
    "switches": "--switches",
    "container": "--container",
    "mail_type": "--mail-type",
    "mail_user": "--mail-user",
    "begin": "--begin",
    "deadline": "--deadline",
}
# Parameter -> the option that it turns on, and values it may have instead of yes or no.
_SWITCHES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "exclusive": ("--exclusive", ("user", "mcs")),
    "requeue": ("--requeue", ()),
}
_NATIVE = ("nativeSpecification", "native_specification", "submit_native_specification")


def placement_options(params: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the options of sbatch for a destination's parameters, and the unknown parameters.

    Raises: RowtuiError for an invalid value.
    """
    options: list[str] = []
    unknown = []
    for name, value in params.items():
        if name in _OPTIONS:
            options.append(option(_OPTIONS[name], name, value))
        elif name in _SWITCHES:
            flag, kinds = _SWITCHES[name]
            options += switch(flag, name, value, kinds)
        elif name not in _NATIVE:
            unknown.append(name)
    for name in _NATIVE:
        if text := params.get(name):
            options += native_options(name, text)
    return options, unknown


def option(flag: str, name: str, value: Any) -> str:
    """Return `--flag=value` for the parameter `name`.

    Raises: RowtuiError if it is no single text.
    """
    if isinstance(value, (list, tuple, dict, set)):
        raise RowtuiError(f"the parameter {visible(name)} must be one text, not {_shown(value)}")
    return f"{flag}={_word(one_line(name, value))}"


def switch(flag: str, name: str, value: Any, kinds: tuple[str, ...] = ()) -> list[str]:
    """Return the option of a parameter that is true or false (or words for it), or one of `kinds`.

    Raises: RowtuiError for any other value.
    """
    text = str(value).strip().lower()
    if text in kinds:
        return [f"{flag}={text}"]
    if text in _YES or text in _NO:
        return [flag] if text in _YES else []
    also = "".join(f", {kind}" for kind in kinds)
    raise RowtuiError(f"the parameter {visible(name)} must be true or false{also}: {_shown(value)}")


def native_options(name: str, text: Any) -> list[str]:
    """Return the options of a native specification (parameter `name`), split as a shell would.

    Raises: RowtuiError for text that is no list of options, and for an option that rowtui needs
    itself.
    """
    try:
        words = shlex.split(one_line(name, text))
    except ValueError as error:
        raise RowtuiError(
            f"{visible(name)} cannot be read as options: {error}", visible(str(text))
        ) from None
    options: list[str] = []
    takes_value = False
    for word in words:
        if word.startswith("-") and word.strip("-"):
            _refuse(name, word)
            options.append(_option_word(word))
            takes_value = "=" not in word
        elif takes_value and set(word) != {"-"}:  # an option's value as a word of its own
            options[-1] += f" {_word(word)}"
            takes_value = False
        else:
            raise RowtuiError(
                f"{visible(name)} has {_shown(word)}, which belongs to no option",
                visible(str(text)),
            )
    return options


def one_line(name: str, value: Any) -> str:
    """Return the text of a parameter. Raises: RowtuiError for control characters."""
    text = str(value)
    if has_control(text):
        raise RowtuiError(f"the parameter {visible(name)} has control characters: {_shown(text)}")
    return text


def _refuse(name: str, word: str) -> None:
    """Refuse a word that sbatch parses as an option which rowtui needs itself."""
    for meant in _meant(word):
        why = _REFUSED.get(meant)
        if why is not None:
            raise RowtuiError(
                f"{visible(name)} has {_shown(word)}, but --{meant} cannot be set there: {why}",
                "leave it out of the mapping file",
            )


def _meant(word: str) -> list[str]:
    """Return the refused options that a word may contain: a short one, several, or a prefix."""
    if word.startswith("--"):
        given = word[2:].split("=", 1)[0]
        if given in _OTHER_NAMES:
            return [_OTHER_NAMES[given]]
        return [each for each in _REFUSED if each.startswith(given)]
    found = []
    for char in word[1:]:
        if char in _SHORT:
            found.append(_SHORT[char])
        if char not in _SHORT_ALONE:
            break  # the rest is the option's value
    return found


def _option_word(word: str) -> str:
    """Return an option as a word of a header; only its value is quoted."""
    flag, equals, value = word.partition("=")
    return f"{_word(flag)}={_word(value)}" if equals else _word(word)


def _word(text: str) -> str:
    return header_value(text) or '""'


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return visible(text[:80])
