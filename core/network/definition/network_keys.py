"""Declare the keys of network.toml, from which its loaders check it and its JSON Schema is made."""

from __future__ import annotations

import re
from typing import Final

from rowtui.core.base.text import visible
from rowtui.core.workflow.toml_keys import TableKeys, TomlField

# characters; a directory's name has to hold a name and values in 255 bytes
LONGEST_NAME: Final = 100

NAME: Final = TomlField("string", "", "", words={"minLength": 1, "maxLength": LONGEST_NAME})
_NOT_EMPTY: Final = {"minLength": 1}

_SCALAR: Final = {"type": ["string", "number", "boolean"]}
_NUMBER: Final = {"type": "number"}
_ENDS: Final = {
    "minItems": 3,
    "maxItems": 3,
    "prefixItems": [_NUMBER, _NUMBER, {"type": "integer", "minimum": 1}],
}
SPACED_KEYS: Final = TableKeys(
    {
        "range": TomlField(
            "any",
            "stop, [start, stop] or [start, stop, step]; without `stop` itself.",
            either=(
                TomlField("any", words=_NUMBER),
                TomlField("array", words={"minItems": 2, "maxItems": 3, "items": _NUMBER}),
            ),
        ),
        "linspace": TomlField(
            "any",
            "[start, stop, number]: both ends, and values at equal distances between.",
            either=(TomlField("array", words=_ENDS),),
        ),
        "logspace": TomlField(
            "any",
            "[start, stop, number]: the same with a constant ratio.",
            either=(TomlField("array", words=_ENDS),),
        ),
    },
    words={"minProperties": 1, "maxProperties": 1},
)
_DIMENSION: Final = TomlField(
    "any",
    "The values of this dimension.",
    either=(TomlField("array", words={"items": _SCALAR}), TomlField("table", keys=SPACED_KEYS)),
)
_NAMES: Final = {"items": {"type": "string", "minLength": 1}}
CHOSEN_KEYS: Final = TableKeys(
    {"include": TomlField("strings", "Patterns of names.", words=_NAMES)}
)
SOURCE_KINDS: Final = {
    "values": TomlField(
        "table",
        "For each dimension its values; all combinations are samples.",
        keys=TableKeys({}, _DIMENSION),
    ),
    "csv": TomlField("string", "A CSV file with a header.", words={"minLength": 1}),
    "json": TomlField("string", "A JSON file with a list of objects.", words={"minLength": 1}),
    "files": TomlField("string", "A pattern of files; `**` stands for any folders."),
    "workspace": TomlField(
        "any",
        "Directories that exist: true for all of them.",
        either=(
            TomlField("any", words={"const": True}),
            TomlField("table", keys=CHOSEN_KEYS),
        ),
    ),
}
EXTRAS: Final = {
    "zip": ("values",),
    "dimensions": ("csv", "json", "workspace"),
    "dimension": ("files",),
}
SOURCE_KEYS: Final = TableKeys(
    {
        "name": NAME._replace(about="The name of the source."),
        **SOURCE_KINDS,
        "zip": TomlField(
            "array",
            "Sets of dimensions that go together; all others are crossed.",
            words={"items": {"type": "array", "minItems": 2, "items": {"type": "string"}}},
        ),
        "dimensions": TomlField(
            "strings",
            "The columns or keys that are dimensions.",
            words={**_NAMES, "uniqueItems": True},
        ),
        "dimension": TomlField("string", "The name of the dimension that holds the paths."),
    },
    words={
        "oneOf": [{"required": [kind]} for kind in SOURCE_KINDS],
        "dependentSchemas": {
            key: {"anyOf": [{"required": [kind]} for kind in kinds]}
            for key, kinds in EXTRAS.items()
        },
    },
)

SELECT_FORM: Final = re.compile(r"(-?[0-9]{1,9})|(-?[0-9]{1,9})?:(-?[0-9]{1,9})?")
LINK_KEYS: Final = {
    "output": TomlField("string", "A product of its action; a whole directory if not set."),
    "select": TomlField(
        "any",
        'The values of a list to take: "0", "-1", "0:2".',
        either=(
            TomlField("string", words={"pattern": f"^({SELECT_FORM.pattern})$"}),
            TomlField("integer", most=999_999_999, words={"minimum": -999_999_999}),
        ),
    ),
    "collapse": TomlField(
        "strings",
        "The dimensions whose samples become one.",
        hint=lambda _, name: (
            f'write collapse = ["{visible(name)}"]' if isinstance(name, str) else ""
        ),
        words={"uniqueItems": True},
    ),
    "expand": TomlField(
        "string", "The dimension that the entries of a list become.", words=_NOT_EMPTY
    ),
    "require": TomlField(
        "any",
        'How many of the collapsed samples must exist: a number, a share such as 0.8, or "all".',
        either=(
            TomlField("any", words={"const": "all"}),
            TomlField("integer", least=1),
            TomlField("number", most=1, words={"exclusiveMinimum": 0}),
        ),
    ),
}
_LISTS: Final = {
    "dependentRequired": {"select": ["output", "expand"], "expand": ["output"]},
}
INPUT_KEYS: Final = TableKeys(
    {
        "from": TomlField("string", "A source or node.", "", words=_NOT_EMPTY),
        **LINK_KEYS,
        "group": TomlField("string", "Inputs of one group are joined before groups are combined."),
    },
    words=_LISTS,
)
_FORMS: Final = (TomlField("string", words=_NOT_EMPTY), TomlField("table", keys=INPUT_KEYS))
NODE_KEYS: Final = TableKeys(
    {
        "name": NAME._replace(about="The name of the node."),
        "action": TomlField(
            "string", "An action of workflow.toml; the name if not set.", words=_NOT_EMPTY
        ),
        "from": TomlField(
            "any",
            "A source or node, or several.",
            either=(
                _FORMS[0],
                TomlField(
                    "strings",
                    words={"minItems": 1, "items": _NOT_EMPTY, "uniqueItems": True},
                ),
            ),
        ),
        **LINK_KEYS,
        "inputs": TomlField(
            "table",
            "For each input a name, a table, or a list of them.",
            keys=TableKeys(
                {},
                TomlField(
                    "any",
                    "The links of this input.",
                    either=(*_FORMS, TomlField("array", either=_FORMS, words={"minItems": 1})),
                ),
                words={"minProperties": 1},
            ),
        ),
        "combine": TomlField(
            "string", "How groups of inputs are combined: join, cross, zip, or a plug-in."
        ),
        "constants": TomlField("table", "Further keys of its directories' value files."),
        "directories": TomlField(
            "string",
            "Whether it has directories of its own, or uses its input's where it can.",
            choices=("auto", "own"),
        ),
    },
    words=_LISTS,
)

SINK_KEYS: Final = {
    "name": NAME._replace(about="The name of the sink."),
    "from": TomlField("string", "The name of a node.", "", words=_NOT_EMPTY),
    "output": TomlField("string", "A product of its action.", "", words=_NOT_EMPTY),
    "publish": TomlField(
        "string",
        "The path of the copy, with {sample}, {node}, {network}, {file}, {ext} and {DIMENSION}.",
        "",
        words=_NOT_EMPTY,
    ),
}
PILOT_HINT: Final = 'write [schedule.pilot] with cpus = 16 and walltime = "08:00:00", for example'
PILOT_KEYS: Final = {
    "cpus": TomlField("integer", "CPUs of one pilot.", PILOT_HINT, least=1),
    "walltime": TomlField("string", "Its time limit, a minute or more.", PILOT_HINT),
    "memory": TomlField("string", 'Its memory for all requests, such as "64G".'),
    "gpus": TomlField("integer", "Its GPUs."),
    "idle": TomlField("string", "The pilot ends after this time without a request."),
    "number": TomlField("integer", "The most pilots for each destination.", least=1),
}
SCHEDULE_KEYS: Final = {
    "priority": TomlField(
        "string",
        "The jobs that come first: sample, sink, sink:NAME, source:+1, source:-1, critical-path, "
        "row, or the name of a plug-in.",
    ),
    "execution": TomlField("string", "How jobs run: jobs, sequential, pilot, or a plug-in's name."),
    "gather": TomlField(
        "table",
        "With `sequential`: the jobs that run one after another in one scheduler job.",
        keys=TableKeys(
            {
                "size": TomlField("integer", "The most jobs; 0 for no limit."),
                "walltime": TomlField("string", 'Their total time limit, such as "08:00:00".'),
            }
        ),
    ),
    "pilot": TomlField(
        "table",
        "The size of a pilot, a job that runs others.",
        keys=TableKeys(PILOT_KEYS),
    ),
    "ahead": TomlField("boolean", "Whether whole chains are queued before their inputs exist."),
}
NETWORK_KEYS: Final = TableKeys(
    {
        "name": NAME._replace(about="The name of the network.", required=None),
        "source": TomlField("tables", "Where samples come from.", keys=SOURCE_KEYS),
        "node": TomlField("tables", "An action on samples.", keys=NODE_KEYS),
        "sink": TomlField(
            "tables", "Results to copy out of the workspace.", keys=TableKeys(SINK_KEYS)
        ),
        "schedule": TomlField(
            "table", "The order of jobs, and how they run.", keys=TableKeys(SCHEDULE_KEYS)
        ),
    }
)
