"""`rowtui mapping trust`: show the code of mapping files, and allow it to run if the user agrees.

Trust applies to exactly the shown content, by its hash; a changed file has to be trusted again. The
user sees all code that would run with its place, and all settings for jobs; for a file that was
trusted before, the difference from the trusted content. No code runs for this, and control
characters are made visible.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rowtui.cli.mapping.files import named_files
from rowtui.cli.output.output import Output, TextColumn, table_lines
from rowtui.cli.project.open import ask
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded
from rowtui.core.base.text import plural, visible
from rowtui.core.mapping.code.snippets import pieces
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.files.places import MappingSource, user_places
from rowtui.core.mapping.files.trust import (
    LARGEST_SOURCE,
    TrustRecord,
    TrustStore,
    day,
    difference,
    digest_of,
)
from rowtui.core.mapping.model.configuration import MappingFile
from rowtui.core.mapping.model.entities import Entity
from rowtui.core.mapping.model.fields import env_key
from rowtui.core.mapping.model.origin import Origin

MOST_DIFFERENCE = 1_000_000  # lines: the content that the user agrees to is never cut
_CUT = "more character"  # the mark that `difference` puts on a line it does not show in full


class Expression(NamedTuple):
    """One piece of code, or one setting: its place, its owner, and its text."""

    line: int
    what: str
    text: str


def expressions(file: MappingFile) -> list[Expression]:
    """Return all code of a file, in the order of its lines, each once.

    Text that is code in any of the dialects is included, because another file may select the
    dialect.
    """
    found = {
        Expression(piece.origin.place.line, _whose(piece.field, piece.origin), piece.code.text)
        for entity in _entities(file)
        for as_tpv in (False, True)
        for piece in pieces(entity, text_as_tpv=as_tpv)
        if not piece.code.constant
    }
    return sorted(found)


def settings(file: MappingFile) -> list[Expression]:
    """Return texts that jobs would get as written: variables and code of env, parameters.

    A variable such as LD_PRELOAD decides which code runs as much as an expression does.
    """
    holders: list[Entity] = []
    for entity in _entities(file):
        holders += [entity, *entity.rules.values()]
    found = set()
    for holder in holders:
        for entry in holder.env:
            field = f"env.{env_key(entry)}" if "name" in entry else "env"
            value = entry["value"] if "name" in entry and "value" in entry else dict(entry)
            origin = holder.whence(f"env.{env_key(entry)}")
            found.add(Expression(origin.place.line, _whose(field, origin), _text(value)))
        for name, value in holder.params.items():
            origin = holder.whence(f"params.{name}")
            field = _whose(f"params.{name}", origin)
            found.add(Expression(origin.place.line, field, _text(value)))
    return sorted(found)


def _entities(file: MappingFile) -> Iterator[Entity]:
    for entities in file.entities.values():
        yield from entities.values()


def _whose(field: str, origin: Origin) -> str:
    return f"{visible(field)} of {origin._replace(place=origin.place._replace(file=''))}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def review_lines(source: MappingSource, store: TrustStore) -> Iterator[str]:
    """Yield the lines that the user reads before trusting a file."""
    file = parse_mapping(source.data, source.name, digest=source.digest, sealed=True)
    size = plural(len(source.data), "byte")
    yield f"{source.name} ({size}, sha256 {source.digest})"
    if source.notice:
        yield f"  {visible(source.notice)}"
    for problem in file.problems:
        yield from (f"  {visible(line)}" for line in str(problem).split("\n"))
    before = store.last_trusted(source.place)
    if before is not None:
        changed = difference(before, source.data, source.name, MOST_DIFFERENCE)
        yield "  Changes since you trusted it:"
        yield from (f"  {line}" for line in changed)
        if not any(_CUT in line for line in changed):
            return
    code = expressions(file)
    if code:
        yield f"  {plural(len(code), 'piece')} of code would run as you:"
    else:
        yield "  has no code: nothing of it would run here"
    yield from _listed(code)
    others = [each for each in settings(file) if each not in set(code)]
    if others:
        yield f"  {plural(len(others), 'setting')} would reach your jobs as written:"
        yield from _listed(others)


def _listed(found: list[Expression]) -> Iterator[str]:
    for each in found:
        yield f"  line {each.line}, {each.what}"
        for line in each.text.rstrip("\n").split("\n"):
            yield f"      | {visible(line.expandtabs(4))}"


SHORTEST_DIGEST = 8  # characters that identify a content


def run(args: argparse.Namespace, out: Output) -> int:
    """Show and trust, list, or revoke; 1 if a file remains untrusted."""
    if sum((args.file is not None, args.list, args.revoke is not None)) != 1:
        out.error("no file is named\n'rowtui mapping trust FILE', or --list, or --revoke FILE")
        return 2
    store = TrustStore(user_places(os.environ).trust)
    if args.list:
        return _list(args, store, out)
    if args.revoke is not None:
        return _revoke(args, store, out)
    return _trust(args, store, out)


def _trust(args: argparse.Namespace, store: TrustStore, out: Output) -> int:
    found = named_files([args.file], for_untrusted=True)
    out.problems(found.problems)
    if not found.sources:
        return 1
    new = [source for source in found.sources if not source.trusted]
    if not args.json:
        for source in found.sources:
            if source.trusted:
                out.print(f"{source.name} may run already: {source.trusted_because}.")
    if new and not _agreed(args, new, store, out):
        return 1
    for source in new:
        store.trust(source.place, source.data, time.time())
        if not args.json:
            out.print(f"Trusted {source.name} as it is now.")
    if args.json:
        _print_trusted(found.sources, new, out)
    return 1 if any(problem.severity == "error" for problem in found.problems) else 0


def _agreed(
    args: argparse.Namespace, new: list[MappingSource], store: TrustStore, out: Output
) -> bool:
    """Show the code that would run, and ask."""
    if not args.json:
        lines = [line for source in new for line in (*review_lines(source, store), "")]
        if not (not args.yes and _page(lines)):
            out.lines(lines)
    if args.yes:
        return True
    what = f"this content of {new[0].name}"
    if len(new) > 1:
        what = f"these {plural(len(new), 'file')}"
    question = f"Let the code of {what} run as you?"
    if ask(question, out, default=False, as_json=args.json):
        return True
    out.warn("Nothing was trusted.")
    return False


def _page(lines: list[str]) -> bool:
    """Show a long text through $PAGER, on a terminal; False if that was not done."""
    words = shlex.split(os.environ.get("PAGER", ""))
    if not (words and sys.stdin.isatty() and sys.stdout.isatty() and shutil.which(words[0])):
        return False
    if len(lines) < shutil.get_terminal_size().lines:
        return False
    sys.stdout.flush()
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(words, input=text, encoding="utf-8", errors="replace", check=False)
    return done.returncode == 0


def _print_trusted(
    sources: tuple[MappingSource, ...], new: list[MappingSource], out: Output
) -> None:
    data = [
        {"name": each.name, "place": each.place, "sha256": each.digest, "new": each in new}
        for each in sources
    ]
    out.json({"trusted": data})


def _list(args: argparse.Namespace, store: TrustStore, out: Output) -> int:
    objection = store.objection()
    if objection:
        raise RowtuiError(f"nothing is trusted: {objection}", "inspect the files in that folder")
    records = store.listing()
    if args.json:
        data = [
            {"name": each.name, "sha256": each.digest, "at": each.at, "now": _now(each)}
            for each in records
        ]
        out.json({"trusted": data})
    elif not records:
        out.print("You have trusted no mapping file. Your own configuration needs no trust.")
    else:
        columns = [
            TextColumn("Trusted on"),
            TextColumn("Digest"),
            TextColumn("Now"),
            TextColumn("File"),
        ]
        rows = [[day(each.at), each.digest[:12], _now(each), each.name] for each in records]
        out.lines(table_lines(columns, rows, out))
    return 0


def _now(record: TrustRecord) -> str:
    """Return the state of the file with this name: `same`, `changed`, `gone`, or `?` for a URL."""
    if not record.name.startswith("/"):
        return "?"
    try:
        data = read_bounded(Path(record.name), LARGEST_SOURCE)
    except (OSError, RowtuiError):
        return "?" if "\\" in record.name else "gone"  # the shown name may differ from the real one
    return "same" if digest_of(data) == record.digest else "changed"


def _revoke(args: argparse.Namespace, store: TrustStore, out: Output) -> int:
    records = store.listing()
    word = args.revoke
    wanted = {visible(word), visible(os.path.abspath(word))}
    chosen = {each.digest for each in records if each.name in wanted}
    if not chosen and len(word) >= SHORTEST_DIGEST:
        chosen = {each.digest for each in records if each.digest.startswith(word.lower())}
        if len(chosen) > 1:
            raise RowtuiError(f"several digests begin with {visible(word)}", "give more of it")
    if not chosen:
        hint = "see 'rowtui mapping trust --list'"
        raise RowtuiError(f"'{visible(word)}' is neither a trusted file nor a digest", hint)
    for digest in sorted(chosen):
        store.revoke(digest)
    names = sorted({each.name for each in records if each.digest in chosen})
    if args.json:
        out.json({"revoked": sorted(chosen), "names": names})
    else:
        versions = plural(len(chosen), "content")
        out.print(f"No longer trusted: {versions} of {', '.join(names)}.")
    return 0
