"""Declare the keys of network.toml, from which its loaders check it and its JSON Schema is made."""

from __future__ import annotations

from typing import Final

from rowtui.core.base.text import visible
from rowtui.core.workflow.toml_keys import Key, TableKeys

# characters; a directory's name has to hold a name and values in 255 bytes
LONGEST_NAME: Final = 100

NAME: Final = Key("string", "", "", words={"minLength": 1, "maxLength": LONGEST_NAME})
_NOT_EMPTY: Final = {"minLength": 1}
_SCALAR: Final = {"type": ["string", "number", "boolean"]}
_NUMBER: Final = {"type": "number"}
_BOUNDS: Final = (
    Key("any", words=_NUMBER),
    Key("array", words={"minItems": 2, "maxItems": 3, "items": _NUMBER}),
)
_ENDS: Final = {
    "type": "array",
    "minItems": 3,
    "maxItems": 3,
    "prefixItems": [_NUMBER, _NUMBER, {"type": "integer", "minimum": 1}],
}
SPACED_KEYS: Final = TableKeys(
    {
        "range": Key("any", "stop, [start, stop] or [start, stop, step].", either=_BOUNDS),
        "linspace": Key("any", "[start, stop, number], at equal distances.", words=_ENDS),
        "logspace": Key("any", "[start, stop, number], with equal ratios.", words=_ENDS),
    },
    words={"minProperties": 1, "maxProperties": 1},
)
_VALUES: Final = (Key("array", words={"items": _SCALAR}), Key("table", keys=SPACED_KEYS))
_SAMPLE: Final = TableKeys({}, Key("any", "A value.", words=_SCALAR), words={"minProperties": 1})
_DIMENSIONS: Final = TableKeys({}, Key("any", "Its values.", either=_VALUES))
_NAMES: Final = {"items": {"type": "string", "minLength": 1}}
CHOSEN_KEYS: Final = TableKeys({"include": Key("strings", "Patterns of names.", words=_NAMES)})
SOURCE_KINDS: Final = {
    "values": Key("table", "Dimensions, all combinations of which are samples.", keys=_DIMENSIONS),
    "csv": Key("string", "A CSV file with a header.", words=_NOT_EMPTY),
    "json": Key("string", "A JSON file with a list of objects.", words=_NOT_EMPTY),
    "files": Key("string", "A pattern of files; `**` stands for any folders."),
    "workspace": Key(
        "any",
        "Directories that exist: true for all of them.",
        either=(Key("any", words={"const": True}), Key("table", keys=CHOSEN_KEYS)),
    ),
}
EXTRAS: Final = {
    "zip": ("values",),
    "dimensions": ("csv", "json", "workspace"),
    "dimension": ("files",),
}
_NO_DATA: Final = {"not": {"anyOf": [{"required": [kind]} for kind in SOURCE_KINDS]}}
_DIFFERENT: Final = {**_NAMES, "uniqueItems": True}
SOURCE_KEYS: Final = TableKeys(
    {
        "name": NAME._replace(about="The name of the source."),
        **SOURCE_KINDS,
        "zip": Key(
            "array",
            "Sets of dimensions that go together; all others are crossed.",
            words={"items": {"type": "array", "minItems": 2, "items": {"type": "string"}}},
        ),
        "dimensions": Key("strings", "Columns or keys that are dimensions.", words=_DIFFERENT),
        "dimension": Key("string", "The name of the dimension that holds the paths."),
        "optional": Key("boolean", "Whether jobs run without it where it has no samples."),
        "default": Key("table", "The sample where it has no other.", keys=_SAMPLE),
    },
    words={
        "oneOf": [{"required": [kind]} for kind in SOURCE_KINDS] + [_NO_DATA],
        "dependentSchemas": {
            key: {"anyOf": [{"required": [kind]} for kind in kinds]}
            for key, kinds in EXTRAS.items()
        },
    },
)

SELECT_FORM: Final = r"(-?[0-9]{1,9})|(-?[0-9]{1,9})?:(-?[0-9]{1,9})?"
_INDICES: Final = (
    Key("string", form=SELECT_FORM),
    Key("integer", most=999_999_999, words={"minimum": -999_999_999}),
)
_LEAST: Final = (
    Key("any", words={"const": "all"}),
    Key("integer", least=1),
    Key("number", most=1, words={"exclusiveMinimum": 0}),
)
LINK_KEYS: Final = {
    "output": Key("string", "A product of its action; a whole directory if not set."),
    "select": Key("any", 'The values of a list to take: "0", "-1", "0:2".', either=_INDICES),
    "collapse": Key(
        "strings",
        "The dimensions whose samples become one.",
        hint=lambda _, name: (
            f'write collapse = ["{visible(name)}"]' if isinstance(name, str) else ""
        ),
        words={"uniqueItems": True},
    ),
    "expand": Key("string", "The dimension that the entries of a list become.", words=_NOT_EMPTY),
    "require": Key("any", 'How many samples must exist: 4, 0.8 of them, or "all".', either=_LEAST),
}
_LISTS: Final = {"dependentRequired": {"select": ["output", "expand"], "expand": ["output"]}}
INPUT_KEYS: Final = TableKeys(
    {
        "from": Key("string", "A source or node.", "", words=_NOT_EMPTY),
        **LINK_KEYS,
        "group": Key("string", "Inputs of one group are joined before groups are combined."),
    },
    words=_LISTS,
)
_SEVERAL: Final = {"minItems": 1, "items": _NOT_EMPTY, "uniqueItems": True}
_FORMS: Final = (Key("string", words=_NOT_EMPTY), Key("table", keys=INPUT_KEYS))
_HOMES: Final = ("auto", "own")
_INPUT: Final = (*_FORMS, Key("array", either=_FORMS, words={"minItems": 1}))
_INPUTS: Final = TableKeys({}, Key("any", "Its links.", either=_INPUT), words={"minProperties": 1})
NODE_KEYS: Final = TableKeys(
    {
        "name": NAME._replace(about="The name of the node."),
        "action": Key("string", "An action; the name if not set.", words=_NOT_EMPTY),
        "network": Key("string", "A file whose network is this node.", words=_NOT_EMPTY),
        "from": Key("any", "A source or node, or several.", either=(Key("texts", words=_SEVERAL),)),
        **LINK_KEYS,
        "inputs": Key("table", "Inputs: each a name, a table, or a list of them.", keys=_INPUTS),
        "combine": Key("string", "How groups are combined: join, cross, zip, or a plug-in."),
        "constants": Key("table", "Further keys of its directories' value files."),
        "scratch": Key("boolean", "Whether products that only its list needs stay on the node."),
        "directories": Key("string", "Its own, or its input's if possible.", choices=_HOMES),
    },
    words=_LISTS,
)

SINK_KEYS: Final = {
    "name": NAME._replace(about="The name of the sink."),
    "from": Key("string", "The name of a node.", "", words=_NOT_EMPTY),
    "output": Key("string", "A product of its action.", "", words=_NOT_EMPTY),
    "publish": Key("string", "The path, as results/{sample}{ext}.", words=_NOT_EMPTY),
}
PILOT_HINT: Final = 'write [schedule.pilot] with cpus = 16 and walltime = "08:00:00", for example'
PILOT_KEYS: Final = {
    "cpus": Key("integer", "CPUs of one pilot.", PILOT_HINT, least=1),
    "walltime": Key("string", "Its time limit, a minute or more.", PILOT_HINT),
    "memory": Key("string", 'Its memory for all requests, such as "64G".'),
    "gpus": Key("integer", "Its GPUs."),
    "idle": Key("string", "The pilot ends after this time without a request."),
    "number": Key("integer", "The most pilots for each destination.", least=1),
}
_GATHER: Final = {
    "size": Key("integer", "The most jobs; 0 for no limit."),
    "walltime": Key("string", 'Their total time limit, such as "08:00:00".'),
}
SCHEDULE_KEYS: Final = {
    "priority": Key("string", "Which jobs are first: sample, sink, critical-path, row, ..."),
    "execution": Key("string", "How jobs run: jobs, sequential, pool, pilot, or a plug-in."),
    "gather": Key("table", "Jobs in one job, one after another.", keys=TableKeys(_GATHER)),
    "pilot": Key("table", "The size of a job that runs others.", keys=TableKeys(PILOT_KEYS)),
    "ahead": Key("boolean", "Whether whole chains are queued before their inputs exist."),
}
NETWORK_KEYS: Final = TableKeys(
    {
        "name": NAME._replace(about="The name of the network.", required=None),
        "source": Key("tables", "Where samples come from.", keys=SOURCE_KEYS),
        "node": Key("tables", "An action on samples.", keys=NODE_KEYS),
        "sink": Key("tables", "Results to copy out of the workspace.", keys=TableKeys(SINK_KEYS)),
        "schedule": Key("table", "When and how jobs run.", keys=TableKeys(SCHEDULE_KEYS)),
    }
)
