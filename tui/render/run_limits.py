"""What stands in the form in which a person allows a network to run, and what is read from it.

Empty is no limit. What cannot be read is said beneath its field, and nothing starts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.errors import RowtuiError
from rowtui.core.runs.limits import TRIES, Limits, parse_until, unknown_clusters
from rowtui.core.text import visible

if TYPE_CHECKING:
    from rowtui.core.runs.views import NetworkView
    from rowtui.core.text import Cost

FAILURES_IN_A_ROW = 3
"""More, one after another, seldom are bad luck."""


class LimitField(NamedTuple):
    """One line of the form."""

    name: str
    label: str
    example: str


FIELDS = (
    LimitField("core_hours", "core-hours", "no limit"),
    LimitField("gpu_hours", "GPU-hours", "no limit"),
    LimitField("money", "money", "like 50 EUR; empty: no limit"),
    LimitField("jobs_in_queue", "in queue", "jobs at once; empty: no limit"),
    LimitField("destinations", "may go to", "like anvil or anvil/shared, delta; empty: anywhere"),
    LimitField("until", "until", "like 18:00, +8h or 2026-11-30; empty: no end"),
    LimitField("failures_in_a_row", "stop after", "failures in a row; empty: never"),
    LimitField("failures", "or after", "failures in all; empty: never"),
)


class TypedLimits(NamedTuple):
    """The limits that the fields make, and (field, sentence) for what cannot be read."""

    limits: Limits
    wrong: tuple[tuple[str, str], ...] = ()


def proposed(view: NetworkView | None, cluster: str, *, anew: bool = False) -> Limits:
    """What a person may want to allow: what is left, with retries, beyond what was spent."""
    run = None if anew or view is None else view.run
    if run is not None and run.status.is_over:
        run = None
    before = run.limits if run else Limits()
    left = view.left if view else None
    spent = run.spent if run else None
    core = TRIES * (left.cpu_hours if left else 0.0) + (spent.core_hours if spent else 0.0)
    gpu = TRIES * (left.gpu_hours if left else 0.0) + (spent.gpu_hours if spent else 0.0)
    grows = any(node.lists for node in view.nodes) if view else False
    first = run is None or before == Limits()
    until = before.until if before.until and view and before.until > view.at else None
    in_a_row = FAILURES_IN_A_ROW if first else before.failures_in_a_row
    return before._replace(
        core_hours=_more(before.core_hours, core, first, grows),
        gpu_hours=_more(before.gpu_hours, gpu, first, grows) if gpu else before.gpu_hours,
        destinations=((cluster,) if cluster else None) if first else before.destinations,
        until=until,
        failures_in_a_row=in_a_row,
    )


def _more(before: float | None, needed: float, first: bool, grows: bool) -> float | None:
    if before is None and (grows or not first):
        return None  # what lists will add is not known, or a person allowed any amount
    return max(before or 0.0, rounded_up(needed))


def rounded_up(hours: float) -> float:
    """With three digits, and never less."""
    if hours <= 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(hours)) - 2)
    return float(f"{math.ceil(hours / step - 1e-9) * step:.6g}")


def asked_text(cost: Cost) -> str:
    """`0.684 core-hours`: what jobs ask for, in the words of limits."""
    parts = [
        f"{rounded_up(hours):,.10g} {unit}"
        for hours, unit in ((cost.cpu_hours, "core-hours"), (cost.gpu_hours, "GPU-hours"))
        if hours > 0
    ]
    return " and ".join(parts) or "nothing"


def limit_texts(limits: Limits) -> dict[str, str]:
    """What stands in the fields for these limits."""
    until = ""
    if limits.until is not None:
        import time

        until = time.strftime("%Y-%m-%d %H:%M", time.localtime(limits.until))
    money = "" if limits.money is None else f"{limits.money:g} {limits.currency}".strip()
    return {
        "core_hours": _number_text(limits.core_hours),
        "gpu_hours": _number_text(limits.gpu_hours),
        "money": money,
        "jobs_in_queue": _number_text(limits.jobs_in_queue),
        "destinations": ", ".join(limits.destinations or ()),
        "until": until,
        "failures_in_a_row": _number_text(limits.failures_in_a_row),
        "failures": _number_text(limits.failures),
    }


def _number_text(number: float | None) -> str:
    return "" if number is None else f"{number:.10g}"


def read_limits(
    texts: Mapping[str, str], now: float, clusters: Collection[str] = ()
) -> TypedLimits:
    """The limits of these texts. `now`: epoch seconds, for times of day.

    `clusters`: the names that jobs can be sent to; empty if they are not known.
    """
    wrong: list[tuple[str, str]] = []
    found: dict[str, float | None] = {}
    for name in ("core_hours", "gpu_hours"):
        found[name] = _amount(texts.get(name, ""), name, wrong)
    counts = {
        name: _count(texts.get(name, ""), name, wrong)
        for name in ("jobs_in_queue", "failures_in_a_row", "failures")
    }
    number, _, currency = texts.get("money", "").strip().partition(" ")
    money = _amount(number, "money", wrong)
    until = None
    if said := texts.get("until", "").strip():
        try:
            until = parse_until(said, now)
        except RowtuiError as error:
            wrong.append(("until", error.message))
    names = tuple(one.strip() for one in texts.get("destinations", "").split(",") if one.strip())
    if clusters and (unknown := unknown_clusters(names, clusters)):
        wrong.append(("destinations", unknown))
    return TypedLimits(
        Limits(
            core_hours=found["core_hours"],
            gpu_hours=found["gpu_hours"],
            money=money,
            currency=currency.strip() if money is not None else "",
            jobs_in_queue=counts["jobs_in_queue"],
            destinations=names or None,
            until=until,
            failures=counts["failures"],
            failures_in_a_row=counts["failures_in_a_row"],
        ),
        tuple(wrong),
    )


def _amount(text: str, name: str, wrong: list[tuple[str, str]]) -> float | None:
    said = text.strip().replace(",", "")
    if not said:
        return None
    try:
        value = float(said)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        wrong.append((name, f"{visible(text.strip())} is not an amount such as 12 or 0.5"))
        return None
    return value


def _count(text: str, name: str, wrong: list[tuple[str, str]]) -> int | None:
    said = text.strip().replace(",", "")
    if not said:
        return None
    if not said.isdecimal() or not 1 <= int(said[:12]) <= 1_000_000_000:
        wrong.append((name, f"{visible(text.strip())} is not a number, from 1 on"))
        return None
    return int(said)
