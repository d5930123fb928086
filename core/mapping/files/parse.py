"""Parse one mapping file into entities, and collect all problems of the file.

The input is the bytes of a file; the output is a `MappingFile`. Nothing is inherited or evaluated,
and no content of a file raises an error: every mistake is a `Problem` with its line and column, and
the valid entities are returned.
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.base.errors import InvalidFileError, Problem
from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import visible
from rowtui.core.mapping.files.shapes import READ, variables
from rowtui.core.mapping.files.subject import Reader, Subject, kind_of_node, quoted
from rowtui.core.mapping.model.configuration import MappingFile
from rowtui.core.mapping.model.dialect import DIALECTS
from rowtui.core.mapping.model.entities import KINDS, Entity, Rule
from rowtui.core.mapping.model.fields import (
    FIELDS,
    FIELDS_OF,
    GLOBALS,
    SECTIONS,
    SINGULAR,
    TOP_LEVEL,
    EntityField,
)
from rowtui.core.mapping.model.origin import FilePosition, Origin, Said
from rowtui.core.mapping.yaml.nodes import Items, Node, Scalar, YamlTable
from rowtui.core.mapping.yaml.text import read_yaml
from rowtui.core.workflow.toml_file import did_you_mean


class _Known(NamedTuple):
    """A property of one kind of entity, and its reader."""

    field: EntityField
    read: Reader


_KNOWN = {
    holder: {name: _Known(field, READ[field.shape]) for name, field in fields.items()}
    for holder, fields in FIELDS_OF.items()
}
_HOLDERS = {
    field.name: tuple(
        holder for other in FIELDS if other.name == field.name for holder in other.holders
    )
    for field in FIELDS
}
# Words that other versions and users write for these sections.
_OTHER_WORDS = {"groups": "groups of users are `roles`", "actions": "actions are `tools`"}
_OTHER_KEYS = {"match": "the condition of a rule is `if`"}

# TPV's comment, as the first line inside an entity or behind its key.
_SILENCE = pattern(r"#\s*noqa\b:?\s*([A-Z0-9, ]+)?")
_LINE_BREAK = pattern(r"\r\n|[\r\n\x85\u2028\u2029]")


def parse_mapping(data: bytes, name: str, *, digest: str = "", sealed: bool = False) -> MappingFile:
    """Return the entities of one file as written, and all problems of the file.

    `name`: the name of the file in places and problems; `digest`: of `data`; `sealed`: the file is
    not trusted, which is stored in every origin. Never raises for the contents of the file.
    """
    parsing = _Parsing(data, name, sealed)
    try:
        root = read_yaml(data, name)
    except InvalidFileError as error:
        first = next(problem for problem in error.problems if problem.severity == "error")
        broken = {("", ""): first}
        return MappingFile(name, digest, sealed, problems=error.problems, broken=broken)
    if root is not None and not (isinstance(root, Scalar) and root.value is None):
        parsing.file(root)
    return parsing.found()._replace(digest=digest)


class _Parsing:
    """The state of parsing a file."""

    def __init__(self, data: bytes, name: str, sealed: bool) -> None:
        self.name = name
        self.sealed = sealed
        self.problems: list[Problem] = []
        self.broken: dict[tuple[str, str], Problem] = {}
        self.silenced: dict[int, frozenset[str]] = {}
        self.entities: dict[str, dict[str, Entity]] = {}
        self.globals = MappingFile(name)
        self._lines: list[str] = []
        if b"noqa" in data:
            self._lines = _LINE_BREAK.split(data.decode("utf-8", "replace").removeprefix("\ufeff"))

    def found(self) -> MappingFile:
        """Return the parsed file."""
        return self.globals._replace(
            sealed=self.sealed,
            entities=self.entities,
            problems=tuple(self.problems),
            silenced=self.silenced,
            broken=self.broken,
        )

    def file(self, root: Node) -> None:
        """Parse the top level."""
        top = self._section_subject("the file")
        if not isinstance(root, YamlTable):
            hint = "it begins with `tools:`, `destinations:` or another section"
            message = f"a mapping file is a map of sections, but this is {kind_of_node(root)}"
            top.wrong(root.place, message, hint)
        else:
            for name, (key, node) in root.entries.items():
                if name == "global":
                    self._global(key, node)
                elif name in KINDS:
                    self._section(name, key, node)
                elif not name.startswith(("x-", ".")):
                    top.unexpected(key, "the file", TOP_LEVEL, _OTHER_WORDS.get(name, ""))
        self._settle(("", ""), top)

    def _section_subject(self, words: str, kind: str = "") -> Subject:
        return Subject(Entity("", Origin(kind, "")), words, self.problems)

    def _settle(self, key: tuple[str, str], subject: Subject) -> None:
        if subject.error is not None:
            self.broken.setdefault(key, subject.error)

    def _global(self, key: Scalar, node: Node) -> None:
        subject = self._section_subject("`global`", "global")
        if isinstance(node, Scalar) and node.value is None:
            return
        table = subject.table(key, node)
        for name, (inner, value) in table.entries.items() if table else ():
            if name not in GLOBALS:
                subject.unexpected(inner, "`global`", GLOBALS)
            elif not isinstance(value, Scalar) or value.value is not None:
                self._global_value(subject, name, inner, value)
        self._settle(("global", ""), subject)

    def _global_value(self, subject: Subject, name: str, key: Scalar, node: Node) -> None:
        text = node.value if isinstance(node, Scalar) and isinstance(node.value, str) else None
        if name == "context":
            table = subject.table(key, node, "a map of variables")
            found = variables(subject, table) if table else {}
            context = {
                variable: Said(value, Origin("global", "", place, sealed=self.sealed))
                for variable, (value, place) in found.items()
            }
            self.globals = self.globals._replace(context=context)
        elif name == "include":
            self._include(subject, node)
        elif name == "resource_pool_store":
            if subject.table(key, node) is not None:
                self.globals = self.globals._replace(has_pool_store=True)
        elif text is None:
            subject.mismatch(key, node, "text")
        elif name == "default_inherits":
            if text:
                self.globals = self.globals._replace(
                    default_inherits=text, default_inherits_place=node.place
                )
        elif text in DIALECTS:
            self.globals = self.globals._replace(dialect=text, dialect_place=node.place)
        else:
            choices = " or ".join(f"`{dialect}`" for dialect in DIALECTS)
            message = f"there is no dialect {quoted(text)}"
            subject.wrong(node.place, message, did_you_mean(text, DIALECTS) or f"write {choices}")

    def _include(self, subject: Subject, node: Node) -> None:
        """Parse the files named by `include`; problems have the text of `sources`, to merge."""
        found = []
        for item in node.items if isinstance(node, Items) else [node]:
            if isinstance(item, Scalar) and isinstance(item.value, str) and item.value:
                found.append((item.value, item.place))
            else:
                message = "`include` names something that is not a file, a folder or an https URL"
                hint = "include: [tools.yml, site/, https://example.org/mapping.yml]"
                subject.wrong(item.place, message, hint)
        self.globals = self.globals._replace(include=tuple(found))

    def _section(self, kind: str, key: Scalar, node: Node) -> None:
        """Parse all entities of one kind."""
        subject = self._section_subject(f"the section {quoted(kind)}")
        entities = self.entities.setdefault(kind, {})
        if isinstance(node, YamlTable):
            for name, (entity_key, body) in node.entries.items():
                entities[name] = self._entity(kind, entity_key, body)
        elif not isinstance(node, Scalar) or node.value is not None:
            found = kind_of_node(node)
            message = f"{subject.words} must be a map from ids to properties, but is {found}"
            subject.wrong(key.place, message, f"write the id of a {SINGULAR[kind]}, a colon, ...")
        self._settle((kind, ""), subject)

    def _entity(self, kind: str, key: Scalar, body: Node) -> Entity:
        word = SINGULAR[kind]
        entity = KINDS[kind](key.text, Origin(word, key.text, key.place, "", self.sealed))
        silenced = self._silence(key) if self._lines else None
        subject = Subject(entity, f"{word} {quoted(key.text)}", self.problems, silenced)
        if not isinstance(body, YamlTable):
            is_empty = isinstance(body, Scalar) and body.value is None
            found = "has no properties" if is_empty else f"must be a map, not {kind_of_node(body)}"
            hint = f"write {visible(key.text)}: {{}} for an entity without properties"
            if not is_empty:
                hint = f"write `{visible(key.text)}:` and indented below it lines like `cores: 4`"
            subject.wrong(key.place, f"{subject.words} {found}", hint)
        else:
            self._properties(subject, kind, body)
            rules = body.entries.get("rules")
            if rules is not None and kind in SECTIONS:
                entity.rules = self._rules(subject, *rules)
        self._settle((kind, key.text), subject)
        return entity

    def _properties(self, subject: Subject, holder: str, body: YamlTable) -> None:
        known = _KNOWN[holder]
        for name, (key, node) in body.entries.items():
            found = known.get(name)
            if found is None:
                subject.unexpected(key, subject.words, known, _elsewhere(name, holder))
            elif type(node) is not Scalar or node.value is not None:  # null sets no value
                found.read(subject, found.field, key, node)

    def _rules(self, owner: Subject, key: Scalar, node: Node) -> dict[str, Rule]:
        """Return the rules of an entity by id, from a list or a map."""
        named: list[tuple[Scalar | None, FilePosition, Node]]
        if isinstance(node, YamlTable):
            named = [(inner, inner.place, body) for inner, body in node.entries.values()]
        elif isinstance(node, Items):
            named = [(_label_of(item), item.place, item) for item in node.items]
        else:
            if node.value is not None:
                owner.mismatch(key, node, "a list of rules", "begin each of them with `- if: ...`")
            return {}
        rules: dict[str, Rule] = {}
        for position, (label, place, body) in enumerate(named, 1):
            rule = self._rule(owner, position, label, place, body)
            if rule is None:
                continue
            if rule.id in rules:
                first = rules[rule.id].place.line
                message = f"{owner.words} has two rules {quoted(rule.id)}; the first is ignored"
                hint = f"the first is at line {first}; give one of them another id"
                owner.doubt(rule.place, message, hint)
            rules[rule.id] = rule  # at the position of the first, as in TPV
        return rules

    def _rule(
        self, owner: Subject, position: int, label: Scalar | None, place: FilePosition, body: Node
    ) -> Rule | None:
        """Return one rule; a rule without an id gets an id that is unique among all files."""
        entity = owner.entity
        short = f"#{position}" if label is None else label.text
        words = f"rule {quoted(short)} of {owner.words}"
        if not isinstance(body, YamlTable):
            message = f"{words} must be a map, not {kind_of_node(body)}"
            owner.wrong(place, message, "write `if` and the changes")
            return None
        full = short
        if label is None:
            full = f"#{position} of {entity.kind} {entity.id} in {self.name}"
        rule = Rule(full, entity.origin._replace(place=place, rule=short))
        subject = Subject(rule, words, self.problems, owner.silenced)
        self._properties(subject, "rules", body)
        condition = body.entries.get("if")
        if condition is None or (type(condition[1]) is Scalar and condition[1].value is None):
            hint = "write `if: true` for a rule that always applies"
            subject.wrong(place, f"{words} has no `if`", hint)
        if owner.error is None:
            owner.error = subject.error
        return rule

    def _silence(self, key: Scalar) -> frozenset[str] | None:
        """Return the codes in a `# noqa` comment behind the key or above the first property."""
        line = key.place.line
        head = self._lines[line - 1]
        behind = head.find(" #", key.place.column - 1 + len(key.text))
        _, colon, rest = (head if behind < 0 else head[:behind]).rpartition(":")
        if not colon or any(word[0] not in "&!" for word in rest.split()):
            return None  # the body is on this line, or it is an alias
        comments = [head[behind + 1 :]] if behind >= 0 else []
        for number in range(line, len(self._lines)):
            text = self._lines[number].strip()
            if text and not text.startswith("#"):
                break
            comments.append(text)
        for comment in comments:
            found = _SILENCE.match(comment)
            if found:
                codes = (code.strip() for code in (found[1] or "").split(","))
                self.silenced[line] = frozenset(code for code in codes if code)
                return self.silenced[line]
        return None


def _label_of(item: Node) -> Scalar | None:
    """Return the `id` of a rule in a list."""
    if not isinstance(item, YamlTable) or "id" not in item.entries:
        return None
    label = item.entries["id"][1]
    return label if isinstance(label, Scalar) and label.text and label.value is not None else None


def _elsewhere(name: str, holder: str) -> str:
    """Return the hint for a key that is known, but only in other places."""
    if holder == "rules" and name in _OTHER_KEYS:
        return _OTHER_KEYS[name]
    holders = _HOLDERS.get(name)
    if not holders or holder in holders:
        return ""
    return f"only {' and '.join(holders)} have {quoted(name)}"
