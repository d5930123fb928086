"""`rowtui mapping show`: the mapping files in effect, and their content about an action.

Nothing is evaluated, so that trusted and untrusted files are shown alike.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from rowtui.cli.mapping.files import usual_files
from rowtui.cli.output.output import Output, TextColumn, table_lines
from rowtui.core.base.text import plural, visible
from rowtui.core.mapping.engine.lookup import EntityLookup
from rowtui.core.mapping.files.load import load_mapping
from rowtui.core.mapping.files.places import MappingSource
from rowtui.core.mapping.files.show import EffectiveEntity, Value, configuration_text, effective
from rowtui.core.mapping.model.configuration import Configuration, MappingFile
from rowtui.core.mapping.model.request import Person


def run(args: argparse.Namespace, out: Output) -> int:
    """Print the files, an action, or all as YAML; 1 if jobs of the action cannot be mapped."""
    if args.action is not None and args.yaml:
        out.error("--yaml prints all files as one\nleave out the action, or --yaml")
        return 2
    found = usual_files()
    readable = [source._replace(trusted=True) for source in found.sources]
    configuration = load_mapping(readable, found.problems)
    if args.yaml:
        _warn(found.sources, configuration, out)
        text = configuration_text(configuration)
        if args.json:
            out.json({"yaml": text})
        else:
            out.text(text)
        return 0
    if args.action is None:
        if args.json:
            out.json(_files_data(found.sources, configuration))
        else:
            _print_files(found.sources, configuration, out)
        return 0
    return _show_action(args, found.sources, configuration, out)


def _show_action(
    args: argparse.Namespace,
    sources: Sequence[MappingSource],
    configuration: Configuration,
    out: Output,
) -> int:
    entity = effective(EntityLookup(configuration), args.action, _person(args))
    if args.json:
        out.json(entity)
    else:
        _warn(sources, configuration, out)
        out.lines(_entity_lines(entity, out))
    return 1 if entity.stop else 0


def _person(args: argparse.Namespace) -> Person:
    from rowtui.core.project.context.credentials import person_named, this_person

    return this_person() if args.user is None else person_named(args.user)


def _warn(sources: Sequence[MappingSource], configuration: Configuration, out: Output) -> None:
    """Warn of differences between the printed answer and the mapping of real jobs."""
    for source in sources:
        if not source.trusted:
            out.warn(f"{source.name} is not trusted: until it is, jobs that need it wait")
    errors = sum(problem.severity == "error" for problem in configuration.problems)
    if errors:
        out.warn(f"{plural(errors, 'error')} in mapping files; see 'rowtui mapping lint'")


# Files


def _print_files(
    sources: Sequence[MappingSource], configuration: Configuration, out: Output
) -> None:
    if not sources:
        out.print("There are no mapping files: jobs go where the cluster's limits allow.")
    else:
        columns = [
            TextColumn("#", right=True),
            TextColumn("File", style="bold"),
            TextColumn("Dialect"),
            TextColumn("Entities", right=True),
            TextColumn("Problems", right=True),
            TextColumn("Code runs"),
        ]
        rows = [
            [
                str(number),
                source.name,
                file.dialect or "-",
                str(_entities(file)),
                str(_problems(file, configuration)),
                f"yes: {source.trusted_because}" if source.trusted else "no: not trusted",
            ]
            for number, (source, file) in enumerate(
                zip(sources, configuration.files, strict=True), 1
            )
        ]
        out.lines(table_lines(columns, rows, out))
        out.print()
        out.print(f"Later files override earlier ones. Dialect: {configuration.dialect.name}.")
    for source in sources:
        if source.notice:
            out.warn(source.notice)
    if configuration.unusable:
        out.error(f"no job can be mapped: {configuration.unusable}")
    out.problems(configuration.problems)


def _entities(file: MappingFile) -> int:
    return sum(map(len, file.entities.values()))


def _problems(file: MappingFile, configuration: Configuration) -> int:
    return sum(problem.file == file.name for problem in configuration.problems)


def _files_data(sources: Sequence[MappingSource], configuration: Configuration) -> dict[str, Any]:
    return {
        "dialect": configuration.dialect.name,
        "default_inherits": configuration.default_inherits,
        "unusable": configuration.unusable,
        "files": [
            {
                "name": source.name,
                "place": source.place,
                "sha256": source.digest,
                "trusted": source.trusted,
                "because": source.trusted_because,
                "notice": source.notice,
                "dialect": file.dialect,
                "entities": {kind: list(each) for kind, each in file.entities.items()},
                "problems": _problems(file, configuration),
            }
            for source, file in zip(sources, configuration.files, strict=True)
        ],
        "problems": configuration.problems,
    }


# An action


def _entity_lines(entity: EffectiveEntity, out: Output) -> Iterator[str]:
    user = entity.user
    whom = ""
    if user is not None:
        roles = ", ".join(map(visible, user.roles))
        roles = f"{'role' if len(user.roles) == 1 else 'roles'} {roles}" if roles else "no roles"
        whom = f" for {visible(user.name)} ({roles})"
    yield out.style(f"{visible(entity.action)}{whom}", "bold")
    if entity.stop:
        where = f" ({entity.stop_origin})" if entity.stop_origin is not None else ""
        yield out.style(f"  cannot be mapped: {visible(entity.stop)}{where}", "red")
    if not entity.matched:
        yield f"  no entity matches; {entity.hint or 'the mapping files have no entry for it'}"
    for each in entity.matched:
        how = f"matches {visible(each.subject)}" if each.pattern else "inherited by all others"
        yield f"  {each.origin}: {how}"
    if entity.values:
        yield ""
        yield out.style("Values:", "bold")
        for value in entity.values:
            yield from _value_lines(value, "  ")
    for rule in entity.rules:
        yield ""
        title = f"If {_text(rule.condition)}:"
        yield f"{out.style(title, 'bold')}  ({rule.origin})"
        for value in rule.values:
            yield from _value_lines(value, "  ")


def _value_lines(value: Value, indent: str) -> Iterator[str]:
    yield f"{indent}{visible(value.field)} = {_text(value.value)}, set by {value.origin}"
    for written, origin in value.replaced:
        yield f"{indent}    instead of {_text(written)}, set by {origin}"
    if value.note:
        yield f"{indent}    {visible(value.note)}"


def _text(value: Any) -> str:
    """Return a value on one line; a block of code with its lines separated."""
    return visible(" ⏎ ".join(str(value).strip().splitlines())) if value != "" else "''"
