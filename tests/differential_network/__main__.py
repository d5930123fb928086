"""The command: generate networks, ask Fastr and ourselves, report. Exit 1 if any is unexplained."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter

from tests.differential_network.compare import compare
from tests.differential_network.generate import network
from tests.differential_network.partner import Fastr


def main(argv: list[str] | None = None) -> int:
    """Run the differential test."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential_network", description=__doc__
    )
    parser.add_argument("--fastr", required=True, metavar="PYTHON", help="one that has Fastr")
    parser.add_argument("--seeds", type=int, default=300, metavar="N", help="how many networks")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the first one's")
    parser.add_argument("--show", type=int, default=3, metavar="N", help="differing ones in full")
    args = parser.parse_args(argv)
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    jobs = shown = 0
    began = time.monotonic()
    with Fastr(args.fastr) as fastr:
        print(f"Fastr {fastr.version} is there.", file=sys.stderr)
        for seed in range(args.seed, args.seed + args.seeds):
            described = network(seed)
            found = compare(described, fastr.plan(described))
            outcomes[found.outcome] += 1
            jobs += found.jobs
            if found.difference is None:
                continue
            reasons[found.difference.reason] += 1
            if not found.difference.reason and shown < args.show:
                shown += 1
                print(f"== seed {seed}, node {found.difference.node}: {found.difference.what}")
                print(f"Fastr: {found.difference.fastr}\nours:  {found.difference.ours}")
                print(json.dumps(described))
    print(f"{args.seeds:,} networks, {jobs:,} jobs alike, {time.monotonic() - began:.0f} s")
    for outcome, number in outcomes.most_common():
        print(f"{number:7,}  {outcome}")
    print("differences that are meant:")
    for reason, number in reasons.most_common():
        if reason:
            print(f"{number:7,}  {reason}")
    return 1 if outcomes["unexplained"] else 0


if __name__ == "__main__":
    sys.exit(main())
