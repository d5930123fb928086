"""One https transfer within limits: verified, bounded in time, size and redirects.

The input is a URL (and the validators of the cached copy); the output is the response or an error.
One limit applies to the whole transfer, from the name lookup to the last byte, so that a server
which sends only a byte now and then does not block the caller.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import NamedTuple, cast
from urllib.parse import urldefrag, urljoin, urlsplit

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible

_LONGEST_URL = 2_000  # characters; servers and proxies cut longer ones
_MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_PIECE = 1 << 16  # bytes read at a time
_UNKNOWN_ISSUER = (18, 19, 20, 21)  # OpenSSL's X509_V_ERR_ codes for an unknown issuer


def refuse_url(url: str) -> None:
    """Raise a RowtuiError with the reason if this URL must not be fetched."""
    scheme, _, rest = url[:_LONGEST_URL].partition("//")
    if "@" in rest.partition("/")[0]:
        hint = "it would be shown and kept where others can read it: fetch the file yourself"
        raise RowtuiError("a URL with a user name or a password in it is not fetched", hint)
    shown = visible(url[:_LONGEST_URL])
    if len(url) > _LONGEST_URL:
        raise RowtuiError(f"the URL {shown[:60]}... has more than {_LONGEST_URL:,} characters")
    if scheme.lower() != "https:":
        hint = "the file could be changed on its way from the server: use https, or a local file"
        if scheme.lower().startswith("file:"):
            hint = "name the file by its path, without file:"
        raise RowtuiError(f"{shown} is not fetched: only https is", hint)
    if not all("!" <= char <= "~" for char in url):
        hint = "write it as the address line of a browser copies it (percent-encoded)"
        raise RowtuiError(f"the URL {shown} has a space or a character that is not ASCII", hint)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise RowtuiError(f"{shown} is not a URL: {error}") from None
    if not host or port == 0:
        raise RowtuiError(f"{shown} is not a URL: it names no host")


class NoAnswerError(Exception):
    """Why there is no usable response from the server."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


class HttpsResponse(NamedTuple):
    """The response of the server; `data` is None if the content has not changed."""

    data: bytes | None
    url: str
    content_type: str = ""
    etag: str = ""
    modified: str = ""


class CacheValidators(NamedTuple):
    """The validators of the cached copy, so that unchanged content is not sent again."""

    url: str
    etag: str
    modified: str


def ask(url: str, known: CacheValidators | None, seconds: float, most_bytes: int) -> HttpsResponse:
    """Run one transfer in a thread of its own.

    Without the thread, the time limit would not apply to a hanging name lookup and to bytes that
    arrive slowly.
    """
    transfer = _Transfer(url, known, seconds, most_bytes)
    outcome: list[HttpsResponse | BaseException] = []

    def run() -> None:
        try:
            outcome.append(transfer.run())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run, name="rowtui-fetch", daemon=True)
    thread.start()
    try:
        thread.join(seconds)
        ended = tuple(outcome)
    finally:
        transfer.stop()
    if not ended:
        raise NoAnswerError(_timed_out(seconds))
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return ended[0]


class _Transfer:
    """The requests for one URL and its redirects; `stop` ends them from another thread."""

    def __init__(
        self, url: str, known: CacheValidators | None, seconds: float, most_bytes: int
    ) -> None:
        self.url = url
        self.known = known
        self.seconds = seconds
        self.most_bytes = most_bytes
        self._lock = threading.Lock()
        self._stopped = False
        self._socket: socket.socket | None = None

    def run(self) -> HttpsResponse:
        """Send the request, follow redirects, and read. Raises: NoAnswerError."""
        url = self.url
        try:
            opener = self._opener()
            for _ in range(_MOST_REDIRECTS + 1):
                request = urllib.request.Request(url, headers=self._headers(url))  # noqa: S310
                answered = opener.open(request, timeout=self.seconds)
                with cast(http.client.HTTPResponse, answered) as response:
                    if response.status not in _REDIRECTS:
                        return self._read(response, url)
                    url = _redirect(url, response.headers.get("Location", ""))
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise _explained(error, url, self.seconds) from None
        finally:
            self._watch(None)
        raise NoAnswerError(f"it redirects more than {_MOST_REDIRECTS} times")

    def stop(self) -> None:
        """Close the connection, so that a waiting read ends. Does nothing after the end."""
        with self._lock:
            self._stopped = True
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)

    def _watch(self, sock: socket.socket | None) -> None:
        """Store a handle of the connection, and close the handle of the previous one."""
        if isinstance(sock, ssl.SSLSocket):
            return  # the same connection, wrapped
        with self._lock:
            if self._socket is not None:
                self._socket.close()
            self._socket = None
            if sock is not None:
                if self._stopped:
                    raise TimeoutError
                self._socket = sock.dup()

    def _opener(self) -> urllib.request.OpenerDirector:
        """Return an opener for https through the proxy of the environment, if any.

        The opener uses no cookies and no passwords, and does not follow redirects by itself.
        """
        opener = urllib.request.OpenerDirector()
        opener.addheaders = [("User-Agent", "rowtui")]
        opener.add_handler(urllib.request.ProxyHandler())
        opener.add_handler(_HTTPSHandler(self._watch))
        return opener

    def _headers(self, url: str) -> dict[str, str]:
        """Return new headers for every request: one host's headers may not go to another."""
        headers = {"Accept": "application/yaml, text/yaml, text/plain, */*;q=0.5"}
        if self.known is not None and self.known.url == url:
            if self.known.etag:
                headers["If-None-Match"] = self.known.etag
            if self.known.modified:
                headers["If-Modified-Since"] = self.known.modified
        return headers

    def _read(self, response: http.client.HTTPResponse, url: str) -> HttpsResponse:
        if response.status == 304 and self.known is not None and self.known.url == url:
            return HttpsResponse(None, url)
        if response.status != 200:
            reason = f"{response.status} {visible(response.reason[:100])}".strip()
            raise NoAnswerError(f"the server answered {reason}")
        headers = response.headers
        if headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            raise NoAnswerError("the server sent it compressed, which was not asked for")
        data = bytearray()
        while (response.length or 0) + len(data) <= self.most_bytes:
            piece = response.read(_PIECE)
            if not piece:
                break
            data += piece
        else:
            raise NoAnswerError(f"it has more than the {self.most_bytes:,} bytes allowed")
        if response.length:
            raise NoAnswerError(f"the transfer broke off after {len(data):,} bytes")
        return HttpsResponse(
            bytes(data),
            url,
            headers.get("Content-Type", ""),
            header(headers.get("ETag", "")),
            header(headers.get("Last-Modified", "")),
        )


class _HTTPSHandler(urllib.request.AbstractHTTPHandler):
    """https with verified certificates, over connections that can be closed from outside."""

    def __init__(self, watch: Callable[[socket.socket | None], None]) -> None:
        super().__init__()
        context = ssl.create_default_context()  # honours SSL_CERT_FILE and SSL_CERT_DIR
        self._connection = functools.partial(_Connection, watch=watch, context=context)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        """Open a request; the opener calls this for https URLs."""
        return self.do_open(self._connection, request)

    https_request = urllib.request.AbstractHTTPHandler.do_request_


class _Connection(http.client.HTTPSConnection):
    """Reports its socket before the tunnel and the TLS handshake."""

    def __init__(
        self,
        host: str,
        *,
        watch: Callable[[socket.socket | None], None],
        timeout: float,
        context: ssl.SSLContext,
    ) -> None:
        self._watch = watch
        super().__init__(host, timeout=timeout, context=context)

    @property
    def sock(self) -> socket.socket | None:
        """The connection's socket, as http.client sets it."""
        return self._sock

    @sock.setter
    def sock(self, sock: socket.socket | None) -> None:
        self._sock = sock
        if sock is not None:
            self._watch(sock)


def _redirect(url: str, location: str) -> str:
    target = urldefrag(urljoin(url, location)).url
    if not location:
        raise NoAnswerError("it redirects to nowhere")
    try:
        refuse_url(target)
    except RowtuiError as error:
        raise NoAnswerError(f"it redirects to where we do not go: {error.message}") from None
    return target


def header(text: str) -> str:
    """Return a header that can be sent back unchanged; "" for one that cannot."""
    return text if len(text) <= 200 and text.isascii() and text.isprintable() else ""


def _timed_out(seconds: float) -> str:
    return f"timed out after {seconds:g} s"


def _explained(
    error: OSError | ValueError | http.client.HTTPException, url: str, seconds: float
) -> NoAnswerError:
    """Return a network error in words."""
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, OSError):
        error = error.reason
    host = visible(urlsplit(url).hostname or "")
    if isinstance(error, ssl.SSLCertVerificationError):
        hint = ""
        if error.verify_code in _UNKNOWN_ISSUER:
            hint = "if the site has a certificate authority of its own, name it in SSL_CERT_FILE"
        return NoAnswerError(
            f"the certificate of {host} is not valid: {error.verify_message.rstrip('.')}", hint
        )
    if isinstance(error, ssl.SSLError):
        return NoAnswerError(f"no secure connection to {host}: {error.reason or error}")
    if isinstance(error, TimeoutError):
        return NoAnswerError(_timed_out(seconds))
    if isinstance(error, socket.gaierror):
        return NoAnswerError(f"the host {host} is not found: {error.strerror}")
    if isinstance(error, OSError):
        return NoAnswerError(f"no connection to {host}: {visible(error.strerror or str(error))}")
    if isinstance(error, ValueError):  # an impossible host name
        return NoAnswerError(f"{host} cannot be asked: {visible(str(error)[:200])}")
    return NoAnswerError(f"{host} broke the rules of HTTP: {visible(str(error)[:200])}")
