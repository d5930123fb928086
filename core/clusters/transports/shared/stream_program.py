"""Run a line over a shared login with this process's streams, as `ssh host line` does.

The program is run by `python -m`, and imports only the standard library to start quickly. Its
arguments are the socket, the greeting as JSON and the line. Its exit status is the command's; 255
if there is none. The messages are described in protocol.py and stream.py.
"""

import json
import os
import socket
import struct
import sys
import threading
from typing import Any

CHUNK = 1 << 18
LENGTHS = struct.Struct("!II")
CREDENTIALS = struct.Struct("3i")
FAILED = 255


def main() -> int:
    """Forward data until the command has ended."""
    path, greeting, line = sys.argv[1:]
    with socket.socket(socket.AF_UNIX) as shared:
        folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
        shared.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
        data = shared.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        if CREDENTIALS.unpack(data)[1] != os.geteuid():
            return complain(
                "the process at the other end of the shared connection belongs to another user"
            )
        with shared.makefile("rb") as answers:
            send(shared, json.loads(greeting))
            head, _ = receive(answers)
            if head.get("error"):
                return complain("the shared connection cannot be used now")
            send(shared, {"line": line})
            threading.Thread(target=forward, args=(shared,), daemon=True).start()
            return listen(answers)


def listen(answers: Any) -> int:
    """Forward the command's output; return its exit status."""
    while True:
        head, body = receive(answers)
        if "failed" in head:
            return complain(str(head["failed"]))
        if "exit" in head:
            status = head["exit"]
            return status if isinstance(status, int) and status >= 0 else FAILED
        while body:
            body = body[os.write(2 if head.get("out") == 2 else 1, body) :]


def forward(shared: socket.socket) -> None:
    """Forward all of standard input, then the end of the input."""
    try:
        while data := os.read(0, CHUNK):
            send(shared, {}, data)
        send(shared, {"eof": True})
    except OSError:
        pass


def send(shared: socket.socket, head: dict[str, Any], body: bytes = b"") -> None:
    """Send one frame."""
    words = json.dumps(head).encode()
    shared.sendall(LENGTHS.pack(len(words), len(body)) + words + body)


def receive(answers: Any) -> tuple[dict[str, Any], bytes]:
    """Receive one frame. Raises: EOFError."""
    lengths = answers.read(LENGTHS.size)
    if len(lengths) < LENGTHS.size:
        raise EOFError
    words, length = LENGTHS.unpack(lengths)
    head = answers.read(words)
    body = answers.read(length)
    if len(head) < words or len(body) < length:
        raise EOFError
    return json.loads(head), body


def complain(words: str) -> int:
    """Print why there is no command."""
    os.write(2, f"{words}\n".encode("utf-8", "surrogateescape"))
    return FAILED


if __name__ == "__main__":
    try:
        code = main()
    except (OSError, EOFError, ValueError):
        code = complain("the shared connection ended")
    # Not sys.exit: the thread may still wait for input.
    os._exit(code)
