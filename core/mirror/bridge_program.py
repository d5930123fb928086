"""The remote shell that rsync starts: joins rsync's streams with a socket of the bridge.

Run as a file, by `python -I -S`: it imports nothing but the standard library, and starts quickly.
Its arguments: the socket, then what rsync wants to be run.
"""

import json
import os
import socket
import sys
import threading

CHUNK = 1 << 18


def main() -> int:
    """Forward until the other side has nothing more to say."""
    path, *words = sys.argv[1:]
    for stream in (0, 1):  # rsync's sockets are its own, and need not wait for anybody
        os.set_blocking(stream, True)
    with socket.socket(socket.AF_UNIX) as bridge:
        bridge.connect(path)
        bridge.sendall(json.dumps(words).encode() + b"\n")
        threading.Thread(target=forward, args=(bridge,), daemon=True).start()
        try:
            while data := bridge.recv(CHUNK):
                while data:
                    data = data[os.write(1, data) :]
        except OSError:
            return 1
    return 0


def forward(bridge: socket.socket) -> None:
    """Everything that rsync says, and that it has said all."""
    try:
        while data := os.read(0, CHUNK):
            bridge.sendall(data)
        bridge.shutdown(socket.SHUT_WR)
    except OSError:
        pass


if __name__ == "__main__":
    # Not sys.exit: the thread may still wait for rsync to say something.
    os._exit(main())
