"""docs/formats.md on network.toml: what it says is so, and it says everything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rowtui.core.network.definition import load as load_schedule
from rowtui.core.network.definition import network_keys
from rowtui.core.network.definition.load import NetworkError, parse_network
from rowtui.core.network.definition.load_tables import FIELDS
from rowtui.core.network.definition.spec import EXECUTIONS

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"


@pytest.fixture(scope="module")
def section() -> str:
    _, _, rest = PAGE.read_text().partition("\n## `network.toml`\n")
    return re.split(r"\n## ", rest)[0]


def part(section: str, heading: str) -> str:
    return section.partition(f"\n### `{heading}`\n")[2].partition("\n### ")[0]


def keys(text: str) -> list[set[str]]:
    """The keys of each table of a text."""
    tables = re.findall(r"\| key \|.*\n\|[-|]+\n((?:\|.*\n)+)", text + "\n")
    rows = [[row.split("|")[1] for row in table.splitlines()] for table in tables]
    return [set(re.findall(r"`(.+?)`", " ".join(table))) for table in rows]


def test_the_example_is_a_network_without_problems(section: str) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    loaded = parse_network(example.encode(), "network.toml", "p")
    assert loaded.problems == ()
    assert [node.name for node in loaded.network.nodes] == ["simulate", "average", "fit", "plot"]


def test_every_key_has_its_row_and_no_other_has(section: str) -> None:
    source, spaced = keys(part(section, "[[source]]"))
    node, link = keys(part(section, "[[node]]"))
    assert source == set(network_keys.SOURCE_KEYS.named)
    assert spaced == set(network_keys.SPACED_KEYS.named)
    assert node == set(network_keys.NODE_KEYS.named)
    assert link == set(network_keys.INPUT_KEYS.named)
    assert keys(part(section, "[[sink]]")) == [set(network_keys.SINK_KEYS)]
    schedule, pilot = keys(part(section, "[schedule]"))
    assert schedule == set(network_keys.SCHEDULE_KEYS)
    assert pilot == set(network_keys.PILOT_KEYS)
    with pytest.raises(NetworkError) as caught:
        parse_network(b"[schedule]\n_ = 1\ngather._ = 1\n", "f", "p")
    hints = " ".join(problem.hint for problem in caught.value.problems)
    assert {*schedule, "size", "walltime"} == set(re.findall(r"`(\w+)`", hints))


def test_every_word_that_is_ours_is_named(section: str) -> None:
    schedule = part(section, "[schedule]")
    for word in (*load_schedule.PRIORITIES, *EXECUTIONS):
        assert f"`{word}`" in schedule
    assert all(f"`{{{field}}}`" in part(section, "[[sink]]") for field in FIELDS)


def test_the_defaults_are_those_of_the_page(section: str) -> None:
    """Writing each default out changes nothing."""
    head = b'[[source]]\nname = "s"\nvalues = { a = [1] }\n'
    short = b'[[node]]\nname = "n"\nfrom = "s"\n[[node]]\nname = "m"\ninputs.n = "n"\n'
    rows = re.findall(r"^\| (.+?) \|.*\| `(.+?)` ?.*\|$", section, re.MULTILINE)
    defaults = {key: value for names, value in rows for key in re.findall(r"`(\w+)`", names)}
    assert defaults.keys() >= {"zip", "combine", "constants", "directories", "collapse", "require"}
    link = ", ".join(f"{key} = {defaults[key]}" for key in ("collapse", "require"))
    node = "".join(f"{key} = {defaults[key]}\n" for key in ("combine", "constants", "directories"))
    schedule = "".join(
        f"{key} = {defaults[key]}\n" for key in ("priority", "execution", "gather", "ahead")
    )
    long = (
        f'[[source]]\nname = "s"\nvalues = {{ a = [1] }}\nzip = {defaults["zip"]}\n'
        f'[[node]]\nname = "n"\naction = "n"\nfrom = "s"\n{node}'
        f'[[node]]\nname = "m"\ninputs.n = {{ from = "n", group = "", {link} }}\n'
        f"[schedule]\n{schedule}"
    )
    one = parse_network(head + short, "f", "p").network
    two = parse_network(long.encode(), "f", "p").network

    assert one == two
