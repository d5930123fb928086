"""The known differences: what rowtui does otherwise than Row, on purpose.

Each rule has its entry, with the reason, in docs/differences-from-row.md (a test compares the
two). A rule explains one thing only, seen from what was asked and what came of it. After a rule
that `ends` a case, the two copies of the project are no longer comparable.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.differential.model import Change, Command

if TYPE_CHECKING:
    from tests.differential.compare import Context, Difference


@dataclass(frozen=True)
class Rule:
    """One known difference."""

    id: str
    reason: str
    applies: Callable[[Difference, Context], bool]
    ends: bool = False


RULES: list[Rule] = []


def rule(name: str, reason: str, *, ends: bool = False) -> Callable[..., Any]:
    """Enter a function as a rule."""

    def enter(applies: Callable[[Difference, Context], bool]) -> Callable[..., bool]:
        RULES.append(Rule(name, reason, applies, ends))
        return applies

    return enter


def explain(difference: Difference, context: Context) -> tuple[Rule, ...]:
    """The rules that explain a difference: none if it is not known."""
    found = explain_text(difference, context)
    if found:
        return found
    return next(((rule,) for rule in RULES if rule.applies(difference, context)), ())


# What rules look at


def _row_said(context: Context, pattern: str) -> bool:
    return context.row is not None and re.search(pattern, context.row.stderr) is not None


def _rowtui_said(context: Context, pattern: str) -> bool:
    return context.rowtui is not None and re.search(pattern, context.rowtui.stderr) is not None


def _is(context: Context, *words: str) -> bool:
    command = context.command
    return command is not None and command.argv[: len(words)] == words


def _has(context: Context, option: str) -> bool:
    return context.command is not None and option in context.command.argv


def _failed_in_row(context: Context) -> bool:
    return context.row is not None and context.row.code in (1, 101)


def _squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def _changes(context: Context, *kinds: str) -> list[Change]:
    return [step for step in context.past if isinstance(step, Change) and step.kind in kinds]


# Texts that say the same in other words: a difference of two texts is explained by the rules
# without which they would not be the same.


@dataclass(frozen=True)
class Wording:
    """How to bring both texts to one form; `both` sees Row's text, rowtui's, and the context."""

    rule: Rule
    both: Callable[[str, str, Context], tuple[str, str]]


WORDINGS: list[Wording] = []
Change_ = Callable[[str, "Context"], str]


def _same(text: str, context: Context) -> str:
    return text


def wording(name: str, reason: str, row: Change_ = _same, rowtui: Change_ = _same) -> None:
    """Enter a wording as a rule."""
    enter_wording(name, reason, lambda mine, its, c: (row(mine, c), rowtui(its, c)))


def enter_wording(
    name: str, reason: str, both: Callable[[str, str, Context], tuple[str, str]]
) -> None:
    """Enter a wording that must see both texts."""
    WORDINGS.append(Wording(Rule(name, reason, lambda difference, context: False), both))
    RULES.append(WORDINGS[-1].rule)


TEXTS = ("stdout", "record values", "effects", "script header", "script directories")


def explain_text(difference: Difference, context: Context) -> tuple[Rule, ...]:
    """The wordings that make two texts the same; none if they are not the same after all."""
    if difference.kind not in TEXTS:
        return ()

    def equal(without: Wording | None) -> bool:
        row, rowtui = difference.row, difference.rowtui
        for each in WORDINGS:
            if each is not without:
                row, rowtui = each.both(row, rowtui, context)
        return row.split() == rowtui.split()

    if not equal(None):
        return ()
    needed = tuple(each.rule for each in WORDINGS if not equal(each))
    return needed or (ALIGNMENT,)


@rule(
    "nested-value-file",
    "Row finds a value_file in a subdirectory in the first directory that each thread reads, and "
    "fails for the second.",
    ends=True,
)
def _nested_value_file(difference: Difference, context: Context) -> bool:
    return "/" in (context.case.project.value_file or "") and _failed_in_row(context)


@rule(
    "bad-value-file",
    "One value file that cannot be read or parsed stops every command of Row. rowtui sets that "
    "directory aside, says so, and goes on with the others.",
    ends=True,
)
def _bad_value_file(difference: Difference, context: Context) -> bool:
    return (
        "bad value" in context.case.oddities
        and _failed_in_row(context)
        and _row_said(
            context, r"Unable to (read|parse) '.*(\n.*)*(No such file|UTF-8|line \d+ column)"
        )
    )


# Tables, in an order in which no step spoils a later one


def _names_only(text: str, context: Context) -> str:
    names: set[str] = set()
    for step in (*context.past, context.command):
        if isinstance(step, Command):
            words = (step.stdin or b"").decode("utf-8", "surrogateescape").split("\n")
            names.update(word.rstrip("\r") for word in (*words, *step.argv))
    for name in sorted(name for name in names if name.endswith("/")):
        text = text.replace(name, name.rstrip("/"))
    return text


wording(
    "slash-behind-name",
    "`d0/` on the command line is shown and recorded as the name that it means, `d0`.",
    row=_names_only,
)


def _visible(text: str, context: Context) -> str:
    """What acts on a terminal as an escape; line ends within names count as well."""
    if context.command is None or context.command.argv[:1] == ("scan",):
        return text
    for name in _odd_names(context):
        text = text.replace(name, _escaped(name))
    return "".join(_escaped(char) if char != "\n" else char for char in text)


def _escaped(text: str) -> str:
    from rowtui.core.text import visible

    return visible(text)


def _odd_names(context: Context) -> list[str]:
    """Names with line ends, and strings of value files as Row prints them."""
    return [each.name for each in context.case.project.directories if "\n" in each.name]


wording(
    "control-characters",
    "A control character in a name or value is written as an escape, so that it cannot act on the "
    "terminal; Row prints it as it is.",
    row=_visible,
)


def _no_local(text: str, context: Context) -> str:
    if not _has(context, "--all"):
        return text
    if _is(context, "show", "cluster"):
        if _has(context, "--short"):
            return "\n".join(name for name in text.split() if name != "local")
        return text.partition('\n[[cluster]]\nname = "local"')[0]
    if _is(context, "show", "launchers"):
        return re.sub(r"'local': \{[^{}]*\}(, )?", "", text).replace(", }", "}")
    return text


wording(
    "cluster-local",
    "rowtui has one more built-in cluster, `local`: a queue on this machine.",
    rowtui=_no_local,
)


def _not_failed(text: str, context: Context) -> str:
    """Failed directories as eligible ones, and no column for them."""
    if _is(context, "show", "directories"):
        return re.sub(r"(?m)^(.*\S *) failed\b", r"\1 eligible", text)
    if not _is(context, "show", "status") or context.row is None:
        return text
    rows = [line for line in _squeezed(_COLOURS.sub("", context.row.stdout)) if line]
    lines = []
    for line in _squeezed(text):
        words = line.split()
        for at in range(1, len(words)):
            shorter = " ".join(words[:at] + words[at + 1 :])
            is_column = words[at] == "Failed" or words[at].replace(",", "").isdecimal()
            if is_column and _without_cost(shorter) in map(_without_cost, rows):
                line = shorter
                break
        lines.append(line)
    return "\n".join(lines)


_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_COST = re.compile(r"(\d+)([a-zA-Zµ]?) ([CG]PU-hours)")


def _without_cost(line: str) -> str:
    return _COST.sub("", line).strip()


wording(
    "failed-status",
    "A directory whose last job ended without its products is shown as failed. It counts as "
    "eligible, as in Row: it is submitted again, and --eligible lists it.",
    rowtui=_not_failed,
)


def _nothing(text: str, context: Context) -> str:
    """Only a header, or nothing: the same as `No matches.`"""
    words = set(text.split())
    pointers = (
        {word.partition("=")[2] for word in context.command.argv} if context.command else set()
    )
    header = {"Directory", "Status", "Job", "ID", "No", "matches."}
    header |= {part for pointer in pointers for part in pointer.split()}
    listing = _is(context, "show", "directories") or _is(context, "show", "jobs")
    return "No matches." if listing and words <= header else text


wording(
    "no-matches",
    "Where there is nothing to list, rowtui says `No matches.` once; Row prints only empty lines "
    "when -n is 0 or when several elements of an action are all empty.",
    row=_nothing,
)

_FLOAT = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)")


def _same_floats(row: str, rowtui: str, context: Context) -> tuple[str, str]:
    """Row's floats as rowtui's, where these are a few units in the last place away."""
    mine, its = list(_FLOAT.finditer(row)), _FLOAT.findall(rowtui)
    if len(mine) != len(its):
        return row, rowtui
    for found, other in reversed(list(zip(mine, its, strict=True))):
        number = float(found[0])
        if number != float(other) and math.isclose(number, float(other), rel_tol=8e-16):
            row = row[: found.start()] + other + row[found.end() :]
    return row, rowtui


enter_wording(
    "float-rounding",
    "Row reads some decimal numbers one or two units in the last place off; rowtui reads the "
    "nearest double, as Python does.",
    _same_floats,
)

_SCALE = {
    "n": 1e-9,
    "u": 1e-6,
    "µ": 1e-6,
    "m": 1e-3,
    "": 1.0,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
}


def _row_costs(text: str, context: Context) -> str:
    """Row's costs as rowtui's, where these are the same but for the rounding of sums."""
    if context.rowtui is None or not _COST.search(text):
        return text
    mine = list(_COST.finditer(text))
    its = _COST.findall(context.rowtui.stdout)
    if len(mine) != len(its):
        return text
    for found, (number, unit, noun) in reversed(list(zip(mine, its, strict=True))):
        row = float(found[1]) * _SCALE[found[2]]
        rowtui = float(number) * _SCALE[unit]
        if (
            found[3] == noun
            and abs(row - rowtui) <= max(_SCALE[found[2]], _SCALE[unit])
            and (row == rowtui or abs(row - rowtui) <= 1.001 * min(_SCALE[found[2]], _SCALE[unit]))
        ):
            text = f"{text[: found.start()]}{number}{unit} {noun}{text[found.end() :]}"
    return text


wording(
    "cost-rounding",
    "Row adds costs up as binary fractions and may print `1000m CPU-hours`; rowtui adds whole "
    "seconds up and prints `1 CPU-hours`.",
    row=_row_costs,
)

ALIGNMENT = Rule(
    "display-width",
    "Columns are aligned by how wide characters are on a terminal; Row counts code points when it "
    "pads, so that wide and combining characters shift its columns.",
    lambda difference, context: False,
)
RULES.append(ALIGNMENT)


@rule("colours", "Short lists, which are for programs, are never coloured.")
def _colours(difference: Difference, context: Context) -> bool:
    return difference.kind == "colours" and _has(context, "--short")


# What is noticed, and when it is saved


@rule(
    "empty-records",
    "rowtui does not write directories.json for a project without directories.",
)
def _empty_records(difference: Difference, context: Context) -> bool:
    return (
        difference.kind == "record modified"
        and context.after is not None
        and not context.after[0].values
        and not context.after[1].values
    )


@rule(
    "saved-at-once",
    "rowtui saves what it has learnt at once; Row saves nothing when a command fails, nor for "
    "`show directories` without --action.",
)
def _saved_at_once(difference: Difference, context: Context) -> bool:
    if not difference.kind.startswith("record ") or context.after is None:
        return False
    field = difference.kind.removeprefix("record ")
    unchanged = getattr(context.before[0], field) == getattr(context.after[0], field)
    names_only = _is(context, "show", "directories") and not {"-a", "--action"} & set(
        context.command.argv if context.command else ()
    )
    return unchanged and (_failed_in_row(context) or names_only)


@rule(
    "merged-sooner",
    "rowtui merges staged completions whenever it looks, also in the course of `submit`; Row does "
    "at the beginning of a command.",
)
def _merged_sooner(difference: Difference, context: Context) -> bool:
    if difference.kind not in ("record completed", "record staged") or context.after is None:
        return False
    return context.after[0].effective == context.after[1].effective


@rule(
    "init-quoting",
    "`init --workspace` writes the name as a TOML string that can be read; Row writes quotes in "
    "it as they are, and cannot read its own file.",
)
def _init_quoting(difference: Difference, context: Context) -> bool:
    return _is(context, "init") and "it's" in difference.row and difference.kind == "effects"


@rule(
    "scan-unknown-action",
    "`scan` of an action that workflow.toml does not have looks at no directory, so it does not "
    "notice that one does not exist.",
)
def _scan_unknown_action(difference: Difference, context: Context) -> bool:
    return _is(context, "scan") and _rowtui_said(context, "No actions scanned")


@rule(
    "scan-remembers",
    "`scan` of everything also remembers which directories there are; Row then still takes them "
    "for new, and finds products made since without another scan.",
    ends=True,
)
def _scan_remembers(difference: Difference, context: Context) -> bool:
    return "scan before Row knew directories" in context.notes and difference.kind in (
        *("record completed", "stdout", "effects", "exit code", "number of scripts"),
        *("completion by scripts", "record staged", "script directories", "record submitted"),
    )


@rule(
    "cluster-not-needed",
    "A command that does not need to know the cluster does not look for it, and so does not "
    "notice an unknown name.",
)
def _cluster_not_needed(difference: Difference, context: Context) -> bool:
    return _row_said(context, "Cluster '.*' not found")


@rule(
    "first-look",
    "The first time that rowtui opens a project, it looks for products in every directory, also "
    "in those that Row knows already.",
    ends=True,
)
def _first_look(difference: Difference, context: Context) -> bool:
    if not context.case.turns or difference.kind not in ("record completed", "stdout", "effects"):
        return False
    reading = ("show status", "show directories", "show jobs", "submit", "clean")
    return not any(
        isinstance(step, Command) and step.turn and " ".join(step.argv).startswith(reading)
        for step in context.past
    )


@rule(
    "edited-values",
    "rowtui reads an edited value file again; Row keeps the old value until `clean --directory`.",
    ends=True,
)
def _edited_values(difference: Difference, context: Context) -> bool:
    return bool(_changes(context, "edit_value")) and difference.kind in (
        *("record values", "stdout", "effects", "number of scripts", "script directories"),
        *("exit code", "script header", "no WARN"),
    )


@rule(
    "lost-products",
    "`scan` takes a completion back when the product files are gone; Row never does.",
    ends=True,
)
def _lost_products(difference: Difference, context: Context) -> bool:
    return bool(_changes(context, "delete_product")) and difference.kind in (
        *("record completed", "record staged", "stdout", "effects", "completion by scripts"),
        *("number of scripts", "exit code"),
    )


@rule(
    "changed-workflow",
    "rowtui looks for the products of new and changed actions in all directories, and keeps the "
    "records of an action that was taken out of workflow.toml aside until it comes back; Row "
    "needs `scan` for the first and forgets the second.",
    ends=True,
)
def _changed_workflow(difference: Difference, context: Context) -> bool:
    return bool(_changes(context, "workflow")) and difference.kind in (
        *("record completed", "record submitted", "stdout", "effects", "number of scripts"),
        *("completion by scripts", "record staged", "exit code", "no WARN"),
    )


# Job scripts


# What an unquoted `$directory` splits or expands, and what cannot be piped into `row scan`.
_BREAKS = re.compile(r"[ \t\n\r*?\[]")


@rule(
    "script-quoting",
    "Row's `{directory}` is not quoted where it stands in a loop, and templates inside quotes are "
    "not fitted to them: names with blanks or special characters break such commands.",
    ends=True,
)
def _script_quoting(difference: Difference, context: Context) -> bool:
    if difference.kind not in (
        *("effects", "exit code", "exit codes of scripts", "output of scripts", "stdout"),
        *("completion by scripts", "record staged", "record modified", "exit codes of jobs"),
        *("record completed",),
    ):
        return False
    if difference.kind == "record modified":
        if not any(isinstance(step, Command) and step.argv[0] == "submit" for step in context.past):
            return False
    elif context.command is not None and not _is(context, "submit"):
        return False
    names = [each.name for each in context.case.project.directories]
    names += [step.directory.name for step in _changes(context, "add") if step.directory]
    odd = any(_BREAKS.search(name) for name in names)
    actions = context.case.project.workflow.get("action", ())
    odd = odd or any(" " in action.get("name", "") for action in actions)
    return odd or bool({"template in quotes", "template in a name"} & context.case.oddities)


@rule(
    "script-commands",
    "Each command runs in a shell of its own, all of it: several lines work, `cd` does not leak "
    "into the next directory, and its exit code is that of the whole.",
    ends=True,
)
def _script_commands(difference: Difference, context: Context) -> bool:
    return bool({"several lines", "compound command"} & context.case.oddities) and (
        difference.kind
        in (
            *("effects", "exit code", "exit codes of scripts", "output of scripts", "stdout"),
            *("completion by scripts", "record staged", "exit codes of jobs", "launcher prefix"),
            *("record completed",),
        )
    )


# One bad thing does not stop the others


@rule(
    "bad-action",
    "An action whose include or sort_by has no answer for some directory is an error of that "
    "action; the others are shown and submitted. Row stops altogether, and ends with a panic "
    "(exit code 101) when sort keys have no order.",
    ends=True,
)
def _bad_action(difference: Difference, context: Context) -> bool:
    if not _failed_in_row(context) or context.rowtui is None:
        return False
    told = "JSON pointer|[Cc]annot compare|[Uu]nable to compare"
    quiet = context.row is not None and not context.row.stderr
    odd = {"odd condition", "odd sort key", "mixed values", "missing values"}
    if not _row_said(context, told + "|panicked"):
        if not (quiet and odd & context.case.oddities):
            return False
    return difference.kind != "exit code" or context.rowtui.code in (0, 1)


@rule(
    "submit-whole",
    "Groups that are not whole are left out with a warning; Row refuses the whole command.",
    ends=True,
)
def _submit_whole(difference: Difference, context: Context) -> bool:
    return _is(context, "submit") and _row_said(context, "Attempting partial submission")


@rule(
    "plan-problems",
    "What cannot be made into a job is found before anything is submitted, and only the actions "
    "that it concerns are left out. Row finds it when it comes to the job: earlier jobs have been "
    "submitted, later ones are not.",
    ends=True,
)
def _plan_problems(difference: Difference, context: Context) -> bool:
    told = (
        r"template|launcher|Unable to find a .*partition|No partition|partition|JSON pointer|"
        r"memory_per_.pu_mb"
    )
    if not _is(context, "submit") or context.row is None:
        return False
    left_out = r"left out|workflow.toml:\d+:\d+: "
    return (_failed_in_row(context) and _row_said(context, told)) or _rowtui_said(context, left_out)


@rule(
    "failing-job",
    "On cluster none, when a job fails the jobs after it are run all the same where they do not "
    "depend on it; Row stops at the first that fails.",
    ends=True,
)
def _failing_job(difference: Difference, context: Context) -> bool:
    if not (_is(context, "submit") and _row_said(context, "Error encountered while executing")):
        return False
    return difference.kind in ("stdout", "effects", "record staged")


@rule(
    "zero-resources",
    "0 threads or GPUs per process are taken as not set, with a warning, as Row did before 1.1; "
    "0 processes are an error of that action only. Row 1.1 refuses the file.",
    ends=True,
)
def _zero_resources(difference: Difference, context: Context) -> bool:
    return _row_said(context, "must request more than 0") or (
        "zero resource" in context.case.oddities and _failed_in_row(context)
    )


@rule(
    "maximum-size-zero",
    "maximum_size = 0 is an error of that action. Row panics (exit code 101).",
    ends=True,
)
def _maximum_size_zero(difference: Difference, context: Context) -> bool:
    return "maximum_size = 0" in context.case.oddities and (
        _row_said(context, "panicked") or _rowtui_said(context, "maximum_size")
    )


@rule(
    "problems-at-load",
    "Problems of single actions are told by every command, not only when a script is made.",
)
def _problems_at_load(difference: Difference, context: Context) -> bool:
    return difference.kind == "more ERROR"


@rule(
    "manual-partition",
    "A partition that has prevent_auto_select can be chosen by name; in Row it never can.",
    ends=True,
)
def _manual_partition(difference: Difference, context: Context) -> bool:
    return _row_said(context, "(?i)auto.?select") or (
        "manual partition" in context.case.oddities and _is(context, "submit")
    )


@rule(
    "usage",
    "Some options that Row refuses together are allowed together: --all with a filter in "
    "`show status`, --all with --short in `show launchers`.",
    ends=True,
)
def _usage(difference: Difference, context: Context) -> bool:
    return _has(context, "--all") and _row_said(context, "cannot be used with")
