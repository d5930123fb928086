"""Move unneeded directories and products to the trash, after confirmation by the user.

This module deletes no data. What a network made is moved to a folder of its own in the trash, from
which `restore` moves it back. Directories that the user made, or that a job uses, stay in place.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import time
from collections.abc import Collection, Container, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, replace_file, sync_folder
from rowtui.core.base.text import plural, visible
from rowtui.core.network.definition.spec import NODE_KEY
from rowtui.core.runs.directories.directories import beside, read_values, required_value_file
from rowtui.core.runs.model import json_line

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject

VERSION = 1
LIMIT = 1 << 30
MANIFEST = "trash.json"
DIRECTORIES, PRODUCTS = "directories", "products"


class KeptDirectory(NamedTuple):
    """A directory that stays in place, and why."""

    name: str
    why: str


class Moved(NamedTuple):
    """The result of a move. `trash`: the name for `restore`, "" if nothing was moved."""

    trash: str
    moved: list[str]
    refused: list[KeptDirectory]


def retired(project: OpenProject, made: Iterable[str], wanted: Container[str]) -> list[str]:
    """Return existing directories that networks made and that no sample needs any more, sorted.

    `made`: as recorded by runs (`RunStore.made`).
    """
    try:
        there = set(os.listdir(project.workflow.workspace))
    except FileNotFoundError:
        return []
    return sorted(name for name in made if name in there and name not in wanted)


def delete_retired(
    project: OpenProject, names: Iterable[str], made: Collection[str], *, confirmed: bool
) -> Moved:
    """Move directories to the trash if the user confirmed it.

    Only directories that networks made (`made`, as for `retired`, and by their value) and that no
    submitted job uses are moved. Raises: RowtuiError without confirmation, or if nothing can be
    moved.
    """
    wanted = list(dict.fromkeys(names))
    if not confirmed:
        raise RowtuiError(
            f"the move of {plural(len(wanted), 'directory', 'directories')} to the trash "
            "was not confirmed",
            "check the list, then confirm it",
        )
    project.synchronise()
    workspace = project.workflow.workspace
    refused: list[KeptDirectory] = []
    going: list[str] = []
    ours = [name for name in wanted if name in made and _is_directory(workspace / name)]
    values = dict(
        zip(ours, read_values(workspace, ours, required_value_file(project)), strict=True)
    )
    for name in wanted:
        if why := _why_not(project, name, made, values):
            refused.append(KeptDirectory(name, why))
        else:
            going.append(name)
    if not going:
        return Moved("", [], refused)
    return _move(project, going, refused)


def _is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _why_not(
    project: OpenProject,
    name: str,
    made: Collection[str],
    values: dict[str, tuple[bool, object, str]],
) -> str:
    if name not in made:
        return "no network made it"
    if name not in values or "/" in name or name in ("", ".", ".."):
        return "it is not a directory of the workspace"
    _, value, why = values[name]
    if why:
        return why
    if not isinstance(value, dict) or NODE_KEY not in value:
        return f'its value has no "{NODE_KEY}": it was changed by another program'
    position = project.state.directories.position(name)
    if position is not None:
        for action, jobs in project.state.submitted.items():
            if position in jobs:
                return f"a job of {visible(action)} has it"
    return ""


def _move(project: OpenProject, going: list[str], refused: list[KeptDirectory]) -> Moved:
    workspace = project.workflow.workspace
    moved: list[str] = []
    try:
        name, folder = _begun(project, {"names": going})
        there = folder / DIRECTORIES
        for each in going:
            try:
                os.rename(workspace / each, there / each)
                moved.append(each)
            except OSError as error:
                refused.append(KeptDirectory(each, error.strerror or str(error)))
        sync_folder(there)
        sync_folder(workspace)
    except OSError as error:
        raise RowtuiError(
            f"cannot move directories to the trash: {error.strerror or error}",
            "nothing is lost: `restore` brings back the moved directories",
        ) from None
    return Moved(name, moved, refused)


def put_products_away(project: OpenProject, paths: Iterable[str]) -> Moved:
    """Move products (paths relative to the workspace) to the trash, so that they are made again.

    Missing products are skipped. Raises: RowtuiError.
    """
    workspace = project.workflow.workspace
    going = [path for path in paths if _is_inside(path) and os.path.lexists(workspace / path)]
    moved: list[str] = []
    refused: list[KeptDirectory] = []
    if not going:
        return Moved("", moved, refused)
    try:
        name, folder = _begun(project, {"names": [], "products": going})
        _rename_each(going, workspace, folder / PRODUCTS, moved, refused)
    except OSError as error:
        raise RowtuiError(
            f"cannot move products to the trash: {error.strerror or error}",
            "nothing is lost: `restore` brings back the moved directories",
        ) from None
    return Moved(name, moved, refused)


def _rename_each(
    paths: Iterable[str], here: Path, there: Path, moved: list[str], refused: list[KeptDirectory]
) -> None:
    folders = set()
    for path in paths:
        try:
            (there / path).parent.mkdir(parents=True, exist_ok=True)
            os.rename(here / path, there / path)
            moved.append(path)
            folders |= {(here / path).parent, (there / path).parent}
        except OSError as error:
            refused.append(KeptDirectory(path, error.strerror or str(error)))
    for folder in folders:
        sync_folder(folder)


def _is_inside(path: str) -> bool:
    parts = path.split("/")
    return len(parts) > 1 and not any(part in ("", ".", "..") or "\0" in part for part in parts)


def _begun(project: OpenProject, what: dict[str, list[str]]) -> tuple[str, Path]:
    """Create a folder in the trash with a manifest of its future content. Raises: OSError."""
    place = beside(project.root, project.workflow.workspace, "trash")
    name, folder = _new_folder(place)
    (folder / DIRECTORIES).mkdir()
    (folder / PRODUCTS).mkdir()
    # The manifest is written before anything is moved, so that `restore` works after a crash.
    fields = {"version": VERSION, "at": time.time(), **what}
    replace_file(folder / MANIFEST, json_line(fields) + b"\n")
    sync_folder(place)
    return name, folder


def _new_folder(place: Path) -> tuple[str, Path]:
    now = time.strftime("%Y-%m-%dT%H-%M-%S")
    number = 1
    while True:
        name = now if number == 1 else f"{now}-{number}"
        with contextlib.suppress(FileExistsError):
            (place / name).mkdir()
            return name, place / name
        number += 1


def trashes(project: OpenProject) -> list[str]:
    """Return the names that can be restored, oldest first."""
    with contextlib.suppress(OSError, RowtuiError):
        place = beside(project.root, project.workflow.workspace, "trash")
        return sorted(name for name in os.listdir(place) if (place / name / MANIFEST).is_file())
    return []


def restore(project: OpenProject, trash: str) -> Moved:
    """Move directories and products back. Existing files and directories are not replaced.

    Raises: RowtuiError if no trash has this name.
    """
    workspace = project.workflow.workspace
    moved: list[str] = []
    refused: list[KeptDirectory] = []
    if trash not in trashes(project):
        raise RowtuiError(f'nothing called "{visible(trash)}" is in the trash')
    folder = beside(project.root, workspace, "trash") / trash
    there = folder / DIRECTORIES
    names, products = _listed(folder)
    for name in names:
        if not _is_directory(there / name):
            continue  # the directory was never moved, or was moved back
        if os.path.lexists(workspace / name):
            refused.append(KeptDirectory(name, "there is another directory of this name now"))
            continue
        try:
            os.rename(there / name, workspace / name)
            moved.append(name)
        except OSError as error:
            refused.append(KeptDirectory(name, error.strerror or str(error)))
    back = []
    for path in products:
        if os.path.lexists(workspace / path):
            if os.path.lexists(folder / PRODUCTS / path):
                refused.append(KeptDirectory(path, "it was made again meanwhile"))
        elif os.path.lexists(folder / PRODUCTS / path):
            back.append(path)
    _rename_each(back, folder / PRODUCTS, workspace, moved, refused)
    sync_folder(workspace)
    if not refused:
        with contextlib.suppress(OSError):
            shutil.rmtree(folder / PRODUCTS, ignore_errors=True)
            there.rmdir()
            os.unlink(folder / MANIFEST)
            folder.rmdir()
    return Moved(trash, moved, refused)


def _listed(folder: Path) -> tuple[list[str], list[str]]:
    """Return the directories and the products of a folder of the trash, by its manifest."""
    try:
        fields = json.loads(read_bounded(folder / MANIFEST, LIMIT))
        if fields["version"] != VERSION:
            raise RowtuiError(
                "it was put there by another version of rowtui", "use that version to restore it"
            )
        names = [str(name) for name in fields["names"]]
        products = [str(path) for path in fields.get("products", ())]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RowtuiError(f"{visible(str(folder / MANIFEST))} is invalid: {error}") from None
    named = [
        name for name in names if name == os.path.basename(name) and name not in ("", ".", "..")
    ]
    return named, [path for path in products if _is_inside(path)]
