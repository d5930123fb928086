"""Declare the keys of clusters.toml: of Row's file, and of rowtui's own, which may have more.

The loaders check files against these declarations, and the JSON Schemas are made from them.
"""

from __future__ import annotations

import re

from rowtui.core.workflow.toml_keys import TableKeys, TomlField

ROW_SCHEDULERS = ("bash", "slurm")  # the schedulers that Row's own file may name
LARGEST_MB = 1 << 40  # an exabyte
LARGEST_COUNT = 1 << 20  # CPUs or GPUs of one node, nodes of one type, requests in one bundle
LARGEST_PRICE = 1e9  # per hour
LONGEST_BOOT = 7 * 86400  # seconds
LONGEST_WALLTIME = 10 * 365 * 86400  # seconds
LARGEST_FACTOR = 100.0
LONGEST_SOURCE = 300  # characters
MEMORY_FORM = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?) ?([KMGTPkmgtp])(?:[Ii]?[Bb])?")
PACKER_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


def _number(about: str, least: float, most: float) -> TomlField:
    wanted = f"from {least:g} to {most:,.0f}"
    return TomlField("number", about, least=least, most=most, wanted=wanted)


def _count(about: str, least: int = 0, required: str | None = None) -> TomlField:
    wanted = f"at most {LARGEST_COUNT:,}"
    return TomlField("integer", about, required, least, LARGEST_COUNT, wanted)


def _line(about: str, longest: int = 200, required: str | None = None) -> TomlField:
    return TomlField("line", about, required, words={"pattern": r"\S", "maxLength": longest})


def _amount(about: str, least: int = 0, required: str | None = None) -> TomlField:
    number = TomlField("integer", least=least, most=LARGEST_MB)
    text = TomlField("string", words={"pattern": rf"^\s*{MEMORY_FORM.pattern}\s*$"})
    return TomlField("any", about, required, either=(number, text))


def _time(about: str, most: int, least: int = 0) -> TomlField:
    number = TomlField("number", most=most, words={"exclusiveMinimum": least - 1})
    return TomlField("any", about, either=(number, TomlField("string")))


_HOURS = TomlField("number", least=0, wanted="a number of hours")
BUDGET = TomlField(
    "table",
    "The hours that the jobs of one project may ask for.",
    hint="write it as a table: budget = { cpu_hours = 20000 }",
    keys=TableKeys(
        {
            "cpu_hours": _HOURS._replace(about="CPU-hours."),
            "gpu_hours": _HOURS._replace(about="GPU-hours."),
        },
        words={"minProperties": 1},
    ),
)
FACTORS = {
    "core_watts": _number("Watts of one CPU.", 0.0, 1000.0),
    "memory_watts_per_gb": _number("Watts of one GB of memory.", 0.0, 100.0),
    "gpu_watts": _number("Watts of one GPU.", 0.0, 10_000.0),
    "pue": _number("The power of the whole building for each watt of its computers.", 1.0, 10.0),
    "carbon_g_per_kwh": _number("Grams of CO2 for each kWh.", 0.0, 10_000.0),
}
ENERGY = TomlField(
    "table",
    "What the energy of jobs is estimated from. Keys that are left out have the values of the "
    "Green Algorithms calculator for unknown hardware.",
    hint="write it as a table: energy = { core_watts = 12, carbon_g_per_kwh = 475 }",
    keys=TableKeys(
        {
            **FACTORS,
            "source": TomlField(
                "string", "Where the factors are from.", words={"maxLength": LONGEST_SOURCE}
            ),
        }
    ),
)
NODE_TYPE = TableKeys(
    {
        "name": _line("The name of the node type.", required='add name = "big"'),
        "partition": _line("The partition that these nodes are in."),
        "cpus": _count("CPU cores of one node.", 1, "add cpus = 64"),
        "memory": _amount('Memory of one node: "256G", or MB.', 1, 'add memory = "256G"'),
        "gpus": _count("GPUs of one node."),
        "local_disk": _amount('The disk of one node: "1T", or MB.'),
        "price_per_hour": _number("The price of one node for an hour.", 0.0, LARGEST_PRICE),
        "count": _count("How many of these nodes there are.", 1),
        "boot_time": _time("The time until a new node runs jobs.", LONGEST_BOOT),
        "maximum_walltime": _time("The longest job.", LONGEST_WALLTIME, 1),
        "whole_node": TomlField("boolean", "Whether a job has a whole node for itself."),
    },
    subject="the node type",
)
CURRENCY = _line("The currency of prices.", 12)
PACKING_KEYS = {
    "enabled": TomlField("boolean", "Whether jobs share nodes."),
    "packer": TomlField("string", "The packer.", words={"pattern": f"^{PACKER_NAME.pattern}$"}),
    "largest_bundle": _count("The most requests of one job.", 1),
    "longest": _time("The longest time limit of a shared job.", LONGEST_WALLTIME, 1),
    "time_factor": TomlField(
        "number",
        "The time limit of requests is multiplied by this factor.",
        most=LARGEST_FACTOR,
        wanted=f"from more than 0 to {LARGEST_FACTOR:,.0f}",
        words={"exclusiveMinimum": 0},
    ),
}
PACKING = TomlField(
    "table",
    "How jobs share nodes.",
    hint="write it as a table: packing.enabled = true",
    keys=TableKeys(
        {
            **PACKING_KEYS,
            "partition": TomlField(
                "table",
                "Other settings for single partitions.",
                keys=TableKeys(
                    {}, TomlField("table", "For this partition.", keys=TableKeys(PACKING_KEYS))
                ),
            ),
        }
    ),
)

TRANSPORTS = ("asyncssh", "openssh")

_LARGEST_PORT = (1 << 16) - 1
MIRROR_FORM = re.compile(r"(/|~/|\$[A-Za-z_][A-Za-z0-9_]*/)")
_ABSOLUTE = {"pattern": "^/"}
_PREFIX = TableKeys(
    {
        "local": TomlField("line", "The folder on this machine, in full.", "", words=_ABSOLUTE),
        "remote": TomlField(
            "line", "The same folder on the cluster, in full.", "", words=_ABSOLUTE
        ),
    },
    subject="the pair of paths",
)
SSH = TomlField(
    "table",
    "How the cluster is reached over SSH.",
    hint='write it as a table: ssh.host = "..."',
    keys=TableKeys(
        {
            "host": TomlField(
                "string",
                "The login node, or a Host of ~/.ssh/config.",
                'the name of the login node, or a Host of ~/.ssh/config: host = "..."',
            ),
            "user": TomlField("string", "Your name on the cluster."),
            "port": TomlField(
                "integer", "The port of the SSH server.", least=1, most=_LARGEST_PORT
            ),
            "transport": TomlField("string", "The program that connects.", choices=TRANSPORTS),
            "mirror": TomlField(
                "line",
                "The folder on the cluster for copies of projects.",
                words={"pattern": f"^{MIRROR_FORM.pattern}"},
            ),
            "config": TomlField(
                "strings",
                "Files to read in place of ~/.ssh/config.",
                words={"items": {"pattern": "^(/|~/)"}},
            ),
            "paths": TomlField("tables", "Folders that the cluster shares.", keys=_PREFIX),
        },
        subject="`cluster.ssh`",
    ),
)


def _seconds(key: str, meaning: str, longest: int) -> TomlField:
    hint = f"write the {meaning}: {key} = 60"
    wanted = f"between 1 and {longest} seconds"
    about = f"{meaning[0].upper()}{meaning[1:]}."
    return TomlField("number", about, least=1, most=longest, wanted=wanted, hint=hint)


POLL = _seconds("poll", "seconds between two looks at the queue", 86_400)
QUERY_TIMEOUT = _seconds("query_timeout", "seconds that the scheduler may take for one answer", 600)

GRID_ENGINE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+*-]*")


def _grid_engine(about: str) -> TomlField:
    return TomlField("line", about, words={"pattern": f"^{GRID_ENGINE_NAME.pattern}$"})


def _divisor(about: str) -> TomlField:
    return TomlField("integer", about, least=1)


COUNTS = {
    "maximum_cpus_per_job": TomlField("integer", "The most CPUs of one job."),
    "memory_per_cpu_mb": TomlField("integer", "The most memory for each CPU, in MB."),
    "minimum_gpus_per_job": TomlField("integer", "The fewest GPUs of one job."),
    "maximum_gpus_per_job": TomlField("integer", "The most GPUs of one job."),
    "memory_per_gpu_mb": TomlField("integer", "The most memory for each GPU, in MB."),
    "require_cpus_multiple_of": _divisor("The CPUs of a job must be a multiple of this number."),
    "warn_cpus_not_multiple_of": _divisor("A warning follows if the CPUs are no multiple."),
    "cpus_per_node": _divisor("CPUs of one node; needed for jobs on several nodes."),
    "require_gpus_multiple_of": _divisor("The GPUs of a job must be a multiple of this number."),
    "warn_gpus_not_multiple_of": _divisor("A warning follows if the GPUs are no multiple."),
    "gpus_per_node": _divisor("GPUs of one node; needed for jobs on several nodes."),
}
TEXTS = {
    "memory_per_cpu": TomlField(
        "line", 'The memory that a job asks for with each CPU, such as "2G".'
    ),
    "memory_per_gpu": TomlField(
        "line", 'The memory that a job asks for with each GPU, such as "16G".'
    ),
    "account_suffix": TomlField("line", "What is added to the account of jobs in this partition."),
}
ELSEWHERE = "Row has no entry for it: write it in ~/.config/rowtui/clusters.toml"
_PARTITION = {
    "name": TomlField("line", "The name of the partition.", ""),
    **COUNTS,
    **TEXTS,
    "prevent_auto_select": TomlField("boolean", "Whether only jobs that name it go here."),
}
_OWN_PARTITION = {
    **_PARTITION,
    "parallel_environment": _grid_engine("The parallel environment of Grid Engine."),
}
_IDENTIFY = {
    "by_environment": TomlField(
        "strings",
        "A variable of the environment, and its value on this cluster.",
        words={"minItems": 2, "maxItems": 2},
    ),
    "always": TomlField("boolean", "Whether this machine is surely the cluster."),
}
_CLUSTER = {
    "name": TomlField("line", "The name of the cluster.", ""),
    "identify": TomlField(
        "table",
        "How rowtui finds out that this machine belongs to the cluster.",
        "",
        keys=TableKeys(_IDENTIFY, one=True),
    ),
    "scheduler": TomlField(
        "string", "The scheduler of the cluster.", "", words={"enum": [*ROW_SCHEDULERS]}
    ),
    "partition": TomlField(
        "tables",
        "A partition; jobs go to the first one that can take them.",
        "",
        keys=TableKeys(
            _PARTITION, subject="the partition", elsewhere={"parallel_environment": ELSEWHERE}
        ),
    ),
    "slurm_gpus_per_task": TomlField(
        "line", "How Slurm is asked for GPUs, instead of --gpus-per-task."
    ),
    "submit_options": TomlField(
        "strings",
        "More options for the header of each job script.",
        words={"items": {"not": {"pattern": "[\\x00-\\x1f\\x7f]"}}},
    ),
}
_OF_ROWTUI = {
    "ssh": SSH,
    "poll": POLL,
    "query_timeout": QUERY_TIMEOUT,
    "arrays": TomlField("boolean", "Whether equal jobs are sent as one array."),
    "budget": BUDGET,
    "energy": ENERGY,
    "memory_resource": _grid_engine("The resource of Grid Engine for memory."),
    "gpu_resource": _grid_engine("The resource of Grid Engine for GPUs."),
    "node_type": TomlField("tables", "Machines of one kind.", keys=NODE_TYPE),
    "currency": CURRENCY,
    "packing": PACKING,
}
ROW_CLUSTER_KEYS = TableKeys(
    {
        "cluster": TomlField(
            "tables",
            "A cluster.",
            keys=TableKeys(
                _CLUSTER,
                subject="the cluster",
                elsewhere=dict.fromkeys(_OF_ROWTUI, ELSEWHERE),
            ),
        )
    }
)
CLUSTER_KEYS = TableKeys(
    {
        "cluster": TomlField(
            "tables",
            "A cluster; without scheduler, identify and partition, more settings of the cluster "
            "of this name.",
            keys=TableKeys(
                {
                    **{key: field._replace(required=None) for key, field in _CLUSTER.items()},
                    "name": _CLUSTER["name"],
                    "scheduler": TomlField(
                        "string", "The scheduler of the cluster: slurm, grid_engine, bash, local."
                    ),
                    "partition": _CLUSTER["partition"]._replace(
                        required=None,
                        keys=TableKeys(_OWN_PARTITION, subject="the partition", lenient=True),
                    ),
                    **_OF_ROWTUI,
                },
                subject="the cluster",
                lenient=True,
            ),
        )
    }
)
