"""The grammar of the commands about a project as a whole: init, scan, clean, doctor, mirror, ...

Row's commands keep Row's options.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rowtui.cli.argument_parser import directories_argument, json_option


def add_project_commands(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add init, scan, clean, doctor, check, schema, demo and completion."""
    init = add(
        commands,
        "init",
        "project.init",
        about["init"],
        "  rowtui init\n  rowtui init --yes my_project\n  rowtui init --signac .",
    )
    init.add_argument(
        "directory",
        metavar="DIRECTORY",
        nargs="?",
        default=".",
        help="the folder, made if it is missing [default: .]",
    )
    which = init.add_mutually_exclusive_group()
    which.add_argument("--signac", action="store_true", help="for a signac workspace")
    which.add_argument("-w", "--workspace", metavar="NAME", help="[default: workspace]")
    which.add_argument("--from-row", action="store_true", help="about a project of Row")
    init.add_argument("--yes", action="store_true", help="ask nothing; write the comments")
    json_option(init)

    scan = add(
        commands,
        "scan",
        "project.scan",
        about["scan"],
        "  rowtui scan\n  rowtui scan -a sample dir1 dir2\n  ls workspace | rowtui scan -",
    )
    directories_argument(scan, "these only; - reads names from standard input")
    scan.add_argument("-a", "--action", metavar="NAME", help="this action only [default: all]")
    json_option(scan)

    clean = add(
        commands,
        "clean",
        "project.scan:clean",
        about["clean"],
        "  rowtui clean --directory\n  rowtui clean --completed && rowtui scan",
    )
    for name, what in (
        ("directory", "the cache of directories and values"),
        ("submitted", "the record of submitted jobs"),
        ("completed", "the record of completed actions"),
        ("usage", "what past jobs used; kept unless this is named"),
    ):
        clean.add_argument(f"--{name}", action="store_true", help=what)
    clean.add_argument("--force", action="store_true", help="even while jobs are submitted")
    json_option(clean)

    doctor = add(
        commands,
        "doctor",
        "clusters.doctor",
        about["doctor"],
        "  rowtui doctor\n  rowtui doctor --json\n  rowtui doctor --connect\n"
        "  rowtui doctor --node-types alpha",
    )
    doctor.add_argument(
        "--connect", action="store_true", help="also log in to the clusters reached over SSH"
    )
    doctor.add_argument(
        "--node-types",
        nargs="?",
        const="",
        metavar="CLUSTER",
        help="instead, ask a cluster for its node types, ready for clusters.toml",
    )
    doctor.add_argument("--write", action="store_true", help="add them to clusters.toml")
    doctor.add_argument("--yes", action="store_true", help="do not ask before that")
    json_option(doctor)

    _add_check(commands, add, about)

    from rowtui.cli.parser import add_demo

    add_demo(commands, add, about["demo"])

    completion = add(
        commands,
        "completion",
        "complete:print_script",
        about["completion"],
        '  eval "$(rowtui completion bash)"\n  rowtui completion fish | source',
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


_CHECK_EXAMPLES = """\
  rowtui check                               the project's files, and your own
  rowtui check workflow.toml mirror.toml     these files only; or the projects in these folders
  rowtui check --format github               annotations of GitHub Actions
  rowtui check --format sarif > rowtui.sarif"""

_SCHEMA_EXAMPLES = """\
  rowtui schema                              the names of all schemas
  rowtui schema workflow > workflow.schema.json

Editors complete and check a TOML file (taplo, Even Better TOML) whose first line is
  #:schema ./workflow.schema.json
and a YAML file (yaml-language-server) whose first line is
  # yaml-language-server: $schema=./mapping.schema.json"""


def _add_check(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add check and schema."""
    check = add(commands, "check", "check.check", about["check"], _CHECK_EXAMPLES, mixed=True)
    check.add_argument("paths", nargs="*", metavar="PATH", help="files, or folders of projects")
    check.add_argument(
        "--format",
        choices=("text", "json", "sarif", "github"),
        default="text",
        metavar="FORM",
        help="text, json, sarif or github [default: text]",
    )
    json_option(check)
    schema = add(commands, "schema", "check.files:print_schema", about["schema"], _SCHEMA_EXAMPLES)
    schema.add_argument(
        "schema", nargs="?", metavar="NAME", help="a name that `rowtui schema` lists"
    )


_EXAMPLES = """\
  rowtui mirror                        all copies, and how they differ from this project
  rowtui mirror alpha --compare dir1   only what this directory and the project need
  rowtui mirror alpha --fetch dir1     everything that is newer there, not the products alone
  rowtui mirror alpha --send
  rowtui mirror alpha --keep here run.sh
  rowtui mirror alpha --remove"""


def add_mirror(commands: Any, add: Any, about: Mapping[str, str]) -> None:
    """Add the command, with its description."""
    mirror = add(commands, "mirror", "project.mirror", about["mirror"], _EXAMPLES)
    mirror.add_argument("of", nargs="?", metavar="CLUSTER", help="its copy [default: all]")
    verbs = mirror.add_mutually_exclusive_group()
    verbs.add_argument(
        "--compare", nargs="*", metavar="DIRECTORY", help="look at these only [default: all]"
    )
    verbs.add_argument(
        "--send", nargs="*", metavar="DIRECTORY", help="copy newer local files to the cluster"
    )
    verbs.add_argument(
        "--fetch", nargs="*", metavar="DIRECTORY", help="copy newer files of the cluster here"
    )
    verbs.add_argument(
        "--keep",
        nargs="+",
        metavar=("here|there", "PATH"),
        help="decide conflicts: this side's file replaces the other's",
    )
    verbs.add_argument("--remove", action="store_true", help="delete the copy, after asking")
    mirror.add_argument("--yes", action="store_true", help="do not ask before copying much")
    mirror.add_argument("--json", action="store_true", help="print JSON for programs")
