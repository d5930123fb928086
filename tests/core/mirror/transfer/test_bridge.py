"""rsync's remote shell, started as rsync starts it: with sockets that wait for nobody."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from rowtui.core.mirror.transfer import bridge_program


def test_everything_is_passed_on_though_rsync_reads_slowly(tmp_path: Path) -> None:
    ours, rsyncs = socket.socketpair()
    rsyncs.setblocking(False)
    data = os.urandom(1 << 20) * 5
    with socket.socket(socket.AF_UNIX) as bridge:
        bridge.bind(str(tmp_path / "s"))
        bridge.listen()
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", bridge_program.__name__, str(tmp_path / "s"), "to", "r"],
            stdin=rsyncs,
            stdout=rsyncs,
        )
        rsyncs.close()
        cluster, _ = bridge.accept()
    with cluster, cluster.makefile("rb") as said:
        words = json.loads(said.readline())
        ours.sendall(b"hello")
        hello = said.read(5)
        # More than all that lies between holds, while nobody reads.
        sending = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"],
            stdin=subprocess.PIPE,
            stdout=cluster.fileno(),
        )
        assert sending.stdin is not None
        sending.stdin.write(data)
        sending.stdin.close()
        arrived = bytearray()
        while len(arrived) < len(data) and (chunk := ours.recv(1 << 16)):
            arrived += chunk
        sending.wait()
        ours.shutdown(socket.SHUT_WR)
        rest = said.read()
    process.wait()
    ours.close()

    assert words == ["to", "r"]
    assert hello == b"hello"
    assert arrived == data
    assert rest == b""
    assert process.returncode == 0
