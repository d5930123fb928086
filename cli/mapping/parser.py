"""The grammar of `explain` and of the `mapping` commands; loaded only when one of them is typed."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import Any

from rowtui.cli.argument_parser import flag, json_option, sub_parser
from rowtui.core.base.errors import RowtuiError
from rowtui.core.mapping.lint.findings import CODES
from rowtui.core.workflow.duration import parse_time
from rowtui.core.workflow.toml_file import did_you_mean

STRENGTHS = ("require", "prefer", "accept", "reject")

EXPLAIN_EXAMPLES = """\
  rowtui explain sample                        where the eligible groups go, and why
  rowtui explain sample dir1 dir2              a group of these directories
  rowtui explain sample --why-not anvil/gpu    everything about one destination
  rowtui explain sample --cores 64 --mem 200   what if it asked for this?
  rowtui explain sample --tag +highmem --tag -small --user jane
  rowtui explain sample --cpus 4 --write       set that in workflow.toml, after asking
  rowtui explain sample --undo                 take the last write back
  rowtui explain sample >/dev/null || echo nowhere to go"""

LINT_EXAMPLES = """\
  rowtui mapping lint                          the project's mapping files
  rowtui mapping lint site/*.yml --strict      other files; warnings fail as well
  rowtui mapping lint --ignore T102,M403
  rowtui mapping lint --codes                  all codes and their meanings"""

FORMAT_EXAMPLES = """\
  rowtui mapping format mapping.yml            print it formatted
  rowtui mapping format --check *.yml          exit code 1 if one is not formatted
  rowtui mapping format --diff mapping.yml
  rowtui mapping format --write mapping.yml    replace the file"""

TEST_EXAMPLES = """\
  rowtui mapping test cases.yml                with the mapping files that count here
  rowtui mapping test cases.yml --file tools.yml --file site.yml
  rowtui mapping test cases.yml --file mapping.yml --trust-these    in CI"""

SHOW_EXAMPLES = """\
  rowtui mapping show                          the mapping files in use, and their trust
  rowtui mapping show sample                   an action after inheritance, with origins
  rowtui mapping show --yaml > merged.yml      all files as one"""

TRUST_EXAMPLES = """\
  rowtui mapping trust mapping.yml             show the code that would run, and ask
  rowtui mapping trust --list
  rowtui mapping trust --revoke mapping.yml"""

SCHEMA_EXAMPLES = """\
  rowtui mapping schema > ~/.config/rowtui/mapping.schema.json

Editors that use yaml-language-server complete and check a file whose first line is
  # yaml-language-server: $schema=/home/you/.config/rowtui/mapping.schema.json"""


_VERBS = (
    ("lint", "check mapping files without running them", LINT_EXAMPLES),
    ("format", "lay mapping files out in the usual way", FORMAT_EXAMPLES),
    ("test", "check where jobs would go, by cases written in YAML", TEST_EXAMPLES),
    ("show", "show the mapping files in use, and their entries for an action", SHOW_EXAMPLES),
    ("trust", "show the code of a mapping file and, if you agree, let it run", TRUST_EXAMPLES),
    ("schema", "print the JSON schema of mapping files, for editors", SCHEMA_EXAMPLES),
)


# The module of a command whose module has another name, and its function there.
_MODULES = {
    "format": "mapping.authoring",
    "lint": "mapping.authoring:lint",
    "schema": "check.files:print_schema",
    "test": "mapping.authoring:test_cases",
}


def add_mapping_commands(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add `explain` and `mapping`."""
    _add_explain(commands, add, about["explain"])
    _add_mapping(commands, add, about["mapping"])


def _add_explain(commands: Any, add: Any, text: str) -> None:
    """Add the command `explain`."""
    parser = add(commands, "explain", "mapping.explain", text, EXPLAIN_EXAMPLES, mixed=True)
    if isinstance(parser, argparse.ArgumentParser):
        _explain_options(parser)


def _add_mapping(commands: Any, add: Any, text: str) -> None:
    """Add the command `mapping` with its subcommands."""
    mapping = add(commands, "mapping", "", text)
    if not isinstance(mapping, argparse.ArgumentParser):
        return
    mapping.set_defaults(command="mapping")
    what = mapping.add_subparsers(
        title="Commands", metavar="WHAT", parser_class=sub_parser, required=True
    )
    options = {
        "lint": _lint_options,
        "format": _format_options,
        "test": _test_options,
        "show": _show_options,
        "trust": _trust_options,
        "schema": json_option,
    }
    for name, said, examples in _VERBS:
        parser = add(what, name, _MODULES.get(name, f"mapping.{name}"), said, examples, mixed=True)
        if isinstance(parser, argparse.ArgumentParser):
            options[name](parser)


def _explain_options(parser: Any) -> None:
    """Add the options of `explain`."""
    parser.add_argument("action", metavar="ACTION", help="the name of an action")
    parser.add_argument(
        "directories",
        nargs="*",
        metavar="DIRECTORY",
        default=[],
        help="groups of these [default: the eligible ones]; - reads names from standard input",
    )
    parser.add_argument("--why-not", metavar="DESTINATION", help="only this destination, in full")
    flag(parser, "--all", "every decision, not only that of the first group")
    what_if = parser.add_argument_group("What if")
    what_if.add_argument(
        "--cpus",
        "--cores",
        dest="cores",
        type=_amount,
        metavar="N",
        help="set N CPUs for the job, regardless of mapping files and bounds",
    )
    what_if.add_argument("--mem", type=_amount, metavar="GB", help="... so much memory")
    what_if.add_argument("--gpus", type=_amount, metavar="N", help="... N GPUs")
    what_if.add_argument("--time", type=_seconds, metavar="HH:MM:SS", help="... so much walltime")
    what_if.add_argument(
        "--tag",
        type=_tag,
        action="append",
        default=[],
        metavar="+TAG|-TAG",
        help="it required a tag more (+TAG=prefer: preferred; accept, reject), or had one less",
    )
    what_if.add_argument("--user", metavar="NAME", help="this user submitted it")
    what_if.add_argument(
        "--roles", type=_names, metavar="A,B", help="with these roles [default: their Unix groups]"
    )
    writing = parser.add_argument_group("Change workflow.toml")
    which = writing.add_mutually_exclusive_group()
    flag(
        which,
        "--write",
        "set the amounts above in workflow.toml for the action of the first group, after "
        "showing what changes",
    )
    flag(which, "--undo", "take the last write to workflow.toml back")
    flag(writing, "--yes", "with --write and --undo: do not ask")
    json_option(parser)


def _lint_options(parser: Any) -> None:
    """Add the options of `mapping lint`."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="files, folders or https URLs, merged in this order and checked by themselves "
        "[default: the project's mapping files, with the clusters of this machine]",
    )
    parser.add_argument(
        "--ignore", type=_codes, action="append", default=[], metavar="CODES", help="T102,M403"
    )
    flag(parser, "--strict", "warnings give exit code 1 as well")
    flag(parser, "--codes", "list all codes and their meanings")
    json_option(parser)


def _format_options(parser: Any) -> None:
    """Add the options of `mapping format`."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="- is standard input")
    which = parser.add_mutually_exclusive_group()
    flag(which, "--check", "only list the files that would change")
    flag(which, "--diff", "only show the changes")
    flag(which, "--write", "replace the files")
    json_option(parser)


def _test_options(parser: Any) -> None:
    """Add the options of `mapping test`."""
    parser.add_argument("cases", nargs="+", metavar="CASES", help="YAML files of cases")
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="MAPPING",
        help="a mapping file, folder or https URL to use instead of the usual ones (repeat for "
        "more); its code runs only if you trusted it",
    )
    flag(
        parser,
        "--trust-these",
        "run the code of all files given with --file, for this command only: for CI, "
        "which tests the files of its own checkout",
    )
    json_option(parser)


def _show_options(parser: Any) -> None:
    """Add the options of `mapping show`."""
    parser.add_argument(
        "action", nargs="?", metavar="ACTION", help="an action [default: the mapping files in use]"
    )
    parser.add_argument("--user", metavar="NAME", help="for this user [default: you]")
    flag(parser, "--yaml", "as YAML that can be loaded again")
    json_option(parser)


def _trust_options(parser: Any) -> None:
    """Add the options of `mapping trust`."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="a mapping file or URL, with all that it includes"
    )
    flag(parser, "--list", "list the trusted files")
    parser.add_argument("--revoke", metavar="FILE", help="trust it no more; a file or a digest")
    flag(parser, "--yes", "do not ask")
    json_option(parser)


def _amount(text: str) -> float | int:
    value = float(text)
    if not (math.isfinite(value) and 0 <= value < 1e15):
        raise argparse.ArgumentTypeError("must be a number from 0 on")
    return int(value) if value.is_integer() else value


_amount.__name__ = "number"


def _seconds(text: str) -> int:
    """Parse a walltime in the format of workflow.toml into seconds."""
    try:
        return parse_time(text)
    except (RowtuiError, ValueError) as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _tag(text: str) -> tuple[str, str]:
    """Return (tag, strength); the strength "" drops the tag."""
    sign, name = text[:1], text[1:]
    if sign not in {"+", "-"} or not name:
        raise argparse.ArgumentTypeError(f"'{text}': +TAG gives the job a tag, -TAG takes one")
    if sign == "-":
        return name, ""
    tag, equals, strength = name.rpartition("=")
    if not equals:
        return name, "require"
    if strength not in STRENGTHS or not tag:
        raise argparse.ArgumentTypeError(f"'{text}': after = comes one of {', '.join(STRENGTHS)}")
    return tag, strength


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split(",") if name)


def _codes(text: str) -> frozenset[str]:
    codes = [code.strip().upper() for code in text.split(",") if code.strip()]
    for code in codes:
        if code not in CODES:
            hint = did_you_mean(code, CODES) or "see --codes"
            raise argparse.ArgumentTypeError(f"there is no code {code}; {hint}")
    return frozenset(codes)
