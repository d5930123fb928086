from __future__ import annotations

import textwrap
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rowtui.core.base.errors import InvalidFileError
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.configuration import MappingFile
from rowtui.core.mapping.model.entities import Entity
from rowtui.core.mapping.yaml.format import format_mapping
from rowtui.core.mapping.yaml.nodes import Items, YamlTable
from rowtui.core.mapping.yaml.text import read_yaml

ORDER = [
    *("<<", "id", "inherits", "abstract", "if", "context", "gpus", "cores", "mem", "min_mem"),
    *("max_cores", "env", "params", "scheduling", "runner", "rank", "fail", "colour", "rules"),
]
REST = {"runner", "rank", "fail", "colour"}


def formatted(text: str) -> str:
    """Formatted; formatting that again must change nothing, and it must mean the same."""
    text = textwrap.dedent(text) if text.startswith(" ") else text
    found = format_mapping(text, "m.yml")
    assert format_mapping(found, "m.yml") == found
    assert meaning(found) == meaning(text)
    return found


def meaning(text: str) -> Any:
    """All that parsing makes of a text, but for places."""
    file = parse_mapping(text.encode(), "m.yml")
    entities = {
        kind: [(name, said_by(entity), silence(file, entity)) for name, entity in found.items()]
        for kind, found in file.entities.items()
    }
    context = [(name, said.value) for name, said in file.context.items()]
    messages = sorted((problem.severity, problem.message) for problem in file.problems)
    return file.dialect, file.default_inherits, context, entities, messages, set(file.broken)


def said_by(entity: Entity) -> Any:
    own = dict(entity.__dict__)
    del own["origin"]
    own["said"] = {field: [said.value for said in all_] for field, all_ in own["said"].items()}
    own["rules"] = [(name, said_by(rule)) for name, rule in entity.rules.items()]
    own["params"] = repr(entity.params)
    own["context"] = repr(entity.context)
    own["tags"] = repr(own.pop("tpv_tags"))
    return own


def silence(file: MappingFile, entity: Entity) -> frozenset[str] | None:
    return file.silenced.get(entity.place.line)


def test_sections_and_properties_come_in_the_usual_order() -> None:
    assert formatted("""\
        destinations:
            d:
                max_accepted_cores: 4
                runner: slurm
                abstract: true
        tools:
            t:
                rules: []
                scheduling: {prefer: [a]}
                params: {}
                env: {B: 1, A: 2}
                mem: 4
                max_mem: 5
                cores: 2
                colour: red
                inherits: x
        global:
            dialect: seed
    """) == textwrap.dedent("""\
        global:
          dialect: seed

        tools:
          t:
            inherits: x
            cores: 2
            mem: 4
            max_mem: 5
            env: {B: 1, A: 2}
            params: {}
            scheduling: {prefer: [a]}
            colour: red
            rules: []

        destinations:
          d:
            abstract: true
            max_accepted_cores: 4
            runner: slurm
    """)


def test_entities_rules_variables_and_tags_stay_in_their_order() -> None:
    text = """\
        tools:
          b:
            env:
              Z: 1
              A: 2
            params:
              z: 1
              a: 2
            scheduling:
              require:
                - z
                - a
              reject:
                - b
            rules:
              - id: z
                if: x
              - id: a
                if: y

          a:
            cores: 1
    """
    assert formatted(text) == textwrap.dedent(text)


def test_tags_come_in_the_order_of_their_strength() -> None:
    assert formatted("""\
        tools:
          t:
            scheduling:
              reject: [a]
              accept: [b]
              prefer: [c]
              require: [d]
    """).split()[3:] == [
        *("require:", "[d]", "prefer:", "[c]", "accept:", "[b]", "reject:", "[a]"),
    ]


def test_comments_stay_with_what_they_stand_at() -> None:
    assert formatted("""\
        # The mapping of our site.

        # where jobs go
        destinations:
            d:   # the only one
                # what it is called
                runner: slurm   # in clusters.toml
                # it is wide
                cores: 8
                # d ends here
            # after d
        # what jobs need
        tools:
            # the aligner
            t:
                cores: 2
        # the end
    """) == textwrap.dedent("""\
        # The mapping of our site.

        # what jobs need
        tools:
          # the aligner
          t:
            cores: 2

        # where jobs go
        destinations:
          d:   # the only one
            # it is wide
            cores: 8
            # what it is called
            runner: slurm   # in clusters.toml
            # d ends here
          # after d

        # the end
    """)


def test_lists_are_indented_below_their_key() -> None:
    assert formatted("""\
        tools:
         t:
          rules:
          -   if: x
              id: a
          -
              if: y
          - # a comment
            if: z
          scheduling:
            require:
            -    a
            - b
    """) == textwrap.dedent("""\
        tools:
          t:
            scheduling:
              require:
                - a
                - b
            rules:
              - id: a
                if: x
              -
                if: y
              - # a comment
                if: z
    """)


def test_texts_of_several_lines_are_moved_as_they_are() -> None:
    text = (
        "tools:\n"
        "    t:\n"
        "        rank: |\n"
        "            if x:  \n"
        "                # not a comment\n"
        "              \n"
        "                y\n"
        "\n"
        "            z\n"
        '        execute: "a \\\n'
        '            b  c"\n'
        "        fail: a\n"
        "            b\n"
        "        cores: >-\n"
        "          4 *\n"
        "          2\n"
        "        mem: |2\n"
        "             5\n"
    )
    assert formatted(text) == (
        "tools:\n"
        "  t:\n"
        "    cores: >-\n"
        "      4 *\n"
        "      2\n"
        "    mem: |2\n"
        "         5\n"
        "    rank: |\n"
        "      if x:  \n"
        "          # not a comment\n"
        "        \n"
        "          y\n"
        "\n"
        "      z\n"
        '    execute: "a \\\n'
        '      b  c"\n'
        "    fail: a\n"
        "      b\n"
    )


def test_a_comment_behind_a_text_does_not_become_part_of_it() -> None:
    assert formatted("tools:\n  t:\n      rank: |\n          x\n       # a remark\n") == (
        "tools:\n  t:\n    rank: |\n      x\n    # a remark\n"
    )


def test_a_silencing_comment_stays_first_and_none_becomes_first() -> None:
    assert formatted("""\
        tools:
          t:
            # noqa: T104
            # how much
            mem: 4
            cores: 2
    """) == textwrap.dedent("""\
        tools:
          t:
            # noqa: T104
            cores: 2
            # how much
            mem: 4
    """)
    text = "tools:\n  t:\n    mem: 4\n    # noqa\n    cores: 2\n"
    assert formatted(text) == text


def test_an_anchor_never_moves_behind_its_alias() -> None:
    text = "destinations:\n  d: &d\n    cores: 1\n\ntools:\n  t: *d\n"
    assert formatted(text) == text
    text = "tools:\n  t:\n    params: &p\n      a: 1\n    context: *p\n    mem: 1\n"
    assert formatted(text) == text
    text = "tools:\n  t: &a\n    mem: 1\n    cores: 1\n\n  u: &a\n    mem: 1\n\n  v: *a\n"
    assert formatted(text) == text


def test_what_is_for_anchors_comes_first() -> None:
    assert formatted("""\
        global: {}
        x-base: &b {cores: 1}
        tools:
          t:
            cores: 2
            <<: *b
    """) == textwrap.dedent("""\
        x-base: &b {cores: 1}

        global: {}

        tools:
          t:
            <<: *b
            cores: 2
    """)


@pytest.mark.parametrize(
    "text",
    [
        "tools:\n  ? t\n  : cores: 1\n    abstract: true\n",
        "tools: {t: {mem: 1,   # why\n  cores: 2}}\n",
        "tools:\n  t:\n    rank: |+\n      x\n\n\n",
        "tools:\n  t:\n    mem: 1\n    rank: |+\n      x\n\n    cores: 1\n",
        "tools:\n  t:\n    mem: 1\n    cores: |\n      2",  # no newline: not part of the text
        "tools: {}\r",
        "",
        "# only a comment\n",
        "- a\n",
    ],
)
def test_what_is_not_certain_stays_as_it_is(text: str) -> None:
    assert formatted(text) == text


def test_ends_of_lines_and_blank_lines_are_made_uniform() -> None:
    text = (
        "\ufeff\n\n---\ntools:   \r\n\r\n\r\n  t:\r\n    cores: 1  \r\n  u: {}  # x  \r\n\r\n\r\n"
    )
    assert formatted(text) == "---\ntools:\n  t:\n    cores: 1\n\n  u: {}  # x\n"


def test_the_line_for_the_editor_stays_on_top() -> None:
    line = "# yaml-language-server: $schema=mapping.json\n"
    assert formatted(f"{line}users: {{}}\ntools: {{}}\n") == f"{line}tools: {{}}\n\nusers: {{}}\n"


def test_a_file_that_is_not_yaml_is_an_error() -> None:
    with pytest.raises(InvalidFileError):
        format_mapping("tools: [", "m.yml")


class Written:
    """A mapping file that somebody writes in a style of their own."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.lines: list[str] = []

    def remark(self, indent: int) -> None:
        """Perhaps a comment, perhaps blank lines."""
        for _ in range(self.draw(st.sampled_from([0, 0, 0, 0, 1, 2]))):
            shift = self.draw(st.sampled_from([0, 0, 0, -2, 3]))
            comment = " " * max(indent + shift, 0) + f"# remark {len(self.lines)}"
            self.lines.append(self.draw(st.sampled_from([comment, comment, "", "   "])))

    def key(self, indent: int, key: str, value: str = "") -> None:
        behind = self.draw(st.sampled_from(["", "", "", "  # behind", "   "]))
        if value.endswith(("|", ">", "|-")):
            behind = behind.rstrip()
        self.lines.append(" " * indent + f"{key}: {value}".rstrip() + behind)

    def value(self, indent: int, key: str, below: int) -> None:
        """A key with a value of any kind."""
        match self.draw(
            st.sampled_from(["plain", "flow", "text", "quoted", "map", "list", "long"])
        ):
            case "plain":
                self.key(indent, key, self.draw(st.sampled_from(["1", "a * 2", "'x: #'", '"q"'])))
            case "flow":
                self.lines += [" " * indent + f"{key}: {{a: 1,", " " * below + "b: [x]}"]
            case "text":
                self.key(indent, key, self.draw(st.sampled_from(["|", ">", "|-"])))
                pad = " " * below
                self.lines += [f"{pad}one", "", f"{pad}   # two  ", f"{pad}three"]
            case "quoted":
                self.lines += [" " * indent + f'{key}: "one  ', "", " " * below + ' two"']
            case "long":
                self.lines += [" " * indent + f"{key}: one", " " * below + "two"]
            case "map":
                self.key(indent, key)
                self.remark(below)
                for name in ("z", "a"):
                    self.key(below, name, "1")
            case _:
                self.key(indent, key)
                dash = self.draw(st.sampled_from([indent, below]))
                for item in ("z", "a: 1", "- y"):
                    self.remark(dash)
                    self.lines.append(
                        " " * dash + self.draw(st.sampled_from(["- ", "-   "])) + item
                    )

    def properties(self, indent: int, names: list[str], dash: str = "") -> None:
        step = self.draw(st.integers(1, 4))
        start = len(self.lines)
        for n, name in enumerate(names):
            if n or not dash:
                self.remark(indent)
            if name == "rules":
                self.rules(indent, step)
            elif name in {"params", "context", "mem", "rank", "colour"}:
                self.value(indent, name, indent + step)
            elif name == "scheduling":
                self.key(indent, name)
                for strength in self.draw(st.permutations(["require", "reject"])):
                    self.key(indent + step, strength, f"[{strength[2]}]")
            else:
                self.key(indent, name, "{Z: 1, A: 2}" if name == "env" else "yes")
        if dash:
            self.lines[start] = dash + self.lines[start].lstrip()

    def rules(self, indent: int, step: int) -> None:
        self.key(indent, "rules")
        column = self.draw(st.sampled_from([indent, indent + step]))
        for n in range(self.draw(st.integers(1, 3))):
            self.remark(column)
            names = [
                "if",
                *self.draw(st.lists(st.sampled_from(["cores", "mem", "fail"]), unique=True)),
            ]
            names = list(self.draw(st.permutations([*names, "id"] if n else names)))
            dash = " " * column + self.draw(st.sampled_from(["- ", "-  "]))
            self.properties(len(dash), names, dash)

    def file(self) -> str:
        sections = self.draw(st.permutations(["tools", "users", "destinations"]))
        for section in sections[: self.draw(st.integers(1, 3))]:
            self.remark(0)
            self.key(0, section)
            step = self.draw(st.integers(1, 4))
            for name in self.draw(st.permutations(["a", "b.*", '"c d"']))[
                : self.draw(st.integers(1, 3))
            ]:
                self.remark(step)
                self.key(step, name)
                known = [n for n in ORDER if n not in ("<<", "id", "if", "fail", "runner")]
                names = self.draw(
                    st.lists(st.sampled_from(known), min_size=1, max_size=5, unique=True)
                )
                self.properties(step + self.draw(st.integers(1, 4)), names)
        self.remark(0)
        return "\n".join(self.lines) + self.draw(st.sampled_from(["\n", "\n\n"]))


@st.composite
def written_files(draw: st.DrawFn) -> str:
    return Written(draw).file()


def orders(text: str) -> list[list[int]]:
    """Of every entity the places in the usual order of its properties, as they are written."""
    root = read_yaml(text.encode(), "m.yml")
    assert isinstance(root, YamlTable)
    found = []
    for _, section in root.entries.values():
        assert isinstance(section, YamlTable)
        for _, entity in section.entries.values():
            assert isinstance(entity, YamlTable)
            names = [name if name not in REST else "rank" for name in entity.entries]
            found.append([ORDER.index(name) for name in names])
    return found


@given(written_files())
def test_a_formatted_file_means_the_same_in_the_usual_form(text: str) -> None:
    # given a file in any style, when it is formatted (twice)
    found = formatted(text)
    # then no remark is lost, properties are in order and sections are two columns deep
    assert sorted(found.split()) == sorted(text.split())
    assert all(order == sorted(order) for order in orders(found))
    assert all(
        not line or not line[0].isspace() or line.startswith("  ") for line in found.split("\n")
    )
    assert "\n\n\n" not in found
    assert found.endswith("\n")
    assert not found.endswith("\n\n")


# Texts that hardly are YAML

PARTS = [
    *("tools:", "a", "b:", "- ", "-", "? ", ": ", "|", ">", "|-", "|2", "&x ", "*x", "<<:", "'"),
    *('"', "{", "}", "[", "]", ",", "#c", " #d", "\n", "\n  ", "\n    ", "\n      ", "  ", "\t"),
    *("!!str ", "!t ", "---", "...", "%YAML 1.2", "cores: 2", "rules:", "if: x", "mem: |", "\r\n"),
    *("\r", "\u2028", "\x85", "\ufeff", "\n\n\n", "# noqa", "require: [a]", "~", "\\"),
]
MOTHERS = [
    "tools:\n  default:\n      |\n    cores 2\n    x: y\n",
    "tools:\n  t:\n    rules:\n      - if: |\n          a\n          b\n        mem: 2\n    # c\n",
]


@st.composite
def nearly_yaml(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(["", *MOTHERS]))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text)))
        stop = draw(st.integers(start, min(len(text), start + 3)))
        text = text[:start] + draw(st.sampled_from(PARTS)) + text[stop:]
    return text


def data_of(text: str) -> Any:
    """What a text says as plain data, without the order of keys."""
    todo = read_yaml(text.encode(), "m.yml")
    return None if todo is None else plain(todo)


def plain(node: Any) -> Any:
    if isinstance(node, YamlTable):
        return {name: plain(value) for name, (_, value) in node.entries.items()}
    if isinstance(node, Items):
        return [plain(item) for item in node.items]
    return type(node.value), node.text


@given(nearly_yaml())
@example(MOTHERS[0])
@example("tools:\n  t:\n    mem: !!str\n      |\n     x\n")
@example("- \n  |\n a\n")
@example("\ufeff\ufeff#c")
@example("\n\ufeff\n        aax-y:")
@example("\n    \ufeff- %YAML 1.2~scheduling:")
def test_whatever_is_yaml_is_formatted_or_stays_and_the_rest_is_refused(text: str) -> None:
    try:
        before = data_of(text)
    except InvalidFileError:
        with pytest.raises(InvalidFileError):
            format_mapping(text, "m.yml")
        return
    found = format_mapping(text, "m.yml")

    assert data_of(found) == before
    assert format_mapping(found, "m.yml") == found
