"""`rowtui mapping trust`: show the code of mapping files, and allow it to run if the user agrees.

Trust applies to exactly the shown content, by its hash; a changed file has to be trusted again.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.cli.mapping.files import named_files
from rowtui.cli.project.open import ask
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural, visible

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output
    from rowtui.core.mapping.files.sources import Source
    from rowtui.core.mapping.files.trust import TrustRecord, TrustStore

SHORTEST_DIGEST = 8  # characters that identify a content


def run(args: argparse.Namespace, out: Output) -> int:
    """Show and trust, list, or revoke; 1 if a file remains untrusted."""
    from rowtui.core.mapping.files.sources import user_places
    from rowtui.core.mapping.files.trust import TrustStore

    if sum((args.file is not None, args.list, args.revoke is not None)) != 1:
        out.error("trust what?\n'rowtui mapping trust FILE', or --list, or --revoke FILE")
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


def _agreed(args: argparse.Namespace, new: list[Source], store: TrustStore, out: Output) -> bool:
    """Show the code that would run, and ask."""
    from rowtui.cli.mapping.code import review_lines

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
    import shlex
    import shutil
    import subprocess

    words = shlex.split(os.environ.get("PAGER", ""))
    if not (words and sys.stdin.isatty() and sys.stdout.isatty() and shutil.which(words[0])):
        return False
    if len(lines) < shutil.get_terminal_size().lines:
        return False
    sys.stdout.flush()
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(words, input=text, encoding="utf-8", errors="replace", check=False)
    return done.returncode == 0


def _print_trusted(sources: tuple[Source, ...], new: list[Source], out: Output) -> None:
    data = [
        {"name": each.name, "place": each.place, "sha256": each.digest, "new": each in new}
        for each in sources
    ]
    out.print(json.dumps({"trusted": data}, indent=2))


def _list(args: argparse.Namespace, store: TrustStore, out: Output) -> int:
    from rowtui.cli.output.table import Column, table_lines
    from rowtui.core.mapping.files.trust import day

    objection = store.objection()
    if objection:
        raise RowtuiError(f"nothing is trusted: {objection}", "look at what is in that folder")
    records = store.listing()
    if args.json:
        data = [
            {"name": each.name, "sha256": each.digest, "at": each.at, "now": _now(each)}
            for each in records
        ]
        out.print(json.dumps({"trusted": data}, indent=2))
    elif not records:
        out.print("You have trusted no mapping file. Your own configuration needs no trust.")
    else:
        columns = [Column("Trusted on"), Column("Digest"), Column("Now"), Column("File")]
        rows = [[day(each.at), each.digest[:12], _now(each), each.name] for each in records]
        out.lines(table_lines(columns, rows, out))
    return 0


def _now(record: TrustRecord) -> str:
    """Return the state of the file with this name: `same`, `changed`, `gone`, or `?` for a URL."""
    from rowtui.core.base.files import read_bounded
    from rowtui.core.mapping.files.trust import LARGEST_SOURCE, digest_of

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
        out.print(json.dumps({"revoked": sorted(chosen), "names": names}, indent=2))
    else:
        versions = plural(len(chosen), "content")
        out.print(f"No longer trusted: {versions} of {', '.join(names)}.")
    return 0
