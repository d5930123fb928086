"""Clusters that are reached over SSH, as our own clusters.toml describes them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.commands import run_briefly
from rowtui.core.clusters.config.builtin import CLUSTERS
from rowtui.core.clusters.config.load import ClusterFile, load_clusters
from rowtui.core.clusters.config.load_remote import ssh_target
from rowtui.core.clusters.config.show import clusters_toml
from rowtui.core.clusters.model import Cluster, Identify, PathPrefix, Remote
from rowtui.core.clusters.transports.login import SshTarget

SSH = '[[cluster]]\nname = "t"\n[cluster.ssh]\nhost = "h"\n'  # what follows is on line 5
BUILT_IN = {cluster.name: cluster for cluster in CLUSTERS}


def load(tmp_path: Path, own: str, row: str = "") -> ClusterFile:
    for name, text in (("row", row), ("rowtui", own)):
        folder = tmp_path / ".config" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "clusters.toml").write_text(text)
    return load_clusters({"HOME": str(tmp_path)})


def test_every_key_arrives_where_it_belongs(tmp_path: Path) -> None:
    file = load(
        tmp_path,
        """
[[cluster]]
name = "alpha"
identify.by_environment = ["CLUSTER_NAME", "alpha"]
scheduler = "slurm"
poll = 12.5
query_timeout = 45
partition = [{ name = "cpu" }]
[cluster.ssh]
host = "login.alpha.edu"
user = "me"
port = 2222
transport = "openssh"
mirror = "$SCRATCH/rowtui"
config = ["~/.ssh/config.d/hpc"]
paths = [{ local = "/home/me/", remote = "//nfs//home/me" }, { local = "/", remote = "/host" }]
""",
    )
    assert file.problems == ()
    found = file.clusters[0]
    assert found.identify == Identify(("CLUSTER_NAME", "alpha"))
    assert [partition.name for partition in found.partitions] == ["cpu"]
    assert (found.poll_seconds, found.query_seconds) == (12.5, 45.0)
    assert found.remote == Remote(
        host="login.alpha.edu",
        user="me",
        port=2222,
        transport="openssh",
        paths=(PathPrefix("/home/me", "/nfs/home/me"), PathPrefix("/", "/host")),
        mirror="$SCRATCH/rowtui",
        config=("~/.ssh/config.d/hpc",),
    )


def test_a_name_and_a_host_are_a_slurm_cluster_that_is_asked_for_the_rest(tmp_path: Path) -> None:
    file = load(tmp_path, SSH)
    assert file.problems == ()
    assert file.clusters == (
        Cluster(
            "t",
            Identify(),
            "slurm",
            source=str(tmp_path / ".config/rowtui/clusters.toml"),
            remote=Remote("h"),
        ),
        *CLUSTERS,
    )


def test_three_lines_say_how_a_known_cluster_is_reached(tmp_path: Path) -> None:
    file = load(
        tmp_path,
        '[[cluster]]\nname = "greatlakes"\nssh.host = "gl"\n'
        '[[cluster]]\nname = "t"\nssh.host = "h"\npoll = 5\nsubmit_options = ["--x"]\n',
        row='[[cluster]]\nname = "t"\nscheduler = "slurm"\nidentify.always = false\n'
        'partition = [{ name = "p" }]\nsubmit_options = ["--old"]\n',
    )
    assert file.problems == ()
    assert file.named("greatlakes") == BUILT_IN["greatlakes"]._replace(remote=Remote("gl"))
    mine = file.clusters[0]
    assert (mine.name, mine.poll_seconds, mine.submit_options) == ("t", 5.0, ("--x",))
    assert (mine.remote, mine.partitions[0].name) == (Remote("h"), "p")
    assert mine.source.endswith("row/clusters.toml")
    assert [cluster.name for cluster in file.clusters] == ["t", *BUILT_IN]


def test_what_is_added_goes_to_the_first_of_several_of_one_name(tmp_path: Path) -> None:
    text = '[[cluster]]\nname = "anvil"\nscheduler = "slurm"\nidentify.always = false\n'
    file = load(tmp_path, '[[cluster]]\nname = "anvil"\npoll = 5\n', row=text + "partition = []\n")
    found = [it.poll_seconds for it in file.clusters if it.name == "anvil"]
    assert found == [5.0, 60.0]


def test_the_users_clusters_keep_the_order_of_the_file(tmp_path: Path) -> None:
    whole = '[[cluster]]\nname = "{}"\nscheduler = "slurm"\nssh.host = "h"\n'
    text = whole.format("a") + SSH + whole.format("b")
    file = load(tmp_path, text)
    assert [cluster.name for cluster in file.clusters[:4]] == ["a", "t", "b", "andes"]


def test_a_cluster_of_its_own_may_leave_out_what_can_be_asked(tmp_path: Path) -> None:
    file = load(
        tmp_path,
        '[[cluster]]\nname = "a"\nscheduler = "slurm"\nssh.host = "h"\n'
        '[[cluster]]\nname = "b"\nidentify.always = true\nssh.host = "h"\n'
        '[[cluster]]\nname = "c"\npartition = [{ name = "p" }]\nssh.host = "h"\n',
    )
    assert file.problems == ()
    assert [(it.name, it.scheduler, len(it.partitions)) for it in file.clusters[:3]] == [
        ("a", "slurm", 0),
        ("b", "slurm", 0),
        ("c", "slurm", 1),
    ]
    assert [it.identify.always for it in file.clusters[:3]] == [False, True, False]


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "hint"),
    [
        (SSH.replace("host =", "hots ="), 3, 10, "`cluster.ssh` is missing `host`", "login node"),
        (SSH.replace("host =", "hots ="), 4, 1, "unknown key `hots`", "did you mean 'host'?"),
        (SSH.replace('"h"', '""'), 4, 1, "the name of the host is empty", ""),
        (SSH.replace('"h"', "1"), 4, 1, "`host` must be a string, not an integer", ""),
        (SSH.replace('"h"', '"-oProxyCommand=x"'), 4, 1, "cannot be the name of a host", ""),
        (SSH.replace('"h"', '"a\\u001bb"'), 4, 1, "a\\x1bb cannot be the name of a host", ""),
        (SSH + 'user = "-x"', 5, 1, "-x cannot be the name of a user", ""),
        (SSH + "port = 0", 5, 1, "`port` is 0 but must be at least 1", ""),
        (SSH + "port = 65536", 5, 1, "`port` is 65536 but must be at most 65535", ""),
        (SSH + 'port = "22"', 5, 1, "`port` must be an integer, not a string", ""),
        (SSH + 'transport = "opensh"', 5, 1, "cannot be 'opensh'", "did you mean 'openssh'?"),
        (SSH + 'mirror = "scratch"', 5, 1, "`mirror` cannot be 'scratch'", "begin with `/`"),
        (SSH + 'mirror = "~other/x"', 5, 1, "`mirror` cannot be '~other/x'", "begin with"),
        (SSH + 'mirror = "/a/../b"', 5, 1, "`mirror` cannot be '/a/../b'", ""),
        (SSH + 'mirror = "/a\\nb"', 5, 1, "`mirror` has control characters", ""),
        (SSH + 'config = "~/x"', 5, 1, "`config` must be an array of strings", ""),
        (SSH + 'config = ["~/x", "y"]', 5, 18, "element 1 of `config` cannot be 'y'", "begin"),
        (
            SSH + 'transport = "openssh"\nconfig = ["/x", "/y"]',
            6,
            1,
            "`ssh` reads only one file",
            "Include",
        ),
        (SSH + 'paths = [{ local = "/a" }]', 5, 10, "the pair of paths is missing `remote`", ""),
        (
            SSH + 'paths = [{ local = "a", remote = "/b" }]',
            5,
            12,
            "`local` is not an absolute path: 'a'",
            "write it in full",
        ),
        (
            SSH + 'paths = [{ local = "/a", remote = "/b/.." }]',
            5,
            26,
            "`remote` is not an absolute path: '/b/..'",
            "",
        ),
        (
            SSH
            + '[[cluster.ssh.paths]]\nlocal = "/a"\nremote = "/b"\n'
            + '[[cluster.ssh.paths]]\nlocal = "/a/"\nremote = "/c"',
            9,
            1,
            "`local` repeats '/a', which is /b",
            "one folder",
        ),
        (
            SSH + 'paths = [{ local = "/a", remote = "/b", x = 1 }]',
            5,
            41,
            "unknown key `x`",
            "expected one of `local`, `remote`",
        ),
        ('[[cluster]]\nname = "t"\nssh = "h"', 3, 1, "`ssh` must be a table", "ssh.host ="),
        ('[[cluster]]\nssh.host = "h"', 1, 1, "the cluster is missing `name`", ""),
        ('[[cluster]]\nname = "t"\npoll = 0.5\nssh.host = "h"', 3, 1, "between 1 and 86400", ""),
        (
            '[[cluster]]\nname = "t"\nquery_timeout = 0\nssh.host = "h"',
            3,
            1,
            "between 1 and 600",
            "",
        ),
        ('[[cluster]]\nname = "t"\npoll = nan\nssh.host = "h"', 3, 1, "between 1 and 86400", ""),
        ('[[cluster]]\nname = "t"\npoll = true\nssh.host = "h"', 3, 1, "must be a number", "60"),
        (
            '[[cluster]]\nname = "grateliks"\npoll = 5',
            2,
            1,
            "no cluster is called 'grateliks' to add this to",
            "",
        ),
        (
            '[[cluster]]\nname = "greatlake"\npoll = 5',
            2,
            1,
            "no cluster is called 'greatlake'",
            "did you mean 'greatlakes'?",
        ),
        (
            '[[cluster]]\nname = "t"\nscheduler = "local"\npartition = []\nssh.host = "h"',
            5,
            1,
            "a cluster with the scheduler 'local' cannot be reached over SSH",
            "leave `ssh` out",
        ),
        ('[[cluster]]\nname = "none"\nssh.host = "h"', 3, 1, "the scheduler 'bash' cannot", ""),
        (
            '[[cluster]]\nname = "t"\nscheduler = "bash"\nssh.host = "h"',
            1,
            1,
            "the cluster is missing `partition`",
            "",
        ),
    ],
)
def test_a_mistake_is_told_where_it_stands_and_the_cluster_is_left_out(
    tmp_path: Path, text: str, line: int, column: int, message: str, hint: str
) -> None:
    good = '\n[[cluster]]\nname = "good"\nssh.host = "g"\n'
    file = load(tmp_path, text + good)
    found = [it for it in file.problems if message in it.message]
    assert found, file.problems
    assert (found[0].line, found[0].column, found[0].severity) == (line, column, "error")
    assert hint in found[0].hint
    assert file.named("t") is None
    assert file.named("good") is not None


def test_a_cluster_whose_ssh_is_wrong_is_not_taken_for_one_that_is_here(tmp_path: Path) -> None:
    file = load(tmp_path, '[[cluster]]\nname = "anvil"\nssh.hots = "a"\n')
    assert file.named("anvil") is None
    assert len(file.clusters) == len(CLUSTERS) - 1
    assert all(problem.severity == "error" for problem in file.problems)


def test_a_second_way_to_reach_a_cluster_is_an_error(tmp_path: Path) -> None:
    twice = '[[cluster]]\nname = "anvil"\nssh.host = "a"\n' * 2
    file = load(tmp_path, twice)
    assert [(it.line, it.message) for it in file.problems] == [(6, "'anvil' has a second `ssh`")]


def test_the_target_of_a_login_has_its_files_below_the_home_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert ssh_target(Remote("h")) == SshTarget("h")
    assert ssh_target(Remote("h", "u", 7, config=("~/.ssh/x", "/y"))) == SshTarget(
        "h", "u", 7, (Path("/home/me/.ssh/x"), Path("/y"))
    )


def test_loading_clusters_loads_neither_asyncssh_nor_asyncio(tmp_path: Path) -> None:
    load(tmp_path, SSH)
    code = (
        "import sys; from rowtui.core.clusters.config.load import load_clusters;"
        "assert load_clusters({'HOME': sys.argv[1]}).clusters[0].remote;"
        "sys.exit(len({'asyncssh', 'asyncio', 'numpy', 'platformdirs'} & {*sys.modules}))"
    )
    result = run_briefly([sys.executable, "-c", code, str(tmp_path)], timeout=30)
    assert (result.exit_status, result.stderr) == (0, b"")


WORDS = st.sampled_from(["h", "-h", "", "/a", "/a/", "~/b", "$C/d", "x/..", "a b", "openssh", "é"])
STRINGS = WORDS.map(lambda word: f'"{word}"')
NUMBERS = st.sampled_from(["-1", "0", "1", "22", "65536", "1e400", "nan", "2.5", "true"])
PAIRS = st.dictionaries(st.sampled_from(["local", "remote", "x"]), STRINGS | NUMBERS).map(
    lambda pair: "{ " + ", ".join(f"{key} = {value}" for key, value in pair.items()) + " }"
)
SCALARS = STRINGS | NUMBERS | PAIRS
VALUES = SCALARS | st.lists(SCALARS, max_size=3).map(lambda items: f"[{', '.join(items)}]")
PARTS = ("host", "user", "port", "transport", "mirror", "config", "paths", "zz")
KEYS = [*(f"ssh.{part}" for part in PARTS), "poll", "identify", "scheduler", "partition"]


@given(st.sampled_from(["t", "anvil", "none"]), st.dictionaries(st.sampled_from(KEYS), VALUES))
def test_whatever_is_written_is_a_cluster_that_can_be_written_again_or_a_problem_with_its_place(
    tmp_path_factory: pytest.TempPathFactory, name: str, values: dict[str, str]
) -> None:
    home = tmp_path_factory.getbasetemp() / "whatever"
    text = "".join(f"{key} = {value}\n" for key, value in values.items())
    file = load(home, f'[[cluster]]\nname = "{name}"\n{text}')
    errors = [problem for problem in file.problems if problem.severity == "error"]
    assert all(problem.line > 0 and problem.column > 0 for problem in file.problems)
    if errors:
        return
    found = file.named(name)
    assert found is not None
    if "scheduler" not in values:
        again = load(home, clusters_toml([found]))
        assert [problem for problem in again.problems if problem.severity == "error"] == []
        assert again.clusters[0] == found._replace(source=again.clusters[0].source)
