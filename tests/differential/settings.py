"""What a project may have besides: clusters.toml, launchers.toml, and mistakes in workflow.toml."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.differential.toml_text import Raw


def break_workflow(rng: Random, workflow: dict[str, Any]) -> None:
    """Put a mistake into a workflow that makes Row refuse the file."""
    actions = workflow.get("action") or [{}]
    workflow["action"] = actions
    action = rng.choice(actions)
    how = rng.randrange(14)
    if how == 0:
        workflow["unknown"] = 1
    elif how == 1:
        action["unknown"] = "x"
    elif how == 2:
        action.pop("command", None)
    elif how == 3:
        action.pop("name", None)
        action.pop("from", None)
    elif how == 4:
        action["previous_actions"] = ["nobody"]
    elif how == 5:
        action["from"] = "nobody"
    elif how == 6:
        action["products"] = [rng.choice(("/abs", "../up", "a//b", "./x", "back\\slash"))]
    elif how == 7:
        action["resources"] = {
            "processes": rng.choice((1, {"per_submission": 1, "per_directory": 2}, {}))
        }
    elif how == 8:
        action["resources"] = {"walltime": {"per_directory": rng.choice(("", "1.5", "00:60", "x"))}}
    elif how == 9:
        action["group"] = {
            "include": [{"condition": rng.choice((["/a"], ["/a", "=", 1], [1, "<", 1]))}]
        }
    elif how == 10:
        action["group"] = {"maximum_size": rng.choice((-1, "1", 1.5))}
    elif how == 11:
        workflow["workspace"] = {"path": 1}
    elif how == 12:
        workflow["default"] = {"action": {"from": "one"}}
    else:
        action["command"] = Raw('"unclosed')


def clusters_file(rng: Random) -> dict[str, Any]:
    """A clusters.toml of the user's, before the built-in clusters."""
    clusters = []
    for name in rng.sample(("mine", "other", "anvil", "none"), rng.randint(1, 2)):
        partitions = []
        for partition in ("p1", "p2", "manual")[: rng.randint(1, 3)]:
            entry: dict[str, Any] = {"name": partition}
            for key, choices in (
                ("maximum_cpus_per_job", (1, 4, 128)),
                ("require_cpus_multiple_of", (2, 4)),
                ("warn_cpus_not_multiple_of", (2, 3)),
                ("memory_per_cpu_mb", (1000, 2000)),
                ("cpus_per_node", (2, 4, 128)),
                ("minimum_gpus_per_job", (1, 2)),
                ("maximum_gpus_per_job", (0, 1, 8)),
                ("require_gpus_multiple_of", (1, 2)),
                ("warn_gpus_not_multiple_of", (2, 4)),
                ("memory_per_gpu_mb", (10000, 60000)),
                ("gpus_per_node", (1, 4)),
                ("account_suffix", ("-x", "_y")),
            ):
                if rng.random() < 0.18:
                    entry[key] = rng.choice(choices)
            if partition == "manual":
                entry["prevent_auto_select"] = True
            partitions.append(entry)
        cluster: dict[str, Any] = {
            "name": name,
            "identify": rng.choice(
                ({"by_environment": ["NO_SUCH_VARIABLE", "x"]}, {"always": False})
            ),
            "scheduler": "bash" if name == "none" else "slurm",
            "partition": partitions,
        }
        if rng.random() < 0.3:
            cluster["submit_options"] = ["--exclusive"]
        if rng.random() < 0.3:
            cluster["slurm_gpus_per_task"] = rng.choice(("--gres=gpu:", "--gpus="))
        clusters.append(cluster)
    return {"cluster": clusters}


def launchers_file(rng: Random) -> dict[str, Any]:
    """A launchers.toml of the user's."""
    launchers: dict[str, Any] = {}
    if rng.random() < 0.5:
        launchers["openmp"] = {"default": {"threads_per_process": "MY_THREADS="}}
    if rng.random() < 0.5:
        launchers["mpi"] = {"none": {"executable": "mpirun --quiet", "processes": "-np "}}
    if rng.random() < 0.5 or not launchers:
        launchers["mine"] = {"default": {"executable": rng.choice(("time -p", "nice"))}}
    return launchers
