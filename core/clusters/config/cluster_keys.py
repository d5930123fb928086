"""Declare the keys of clusters.toml: of Row's file, and of rowtui's own, which may have more.

The loaders check files against these declarations, and the JSON Schemas are made from them.
"""

from __future__ import annotations

from rowtui.core.workflow.toml_keys import Key, TableKeys

ROW_SCHEDULERS = ("bash", "slurm")  # the schedulers that Row's own file may name
DESCRIPTION = ("scheduler", "identify", "partition")  # what makes an entry a cluster of its own
LARGEST_MB = 1 << 40  # an exabyte
LARGEST_COUNT = 1 << 20  # CPUs or GPUs of one node, nodes of one type, requests in one bundle
LARGEST_PRICE = 1e9  # per hour
LONGEST_BOOT = 7 * 86400  # seconds
LONGEST_WALLTIME = 10 * 365 * 86400  # seconds
LARGEST_FACTOR = 100.0
LONGEST_SOURCE = 300  # characters
MEMORY_FORM = r"([0-9]{1,18}(?:\.[0-9]{1,9})?) ?([KMGTPkmgtp])(?:[Ii]?[Bb])?"
PACKER_NAME = r"[a-z][a-z0-9_-]{0,39}"


def _number(about: str, least: float, most: float) -> Key:
    wanted = f"from {least:g} to {most:,.0f}"
    return Key("number", about, least=least, most=most, wanted=wanted)


def _count(about: str, least: int = 0, required: str | None = None) -> Key:
    wanted = f"at most {LARGEST_COUNT:,}"
    return Key("integer", about, required, least, LARGEST_COUNT, wanted)


def _line(about: str, longest: int = 200, required: str | None = None) -> Key:
    return Key("line", about, required, words={"pattern": r"\S", "maxLength": longest})


def _amount(about: str, least: int = 0, required: str | None = None) -> Key:
    text = Key("string", form=rf"\s*{MEMORY_FORM}\s*")
    number = Key("integer", least=least, most=LARGEST_MB)
    return Key("any", about, required, either=(number, text))


def _time(about: str, most: int, least: int = 0) -> Key:
    number = Key("number", most=most, words={"exclusiveMinimum": least - 1})
    return Key("any", about, either=(number, Key("string")))


_HOURS = Key("number", "Hours of one CPU or one GPU.", least=0, wanted="a number of hours")
BUDGET = Key(
    "table",
    "The hours that the jobs of one project may ask for.",
    hint="write it as a table: budget = { cpu_hours = 20000 }",
    keys=TableKeys({"cpu_hours": _HOURS, "gpu_hours": _HOURS}, words={"minProperties": 1}),
)
FACTORS = {
    "core_watts": _number("Watts of one CPU.", 0.0, 1000.0),
    "memory_watts_per_gb": _number("Watts of one GB of memory.", 0.0, 100.0),
    "gpu_watts": _number("Watts of one GPU.", 0.0, 10_000.0),
    "pue": _number("The power of the whole building for each watt of its computers.", 1.0, 10.0),
    "carbon_g_per_kwh": _number("Grams of CO2 for each kWh.", 0.0, 10_000.0),
}
_SOURCE = Key("string", "Where the factors are from.", words={"maxLength": LONGEST_SOURCE})
ENERGY = Key(
    "table",
    "What energy is estimated from; by default as the Green Algorithms calculator does.",
    hint="write it as a table: energy = { core_watts = 12, carbon_g_per_kwh = 475 }",
    keys=TableKeys({**FACTORS, "source": _SOURCE}),
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
        "whole_node": Key("boolean", "Whether a job has a whole node for itself."),
    },
    subject="the node type",
)
CURRENCY = _line("The currency of prices.", 12)
PACKING_KEYS = {
    "enabled": Key("boolean", "Whether jobs share nodes."),
    "packer": Key("string", "The packer.", form=PACKER_NAME),
    "largest_bundle": _count("The most requests of one job.", 1),
    "longest": _time("The longest time limit of a shared job.", LONGEST_WALLTIME, 1),
    "time_factor": Key(
        "number",
        "The time limit of requests is multiplied by this factor.",
        most=LARGEST_FACTOR,
        wanted=f"from more than 0 to {LARGEST_FACTOR:,.0f}",
        words={"exclusiveMinimum": 0},
    ),
}
_FOR_ONE = Key("table", "For this partition.", keys=TableKeys(PACKING_KEYS))
_FOR_SOME = Key("table", "Other settings for single partitions.", keys=TableKeys({}, _FOR_ONE))
PACKING = Key(
    "table",
    "How jobs share nodes.",
    hint="write it as a table: packing.enabled = true",
    keys=TableKeys({**PACKING_KEYS, "partition": _FOR_SOME}),
)

TRANSPORTS = ("asyncssh", "openssh")
MIRROR_FORM = r"(/|~/|\$[A-Za-z_][A-Za-z0-9_]*/)"
_LARGEST_PORT = (1 << 16) - 1
_ABSOLUTE = {"pattern": "^/"}
_COPIES = {"pattern": f"^{MIRROR_FORM}"}
_PREFIX = TableKeys(
    {
        "local": Key("line", "The folder on this machine, in full.", "", words=_ABSOLUTE),
        "remote": Key("line", "The same folder on the cluster, in full.", "", words=_ABSOLUTE),
    },
    subject="the pair of paths",
)
_HOST_HINT = 'the name of the login node, or a Host of ~/.ssh/config: host = "..."'
_SSH = {
    "host": Key("string", "The login node, or a Host of ~/.ssh/config.", _HOST_HINT),
    "user": Key("string", "Your name on the cluster."),
    "port": Key("integer", "The port of the SSH server.", least=1, most=_LARGEST_PORT),
    "transport": Key("string", "The program that connects.", choices=TRANSPORTS),
    "mirror": Key("line", "The folder on the cluster for copies of projects.", words=_COPIES),
    "config": Key("strings", "Files in place of ~/.ssh/config.", form="(/|~/).*"),
    "paths": Key("tables", "Folders that the cluster shares.", keys=_PREFIX),
}
SSH = Key(
    "table",
    "How the cluster is reached over SSH.",
    hint='write it as a table: ssh.host = "..."',
    keys=TableKeys(_SSH, subject="`cluster.ssh`"),
)


def _seconds(key: str, meaning: str, longest: int) -> Key:
    hint = f"write the {meaning}: {key} = 60"
    wanted = f"between 1 and {longest} seconds"
    about = f"{meaning[0].upper()}{meaning[1:]}."
    return Key("number", about, least=1, most=longest, wanted=wanted, hint=hint)


POLL = _seconds("poll", "seconds between two looks at the queue", 86_400)
QUERY_TIMEOUT = _seconds("query_timeout", "seconds that the scheduler may take for one answer", 600)

GRID_ENGINE_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.+*-]*"


def _divisor(about: str) -> Key:
    return Key("integer", about, least=1)


COUNTS = {
    "maximum_cpus_per_job": Key("integer", "The most CPUs of one job."),
    "memory_per_cpu_mb": Key("integer", "The most memory for each CPU, in MB."),
    "minimum_gpus_per_job": Key("integer", "The fewest GPUs of one job."),
    "maximum_gpus_per_job": Key("integer", "The most GPUs of one job."),
    "memory_per_gpu_mb": Key("integer", "The most memory for each GPU, in MB."),
    "require_cpus_multiple_of": _divisor("The CPUs of a job must be a multiple of this number."),
    "warn_cpus_not_multiple_of": _divisor("A warning follows if the CPUs are no multiple."),
    "cpus_per_node": _divisor("CPUs of one node; needed for jobs on several nodes."),
    "require_gpus_multiple_of": _divisor("The GPUs of a job must be a multiple of this number."),
    "warn_gpus_not_multiple_of": _divisor("A warning follows if the GPUs are no multiple."),
    "gpus_per_node": _divisor("GPUs of one node; needed for jobs on several nodes."),
}
TEXTS = {
    "memory_per_cpu": Key("line", 'The memory that a job asks for with each CPU, such as "2G".'),
    "memory_per_gpu": Key("line", 'The memory that a job asks for with each GPU, such as "16G".'),
    "account_suffix": Key("line", "What is added to the account of jobs in this partition."),
}
_ELSEWHERE = "Row has no entry for it: write it in ~/.config/rowtui/clusters.toml"
_LINES = {"items": {"not": {"pattern": r"[\x00-\x1f\x7f]"}}}
_PAIR = {"minItems": 2, "maxItems": 2}
_PARTITION = {
    "name": Key("line", "The name of the partition.", ""),
    **COUNTS,
    **TEXTS,
    "prevent_auto_select": Key("boolean", "Whether only jobs that name it go here."),
}
_IDENTIFY = {
    "by_environment": Key("strings", "A variable, and its value on this cluster.", words=_PAIR),
    "always": Key("boolean", "Whether this machine is surely the cluster."),
}
_CLUSTER = {
    "name": Key("line", "The name of the cluster.", ""),
    "identify": Key("table", "How the cluster is recognised.", keys=TableKeys(_IDENTIFY, one=True)),
    "scheduler": Key("string", "The scheduler.", words={"enum": [*ROW_SCHEDULERS]}),
    "partition": Key(
        "tables",
        "A partition; jobs go to the first one that can take them.",
        keys=TableKeys(
            _PARTITION, subject="the partition", elsewhere={"parallel_environment": _ELSEWHERE}
        ),
    ),
    "slurm_gpus_per_task": Key("line", "How Slurm is asked for GPUs, instead of --gpus-per-task."),
    "submit_options": Key("strings", "More options for the headers of scripts.", words=_LINES),
}
_OF_ROWTUI = {
    "ssh": SSH,
    "poll": POLL,
    "query_timeout": QUERY_TIMEOUT,
    "arrays": Key("boolean", "Whether equal jobs are sent as one array."),
    "budget": BUDGET,
    "energy": ENERGY,
    "memory_resource": Key("line", "Grid Engine's resource for memory.", form=GRID_ENGINE_NAME),
    "gpu_resource": Key("line", "Grid Engine's resource for GPUs.", form=GRID_ENGINE_NAME),
    "node_type": Key("tables", "Machines of one kind.", keys=NODE_TYPE),
    "currency": CURRENCY,
    "packing": PACKING,
}
ROW_CLUSTER_KEYS = TableKeys(
    {
        "cluster": Key(
            "tables",
            "A cluster.",
            keys=TableKeys(
                _CLUSTER,
                subject="the cluster",
                elsewhere=dict.fromkeys(_OF_ROWTUI, _ELSEWHERE),
                words={"required": ["name", *DESCRIPTION]},
            ),
        )
    }
)
_ENVIRONMENT = Key("line", "The parallel environment of Grid Engine.", form=GRID_ENGINE_NAME)
_OWN_PARTITION = {**_PARTITION, "parallel_environment": _ENVIRONMENT}
_OWN_CLUSTER = {
    **_CLUSTER,
    "scheduler": Key("string", "The scheduler: slurm, grid_engine, bash, local, or a plug-in."),
    "partition": _CLUSTER["partition"]._replace(
        keys=TableKeys(_OWN_PARTITION, subject="the partition", lenient=True)
    ),
    **_OF_ROWTUI,
}
CLUSTER_KEYS = TableKeys(
    {
        "cluster": Key(
            "tables",
            "A cluster, or, without scheduler, identify and partition, more settings of one.",
            keys=TableKeys(_OWN_CLUSTER, subject="the cluster", lenient=True),
        )
    }
)
