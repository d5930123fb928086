"""The results of checks of mapping files: one finding, and the table of all codes.

T codes are those of `tpv lint`; M codes are those of rowtui, by subject: M0 reading, M1 dialects
and pitfalls of TPV 3, M2 ids, M3 rules, M4 destinations and tags, M5 expressions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.mapping.model.entities import Entity
from rowtui.core.mapping.model.origin import FilePosition, Origin

if TYPE_CHECKING:
    from rowtui.core.base.document import Flat

Severity = Literal["error", "warning", "note"]

CODES: Mapping[str, str] = {
    "M001": "the file cannot be read as it was meant; such jobs fail or keys are ignored",
    "T101": "the entity that all others inherit from is not abstract",
    "T102": "a tool sets cores, but no memory",
    "T104": "a key that nothing reads",
    "M101": "words of TPV 3 in a file that is read in dialect seed",
    "M102": "cores, mem or gpus of a destination are forced on every job (tpv3)",
    "M103": "a rule with `execute` loses its other properties (tpv3)",
    "M104": "an upper bound of 0 is ignored (tpv3)",
    "M105": "code that looks at its own names sees leftovers of another run (tpv3)",
    "M106": "a CONSTANT or _protected variable is overridden, which nothing prevents (tpv3)",
    "M107": "weighted sampling draws with replacement (tpv3)",
    "M108": "`fail` in a rule of a destination ends the search (tpv3)",
    "M109": "a destination's name or handler tags are not inherited (tpv3)",
    "M110": "tag_values_match counts rejected tags (tpv3)",
    "M111": "a bound of a user or role raises that of a tool (tpv3)",
    "M201": "an id looks like a file name pattern or plain text, but is a regular expression",
    "M202": "an abstract entity also matches another id, whose jobs then fail",
    "M203": "an id also matches another, longer one",
    "M204": "two ids match the same, written differently",
    "M205": "a later entity replaces all values of an earlier one",
    "M206": "every role matches the default entity, so that a user's first role hides all others",
    "M207": "an entity called default, although default_inherits is not set",
    "M208": "default_inherits names no entity",
    "M301": "a rule that never applies",
    "M302": "rules after one that always fails",
    "M303": "every job fails",
    "M304": "a rule that overrides another without changing anything",
    "M305": "a property that has no effect at its place",
    "M401": "a destination without a runner",
    "M402": "a destination that requires a tag which no job can have",
    "M403": "a tag that looks like a misspelt one",
    "M404": "no destination offers a required tag",
    "M405": "no destination can take a tool",
    "M406": "a destination that takes nothing: its least is more than its most",
    "M407": "the runner of a destination is no known cluster",
    "M408": "a destination's partition does not exist on its cluster",
    "M409": "a destination accepts more than its partition",
    "M410": "an abstract entity that nothing inherits from",
    "M411": "a tag that only one side ever mentions",
    "M501": "a name that nothing provides",
    "M502": "an amount is read before it is worked out",
    "M503": "a context variable hides a name that expressions have",
    "M504": "a context variable that nothing reads",
    "M505": "code that may wait: it runs under a time limit",
    "M506": "an attribute that an object lacks here",
    "M507": "an attribute that is always empty here",
    "M508": "code imports a module that is not installed",
}
"""Every code with its meaning, for `--help` and the documentation."""


class LintFinding(NamedTuple):
    """One result of a check. `hint` is the correction, "" if the message contains it."""

    code: str
    place: Flat[FilePosition]
    message: str
    hint: str = ""
    severity: Severity = "warning"

    def __str__(self) -> str:
        """Return `file:line: severity CODE: message`, with the hint on a line of its own."""
        text = f"{self.place}: {self.severity} {self.code}: {self.message}"
        return f"{text}\n    {self.hint}" if self.hint else text


def title(entity: Entity) -> str:
    """Return `tool bwa`, for messages."""
    return whose(entity.origin)


def whose(origin: Origin) -> str:
    """Return `rule r of tool bwa`, for messages."""
    name = f"{origin.kind} {shortened(origin.id)}"
    return f"rule {shortened(origin.rule)} of {name}" if origin.rule else name


def shortened(name: str) -> str:
    """Return a name from a file, made visible, and not longer than a line."""
    return f"`{visible(name if len(name) <= 70 else name[:34] + '...' + name[-33:])}`"
