"""The remote shell that rsync starts: it connects rsync's streams to a socket of the bridge.

The program is run by `python -m`, and imports only the standard library to start quickly. Its
arguments are the socket and the command that rsync runs on the cluster.
"""

import json
import os
import socket
import sys
import threading

CHUNK = 1 << 18


def main() -> int:
    """Forward data in both directions until the other side closes the socket."""
    path, *words = sys.argv[1:]
    for stream in (0, 1):  # rsync starts this program with non-blocking sockets
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
    """Send all of rsync's output to the bridge, then the end of the output."""
    try:
        while data := os.read(0, CHUNK):
            bridge.sendall(data)
        bridge.shutdown(socket.SHUT_WR)
    except OSError:
        pass


if __name__ == "__main__":
    # Not sys.exit: the thread may still wait for output of rsync.
    os._exit(main())
