from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.base.errors import InvalidFileError
from rowtui.core.clusters.config.builtin import CLUSTERS, LAUNCHERS
from rowtui.core.clusters.config.load import ClusterFile, load_clusters
from rowtui.core.clusters.config.load_launchers import load_launchers
from rowtui.core.clusters.model import Cluster, Identify, Launcher, Launchers, Partition

HEAD = '[[cluster]]\nname = "t"\nscheduler = "slurm"\nidentify.always = false\n'


def home(tmp_path: Path, row: str | None = None, own: str | None = None) -> dict[str, str]:
    """A home folder with clusters.toml of Row and of rowtui; gives the environment."""
    for name, text in (("row", row), ("rowtui", own)):
        if text is not None:
            folder = tmp_path / ".config" / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "clusters.toml").write_text(text)
    return {"HOME": str(tmp_path)}


def problems(file: ClusterFile) -> list[tuple[int, str]]:
    return [(problem.line, problem.message) for problem in file.problems]


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "/nonexistent"}])
def test_without_files_the_built_in_clusters_are_known(environ: dict[str, str]) -> None:
    assert load_clusters(environ) == ClusterFile(CLUSTERS)
    assert [cluster.name for cluster in CLUSTERS][-2:] == ["none", "local"]
    assert load_launchers(environ) == Launchers(LAUNCHERS)


def test_an_empty_file_adds_nothing(tmp_path: Path) -> None:
    assert load_clusters(home(tmp_path, "", "")) == ClusterFile(CLUSTERS)


def test_every_key_arrives_where_it_belongs(tmp_path: Path) -> None:
    environ = home(
        tmp_path,
        """
[[cluster]]
name = "mine"
identify.by_environment = ["HOST", "login1"]
scheduler = "slurm"
slurm_gpus_per_task = "--gres=gpu:"
submit_options = ["--x"]
[[cluster.partition]]
name = "p"
maximum_cpus_per_job = 0
require_cpus_multiple_of = 2
warn_cpus_not_multiple_of = 3
memory_per_cpu = "5G"
memory_per_cpu_mb = 4
cpus_per_node = 5
minimum_gpus_per_job = 6
maximum_gpus_per_job = 7
require_gpus_multiple_of = 8
warn_gpus_not_multiple_of = 9
memory_per_gpu = "60G"
memory_per_gpu_mb = 10
gpus_per_node = 11
prevent_auto_select = true
account_suffix = "-gpu"
""",
    )
    file = load_clusters(environ)
    assert file.problems == ()
    assert file.clusters[0] == Cluster(
        "mine",
        Identify(("HOST", "login1")),
        "slurm",
        (Partition("p", 0, 2, 3, "5G", 4, 5, 6, 7, 8, 9, "60G", 10, 11, True, "-gpu"),),
        ("--x",),
        "--gres=gpu:",
        str(tmp_path / ".config/row/clusters.toml"),
    )


def test_defaults_of_a_cluster_and_a_partition_are_rows(tmp_path: Path) -> None:
    file = load_clusters(home(tmp_path, HEAD + "partition = [{name = 'p'}]\n"))
    cluster = file.clusters[0]
    assert cluster.partitions == (Partition("p"),)
    assert cluster.submit_options == ()
    assert cluster.slurm_gpus_per_task == "--gpus-per-task="


def test_the_users_clusters_come_first_rows_file_before_ours_and_names_may_repeat(
    tmp_path: Path,
) -> None:
    anvil = HEAD.replace('"t"', '"anvil"') + "partition = []\n"
    own = anvil + HEAD.replace('"t"', '"laptop"').replace("slurm", "local") + "partition = []\n"
    file = load_clusters(home(tmp_path, anvil, own))
    assert [cluster.name for cluster in file.clusters[:4]] == ["anvil", "anvil", "laptop", "andes"]
    found = file.named("anvil")
    assert found is not None
    assert found.source.endswith("row/clusters.toml")
    assert file.named("nope") is None


def test_row_home_goes_before_home_and_xdg_config_home_is_ours(tmp_path: Path) -> None:
    home(tmp_path / "a", HEAD + "partition = []\n")
    home(tmp_path / "b", HEAD.replace('"t"', '"b"') + "partition = []\n")
    own = tmp_path / "xdg" / "rowtui"
    own.mkdir(parents=True)
    (own / "clusters.toml").write_text(HEAD.replace('"t"', '"x"') + "partition = []\n")
    environ = {"ROW_HOME": str(tmp_path / "b"), "HOME": str(tmp_path / "a")}
    environ["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    assert [cluster.name for cluster in load_clusters(environ).clusters[:2]] == ["b", "x"]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("zz = 1", 1, "unknown key `zz`"),
        ("[[cluster]]", 1, "the cluster is missing `name`"),
        (HEAD, 1, "the cluster is missing `partition`"),
        (HEAD + "partition = []\nzz = 1", 6, "unknown key `zz`"),
        (HEAD + "partition = []\nssh = 'x'", 6, "unknown key `ssh`"),
        (HEAD + "partition = 1", 5, "`partition` must be an array of tables"),
        (HEAD.replace("slurm", "Slurm") + "partition = []", 3, "cannot be 'Slurm'"),
        (HEAD.replace("slurm", "local") + "partition = []", 3, "cannot be 'local'"),
        (HEAD.replace(".always = false", " = {}") + "partition = []", 4, "exactly 1 element"),
        (HEAD.replace("always = false", "always = 1") + "partition = []", 4, "true or false"),
        (
            HEAD.replace("always = false", "by_environment = ['A']") + "partition = []",
            4,
            "must have 2 strings",
        ),
        (HEAD + 'partition = []\nsubmit_options = ["a\\nb"]', 6, "control characters"),
        (HEAD + "[[cluster.partition]]\n", 5, "the partition is missing `name`"),
        (HEAD + "[[cluster.partition]]\nname = 'p'\nzz = 1", 7, "unknown key `zz`"),
        (HEAD + '[[cluster.partition]]\nname = "a\\nb"', 6, "control characters"),
        (
            HEAD + "[[cluster.partition]]\nname = 'p'\nmemory_per_cpu_mb = '5G'",
            7,
            "must be an integer",
        ),
        (HEAD + "[[cluster.partition]]\nname = 'p'\nmemory_per_cpu = 5", 7, "must be a string"),
        (HEAD + "[[cluster.partition]]\nname = 'p'\nmaximum_cpus_per_job = -1", 7, "non-negative"),
    ],
)
def test_a_wrong_cluster_is_told_and_left_out_and_the_others_stay(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    good = "[[cluster]]\nname='good'\nscheduler='bash'\nidentify.always=false\npartition=[]\n"
    file = load_clusters(home(tmp_path, text + "\n" + good))
    assert any(words in message and at == line for at, message in problems(file)), file.problems
    assert "t" not in [cluster.name for cluster in file.clusters]
    assert file.named("good") is not None
    assert file.clusters[-len(CLUSTERS) :] == CLUSTERS


@pytest.mark.parametrize(
    "key",
    [
        "require_cpus_multiple_of",
        "warn_cpus_not_multiple_of",
        "cpus_per_node",
        "require_gpus_multiple_of",
        "warn_gpus_not_multiple_of",
        "gpus_per_node",
    ],
)
def test_a_zero_to_divide_by_is_refused_at_load(tmp_path: Path, key: str) -> None:
    file = load_clusters(home(tmp_path, HEAD + f"partition = [{{name = 'p', {key} = 0}}]\n"))
    assert problems(file) == [(5, f"`{key}` is 0 but must be at least 1")]
    assert file.clusters == CLUSTERS


@pytest.mark.parametrize("data", [b"x = \xff", b"x = ", b"[["])
def test_a_file_that_is_not_toml_is_a_problem_and_the_other_file_still_counts(
    tmp_path: Path, data: bytes
) -> None:
    environ = home(tmp_path, "", HEAD + "partition = []\n")
    (tmp_path / ".config/row/clusters.toml").write_bytes(data)
    file = load_clusters(environ)
    assert len(file.problems) == 1
    assert file.clusters[0].name == "t"


def test_a_folder_in_place_of_the_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / ".config/row/clusters.toml").mkdir(parents=True)
    assert "not a regular file" in load_clusters({"HOME": str(tmp_path)}).problems[0].message


def test_in_our_own_file_keys_of_later_versions_are_passed_over_with_a_warning(
    tmp_path: Path,
) -> None:
    text = HEAD + "poll = 5\nzz = 1\npolll = 1\npartition = [{name = 'p', node_type = 'n'}]\n"
    file = load_clusters(home(tmp_path, None, text))
    assert file.clusters[0].name == "t"
    assert [(problem.line, problem.severity) for problem in file.problems] == [
        (6, "warning"),
        (7, "warning"),
        (8, "warning"),
    ]
    assert file.problems[1].hint == "did you mean 'poll'?"


def test_the_keys_that_are_ours_alone_are_errors_in_rows_file(tmp_path: Path) -> None:
    text = HEAD + "partition = []\npoll = 5\nssh.host = 'h'\n"
    file = load_clusters(home(tmp_path, text))
    assert problems(file) == [
        (6, "unknown key `poll` in `cluster`"),
        (7, "unknown key `ssh` in `cluster`"),
    ]
    assert all("~/.config/rowtui/clusters.toml" in problem.hint for problem in file.problems)
    assert file.clusters == CLUSTERS


def launchers(tmp_path: Path, text: str) -> Launchers:
    folder = tmp_path / ".config" / "row"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "launchers.toml").write_text(text)
    return load_launchers({"HOME": str(tmp_path)})


def test_the_users_launchers_replace_built_in_ones_each_as_a_whole(tmp_path: Path) -> None:
    merged = launchers(
        tmp_path,
        "[mpi.anvil]\nexecutable = 'x'\n[new.default]\n[new.t]\nprocesses = '-n'\n"
        "threads_per_process = '-t'\ngpus_per_process = '-g'\n",
    )
    assert merged.find("mpi", "anvil") == Launcher("x")
    assert merged.find("mpi", "delta") == LAUNCHERS["mpi"]["default"]
    assert merged.find("new", "t") == Launcher(None, "-n", "-t", "-g")
    assert merged.find("new", "other") == Launcher()
    assert merged.find("nope", "t") is None
    assert LAUNCHERS["mpi"]["anvil"].executable == "srun --mpi=pmi2"


def test_what_the_user_says_for_none_holds_for_local_too_unless_told_otherwise(
    tmp_path: Path,
) -> None:
    merged = launchers(tmp_path, "[mpi.none]\nexecutable = 'mpiexec'\n")
    assert merged.find("mpi", "local") == Launcher("mpiexec")
    merged = launchers(tmp_path, "[mpi.none]\n[mpi.local]\nexecutable = 'l'\n")
    assert merged.find("mpi", "local") == Launcher("l")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[x.none]", 1, "the launcher 'x' has no `default`"),
        ("[x]", 1, "the launcher 'x' has no `default`"),
        ("[mpi]\nexecutable = 'x'", 2, "`executable` must be a table"),
        ("x = 1", 1, "`x` must be a table"),
        ("[mpi.default]\nzz = 'x'", 2, "unknown key `zz`"),
        ("[mpi.default]\nexecutable = 1", 2, "must be a string"),
        ("[mpi", 1, "not valid TOML"),
    ],
)
def test_each_wrong_launcher_is_told_on_its_line(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    with pytest.raises(InvalidFileError) as caught:
        launchers(tmp_path, text)
    assert caught.value.problems[0].line == line
    assert words in caught.value.problems[0].message


def test_two_clusters_of_one_name_are_reported_and_the_first_counts(tmp_path: Path) -> None:
    first = HEAD + '[[cluster.partition]]\nname = "p"\n'
    second = first.replace("false", "true")
    found = load_clusters(home(tmp_path, first + second, second))
    warning = "another cluster is called 't': the first counts"
    assert problems(found) == [(8, warning), (2, warning)]
    assert [it.severity for it in found.problems] == ["warning", "warning"]
    cluster = found.named("t")
    assert cluster is not None
    assert not cluster.identify.always
