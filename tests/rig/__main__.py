"""Bring a Slurm cluster up and leave it up until Ctrl-C: `python -m tests.rig`."""

from __future__ import annotations

import signal
import sys
import time

from tests.rig.processes import RigError
from tests.rig.slurm import start_slurm


def main() -> int:
    """Print how to use the cluster and wait for a signal."""
    started = time.monotonic()
    try:
        rig = start_slurm()
    except RigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    took = time.monotonic() - started
    print(f"# Slurm cluster {rig.cluster.name} is up after {took:.2f} s. Ctrl-C ends it.")
    print(f"export SLURM_CONF={rig.cluster.conf}", flush=True)
    signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    signal.sigwait(signals)
    rig.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
