"""Which mapping files count, in which order, what they include, and which of them may run."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rowtui.core.base.errors import Problem
from rowtui.core.mapping.files.places import Fetching, FoundSources, UserFolders, user_places
from rowtui.core.mapping.files.sources import find_sources, read_includes, sources_from
from rowtui.core.mapping.files.trust import TrustStore, day, digest_of

from tests.core.mapping.https_server import Authority, Server

NOON = 1_795_262_400.0


class Home:
    """A home folder with a configuration, and a project in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.own = folder / ".config" / "rowtui" / "mapping"
        self.project = folder / "project"
        self.project.mkdir(parents=True)
        self.places = UserFolders(self.own, folder / "trust", folder / "cache", folder)

    def put(self, path: str, text: str = "", include: str = "", mode: int = 0o644) -> Path:
        """A mapping file below the home folder."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.parent.chmod(0o755)
        if include:
            text = f"global:\n  include: [{include}]\n{text}"
        file.write_text(text or f"tools: {{x: {{context: {{from: {path}}}}}}}\n")
        file.chmod(mode)
        return file

    def mine(self, file: str, text: str = "", include: str = "", mode: int = 0o644) -> Path:
        return self.put(f".config/rowtui/mapping/{file}", text, include, mode)

    def find(self, fetching: Fetching = Fetching()) -> FoundSources:  # noqa: B008
        return find_sources(self.project, places=self.places, now=NOON, fetching=fetching)

    def named(self, *names: str, fetching: Fetching = Fetching()) -> FoundSources:  # noqa: B008
        return sources_from(
            names, base=self.project, places=self.places, now=NOON, fetching=fetching
        )


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "me")


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "known")


@pytest.fixture
def server(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    server = Server(authority.certificate("localhost"))
    yield server
    server.end()


def names(found: FoundSources) -> list[str]:
    return [source.name for source in found.sources]


def messages(found: FoundSources) -> list[str]:
    return [problem.message for problem in found.problems]


# --- where they are -------------------------------------------------------------------------------


def test_without_any_file_there_is_nothing_and_nothing_is_wrong(home: Home) -> None:
    assert home.find() == FoundSources(())
    assert find_sources(None, places=home.places, now=NOON) == FoundSources(())
    assert home.find().problems == ()


def test_the_users_files_come_first_by_name_and_the_project_overrides_them(home: Home) -> None:
    for file in ("b.yml", "a.yaml", "10.yml", "9.yml", ".hidden.yml", "notes.txt", "x.yml~"):
        home.mine(file)
    home.put("project/mapping.yml", "tools: {}\n")
    found = home.find()
    below = "~/.config/rowtui/mapping"
    assert names(found) == [
        f"{below}/10.yml",
        f"{below}/9.yml",
        f"{below}/a.yaml",
        f"{below}/b.yml",
        "mapping.yml",
    ]
    last = found.sources[-1]
    assert last.data == b"tools: {}\n"
    assert last.digest == digest_of(last.data)
    assert last.place == str(home.project / "mapping.yml")


def test_either_ending_is_the_projects_but_not_both(home: Home) -> None:
    home.put("project/mapping.yaml")
    assert names(home.find()) == ["mapping.yaml"]
    home.put("project/mapping.yml")
    assert home.find() == FoundSources(
        (),
        (
            Problem(
                "mapping.yaml",
                0,
                0,
                "there is mapping.yml as well, so that neither is read",
                "keep one of the two",
            ),
        ),
    )


def test_named_sources_replace_the_usual_ones(home: Home) -> None:
    home.mine("a.yml")
    home.put("project/mapping.yml")
    home.put("project/site/two.yml")
    home.put("project/site/one.yml")
    home.put("elsewhere.yml")
    found = home.named("../elsewhere.yml", "site", "~/none.yml")
    assert names(found) == ["~/elsewhere.yml", "site/one.yml", "site/two.yml"]
    assert messages(found) == ["cannot be read: No such file or directory"]
    assert found.problems[0].file == "~/none.yml"


def test_the_users_places_follow_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CONFIG", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_places(os.environ) == UserFolders(
        tmp_path / "CONFIG" / "rowtui" / "mapping",
        tmp_path / "DATA" / "rowtui" / "trust",
        tmp_path / "CACHE" / "rowtui" / "mapping",
        tmp_path,
    )
    assert user_places({}).configuration is None


# --- includes -------------------------------------------------------------------------------------


def test_what_a_file_includes_comes_immediately_before_it(home: Home) -> None:
    file = home.put("project/mapping.yml", include="parts/tools.yml, site, ../shared.yaml")
    TrustStore(home.places.trust).trust(str(file), file.read_bytes(), NOON)
    home.put("project/parts/tools.yml", include="users.yml")
    home.put("project/parts/users.yml")
    home.put("project/site/2.yml")
    home.put("project/site/1.yml")
    home.put("shared.yaml")
    found = home.find()
    assert found.problems == ()
    assert names(found) == [
        "parts/users.yml",
        "parts/tools.yml",
        "site/1.yml",
        "site/2.yml",
        "~/shared.yaml",
        "mapping.yml",
    ]


def test_one_include_may_stand_without_a_list(home: Home) -> None:
    home.put("project/mapping.yml", "global:\n  include: a.yml\n")
    home.put("project/a.yml")
    assert names(home.find()) == ["a.yml", "mapping.yml"]


def test_each_source_counts_once_where_it_is_first_needed(home: Home) -> None:
    home.put("project/mapping.yml", include="a.yml, b.yml, ./a.yml, link.yml")
    home.put("project/a.yml", include="b.yml")
    home.put("project/b.yml")
    (home.project / "link.yml").symlink_to("a.yml")
    assert names(home.find()) == ["b.yml", "a.yml", "mapping.yml"]
    assert home.find().problems == ()


def test_a_cycle_is_explained_where_it_closes_and_the_files_are_used(home: Home) -> None:
    home.put("project/mapping.yml", include="a.yml")
    home.put("project/a.yml", include="b.yml")
    home.put("project/b.yml", "\n", include="a.yml")
    found = home.find()
    assert names(found) == ["b.yml", "a.yml", "mapping.yml"]
    assert found.problems == (
        Problem("b.yml", 2, 13, "this includes itself: a.yml -> b.yml -> a.yml"),
    )


def test_includes_go_five_files_deep(home: Home) -> None:
    home.put("project/mapping.yml", include="1.yml")
    for n in range(1, 7):
        home.put(f"project/{n}.yml", include=f"{n + 1}.yml")
    found = home.find()
    assert names(found) == ["5.yml", "4.yml", "3.yml", "2.yml", "1.yml", "mapping.yml"]
    (problem,) = found.problems
    assert str(problem) == "5.yml:2:13: 6.yml is not read: includes go more than 5 files deep"


def test_a_hundred_files_are_read_and_no_more(home: Home) -> None:
    for n in range(120):
        home.put(f"project/many/{n:03}.yml")
    found = home.named("many")
    assert names(found) == [f"many/{n:03}.yml" for n in range(100)]
    (problem,) = found.problems
    assert problem.file == "many/100.yml"
    assert "more than 100 files" in problem.message


@pytest.mark.parametrize(
    ("include", "message"),
    [
        ("none.yml", "none.yml cannot be read: No such file or directory"),
        ("folder/a.txt/b.yml", "folder/a.txt/b.yml cannot be read: Not a directory"),
        ("empty", "empty has no *.yml or *.yaml"),
        ('"a\\0b"', "a\\x00b is not the name of a file"),
        ("x" * 300, "x" * 300 + " cannot be read: File name too long"),
        ("http://h/m.yml", "http://h/m.yml is not fetched: only https is"),
        ("file:///etc/passwd", "file:///etc/passwd is not fetched: only https is"),
        ("https://me:pw@h/m", "a URL with a user name or a password in it is not fetched"),
        ("3", "`include` names something that is not a file, a folder or an https URL"),
        ("[a.yml]", "`include` names something that is not a file, a folder or an https URL"),
        ('""', "`include` names something that is not a file, a folder or an https URL"),
    ],
)
def test_a_bad_include_is_explained_at_its_line_and_the_rest_goes_on(
    home: Home, include: str, message: str
) -> None:
    home.put("project/folder/a.txt")
    (home.project / "empty").mkdir()
    home.put("project/mapping.yml", include=f"{include}, good.yml")
    home.put("project/good.yml")
    found = home.find()
    assert names(found) == ["good.yml", "mapping.yml"]
    (problem,) = found.problems
    assert (problem.file, problem.line, problem.column) == ("mapping.yml", 2, 13)
    assert problem.message == message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "include",
        "include: a.yml",
        "global: include",
        "global: {include: }",
        "global: {include: [",
        "- include",
        "\x00include",
    ],
)
def test_whatever_else_is_wrong_with_a_file_is_left_to_its_loader(text: str) -> None:
    assert read_includes(text.encode(), "m.yml") == ((), ())


# --- bad files ------------------------------------------------------------------------------------


def test_pipes_sockets_devices_and_folders_are_explained_and_do_not_hang(home: Home) -> None:
    home.mine("good.yml")
    os.mkfifo(home.own / "fifo.yml")
    (home.own / "folder.yml").mkdir()
    (home.own / "zero.yml").symlink_to("/dev/zero")
    (home.own / "gone.yml").symlink_to("nowhere")
    (home.own / "loop.yml").symlink_to("loop.yml")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"/proc/self/fd/{os.open(home.own, os.O_PATH)}/socket.yml")  # a short name
        found = home.find()
    assert [Path(name).name for name in names(found)] == ["good.yml"]
    by_file = {Path(problem.file).name: problem.message for problem in found.problems}
    assert sorted(by_file) == [
        "fifo.yml",
        "folder.yml",
        "gone.yml",
        "loop.yml",
        "socket.yml",
        "zero.yml",
    ]
    assert "is not a regular file" in by_file["fifo.yml"]
    assert "is not a regular file" in by_file["zero.yml"]
    assert all(problem.severity == "error" for problem in found.problems)


def test_a_file_that_is_too_large_is_explained(home: Home) -> None:
    with home.put("project/mapping.yml").open("wb") as file:
        file.truncate(10_000_001)
    (problem,) = home.find().problems
    assert "10,000,001 bytes" in problem.message


def test_names_that_steer_terminals_are_shown_harmless(home: Home) -> None:
    home.own.mkdir(parents=True)
    (home.own / "a\x1b[2J\n.yml").write_text("")
    Path(os.fsdecode(os.fsencode(home.own) + b"/\xff.yml")).symlink_to("n\x1bowhere")
    found = home.find()
    assert [name.rpartition("/")[2] for name in names(found)] == ["a\\x1b[2J\\n.yml"]
    assert [problem.file.rpartition("/")[2] for problem in found.problems] == ["\\xff.yml"]


def test_a_configuration_folder_that_is_a_file_is_explained(home: Home) -> None:
    home.put(".config/rowtui/mapping")
    assert messages(home.find()) == ["cannot be read: Not a directory"]


# --- trust ----------------------------------------------------------------------------------------


def test_the_users_own_files_run_and_the_projects_do_not(home: Home) -> None:
    home.mine("a.yml")
    home.put("project/mapping.yml")
    mine, projects = home.find().sources
    assert (mine.trusted, mine.trusted_because) == (True, "your own configuration")
    assert (projects.trusted, projects.trusted_because) == (False, "")


def test_a_trusted_content_runs_until_it_changes(home: Home) -> None:
    path = home.put("project/mapping.yml", "tools: {}\n")
    (source,) = home.find().sources
    TrustStore(home.places.trust).trust(source.place, source.data, NOON)
    (source,) = home.find().sources
    assert (source.trusted, source.trusted_because) == (
        True,
        f"you trusted this content on {day(NOON)}",
    )
    path.write_text("tools: {a: {}}\n")
    (source,) = home.find().sources
    assert not source.trusted
    assert TrustStore(home.places.trust).last_trusted(source.place) == b"tools: {}\n"


def test_to_include_a_file_is_not_to_trust_it(home: Home) -> None:
    home.mine("a.yml", include="~/project/site.yml")
    home.put("project/site.yml", include=str(home.own / "b.yml"))
    home.mine("b.yml")
    found = home.find()
    assert [(Path(source.name).name, source.trusted) for source in found.sources] == [
        ("b.yml", True),  # the user's own, whoever includes it
        ("site.yml", False),
        ("a.yml", True),
    ]


def test_an_own_file_that_others_can_write_is_explained_and_does_not_run(home: Home) -> None:
    path = home.mine("a.yml", mode=0o664)
    found = home.find()
    assert [source.trusted for source in found.sources] == [False]
    (problem,) = found.problems
    assert problem.severity == "warning"
    assert f"{path} can be written by its group" in problem.message
    assert "chmod" in problem.hint

    TrustStore(home.places.trust).trust("x", path.read_bytes(), NOON)
    found = home.find()
    assert [source.trusted for source in found.sources] == [True]
    assert found.problems == ()


def test_a_link_out_of_the_own_folder_does_not_make_its_target_the_users_own(home: Home) -> None:
    target = home.put("project/theirs.yml")
    home.own.mkdir(parents=True)
    (home.own / "a.yml").symlink_to(target)
    found = home.find()
    assert [source.trusted for source in found.sources] == [False]
    assert "outside your configuration folder" in found.problems[0].message


# --- URLs -----------------------------------------------------------------------------------------


def test_a_named_url_is_fetched_with_what_it_includes_once_it_is_trusted(
    home: Home, server: Server
) -> None:
    text = b"global: {include: [more/tools.yml, /top.yml]}\ntools: {}\n"
    url = server.serve("/site/mapping.yml", text)
    tools = server.serve("/site/more/tools.yml", b"tools: {}\n")
    top = server.serve("/top.yml", b"users: {}\n")
    TrustStore(home.places.trust).trust(url, text, NOON)
    found = home.named(url)
    assert found.problems == ()
    assert [(source.name, source.place, source.trusted) for source in found.sources] == [
        (tools, tools, False),
        (top, top, False),
        (url, url, True),
    ]


def test_what_an_untrusted_file_includes_is_not_asked_for(home: Home, server: Server) -> None:
    url = server.serve("/m.yml", b"tools: {}\n")
    home.put("project/mapping.yml", include=url)
    found = home.find()
    assert names(found) == ["mapping.yml"]
    (problem,) = found.problems
    assert "mapping.yml, which includes it, is not trusted" in problem.message
    assert "rowtui mapping trust" in problem.hint
    assert server.asked == []

    assert names(home.find(Fetching(for_untrusted=True))) == [url, "mapping.yml"]
    again = home.find()  # now there is a copy, which costs nobody anything
    assert names(again) == [url, "mapping.yml"]
    assert len(server.asked) == 1


def test_a_remote_file_cannot_include_files_of_this_machine(home: Home, server: Server) -> None:
    secret = home.put("secret.yml")
    url = server.serve("/m.yml", f"global: {{include: [{secret}, 'file://{secret}']}}".encode())
    found = home.named(url, fetching=Fetching(for_untrusted=True))
    assert names(found) == [url]
    assert ["404" in message or "only https" in message for message in messages(found)] == [
        True,
        True,
    ]


def test_the_last_good_copy_is_used_when_the_server_is_gone_or_sends_nonsense(
    home: Home, server: Server
) -> None:
    url = server.serve("/m.yml", b"tools: {}\n")
    home.mine("a.yml", include=url)
    now = Fetching(fresh_seconds=0)
    assert home.find(now).sources[0].notice == ""
    for nonsense in (b"tools: [", b"rate limited", b"<html>", b"\xff"):
        server.serve("/m.yml", nonsense)
        (remote, _) = home.find(now).sources
        assert remote.data == b"tools: {}\n"
        assert f"the copy of {day(NOON)} is used" in remote.notice
    server.end()
    found = home.find(now)
    assert found.problems == ()
    assert "Connection refused" in found.sources[0].notice


def test_when_fetching_is_switched_off_only_copies_are_used(home: Home, server: Server) -> None:
    url = server.serve("/m.yml", b"tools: {}\n")
    found = home.named(url, fetching=Fetching(allowed=False))
    assert found.sources == ()
    assert found.problems[0].file == url
    assert "(fetching is switched off), and there is no copy" in found.problems[0].message
    assert server.asked == []


def test_many_urls_that_hang_take_no_longer_than_all_may(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://localhost:{silent.getsockname()[1]}"
        asked = [f"{url}/{n}" for n in range(50)]
        found = home.named(*asked, fetching=Fetching(seconds=0.2, total_seconds=0.3))
    assert len(found.problems) == 50
    assert "timed out after 0.2 s" in found.problems[0].message
    assert "0.3 s of fetching are over" in found.problems[-1].message


# --- what is loaded -------------------------------------------------------------------------------


def test_finding_nothing_loads_nothing_heavy(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from rowtui.core.mapping.files.sources import find_sources\n"
        "from rowtui.core.mapping.files.places import UserFolders\n"
        "folder = Path(sys.argv[1])\n"
        "find_sources(folder, places=UserFolders(folder, folder, folder), now=0.0)\n"
        "print(*{'ssl', 'urllib.request', 'http', 'socket', 'yaml', 'hashlib', 'difflib', 'json'}"
        " & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


# Includes of what is not trusted


@pytest.mark.parametrize("include", ["~/secret.yml", "../secret.yml", "{home}/secret.yml", "~/"])
def test_an_untrusted_file_includes_nothing_from_outside_its_project(
    home: Home, include: str
) -> None:
    home.put("secret.yml", "password: hunter2 {\n")
    file = home.put("project/mapping.yml", include=include.format(home=home.folder))
    home.put("project/workflow.toml", " ")

    found = home.find()

    assert [each.name for each in found.sources] == ["mapping.yml"]
    (problem,) = found.problems
    assert "is not read: it lies outside the project" in problem.message
    assert (problem.file, problem.line) == ("mapping.yml", 2)
    assert "mapping.yml with `rowtui mapping trust`" in problem.hint
    assert "hunter2" not in str(problem)
    assert home.named("mapping.yml").problems == found.problems

    TrustStore(home.places.trust).trust(str(file), file.read_bytes(), NOON)
    assert "~/secret.yml" in [each.name for each in home.find().sources]


def test_links_are_followed_before_it_is_asked_whether_they_lead_out(home: Home) -> None:
    home.put("secret.yml", "password: hunter2 {\n")
    home.put("project/workflow.toml", " ")
    home.put("project/site/one.yml")
    home.put("project/mapping.yml", include="site/, linked.yml, folder/, inside.yml")
    (home.project / "site/two.yml").symlink_to(home.folder / "secret.yml")
    (home.project / "linked.yml").symlink_to(home.folder / "secret.yml")
    (home.project / "folder").symlink_to(home.folder)
    (home.project / "inside.yml").symlink_to(home.project / "site/one.yml")

    found = home.find()

    assert [each.name for each in found.sources] == ["site/one.yml", "mapping.yml"]
    assert [each.message.split()[0] for each in found.problems] == [
        "site/two.yml",
        "linked.yml",
        "folder",
    ]


def test_a_mapping_file_that_is_a_link_out_of_the_project_is_read_once_it_is_trusted(
    home: Home,
) -> None:
    target = home.put("shared.yml")
    (home.project / "mapping.yml").symlink_to(target)

    found = home.find()
    assert found.sources == ()
    assert "leads out of the project to a file that is not trusted" in found.problems[0].message
    assert len(home.named("mapping.yml").sources) == 1  # the user names it

    TrustStore(home.places.trust).trust(str(target), target.read_bytes(), NOON)
    assert [each.name for each in home.find().sources] == ["mapping.yml"]


def test_a_named_file_outside_any_project_includes_from_its_own_folder(home: Home) -> None:
    home.put("site/main.yml", include="parts/, ../secret.yml")
    home.put("site/parts/a.yml", include="../b.yml")
    home.put("site/b.yml")
    home.put("secret.yml")

    found = home.named(str(home.folder / "site/main.yml"))

    names = [each.name for each in found.sources]
    assert names == ["~/site/b.yml", "~/site/parts/a.yml", "~/site/main.yml"]
    assert ["~/secret.yml" in each.message for each in found.problems] == [True]
