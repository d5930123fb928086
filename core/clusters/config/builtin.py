"""The clusters and launchers that need no configuration.

They are those of Row 1.1, as its `show cluster --all` and `show launchers --all` print them, and
`local`, rowtui's own queue on this machine.
"""

from __future__ import annotations

from rowtui.core.clusters.model import Cluster, Identify, Launcher, Partition

LOCAL = Cluster("local", Identify(), "local", (Partition("local"),))
NONE = Cluster("none", Identify(always=True), "bash", (Partition("none"),))

_ANDES = Cluster(
    "andes",
    Identify(("LMOD_SYSTEM_NAME", "andes")),
    "slurm",
    (Partition("batch", warn_cpus_not_multiple_of=32, cpus_per_node=32, maximum_gpus_per_job=0),),
)

_ANVIL = Cluster(
    "anvil",
    Identify(("RCAC_CLUSTER", "anvil")),
    "slurm",
    (
        Partition(
            "shared", maximum_cpus_per_job=127, memory_per_cpu_mb=1800, maximum_gpus_per_job=0
        ),
        Partition("wholenode", require_cpus_multiple_of=128, maximum_gpus_per_job=0),
        Partition("gpu", minimum_gpus_per_job=1, gpus_per_node=4),
        Partition(
            "wide", require_cpus_multiple_of=128, maximum_gpus_per_job=0, prevent_auto_select=True
        ),
        Partition(
            "highmem", memory_per_cpu_mb=7900, maximum_gpus_per_job=0, prevent_auto_select=True
        ),
        Partition("debug", maximum_gpus_per_job=0, prevent_auto_select=True),
        Partition("gpu-debug", minimum_gpus_per_job=1, prevent_auto_select=True),
    ),
)


def _delta_gpu(name: str, memory_mb: int, gpus_per_node: int, manual: bool) -> Partition:
    return Partition(
        name,
        minimum_gpus_per_job=1,
        memory_per_gpu_mb=memory_mb,
        gpus_per_node=gpus_per_node,
        prevent_auto_select=manual,
        account_suffix="-gpu",
    )


_DELTA = Cluster(
    "delta",
    Identify(("LMOD_SYSTEM_NAME", "Delta")),
    "slurm",
    (
        Partition(
            "cpu",
            memory_per_cpu_mb=1970,
            cpus_per_node=128,
            maximum_gpus_per_job=0,
            account_suffix="-cpu",
        ),
        _delta_gpu("gpuA100x4", 62_200, 4, manual=False),
        _delta_gpu("gpuA100x8", 256_000, 8, manual=True),
        _delta_gpu("gpuA40x4", 62_200, 4, manual=True),
        _delta_gpu("gpuMI100x8", 256_000, 8, manual=True),
    ),
    submit_options=('--constraint="scratch"',),
)

_FRONTIER = Cluster(
    "frontier",
    Identify(("LMOD_SYSTEM_NAME", "frontier")),
    "slurm",
    (
        Partition("batch", warn_gpus_not_multiple_of=8, gpus_per_node=8),
        Partition(
            "extended",
            maximum_gpus_per_job=512,
            warn_gpus_not_multiple_of=8,
            gpus_per_node=8,
            prevent_auto_select=True,
        ),
    ),
    submit_options=('--constraint="nvme"',),
)


def _greatlakes_cpu(name: str, memory_mb: int | None, manual: bool = True) -> Partition:
    return Partition(
        name, memory_per_cpu_mb=memory_mb, maximum_gpus_per_job=0, prevent_auto_select=manual
    )


def _greatlakes_gpu(name: str, memory_mb: int, manual: bool = True) -> Partition:
    return Partition(
        name, minimum_gpus_per_job=1, memory_per_gpu_mb=memory_mb, prevent_auto_select=manual
    )


_GREATLAKES = Cluster(
    "greatlakes",
    Identify(("CLUSTER_NAME", "greatlakes")),
    "slurm",
    (
        _greatlakes_cpu("standard", 5120, manual=False),
        Partition(
            "gpu_mig40,gpu",
            minimum_gpus_per_job=1,
            maximum_gpus_per_job=1,
            memory_per_gpu_mb=61_440,
        ),
        _greatlakes_gpu("gpu", 61_440, manual=False),
        _greatlakes_gpu("gpu_mig40", 128_000),
        _greatlakes_gpu("spgpu", 47_000),
        _greatlakes_cpu("largemem", None),
        _greatlakes_cpu("standard-oc", 5120),
        _greatlakes_cpu("debug", 5120),
    ),
)

# In the order in which they are tried for identification.
CLUSTERS = (_ANDES, _ANVIL, _DELTA, _FRONTIER, _GREATLAKES, NONE, LOCAL)

_GPUS = "--tres-per-task=gres/gpu:"
_MPIRUN = Launcher("mpirun", "-n ")

LAUNCHERS = {
    "mpi": {
        "default": Launcher("srun", "--ntasks=", "--cpus-per-task=", _GPUS),
        "anvil": Launcher("srun --mpi=pmi2", "--ntasks=", "--cpus-per-task=", _GPUS),
        "none": _MPIRUN,
        "local": _MPIRUN,
    },
    "openmp": {"default": Launcher(threads_per_process="OMP_NUM_THREADS=")},
    "rayon": {"default": Launcher(threads_per_process="RAYON_NUM_THREADS=")},
}
