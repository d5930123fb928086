"""Become the owner of a network and a host name of one's own, say so, and stay until killed.

Run as a program. The network has nothing but its loopback, so that daemons which insist on
listening on every address are heard by nobody else. The host is called localhost there. Without
root it is made in a user namespace, in which everybody is who they are outside.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct

CLONE_NEWUTS, CLONE_NEWUSER, CLONE_NEWNET = 0x04000000, 0x10000000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
HOST = b"localhost"


def main() -> None:
    """Make the namespaces, print a line, wait for the end."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    flags = CLONE_NEWNET | CLONE_NEWUTS | (CLONE_NEWUSER if uid else 0)
    if libc.unshare(flags):
        raise OSError(ctypes.get_errno(), "no network namespace")
    if uid:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    libc.sethostname(HOST, len(HOST))
    with socket.socket() as probe:
        request = struct.pack("16sh14x", b"lo", 0)
        now = struct.unpack("16sh14x", fcntl.ioctl(probe, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(probe, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", now | IFF_UP))
    print("ready", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
