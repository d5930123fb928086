"""Find places where the dialect gives a file another meaning than its author may expect.

In dialect seed, these are words that come from TPV 3. In dialect tpv3, these are the pitfalls of
TPV (`tpv3`).
"""

from __future__ import annotations

from collections.abc import Iterator

from rowtui.core.mapping.lint.findings import LintFinding
from rowtui.core.mapping.lint.tpv3 import WORD_OF_FIELD, tpv3_findings
from rowtui.core.mapping.model.configuration import Configuration, MappingFile
from rowtui.core.mapping.model.dialect import WORDS_OF_TPV3
from rowtui.core.mapping.model.origin import FilePosition

_SHOWN_WORDS = 4
_TELLING = WORDS_OF_TPV3 - {"abstract"}  # `abstract` has the same meaning in both dialects


def dialect_findings(configuration: Configuration) -> Iterator[LintFinding]:
    """Yield all findings M1xx."""
    if configuration.dialect.name == "seed":
        for file in configuration.files:
            yield from _words_of_tpv3(file)
    else:
        yield from tpv3_findings(configuration)


def _words_of_tpv3(file: MappingFile) -> Iterator[LintFinding]:
    """Yield one note for a file that uses words of TPV 3."""
    found: dict[str, FilePosition] = {}
    for kind, entities in file.entities.items():
        for entity in entities.values():
            if kind == "pools":
                found.setdefault("pools", entity.place)
            for holder in (entity, *entity.rules.values()):
                for field, said in holder.said.items():
                    word = WORD_OF_FIELD.get(field, field)
                    if word in _TELLING and kind != "pools":
                        found.setdefault(word, said[0].origin.place)
    if not found:
        return
    words = list(found)
    shown = ", ".join(f"`{word}`" for word in words[:_SHOWN_WORDS])
    more = f" and {len(words) - _SHOWN_WORDS} more" if len(words) > _SHOWN_WORDS else ""
    hint = "They work here too, but in seed the lower of two amounts or upper bounds counts"
    if any("accepted" in word for word in words):
        hint += ", and cores, mem, gpus of a destination are its capacity as well"
    hint += (
        ". For the behaviour of TPV 3, write `dialect: tpv3` under `global:`; to keep the "
        "present behaviour, write `dialect: seed` there"
        if file.dialect is None
        else ". For the behaviour of TPV 3, write `dialect: tpv3` under `global:`"
    )
    yield LintFinding(
        "M101",
        min(found.values()),
        f"words of TPV 3 in a file that is read in dialect seed: {shown}{more}",
        hint,
        "note",
    )
