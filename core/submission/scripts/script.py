"""The script of one job: Row's commands, and a report that needs no installed program.

The input is a job request, its destination and the names of its directories; the result is bash
text. The header, the `directories` array and the exports are Row's, in Row's order. The section
"Job scripts" of the documented differences from Row lists the later parts and their reasons.

A script defines, before the fixed part (`shell.py`): `rowtui_token`; `rowtui_job`, the scheduler
and id of the job; `rowtui_run`, the number of earlier starts, or nothing; `rowtui_head`, the
beginning of a staged file (one action, its name), and `rowtui_action`, as formats for printf;
`rowtui_products`, `rowtui_workspace`, `rowtui_directories`; `rowtui_not_utf8`, an array with an
entry at the index of each name that is not UTF-8; `rowtui_requires`, if the job needs products of
other jobs: paths in the workspace; `rowtui_gpus`, how many GPUs the job requested, if any;
`rowtui_outside`, if processes of the command are no children of it. Exit
codes: 1 setup or a `{directories}` command failed, 2 a `{directory}` command failed, 3 the report
failed, 4 a required path is missing, 128 + n stopped by signal n (138: by the time limit).

The format follows the output of Row 1.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import visible
from rowtui.core.base.values import MISSING, compact, resolve
from rowtui.core.clusters.model import Cluster, Partition
from rowtui.core.clusters.schedulers.kind import SchedulerKind, kind_of
from rowtui.core.groups.model import JobRequest
from rowtui.core.submission.scripts.fill import (
    FilledCommand,
    fill_command,
    refuse_arithmetic,
    value_variable,
)
from rowtui.core.submission.scripts.fixed_part import FINISHED, OUTSIDE_TREE, PRELUDE
from rowtui.core.submission.scripts.parts import (
    NameLines,
    QuotingError,
    job_name,
    options_for,
    quote,
    quote_all,
    shared_header,
)
from rowtui.core.workflow.model import Action
from rowtui.core.workflow.template import CommandTemplate, PartKind


class Recipe(NamedTuple):
    """The common data of an action's jobs on one cluster: the command with its templates filled.

    `each`: the command runs once for each directory, else once for all. `workspace_path` is as
    written in workflow.toml. `outside`: processes of the command are no children of it.
    """

    filled: FilledCommand
    each: bool
    workspace_path: str
    outside: bool = False


_OUTSIDE = pattern(rf"(?:^|[\s;&|(`])(?:/\S*/)?(?:{'|'.join(OUTSIDE_TREE)})(?=\s)")


def write_recipe(
    command: CommandTemplate, workspace_path: str, prefix: str = "", *, launched: bool = False
) -> Recipe:
    """Fill a command; `prefix` is that of the launchers. Raises: RowtuiError.

    `launched`: a launcher may start the processes as steps or on other nodes.
    """
    filled = fill_command(command, workspace_path, prefix)
    outside = launched or _OUTSIDE.search(filled.text) is not None
    return Recipe(filled, command.kind is PartKind.DIRECTORY, workspace_path, outside)


class ScriptFrame(NamedTuple):
    """The common parts of scripts of one action with equal amounts and destination.

    The texts stand in this order between a job's own parts: its name, its directories, its token,
    and the values and needs of its directories.
    """

    recipe: Recipe
    kind: SchedulerKind
    header: str
    exports: str
    identity: str
    rest: str


def script_frame(
    recipe: Recipe, request: JobRequest, cluster: Cluster, partition: Partition | None
) -> ScriptFrame:
    """Return the frame of the script for such a job. Raises: RowtuiError."""
    filled, kind = recipe.filled, kind_of(cluster)
    header = shared_header(request, cluster, partition)
    rest = ["", PRELUDE.strip("\n"), ""]
    if traps := kind.traps(request.walltime_seconds):
        rest.append(traps)
    setup = options_for(request.action, cluster.name).setup
    if setup:
        rest += _setup(setup)
    rest += _for_each(filled) if recipe.each else _for_all(filled)
    rest.append(FINISHED)
    identity = [*_identity(kind), *_products(request.action, recipe.workspace_path)]
    if request.gpus:
        identity.append(f"rowtui_gpus={request.gpus}")
    if recipe.outside:
        identity.append("rowtui_outside=tree")
    return ScriptFrame(
        recipe,
        kind,
        "\n".join([*header, ""]),
        "\n".join(["", *_exports(request, cluster, recipe.workspace_path), ""]),
        "\n".join(identity),
        "\n".join(rest) + "\n",
    )


def framed_script(
    frame: ScriptFrame, request: JobRequest, names: Sequence[str], values: Sequence[Any], token: str
) -> str:
    """Return the script of one job in its frame.

    `names` are in the order of processing, in `os.fsdecode` form; `values` are their JSON values in
    the same order (they may be empty when the command has no pointers). Raises: RowtuiError for a
    name or value that cannot be given to the command.
    """
    filled = frame.recipe.filled
    texts = [_texts(pointer, names, values) for pointer in filled.values]
    _refuse_arithmetic(filled, names, texts)
    parts = ["#!/bin/bash"]
    if frame.kind.names_job:
        parts.append(frame.kind.name_line(job_name(request.action, names)))
    parts += [
        frame.header,
        _array("directories", names),
        frame.exports,
        f"rowtui_token={quote(token)}",
        frame.identity,
        f"rowtui_not_utf8=({' '.join(f'[{at}]=1' for at in _not_utf8(names))})",
    ]
    if request.requires:
        parts.append(_array("rowtui_requires", request.requires))
    for at, (pointer, column) in enumerate(zip(filled.values, texts, strict=True)):
        parts.append(_array(_values(at), column, f" # {{{visible(pointer)}}}"))
    parts.append(frame.rest)
    return "\n".join(parts)


def _array(name: str, texts: Sequence[str], note: str = "") -> str:
    if isinstance(texts, NameLines) and len(texts):
        return f"{name}=({note}\n{texts.text}\n)"
    return "\n".join([f"{name}=({note}", *quote_all(texts), ")"])


def _exports(request: JobRequest, cluster: Cluster, workspace_path: str) -> list[str]:
    resources = request.action.resources
    minutes = request.walltime_seconds // 60
    lines = [
        f"export ACTION_WORKSPACE_PATH={quote(workspace_path)}",
        f"export ACTION_CLUSTER={quote(cluster.name)}",
        f"export ACTION_NAME={quote(request.action.name)}",
        f"export ACTION_PROCESSES={request.processes}",
        f"export ACTION_WALLTIME_IN_MINUTES={minutes}",
    ]
    if resources.processes.per_directory:
        lines.append(f"export ACTION_PROCESSES_PER_DIRECTORY={resources.processes.value}")
    if resources.threads_per_process is not None:
        lines.append(f"export ACTION_THREADS_PER_PROCESS={resources.threads_per_process}")
    if resources.gpus_per_process is not None:
        lines.append(f"export ACTION_GPUS_PER_PROCESS={resources.gpus_per_process}")
    return lines


def _identity(kind: SchedulerKind) -> list[str]:
    return [
        f"rowtui_job={quote(kind.name)}:{kind.job_id.replace('BY_HAND', '$$.$RANDOM')}",
        f"rowtui_run={kind.restarts}",
    ]


def _products(action: Action, workspace_path: str) -> list[str]:
    name = action.name.encode()
    products = action.products if all(map(_can_exist, action.products)) else ()
    folder = "" if workspace_path.startswith("/") else "$PWD/"
    return [
        f"rowtui_head='\\x01{_escaped(_leb128(len(name)) + name)}'",
        f"rowtui_action='{_escaped(name)}'",
        f"rowtui_products=({' '.join(map(quote, products))})",
        f"rowtui_workspace={folder}{quote(workspace_path)}",
        'rowtui_directories=("${directories[@]}")',
    ]


def _values(index: int) -> str:
    return value_variable(index).replace("value", "values")


def _can_exist(product: str) -> bool:
    # The rule of workspace/completion.py: such a product never exists, so the action is never
    # complete.
    return bool(product) and not product.endswith(("/", "/.")) and "\0" not in product


def _leb128(number: int) -> bytes:
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    data.append(number)
    return bytes(data)


def _escaped(data: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in data)


def _not_utf8(names: Sequence[str]) -> list[int]:
    if isinstance(names, NameLines) or "".join(names).isascii():
        return []
    return [at for at, name in enumerate(names) if not name.isascii() and not _is_utf8(name)]


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _texts(pointer: str, names: Sequence[str], values: Sequence[Any]) -> list[str]:
    texts = []
    for name, value in zip(names, values, strict=True):
        found = resolve(value, pointer)
        if found is MISSING:
            raise RowtuiError(
                f"the value of directory {visible(name)} has no {visible(pointer)}, "
                "which the command needs"
            )
        text = found if isinstance(found, str) else compact(found)
        try:
            quote(text)
        except QuotingError as error:
            raise RowtuiError(f"directory {visible(name)}: {error.message}") from error
        texts.append(text)
    return texts


def _refuse_arithmetic(
    filled: FilledCommand, names: Sequence[str], texts: Sequence[Sequence[str]]
) -> None:
    for part in filled.arithmetic:
        column = names if part.kind is not PartKind.VALUE else texts[filled.values.index(part.text)]
        for name, text in zip(names, column, strict=True):
            complaint = refuse_arithmetic(part, text)
            if complaint:
                raise RowtuiError(f"directory {visible(name)}: {complaint}")


def _setup(setup: str) -> list[str]:
    return [
        "{ :",
        setup,
        "} </dev/null",
        'test $? -eq 0 || { echo >&2 "rowtui: the setup failed."; exit 1; }',
        "rowtui_traps",
        "",
    ]


# Each command has its own process group (set -m), so that the whole group can be stopped, and runs
# in the background, so that signals are handled while it runs.
def _run(filled: FilledCommand, indent: str) -> list[str]:
    return [
        f"{indent}rowtui_listen || :",
        f"{indent}set -m",
        f"{indent}(",
        filled.text,
        f"{indent}) </dev/null {{rowtui_reader}}<&- &",
    ]


def _for_each(filled: FilledCommand) -> list[str]:
    assignments = [
        f"    {value_variable(at)}=${{{_values(at)}[rowtui_index]}}"
        for at in range(len(filled.values))
    ]
    return [
        'for rowtui_index in "${!directories[@]}"',
        "do",
        "    directory=${directories[rowtui_index]}",
        *assignments,
        *_run(filled, "    "),
        "    set +m",
        "    rowtui_wait || {",
        "        printf >&2 'rowtui: the command failed in directory %q (exit code %s).\\n' \\",
        '            "$directory" "$rowtui_code"',
        "        exit 2",
        "    }",
        "done",
        "rowtui_index=''",
    ]


def _for_all(filled: FilledCommand) -> list[str]:
    return [
        *_run(filled, ""),
        "set +m",
        "rowtui_wait || {",
        '    echo >&2 "rowtui: the command failed (exit code $rowtui_code)."',
        "    exit 1",
        "}",
    ]
