"""What the pages say of node types and packing is what clusters.toml takes and doctor prints."""

from __future__ import annotations

import re
from pathlib import Path

from rowtui.core.clusters.config import cluster_keys
from rowtui.core.clusters.config.load import load_clusters

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "guide" / "node-types.md").read_text(encoding="utf-8")


def keys(table: str) -> set[str]:
    """What stands in backticks in the first column."""
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    return {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}


def test_the_entries_of_the_page_are_read_without_a_complaint(tmp_path: Path) -> None:
    ssh = '[[cluster]]\nname = "alpha"\nssh.host = "h"\n'
    pasted = PAGE.partition("rowtui doctor --node-types alpha\n")[2].partition("```")[0]
    written = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert len(written) == 1
    file = tmp_path / "rowtui" / "clusters.toml"
    file.parent.mkdir()
    for entry, names in (
        (pasted, ["cpu-16c-62g", "cloud-8c-31g-1xa100"]),
        (written[0], ["big"]),
    ):
        file.write_text(ssh + entry)
        loaded = load_clusters({"XDG_CONFIG_HOME": str(tmp_path)})
        assert loaded.problems == ()
        assert [kind.name for kind in loaded.clusters[0].node_types] == names


def test_all_keys_are_explained_and_no_others() -> None:
    types, packing = PAGE.split("| key of `packing`")
    assert keys(types.partition("| key of a node type")[2]) == set(cluster_keys.NODE_TYPE.named)
    assert keys(packing) == {*cluster_keys.PACKING_KEYS, "partition.NAME"}
