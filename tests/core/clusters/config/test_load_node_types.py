"""Node types, their currency, and how jobs are packed, as our own clusters.toml says it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.commands import run_briefly
from rowtui.core.clusters.config.builtin import CLUSTERS
from rowtui.core.clusters.config.load import ClusterFile, load_clusters
from rowtui.core.clusters.config.load_node_types import memory_mb
from rowtui.core.clusters.model import NodeType, PackingDefaults

HEAD = """\
[[cluster]]
name = "t"
scheduler = "slurm"
identify.always = false
partition = [{ name = "p" }, { name = "batch" }, { name = "a,b" }]
[[cluster.node_type]]
name = "n"
cpus = 4
memory = "8G"
"""  # what follows is on line 10
GOOD = '[[cluster.node_type]]\nname = "{}"\ncpus = 4\nmemory = "8G"\n'


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
name = "t"
scheduler = "slurm"
identify.always = false
partition = [{ name = "batch" }, { name = "debug" }]
currency = "EUR"
[[cluster.node_type]]
name = "big"
partition = "batch"
cpus = 64
memory = "256G"
gpus = 4
local_disk = "1.5T"
price_per_hour = 3.25
count = 12
boot_time = "00:02:00"
maximum_walltime = "2 days, 12:00:00"
whole_node = true
[[cluster.node_type]]
name = "small"
cpus = 2
memory = 8000
boot_time = 1.5
price_per_hour = 0
[cluster.packing]
enabled = true
packer = "fill"
largest_bundle = 100
longest = "12:00:00"
time_factor = 1.2
[cluster.packing.partition.debug]
enabled = false
longest = 600
""",
    )
    assert file.problems == ()
    found = file.clusters[0]
    source = str(tmp_path / ".config/rowtui/clusters.toml")
    assert found.currency == "EUR"
    assert found.node_types == (
        NodeType(
            name="big",
            partition="batch",
            cpus=64,
            memory_mb=256 * 1024,
            gpus=4,
            disk_mb=1536 * 1024,
            price_per_hour=3.25,
            at_most=12,
            boot_seconds=120,
            longest_seconds=216000,
            whole_node=True,
            source=source,
        ),
        NodeType("small", "", 2, 8000, price_per_hour=0.0, boot_seconds=2, source=source),
    )
    usual = PackingDefaults(True, "fill", 100, 43200, 1.2)
    debug = usual._replace(enabled=False, longest_seconds=600)
    assert found.packing == usual._replace(partitions={"debug": debug})


def test_a_cluster_that_says_nothing_of_packing_has_none_of_it(tmp_path: Path) -> None:
    found = load(tmp_path, HEAD.partition("[[cluster.node_type]]")[0]).clusters[0]
    assert (found.node_types, found.currency, found.packing) == ((), "", None)


def test_node_types_can_be_added_to_a_cluster_that_is_described_elsewhere(tmp_path: Path) -> None:
    text = '[[cluster]]\nname = "anvil"\npacking.enabled = true\n'
    file = load(tmp_path, text + GOOD.format("a") + GOOD.format("b"))
    assert file.problems == ()
    anvil = file.named("anvil")
    assert anvil is not None
    assert [kind.name for kind in anvil.node_types] == ["a", "b"]
    assert anvil.packing == PackingDefaults()
    built_in = next(cluster for cluster in CLUSTERS if cluster.name == "anvil")
    assert anvil._replace(node_types=(), packing=None) == built_in


def test_node_types_can_be_added_to_a_cluster_that_is_only_reached(tmp_path: Path) -> None:
    text = '[[cluster]]\nname = "t"\nssh.host = "h"\n[[cluster]]\nname = "t"\n'
    file = load(tmp_path, text + GOOD.format("a"))
    assert file.problems == ()
    assert [(it.name, len(it.node_types)) for it in file.clusters[:2]] == [("t", 1), ("andes", 0)]


@pytest.mark.parametrize("name", ["1", '["t"]', '{ a = "t" }'])
def test_a_name_that_is_none_is_a_problem_of_the_file(name: str, tmp_path: Path) -> None:
    file = load(tmp_path, f"[[cluster]]\nname = {name}\n" + GOOD.format("a"))
    assert "`name` must be a string" in " ".join(it.message for it in file.problems)


def test_a_slurm_cluster_that_is_here_may_leave_its_partitions_to_be_asked_for(
    tmp_path: Path,
) -> None:
    text = '[[cluster]]\nname = "t"\nscheduler = "slurm"\nidentify.always = true\n'
    file = load(tmp_path, text)
    assert file.problems == ()
    asked = file.clusters[0]
    assert (asked.partitions, asked.asked_partitions) == ((), True)
    assert load(tmp_path, text + "partition = []\n").clusters[0].asked_partitions is False
    for scheduler in ("local", "bash", "grid_engine"):
        problems = load(tmp_path, text.replace('"slurm"', f'"{scheduler}"')).problems
        assert [it.message for it in problems] == ["the cluster is missing `partition`"]


def test_two_entries_of_one_cluster_are_taken_together(tmp_path: Path) -> None:
    entry = '[[cluster]]\nname = "anvil"\n'
    file = load(tmp_path, entry + GOOD.format("a") + entry + GOOD.format("b"))
    twice = load(tmp_path, entry + GOOD.format("a") + entry + GOOD.format("a"))
    anvil = file.named("anvil")
    assert anvil is not None
    assert [kind.name for kind in anvil.node_types] == ["a", "b"]
    assert [(it.line, it.message) for it in twice.problems] == [
        (10, "there are two node types 'a'")
    ]


@pytest.mark.parametrize(
    ("text", "line", "column", "message", "hint"),
    [
        (HEAD.replace('name = "n"\n', ""), 6, 1, "missing `name`", 'add name = "big"'),
        (HEAD.replace("cpus = 4\n", ""), 6, 1, "missing `cpus`", "add cpus = 64"),
        (HEAD.replace('memory = "8G"\n', ""), 6, 1, "missing `memory`", 'add memory = "256G"'),
        (HEAD.replace("cpus", "cpu"), 8, 1, "unknown key `cpu`", "did you mean 'cpus'?"),
        (HEAD.replace('"n"', '""'), 7, 1, "`name` is empty", ""),
        (HEAD.replace('"n"', '"a\\u001bb"'), 7, 1, "`name` has control characters", ""),
        (HEAD.replace('"n"', f'"{"x" * 201}"'), 7, 1, "more than 200 characters", ""),
        (HEAD.replace("= 4", "= 0"), 8, 1, "`cpus` is 0 but must be at least 1", ""),
        (HEAD.replace("= 4", "= -4"), 8, 1, "`cpus` is -4 but must be at least 1", ""),
        (HEAD.replace("= 4", "= 4.0"), 8, 1, "`cpus` must be an integer, not a float", ""),
        (HEAD.replace("= 4", "= 1048577"), 8, 1, "must be at most 1,048,576", ""),
        (HEAD.replace("8G", "-8G"), 9, 1, "`memory` cannot be '-8G'", 'write memory = "256G"'),
        (HEAD.replace("8G", "8000"), 9, 1, "`memory` cannot be '8000'", '"8000G", "8000M"'),
        (HEAD.replace("8G", "8X"), 9, 1, "`memory` cannot be '8X'", 'write memory = "256G"'),
        (HEAD.replace("8G", "0G"), 9, 1, "`memory` is 0 MB but must be at least 1", ""),
        (HEAD.replace("8G", "1025P"), 9, 1, "must be at most 1,099,511,627,776", ""),
        (HEAD.replace('"8G"', "8.5"), 9, 1, "`memory` must be a string, not a float", ""),
        (HEAD.replace('"8G"', "true"), 9, 1, "`memory` must be a string, not a boolean", ""),
        (HEAD + "gpus = -1", 10, 1, "`gpus` is -1 but must be a non-negative", ""),
        (HEAD + 'local_disk = "big"', 10, 1, "`local_disk` cannot be 'big'", "local_disk ="),
        (HEAD + "price_per_hour = -0.1", 10, 1, "`price_per_hour` is -0.1 but must", ""),
        (HEAD + "price_per_hour = nan", 10, 1, "`price_per_hour` is nan but must", ""),
        (HEAD + "price_per_hour = inf", 10, 1, "`price_per_hour` is inf but must", ""),
        (HEAD + 'price_per_hour = "1 EUR"', 10, 1, "must be a number, not a string", ""),
        (HEAD + "count = 0", 10, 1, "`count` is 0 but must be at least 1", ""),
        (HEAD + 'boot_time = "2 minutes"', 10, 1, "cannot be '2 minutes'", '"PT2M"'),
        (HEAD + "boot_time = 00:02:00", 10, 1, "must be a time", 'boot_time = "00:02:00"'),
        (HEAD + "boot_time = -1", 10, 1, "`boot_time` is -1 s but must be between 0", ""),
        (HEAD + "boot_time = nan", 10, 1, "`boot_time` must be a time, not a float", ""),
        (HEAD + 'boot_time = "8 days"', 10, 1, "is 691,200 s but must be", ""),
        (HEAD + "maximum_walltime = 0", 10, 1, "is 0 s but must be between 1", ""),
        (HEAD + 'maximum_walltime = "2-00:00:00"', 10, 1, "not a duration", '"2d 00:00:00"'),
        (HEAD + 'whole_node = "yes"', 10, 1, "must be true or false, not a string", ""),
        (HEAD + 'partition = "bacth"', 10, 1, "'t' has no partition 'bacth'", "'batch'?"),
        (HEAD + GOOD.format("n"), 11, 1, "there are two node types 'n'", "name of its own"),
        (
            HEAD + GOOD.format("m") + "price_per_hour = 1",
            6,
            1,
            "1 node type has no `price_per_hour`",
            "0 is a price",
        ),
        (HEAD + "[cluster.packing]\nenable = true", 11, 1, "unknown key `enable`", "'enabled'?"),
        (HEAD + "[cluster.packing]\nenabled = 1", 11, 1, "must be true or false", ""),
        (HEAD + '[cluster.packing]\npacker = "-x"', 11, 1, "`packer` cannot be '-x'", "best"),
        (HEAD + "[cluster.packing]\nlargest_bundle = 0", 11, 1, "must be at least 1", ""),
        (HEAD + "[cluster.packing]\nlongest = 0", 11, 1, "must be between 1", ""),
        (HEAD + "[cluster.packing]\ntime_factor = 0", 11, 1, "from more than 0 to 100", ""),
        (HEAD + "[cluster.packing]\ntime_factor = nan", 11, 1, "is nan but must be", ""),
        (
            HEAD + "[cluster.packing.partition.q]\nenabled = true",
            10,
            28,
            "'t' has no partition 'q'",
            "it has 'a,b', 'batch', 'p'",
        ),
        (
            HEAD.replace("[[cluster.node_type]]", "currency = 1\n[[cluster.node_type]]"),
            6,
            1,
            "`currency` must be a string",
            "",
        ),
        (
            HEAD.replace("[[cluster.node_type]]", "packing = true\n[[cluster.node_type]]"),
            6,
            1,
            "`packing` must be a table, not a boolean",
            "packing.enabled = true",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place_and_the_way_out(
    text: str, line: int, column: int, message: str, hint: str, tmp_path: Path
) -> None:
    file = load(tmp_path, text)
    problem = next(it for it in file.problems if message in it.message)
    assert (problem.line, problem.column, problem.severity) == (line, column, "error")
    assert hint in problem.hint
    assert file.named("t") is None, "a cluster with a mistake is left out"


def test_all_mistakes_are_named_at_once_with_those_of_the_rest(tmp_path: Path) -> None:
    bad = '[[cluster.node_type]]\nname = "x"\ncpus = 0\nmemory = "?"\nprice_per_hour = -1\n'
    text = HEAD.replace('"slurm"', '"slrum"') + bad + bad.replace('"x"', '"y"')
    file = load(tmp_path, text)
    assert [it.line for it in file.problems] == [3, 6, 12, 13, 14, 17, 18, 19]


def test_one_table_in_place_of_several_says_how_to_write_it(tmp_path: Path) -> None:
    file = load(tmp_path, HEAD.replace("[[cluster.node_type]]", "[cluster.node_type]"))
    assert file.problems[0].message == "`node_type` must be an array of tables, not a table"
    assert file.problems[0].hint == "write it as [[cluster.node_type]]"


def test_a_bare_small_number_of_mb_is_a_warning_only(tmp_path: Path) -> None:
    file = load(tmp_path, HEAD.replace('"8G"', "256"))
    assert [(it.severity, it.message) for it in file.problems] == [
        ("warning", "`memory` is only 256 MB")
    ]
    assert 'memory = "256G"' in file.problems[0].hint
    assert file.clusters[0].node_types[0].memory_mb == 256


def test_partitions_that_are_still_to_be_asked_for_are_not_checked(tmp_path: Path) -> None:
    text = '[[cluster]]\nname = "t"\nssh.host = "h"\n' + GOOD.format("n") + 'partition = "q"\n'
    assert load(tmp_path, text).problems == ()


def test_one_of_several_partitions_that_slurm_takes_together_is_known(tmp_path: Path) -> None:
    assert load(tmp_path, HEAD + 'partition = "b"\n').problems == ()
    assert load(tmp_path, HEAD + 'partition = "a,b"\n').problems == ()


def test_in_rows_file_node_types_are_told_where_to_go(tmp_path: Path) -> None:
    problems = load(tmp_path, "", row=HEAD).problems
    assert [it.message for it in problems] == ["unknown key `node_type` in `cluster`"]
    assert problems[0].hint == "Row has no entry for it: write it in ~/.config/rowtui/clusters.toml"


@pytest.mark.parametrize(
    ("text", "megabytes"),
    [
        ("256G", 262144),
        ("250 GB", 256000),
        ("250 gib", 256000),
        ("1.5T", 1572864),
        ("64000M", 64000),
        ("2048K", 2),
        ("1P", 1 << 30),
        (" 1g ", 1024),
        ("1", None),
        ("G", None),
        ("1GG", None),
        ("1e3G", None),
        ("-1G", None),
        ("١G", None),
        ("1" * 40 + "G", None),
    ],
)
def test_memory_is_read_as_people_write_it(text: str, megabytes: int | None) -> None:
    assert memory_mb(text) == megabytes


@given(st.text(max_size=12))
def test_no_text_of_memory_breaks_the_reading(text: str) -> None:
    found = memory_mb(text)
    assert found is None or found >= 0


def test_ten_thousand_types_are_read_and_as_many_bad_ones_named(tmp_path: Path) -> None:
    body = "".join(GOOD.format(f"n{number}") for number in range(10_000))
    head = HEAD.partition("[[cluster.node_type]]")[0]
    good = load(tmp_path, head + body)
    bad = load(tmp_path, head + body.replace("cpus = 4", "cpus = 0"))
    assert len(good.clusters[0].node_types) == 10_000
    assert len(bad.problems) == 10_000
    assert bad.problems[-1].line == 5 + 4 * 10_000 - 1


def test_without_such_parts_their_reader_is_not_loaded(tmp_path: Path) -> None:
    load(tmp_path, '[[cluster]]\nname = "anvil"\npoll = 7\n')
    code = (
        "import sys; from rowtui.core.clusters.config.load import load_clusters;"
        f"load_clusters({{'HOME': {str(tmp_path)!r}}});"
        "sys.exit(any('node_types' in name for name in sys.modules))"
    )
    assert run_briefly([sys.executable, "-c", code], timeout=30).exit_status == 0
