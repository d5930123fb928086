"""The files of the synthetic study, and the configuration of its clusters."""

from __future__ import annotations

import json
from pathlib import Path

from rowtui.core.demo.simulation import ClusterSpec

MACHINES = (
    ClusterSpec("anvil", 4096, 12),
    ClusterSpec("delta", 2048, 14, latency=1.5, others=0.5),
    ClusterSpec("frontier", 16384, 20, latency=0.6, others=0.8),
    ClusterSpec("gl", 1024, 6, expired=True),
)

WORKFLOW = """\
# A synthetic study: how liquids boil, at many temperatures and pressures.

[workspace]
value_file = "value.json"

[default.action.resources]
walltime.per_submission = "02:00:00"

[[action]]
name = "equilibrate"
command = "simulate --equilibrate {directories}"
launchers = ["mpi"]
products = ["equilibrated.gsd"]
resources = { processes.per_directory = 1, threads_per_process = 4 }
group = { maximum_size = 64 }

[[action]]
name = "sample"
command = "simulate --sample {directories}"
launchers = ["mpi"]
products = ["trajectory.gsd"]
previous_actions = ["equilibrate"]
resources = { processes.per_directory = 1, threads_per_process = 2 }
group = { sort_by = ["/temperature"], maximum_size = 32 }

[[action]]
name = "analyze"
command = "python analyze.py {directories}"
products = ["density.json"]
previous_actions = ["sample"]
group = { maximum_size = 250 }

[[action]]
name = "render"
command = "python render.py {directories}"
products = ["film.mp4"]
previous_actions = ["sample"]
launchers = ["mpi"]
resources = { processes.per_directory = 1 }
group = { maximum_size = 50 }

[[action]]
name = "fit"
command = "python fit.py {directories}"
products = ["equation.json"]
previous_actions = ["analyze"]
group = { sort_by = ["/temperature"], split_by_sort_key = true, submit_whole = true }
"""

CLUSTER = """\
[[cluster]]
name = "{name}"
identify = {{ always = {always} }}
scheduler = "slurm"
poll = {poll}
budget = {{ cpu_hours = {hours} }}
currency = "EUR"
arrays = false

[cluster.ssh]
host = "{name}.example.org"
user = "you"
paths = [{{ local = {root}, remote = "/scratch/demo" }}]

[[cluster.partition]]
name = "{partition}"
maximum_cpus_per_job = {cores}

[[cluster.node_type]]
name = "{partition}-node"
partition = "{partition}"
cpus = {node}
memory = "{memory}G"
price_per_hour = {price}
"""

MAPPING = """\
# Where the jobs of the demo may go. Press 3 to see the resulting decisions.
tools:
  default:
    abstract: true
  equilibrate:
    inherits: default
    scheduling:
      prefer: [large]
  sample:
    inherits: default
    scheduling:
      prefer: [far]
  analyze:
    inherits: default
    scheduling:
      prefer: [small]
      reject: [large]
  render:
    inherits: default
    scheduling:
      require: [screens]
destinations:
"""

DESTINATION = """\
  {name}/{partition}:
    runner: {name}
    max_accepted_cores: {cores}
    scheduling:
      prefer: [{tags}]
"""

# name, partition, CPUs of one job at most, CPUs of a node, hours, tags
PLACES = (
    ("anvil", "shared", 256, 512, 30_000, "large"),
    ("delta", "cpu", 128, 128, 9_000, "small"),
    ("frontier", "batch", 1024, 128, 200_000, "large, far"),
    ("gl", "standard", 72, 72, 9_000, "small, screens"),
)


SHARES = (
    ("equilibrate", 0.91),
    ("sample", 0.62),
    ("analyze", 0.4),
    ("render", 0.3),
    ("fit", 0.2),
)
"""The share of directories that are complete before the first job."""


def write_files(root: Path) -> None:
    """Write the project's own files, and the configuration of its clusters."""
    (root / "workspace").mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    destinations = [
        DESTINATION.format(name=name, partition=partition, cores=cores, tags=tags)
        for name, partition, cores, _, _, tags in PLACES
    ]
    clusters = [
        CLUSTER.format(
            name=name,
            always="true" if name == "anvil" else "false",
            poll=5 if name != "frontier" else 20,
            hours=hours,
            root=json.dumps(str(root)),
            partition=partition,
            cores=cores,
            node=node,
            memory=2 * node,
            price=node / 100,
        )
        for name, partition, cores, node, hours, _ in PLACES
    ]
    config = root / ".config" / "rowtui"
    (config / "mapping").mkdir(parents=True)
    # In the user's own configuration, which is trusted.
    (config / "mapping" / "demo.yml").write_text(MAPPING + "".join(destinations))
    (config / "clusters.toml").write_text("\n".join(clusters))


def environment(root: Path) -> dict[str, str]:
    """Return the environment in which the demo's clusters are configured."""
    return {"HOME": str(root), "XDG_CONFIG_HOME": str(root / ".config"), "USER": "you"}
