"""Remote mapping files: verified, bounded, kept, and the last good copy when nothing comes."""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.mapping.files.fetch import Fetched, fetch
from rowtui.core.mapping.files.trust import day, digest_of

from tests.core.mapping.https_server import Authority, Handler, Server

NOON = 1_795_262_400.0
LATER = NOON + 3_600
YAML = b"tools:\n  default:\n    cores: 2\n"
NEWER = b"tools:\n  default:\n    cores: 4\n"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "known")


@pytest.fixture(scope="module")
def certificate(authority: Authority) -> Path:
    return authority.certificate("localhost")


@pytest.fixture(autouse=True)
def _environment(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))


@pytest.fixture
def server(certificate: Path) -> Iterator[Server]:
    server = Server(certificate)
    yield server
    server.end()


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "mapping"


def get(url: str, cache: Path, now: float = NOON, **options: object) -> Fetched:
    options.setdefault("seconds", 5.0)
    return fetch(url, cache, now=now, **options)  # type: ignore[arg-type]


def refusal(url: str, cache: Path, **options: object) -> str:
    with pytest.raises(RowtuiError) as caught:
        get(url, cache, **options)
    return str(caught.value)


# --- what comes -----------------------------------------------------------------------------------


def test_a_good_answer_comes_and_is_kept(server: Server, cache: Path) -> None:
    url = server.serve("/m.yml", YAML)
    assert get(url, cache) == Fetched(YAML, digest_of(YAML), NOON, False)
    assert (cache / f"{digest_of(YAML)}.yml").read_bytes() == YAML
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert server.asked[0][1]["Accept-Encoding"] == "identity"


def test_a_young_copy_is_used_without_asking(server: Server, cache: Path) -> None:
    url = server.serve("/m.yml", YAML)
    get(url, cache)
    server.serve("/m.yml", NEWER)
    assert get(url, cache, NOON + 599) == Fetched(YAML, digest_of(YAML), NOON, True)
    assert get(url, cache, NOON + 600).data == NEWER
    assert len(server.asked) == 2


def test_a_copy_from_the_future_is_not_young(server: Server, cache: Path) -> None:
    url = server.serve("/m.yml", YAML)
    get(url, cache, LATER)
    assert not get(url, cache, NOON).from_cache


def test_a_new_content_replaces_the_old_and_leaves_no_waste(server: Server, cache: Path) -> None:
    url, other = server.serve("/m.yml", YAML), server.serve("/same.yml", YAML)
    get(url, cache)
    get(other, cache)
    server.serve("/m.yml", NEWER)
    assert get(url, cache, LATER).data == NEWER
    assert get(other, cache, NOON).data == YAML  # still in use under the other name
    server.serve("/same.yml", NEWER)
    get(other, cache, LATER)
    assert [file for file in os.listdir(cache) if file.endswith(".yml")] == [
        f"{digest_of(NEWER)}.yml"
    ]


@pytest.mark.parametrize(
    ("header", "value", "condition"),
    [
        ("ETag", '"v1"', "If-None-Match"),
        ("Last-Modified", "Sat, 21 Nov 2026 12:00:00 GMT", "If-Modified-Since"),
    ],
)
def test_a_copy_that_the_server_confirms_is_young_again(
    server: Server, cache: Path, header: str, value: str, condition: str
) -> None:
    def answer(handler: Handler) -> None:
        if handler.headers.get(condition) == value:
            handler.send_response(304)
            handler.end_headers()
        else:
            handler.give(YAML, **{header: value})

    server.answers["/m.yml"] = answer
    url = server.url + "/m.yml"
    get(url, cache)
    assert get(url, cache, LATER) == Fetched(YAML, digest_of(YAML), LATER, True)
    assert get(url, cache, LATER + 599).from_cache
    assert len(server.asked) == 2


def test_not_modified_without_a_copy_is_no_answer(server: Server, cache: Path) -> None:
    assert "answered 304" in refusal(server.serve("/m.yml", b"", 304), cache)


def test_a_fragment_is_not_part_of_the_name(server: Server, cache: Path) -> None:
    url = server.serve("/m.yml", YAML)
    get(url + "#one", cache)
    assert get(url + "#two", cache).from_cache


# --- redirects ------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_five_times(server: Server, cache: Path, status: int) -> None:
    for n in range(5):
        server.redirect(f"/{n}", f"/{n + 1}", status)
    server.serve("/5", YAML)
    assert get(server.url + "/0", cache).data == YAML
    server.redirect("/more", "/0", status)
    assert "redirects more than 5 times" in refusal(server.url + "/more", cache)


def test_a_redirect_loop_ends(server: Server, cache: Path) -> None:
    server.redirect("/a", "/b")
    server.redirect("/b", "/a")
    assert "redirects more than 5 times" in refusal(server.url + "/a", cache)
    assert len(server.asked) == 6


@pytest.mark.parametrize(
    "target", ["http://localhost/m.yml", "file:///etc/passwd", "ftp://h/x", "https://u:p@h/", ""]
)
def test_a_redirect_away_from_https_is_not_followed(
    server: Server, cache: Path, target: str
) -> None:
    message = refusal(server.redirect("/m.yml", target), cache)
    assert "it redirects to" in message
    assert "u:p" not in message


def test_another_host_learns_nothing_that_the_first_one_gave(
    server: Server, certificate: Path, cache: Path
) -> None:
    other = Server(certificate)
    try:
        other.serve("/m.yml", YAML, ETag='"other"')
        url = server.redirect("/m.yml", other.url + "/m.yml", Set_Cookie="a=b", ETag='"first"')
        get(url, cache)
        server.serve("/m.yml", NEWER, ETag='"first"')
        get(url, cache, LATER)
    finally:
        other.end()
    for name in ("Authorization", "Cookie", "Referer", "If-None-Match"):
        assert name not in other.asked[0][1]
    assert "If-None-Match" not in server.asked[1][1]  # the tag was the other host's


# --- what does not come ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "headers", "why"),
    [
        (404, b"404: Not Found", {}, "the server answered 404 Not Found"),
        (429, b"message: rate limited", {}, "the server answered 429 Too Many Requests"),
        (500, YAML, {}, "the server answered 500"),
        (206, YAML, {}, "the server answered 206"),
        (200, b"", {}, "an empty file"),
        (200, b" \n\n", {}, "an empty file"),
        (200, b"\n<!doctype html><p>log in", {}, "a web page, not YAML"),
        (200, b"log: in", {"Content_Type": "text/html; charset=utf-8"}, "a web page, not YAML"),
        (200, b"\x1f\x8b\x08", {"Content_Encoding": "gzip"}, "compressed"),
        (200, YAML, {"Content_Length": "99"}, "broke off after 31 bytes"),
        (200, b"bad", {}, "not usable: no map"),
    ],
)
def test_a_wrong_answer_is_explained_or_the_copy_is_used(
    server: Server, cache: Path, status: int, body: bytes, headers: dict[str, str], why: str
) -> None:
    def check(data: bytes) -> str:
        return "no map" if data == b"bad" else ""

    url = server.serve("/m.yml", body, status, **headers)
    message = refusal(url, cache, check=check)
    assert why in message
    assert "there is no copy" in message

    server.serve("/m.yml", YAML)
    get(url, cache)
    server.serve("/m.yml", body, status, **headers)
    older = get(url, cache, LATER, check=check)
    assert older[:4] == (YAML, digest_of(YAML), NOON, True)
    assert older.notice.startswith(f"{url} could not be fetched (")
    assert why in older.notice
    assert older.notice.endswith(f": the copy of {day(NOON)} is used")


def test_after_a_failure_the_server_is_left_alone_for_a_minute(server: Server, cache: Path) -> None:
    url = server.serve("/m.yml", YAML)
    get(url, cache)
    server.serve("/m.yml", b"", 503)
    first = get(url, cache, LATER)
    server.serve("/m.yml", NEWER)
    assert get(url, cache, LATER + 59) == first
    assert get(url, cache, LATER + 59, fresh_seconds=0).data == NEWER  # asked to look now


@pytest.mark.parametrize("length", ["100000", None])
def test_a_huge_answer_is_not_read_to_its_end(
    server: Server, cache: Path, length: str | None
) -> None:
    def answer(handler: Handler) -> None:
        handler.send_response(200)
        if length is not None:
            handler.send_header("Content-Length", length)
        handler.end_headers()
        handler.drip(1_000, b"x" * 100_000)

    server.answers["/m.yml"] = answer
    message = refusal(server.url + "/m.yml", cache, most_bytes=20_000)
    assert "more than the 20,000 bytes allowed" in message
    assert server.client_went.wait(60)


def test_an_answer_of_exactly_the_most_bytes_is_read(server: Server, cache: Path) -> None:
    url = server.serve("/m.yml", b"x" * 20_000)
    assert len(get(url, cache, most_bytes=20_000).data) == 20_000
    url = server.serve("/n.yml", b"x" * 20_001)
    assert "more than the 20,000 bytes" in refusal(url, cache, most_bytes=20_000)


@pytest.mark.parametrize("where", ["body", "headers", "status"])
def test_a_slow_drip_ends_at_the_time_limit(server: Server, cache: Path, where: str) -> None:
    def answer(handler: Handler) -> None:
        if where != "status":
            handler.send_response(200)
        if where == "body":
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
        else:
            handler.flush_headers() if where == "headers" else None
            handler.wfile.write(b"X-Slow: " if where == "headers" else b"HTTP/1.1 ")
        handler.drip(1_000, b"#")

    server.answers["/m.yml"] = answer
    message = refusal(server.url + "/m.yml", cache, seconds=0.3)
    assert "timed out after 0.3 s" in message
    assert server.client_went.wait(60)  # the connection is closed, not left behind


def test_a_server_that_never_answers_ends_at_the_time_limit(cache: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://localhost:{silent.getsockname()[1]}/m.yml"
        assert "timed out after 0.3 s" in refusal(url, cache, seconds=0.3)
        connection, _ = silent.accept()
        with connection:
            connection.settimeout(60)
            while connection.recv(1 << 16):  # its greeting, then the end: it did not stay
                pass


def test_a_server_that_speaks_something_else_is_explained(cache: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.listen()
        url = f"https://localhost:{server.getsockname()[1]}/m.yml"

        def talk() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")
                connection.recv(1 << 16)

        thread = threading.Thread(target=talk)
        thread.start()
        message = refusal(url, cache)
        thread.join(10)
    assert "no secure connection to localhost" in message


def test_a_broken_http_answer_is_explained(server: Server, cache: Path) -> None:
    server.answers["/m.yml"] = lambda handler: handler.wfile.write(b"\x1b[2J nonsense\r\n\r\n")
    message = refusal(server.url + "/m.yml", cache)
    assert "broke the rules of HTTP" in message
    assert "\x1b" not in message


# --- who answers ----------------------------------------------------------------------------------


def test_a_certificate_for_another_host_is_refused(authority: Authority, cache: Path) -> None:
    server = Server(authority.certificate("other.example"))
    try:
        message = refusal(server.serve("/m.yml", YAML), cache)
    finally:
        server.end()
    assert "the certificate of localhost is not valid" in message
    assert "ostname mismatch" in message
    assert server.asked == []


def test_a_certificate_of_an_unknown_authority_is_refused(tmp_path: Path, cache: Path) -> None:
    server = Server(Authority(tmp_path, "unknown").certificate("localhost"))
    try:
        message = refusal(server.serve("/m.yml", YAML), cache)
    finally:
        server.end()
    assert "the certificate of localhost is not valid" in message
    assert "SSL_CERT_FILE" in message
    assert server.asked == []


def test_a_certificate_that_is_not_valid_leaves_the_copy_in_use(
    server: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.serve("/m.yml", YAML)
    get(url, cache)
    monkeypatch.setenv("SSL_CERT_FILE", str(Authority(tmp_path, "unknown").file))
    server.serve("/m.yml", NEWER)
    older = get(url, cache, LATER)
    assert older.data == YAML
    assert "is not valid" in older.notice


# --- no network -----------------------------------------------------------------------------------


def test_without_the_network_the_copy_is_used_and_says_so(server: Server, cache: Path) -> None:
    url = server.serve("/m.yml", YAML)
    get(url, cache)
    server.end()
    older = get(url, cache, LATER)
    assert older[:4] == (YAML, digest_of(YAML), NOON, True)
    assert "no connection to localhost: Connection refused" in older.notice


def test_without_network_and_copy_it_is_an_explained_error(server: Server, cache: Path) -> None:
    url = server.serve("/m.yml", YAML)
    server.end()
    assert refusal(url, cache) == (
        f"{url} could not be fetched (no connection to localhost: Connection refused),"
        " and there is no copy of it"
    )


def test_when_fetching_is_not_allowed_nobody_is_asked(server: Server, cache: Path) -> None:
    url = server.serve("/m.yml", YAML)
    assert "(offline), and there is no copy" in refusal(
        url, cache, fetch_allowed=False, why_not="offline"
    )
    get(url, cache)
    older = get(url, cache, LATER, fetch_allowed=False, why_not="offline")
    assert older.data == YAML
    assert f"(offline): the copy of {day(NOON)} is used" in older.notice
    assert get(url, cache, NOON + 1, fetch_allowed=False).notice == ""
    assert len(server.asked) == 1


# --- the cache ------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [b"", b"x", b"tools: {evil: {}}\n" * 9])
def test_a_damaged_copy_does_not_count(server: Server, cache: Path, damage: bytes) -> None:
    url = server.serve("/m.yml", YAML)
    get(url, cache)
    (cache / f"{digest_of(YAML)}.yml").write_bytes(damage)
    again = get(url, cache)
    assert (again.data, again.from_cache) == (YAML, False)
    assert get(url, cache).from_cache


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"null", b"\xff", b"[" * 60_000, b'{"version": 1}', b'{"version": 99}'],
)
def test_a_damaged_index_does_not_count(server: Server, cache: Path, damage: bytes) -> None:
    url = server.serve("/m.yml", YAML)
    get(url, cache)
    (index,) = cache.glob("*.json")
    index.write_bytes(damage)
    assert not get(url, cache).from_cache
    assert get(url, cache).from_cache


def test_an_index_cannot_lead_out_of_the_cache(server: Server, cache: Path) -> None:
    url = server.serve("/m.yml", YAML)
    get(url, cache)
    (index,) = cache.glob("*.json")
    (cache.parent / "secret.yml").write_bytes(b"secret")
    index.write_bytes(index.read_bytes().replace(digest_of(YAML).encode(), b"../secret"))
    assert get(url, cache).data == YAML


def test_what_cannot_be_kept_is_used_all_the_same(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    fetched = get(server.serve("/m.yml", YAML), tmp_path / "file" / "cache")
    assert fetched.data == YAML
    assert "could not be kept for later: Not a directory" in fetched.notice


# --- URLs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://localhost/m.yml", "only https is"),
        ("file:///etc/passwd", "only https is"),
        ("ftp://localhost/m.yml", "only https is"),
        ("mapping.yml", "only https is"),
        ("https://", "names no host"),
        ("https:///m.yml", "names no host"),
        ("https://localhost:99999/", "is not a URL"),
        ("https://localhost:x/", "is not a URL"),
        ("https://[::1/", "is not a URL"),
        ("https://localhost/a b", "a space or a character that is not ASCII"),
        ("https://localhost/\r\nX: y", "a space or a character that is not ASCII"),
        ("https://localhost/\x1b[2J", "a space or a character that is not ASCII"),
        ("https://löcalhost/", "a space or a character that is not ASCII"),
        ("https://localhost/" + "a" * 2_000, "more than 2,000 characters"),
        ("https://.localhost/", ".localhost cannot be asked"),
        ("https://a..b/", "a..b cannot be asked"),
    ],
)
def test_a_url_that_cannot_be_fetched_is_refused_with_its_reason(
    cache: Path, url: str, why: str
) -> None:
    message = refusal(url, cache)
    assert why in message
    assert "\x1b" not in message


@pytest.mark.parametrize("url", ["https://me:secret@localhost/m", "http://me:secret@localhost/"])
def test_a_password_in_a_url_is_refused_and_not_repeated(cache: Path, url: str) -> None:
    message = refusal(url, cache)
    assert "a user name or a password" in message
    assert "secret" not in message
