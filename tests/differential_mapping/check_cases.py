"""Does TPV's process still give the answers that were recorded from TPV earlier?"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.differential_mapping.partner import Tpv

Json = dict[str, Any]

# What may differ between two runs of the same TPV.
_NOISE = (
    (re.compile(r"tpv_rule_\d+"), "tpv_rule_N"),
    (re.compile(r"0x[0-9a-f]+"), "0x0"),
    (re.compile(r"errors\.pydantic\.dev/[0-9.]+/"), "errors.pydantic.dev/N/"),
)


@dataclass
class Checked:
    """How many recorded answers were given again: to the letter, or but for noise."""

    total: int = 0
    literal: int = 0
    but_for_noise: int = 0
    differing: list[tuple[Json, Json]] = field(default_factory=list)


def check_cases(tpv: Tpv, folder: Path) -> Checked:
    """Ask all cases of `tpv_cases.jsonl`; their files are relative to its folder."""
    checked = Checked()
    for line in (folder / "tpv_cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        files = {name: (folder / name).read_text(encoding="utf-8") for name in case["config"]}
        (answer,) = tpv.ask(files, [case["request"]])
        checked.total += 1
        if json.dumps(answer) == json.dumps(case["answer"]):
            checked.literal += 1
        elif _without_noise(answer) == _without_noise(case["answer"]):
            checked.but_for_noise += 1
        else:
            checked.differing.append((case, answer))
    return checked


def _without_noise(answer: Json) -> str:
    text = json.dumps(answer)
    for pattern, replacement in _NOISE:
        text = pattern.sub(replacement, text)
    return text
