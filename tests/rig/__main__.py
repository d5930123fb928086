"""Bring two clusters and their login nodes up until Ctrl-C: `python -m tests.rig`."""

from __future__ import annotations

import signal
import sys
import time

from tests.rig.login import LoginNode
from tests.rig.processes import RigError
from tests.rig.slurm import start_beta, start_slurm


def main() -> int:
    """Print how to use the clusters and wait for a signal."""
    started = time.monotonic()
    try:
        rig = start_slurm()
    except RigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    try:
        clusters = (rig.cluster, start_beta(rig))
        logins = [LoginNode(rig.keeper, cluster) for cluster in clusters]
        took = time.monotonic() - started
        # Only now: what is started with blocked signals keeps them blocked.
        signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        print(f"# Slurm clusters alpha and beta: up after {took:.2f} s. Ctrl-C ends them.")
        print(f"export SLURM_CONF={clusters[0].conf}")
        print(f"# export SLURM_CONF={clusters[1].conf}")
        for login in logins:
            print(f"# ssh -F {login.ssh_config} {login.name}")
        sys.stdout.flush()
        signal.sigwait(signals)
    except RigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        rig.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
