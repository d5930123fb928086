"""The known differences: what rowtui does otherwise than Row, on purpose.

Each rule has its entry, with the reason, in docs/differences-from-row.md (a test compares the
two). A rule explains one thing only, seen from what was asked and what came of it. After a rule
that `ends` a case, the two copies of the project are no longer comparable.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.differential import wordings
from tests.differential.model import Change, Command
from tests.differential.rules import (
    RULES,
    Rule,
    changes,
    explain,
    failed_in_row,
    has_option,
    is_command,
    row_said,
    rowtui_said,
    rule,
)

if TYPE_CHECKING:
    from tests.differential.compare import Context, Difference

__all__ = ["RULES", "Rule", "explain", "wordings"]


# Values


@rule(
    "nested-value-file",
    "Row finds a value_file in a subdirectory in the first directory that each thread reads, and "
    "fails for the second.",
    ends=True,
)
def _nested_value_file(difference: Difference, context: Context) -> bool:
    return "/" in (context.case.project.value_file or "") and failed_in_row(context)


@rule(
    "bad-value-file",
    "One value file that cannot be read or parsed stops every command of Row. rowtui sets that "
    "directory aside, says so, and goes on with the others.",
    ends=True,
)
def _bad_value_file(difference: Difference, context: Context) -> bool:
    return (
        "bad value" in context.case.oddities
        and failed_in_row(context)
        and row_said(
            context, r"Unable to (read|parse) '.*(\n.*)*(No such file|UTF-8|line \d+ column)"
        )
    )


@rule("colours", "Short lists, which are for programs, are never coloured.")
def _colours(difference: Difference, context: Context) -> bool:
    return difference.kind == "colours" and has_option(context, "--short")


# One bad thing does not stop the others


@rule(
    "bad-action",
    "An action whose include or sort_by has no answer for some directory is an error of that "
    "action; the others are shown and submitted. Row stops altogether, and ends with a panic "
    "(exit code 101) when sort keys have no order.",
    ends=True,
)
def _bad_action(difference: Difference, context: Context) -> bool:
    if not failed_in_row(context) or context.rowtui is None:
        return False
    told = "JSON pointer|[Cc]annot compare|[Uu]nable to compare"
    quiet = context.row is not None and not context.row.stderr
    odd = {"odd condition", "odd sort key", "mixed values", "missing values"}
    hidden = quiet and odd & context.case.oddities
    if not hidden and not row_said(context, told + "|panicked"):
        return False
    return difference.kind != "exit code" or context.rowtui.code in (0, 1)


@rule(
    "submit-whole",
    "Groups that are not whole are left out with a warning; Row refuses the whole command.",
    ends=True,
)
def _submit_whole(difference: Difference, context: Context) -> bool:
    return is_command(context, "submit") and row_said(context, "Attempting partial submission")


@rule(
    "missing-products",
    "A job that ended with exit code 0 without the products of its directories has failed: where "
    "jobs run at once, `submit` reports it, and exits with 1. Row reports nothing.",
    ends=True,
)
def _missing_products(difference: Difference, context: Context) -> bool:
    return is_command(context, "submit") and rowtui_said(context, "but products are missing")


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
    if not is_command(context, "submit") or context.row is None:
        return False
    left_out = r"left out|workflow.toml:\d+:\d+: "
    if has_option(context, "-q") and row_said(context, "would be submitted multiple times"):
        return True  # what was left out is a warning, which is not shown
    return (failed_in_row(context) and row_said(context, told)) or rowtui_said(context, left_out)


@rule(
    "zero-resources",
    "0 threads or GPUs per process are taken as not set, with a warning, as Row did before 1.1; "
    "0 processes are an error of that action only. Row 1.1 refuses the file.",
    ends=True,
)
def _zero_resources(difference: Difference, context: Context) -> bool:
    return row_said(context, "must request more than 0") or (
        "zero resource" in context.case.oddities and failed_in_row(context)
    )


@rule(
    "maximum-size-zero",
    "maximum_size = 0 is an error of that action. Row panics (exit code 101).",
    ends=True,
)
def _maximum_size_zero(difference: Difference, context: Context) -> bool:
    return "maximum_size = 0" in context.case.oddities and (
        row_said(context, "panicked") or rowtui_said(context, "maximum_size")
    )


@rule(
    "problems-at-load",
    "Problems of single actions are told by every command, not only when a script is made; "
    "`submit` tells those of the actions that it is about.",
)
def _problems_at_load(difference: Difference, context: Context) -> bool:
    not_chosen = is_command(context, "submit") and row_said(context, "does not appear valid")
    return difference.kind == "more ERROR" or (difference.kind == "no WARN" and not_chosen)


@rule(
    "manual-partition",
    "A partition that has prevent_auto_select can be chosen by name; in Row it never can.",
    ends=True,
)
def _manual_partition(difference: Difference, context: Context) -> bool:
    return row_said(context, "(?i)auto.?select") or (
        "manual partition" in context.case.oddities and is_command(context, "submit")
    )


@rule(
    "usage",
    "Some options that Row refuses together are allowed together: --all with a filter in "
    "`show status`, --all with --short in `show launchers`.",
    ends=True,
)
def _usage(difference: Difference, context: Context) -> bool:
    return has_option(context, "--all") and row_said(context, "cannot be used with")


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
        taken = (*context.past, context.command)
        if not any(isinstance(step, Command) and step.argv[0] == "submit" for step in taken):
            return False
    elif context.command is not None and not is_command(context, "submit"):
        return False
    names = [each.name for each in context.case.project.directories]
    names += [step.directory.name for step in changes(context, "add") if step.directory]
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
    if context.command is not None and not is_command(context, "submit"):
        return False
    return bool({"several lines", "compound command"} & context.case.oddities) and (
        difference.kind
        in (
            *("effects", "exit code", "exit codes of scripts", "output of scripts", "stdout"),
            *("completion by scripts", "record staged", "exit codes of jobs", "launcher prefix"),
            *("record completed",),
        )
    )


@rule(
    "output-folder",
    "`{action_name}` is filled in output_file_path too, not only in output_file_name, and the "
    "folder is made.",
)
def _output_folder(difference: Difference, context: Context) -> bool:
    names = {action.get("name") for action in context.case.project.workflow.get("action", ())}
    filled = {difference.row.replace("{action_name}", str(name)) for name in names}
    if difference.kind == "effects" and not difference.row:
        return all(line.endswith("b'folder'") for line in difference.rowtui.splitlines())
    return difference.kind == "script header" and difference.rowtui in filled


@rule(
    "vanished-in-job",
    "A job reports what is complete although one of its directories is gone; Row's report fails "
    "and the job ends with 3.",
    ends=True,
)
def _vanished_in_job(difference: Difference, context: Context) -> bool:
    return bool(changes(context, "remove")) and difference.kind in (
        *("exit codes of jobs", "record staged", "record completed"),
    )


# Sending


@rule(
    "no-answer",
    "Without --yes and without an answer on standard input rowtui sends nothing, and exits with 1. "
    "Row does not ask where it has no terminal.",
    ends=True,
)
def _no_answer(difference: Difference, context: Context) -> bool:
    return is_command(context, "submit") and rowtui_said(context, r"no answer(.*\n)*.*--yes")


# Ids of the fake scheduler, and costs, which have a rule of their own.
_NUMBERS = re.compile(r"\b1\d{3}\b|[\d.]+m?(?= [CG]PU-hours)")


@rule(
    "sent-at-once",
    "Several jobs are sent at the same time, so their ids may not follow the order of the plan.",
    ends=True,
)
def _sent_at_once(difference: Difference, context: Context) -> bool:
    if not is_command(context, "submit") or difference.kind not in ("stdout", "record submitted"):
        return False
    row, ours = (
        sorted(re.findall(r"'[^']*'|[^\s,{}':()]+", _NUMBERS.sub("#", text)))
        for text in (difference.row, difference.rowtui)
    )
    return row == ours


@rule(
    "forgotten-jobs",
    "A job that was just sent and that the scheduler does not have any more, without having been "
    "cancelled, was forgotten in a crash: it stays submitted, and `submit` sends it again.",
    ends=True,
)
def _forgotten_jobs(difference: Difference, context: Context) -> bool:
    return bool(changes(context, "drop_jobs")) and rowtui_said(
        context, "'rowtui submit' sends it again"
    )


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
    names_only = is_command(context, "show", "directories") and not {"-a", "--action"} & set(
        context.command.argv if context.command else ()
    )
    return unchanged and (failed_in_row(context) or names_only)


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
    return is_command(context, "init") and "it's" in difference.row and difference.kind == "effects"


@rule(
    "scan-unknown-action",
    "`scan` of an action that workflow.toml does not have looks at no directory, so it does not "
    "notice that one does not exist.",
)
def _scan_unknown_action(difference: Difference, context: Context) -> bool:
    return is_command(context, "scan") and rowtui_said(context, "No actions scanned")


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
        "script exports",
    )


@rule(
    "cluster-not-needed",
    "A command that does not need to know the cluster does not look for it, and so does not "
    "notice an unknown name.",
)
def _cluster_not_needed(difference: Difference, context: Context) -> bool:
    return row_said(context, "Cluster '.*' not found")


@rule(
    "first-look",
    "The first time that rowtui sees a directory, it looks for products in it, also when Row knows "
    "it already and was told to forget them.",
    ends=True,
)
def _first_look(difference: Difference, context: Context) -> bool:
    if not context.case.turns or difference.kind not in ("record completed", "stdout", "effects"):
        return False
    reading = ("show status", "show directories", "show jobs", "submit", "clean")
    for step in reversed(context.past):
        if isinstance(step, Command) and step.argv[0] == "clean":
            return True  # the directories may be forgotten
        if isinstance(step, Command) and step.turn and " ".join(step.argv).startswith(reading):
            return False
        if isinstance(step, Change) and step.kind == "add":
            return True
    return True


@rule(
    "cleaned-by-row",
    "Completions whose products exist outlive Row's `clean --completed`.",
    ends=True,
)
def _cleaned_by_row(difference: Difference, context: Context) -> bool:
    if not context.case.turns or difference.kind not in ("record completed", "stdout", "effects"):
        return False
    return any(
        isinstance(step, Command) and step.argv[0] == "clean" and not step.turn
        for step in context.past
    )


@rule(
    "edited-values",
    "rowtui reads an edited value file again; Row keeps the old value until `clean --directory`.",
    ends=True,
)
def _edited_values(difference: Difference, context: Context) -> bool:
    return bool(changes(context, "edit_value")) and difference.kind in (
        *("record values", "stdout", "effects", "number of scripts", "script directories"),
        *("exit code", "script header", "no WARN"),
    )


@rule(
    "lost-products",
    "`scan` takes a completion back when the product files are gone; Row never does.",
    ends=True,
)
def _lost_products(difference: Difference, context: Context) -> bool:
    return bool(changes(context, "delete_product")) and difference.kind in (
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
    return bool(changes(context, "workflow")) and difference.kind in (
        *("record completed", "record submitted", "stdout", "effects", "number of scripts"),
        *("completion by scripts", "record staged", "exit code", "no WARN", "script header"),
        *("script directories", "script exports"),
    )
