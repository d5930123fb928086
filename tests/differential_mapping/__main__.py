"""The command: generate cases, ask TPV and ourselves, report. Exit 1 on what is unexplained."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

from tests.differential_mapping.check_cases import check_cases
from tests.differential_mapping.compare import Difference, Json, differences, ours
from tests.differential_mapping.generate import Case, case
from tests.differential_mapping.partner import Tpv


def main(argv: list[str] | None = None) -> int:
    """Run the differential test."""
    args = _arguments(argv)
    with Tpv(args.tpv) as tpv:
        print(f"TPV {tpv.version} is there.", file=sys.stderr)
        if args.check_cases is not None:
            return _check(tpv, args.check_cases)
        if args.survey:
            return _survey(tpv, range(args.seed, args.seed + args.cases))
        try:
            return _compare(tpv, range(args.seed, args.seed + args.cases), args.show)
        except NotImplementedError as error:
            print(f"{error}: only --check-cases and --survey work", file=sys.stderr)
            return 2


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential_mapping", description=__doc__
    )
    parser.add_argument("--tpv", required=True, metavar="PYTHON", help="a Python that has TPV")
    parser.add_argument("--cases", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="the first case's seed")
    parser.add_argument("--show", type=int, default=3, metavar="N", help="differing cases in full")
    parser.add_argument(
        *("--check-cases",), type=Path, metavar="DIR", help="repeat DIR/tpv_cases.jsonl, no more"
    )
    parser.add_argument(
        "--survey", action="store_true", help="ask TPV alone and count what its answers are"
    )
    return parser.parse_args(argv)


def _check(tpv: Tpv, folder: Path) -> int:
    checked = check_cases(tpv, folder)
    for recorded, answer in checked.differing:
        print(f"== {recorded['id']}\nrecorded: {json.dumps(recorded['answer'])}")
        print(f"now:      {json.dumps(answer)}")
    print(
        f"{checked.total} recorded answers: {checked.literal} to the letter, "
        f"{checked.but_for_noise} but for rule numbers, addresses and pydantic's version, "
        f"{len(checked.differing)} otherwise."
    )
    return 1 if checked.differing else 0


def _survey(tpv: Tpv, seeds: range) -> int:
    """What the generator reaches: TPV's answers by kind, and what mistakes lead to."""
    outcomes: Counter[str] = Counter()
    mistakes: Counter[str] = Counter()
    requests = 0
    started = time.monotonic()
    for seed in seeds:
        made = case(seed)
        for answer in tpv.ask(made.files, made.requests):
            requests += 1
            outcome = _kind_of_answer(answer)
            outcomes[outcome] += 1
            if made.mistake:
                mistakes[f"{made.mistake} -> {outcome}"] += 1
    print(f"{len(seeds)} cases, {requests} requests, {time.monotonic() - started:.0f} s")
    for title, counts in (("answers", outcomes), ("of these after a mistake", mistakes)):
        print(f"{title}:")
        for name, number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            print(f"  {number:7,}  {name}")
    return 0


def _kind_of_answer(answer: Json) -> str:
    if answer["ok"]:
        return "mapped"
    error = answer["error"]
    message = error["message"].split(":")[0] if error["class"] == "JobMappingException" else ""
    return f"{answer['phase']} {error['class']} {message[:60]}".strip()


def _compare(tpv: Tpv, seeds: range, show: int) -> int:
    kinds: Counter[str] = Counter()
    meant: Counter[str] = Counter()
    requests = agreeing = 0
    bad: list[int] = []
    started = time.monotonic()
    for seed in seeds:
        made = case(seed)
        theirs = tpv.ask(made.files, made.requests)
        own = ours(made.files, made.requests)
        for request, there, here in zip(made.requests, theirs, own, strict=True):
            found = differences(there, here, made.files)
            unexplained = [each for each in found if not each.reason]
            requests += 1
            agreeing += not found
            kinds.update(each.kind for each in unexplained)
            meant.update({each.reason for each in found if each.reason})
            if unexplained and seed not in bad:
                bad.append(seed)
                if len(bad) <= show:
                    print(story(made, request, there, here, unexplained))
    print(f"{len(seeds)} cases, {requests} requests in {time.monotonic() - started:.0f} s.")
    print(f"{agreeing} answers agree in everything.")
    for title, counts in (("differ as documented", meant), ("differ unexplained", kinds)):
        print(f"{title}:")
        for name, number in counts.most_common():
            print(f"  {number:7,}  {name}")
    if bad:
        print(f"{len(bad)} cases differ, seeds: " + " ".join(map(str, bad[:100])))
    return 1 if bad else 0


def story(made: Case, request: Json, tpv: Json, own: Json, found: list[Difference]) -> str:
    """A differing case in full: files, request, both answers, where they part."""
    lines = [f"== seed {made.seed}" + (f" (mistake: {made.mistake})" if made.mistake else "")]
    for name, text in made.files.items():
        lines += [f"-- {name}", text.rstrip("\n")]
    lines.append(f"-- request: {json.dumps(request)}")
    lines.append(f"-- TPV:  {json.dumps(tpv, default=repr)}")
    lines.append(f"-- ours: {json.dumps(own, default=repr)}")
    lines += [f"   {each.kind}: TPV {each.tpv!r}, ours {each.ours!r}" for each in found]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
