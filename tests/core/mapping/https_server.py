"""A real HTTPS server on loopback whose answers the test writes, and the certificates for it."""

from __future__ import annotations

import datetime
import http.server
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Answer = Callable[["Handler"], None]
_DAY = datetime.timedelta(days=1)


class Authority:
    """A certificate authority that lives for one test run."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._signed(self.name, self.key.public_key(), [], is_authority=True)
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def certificate(self, host: str) -> Path:
        """A file with a certificate for a host and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        certificate = self._signed(name, key.public_key(), [x509.DNSName(host)])
        file = self.folder / f"{self.file.stem}-{host}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        return file

    def _signed(
        self,
        subject: x509.Name,
        public: ec.EllipticCurvePublicKey,
        hosts: list[x509.GeneralName],
        *,
        is_authority: bool = False,
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        own = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _DAY)
            .not_valid_after(now + _DAY)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(own, critical=False)
        )
        if is_authority:
            usage = x509.KeyUsage(
                digital_signature=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=True,
                crl_sign=True,
                encipher_only=False,
                decipher_only=False,
            )
            builder = builder.add_extension(usage, critical=True)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        return builder.sign(self.key, hashes.SHA256())


class Handler(http.server.BaseHTTPRequestHandler):
    """Gives each path the answer that the test set, and remembers what was asked."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers.items())))
        self.close_connection = True
        answer = self.server.answers.get(self.path)
        if answer is None:
            self.give(b"not here", status=404)
        else:
            answer(self)

    def give(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        headers.setdefault("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def drip(self, pieces: int, piece: bytes) -> None:
        """Send little by little, until the client goes or the server ends."""
        try:
            for _ in range(pieces):
                self.wfile.write(piece)
                self.wfile.flush()
                if self.server.ending.wait(0.02):
                    return
        except OSError:
            self.server.client_went.set()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Be quiet."""


class Server(http.server.ThreadingHTTPServer):
    """`answers`: path -> what to do. `asked`: (path, headers) of every request so far."""

    daemon_threads = True

    def __init__(self, certificate: Path, host: str = "localhost") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.ending = threading.Event()
        self.client_went = threading.Event()
        self.url = f"https://{host}:{self.server_port}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def serve(self, path: str, body: bytes, status: int = 200, **headers: str) -> str:
        """Answer a path always in the same way; gives its URL."""
        self.answers[path] = lambda handler: handler.give(body, status, **headers)
        return self.url + path

    def redirect(self, path: str, to: str, status: int = 302, **headers: str) -> str:
        return self.serve(path, b"", status, Location=to, **headers)

    def end(self) -> None:
        """Go: from now on connections are refused."""
        if not self.ending.is_set():
            self.ending.set()
            self.shutdown()
            self._thread.join()
            self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away in the middle are what is tested here."""
