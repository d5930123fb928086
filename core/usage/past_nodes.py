"""Failures on each node, and whether a node stands out among the others. Pure.

A node stands out if its failures are too many for chance. The test is Fisher's exact test,
one-sided and stratified by action: if the failures of an action were spread over its jobs at
random, how probable would as many failures on this node be? The sum over actions is the convolution
of their hypergeometric distributions. The probability is multiplied by the number of nodes that ran
jobs (Bonferroni), so that among many good nodes none stands out by chance. See R. A. Fisher, "The
design of experiments", 1935; N. Mantel and W. Haenszel, J. Natl. Cancer Inst. 22, 719 (1959).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.core.base.lazy import np
from rowtui.core.usage.store import UsageColumns
from rowtui.core.usage.table import ended_well, groups_of, has_failed

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_NODES = 50
CHANCE = 0.001  # a node stands out below this corrected probability
TIMES = 1.5  # and with at least so many times the failures expected of it
_TINY = 1e-30  # Probabilities below this are left out of convolutions.


class NodeFailures(NamedTuple):
    """The jobs of a node, without cancelled ones. `expected`: failures if they did not depend on
    the node; `chance`: the probability of so many by chance, corrected for the number of nodes;
    `stands_out`: whether they are too many for chance.
    """

    node: str
    jobs: int
    failed: int
    expected: float
    chance: float
    stands_out: bool


def node_failures(columns: UsageColumns) -> list[NodeFailures]:
    """Return the nodes, those that stand out first, then those with the most failures. Jobs
    without a known node count for no node.
    """
    if not len(columns):
        return []
    nodes, node_of = groups_of(columns, "node")
    actions, action_of = groups_of(columns, "action")
    # `groups_of` names jobs without a node "unknown", after every line has been read.
    known = columns.by_line("node", lambda line: bool(columns.text(line))).astype(bool)
    bad = has_failed(columns)
    counted = known & (bad | ended_well(columns))
    cells = (node_of * len(actions) + action_of)[counted]
    size = len(nodes) * len(actions)
    jobs = np.bincount(cells, minlength=size).reshape(len(nodes), len(actions))
    failed = np.bincount(cells[bad[counted]], minlength=size).reshape(jobs.shape)
    chances = corrected_chances(jobs, failed)
    total = jobs.sum(0)
    rate = np.divide(failed.sum(0), total, out=np.zeros(len(actions)), where=total > 0)
    expected = (jobs * rate).sum(1)
    rows = [
        NodeFailures(
            nodes[at],
            int(jobs[at].sum()),
            bad,
            float(expected[at]),
            chances[at],
            chances[at] < CHANCE and bad >= TIMES * float(expected[at]),
        )
        for at in np.flatnonzero(jobs.sum(1)).tolist()
        for bad in (int(failed[at].sum()),)
    ]
    rows.sort(key=lambda row: (not row.stands_out, row.chance, -row.failed, -row.jobs, row.node))
    return rows


def corrected_chances(jobs: NDArray[Any], failed: NDArray[Any]) -> list[float]:
    """Return for each node how probable so many failures are by chance, times the number of nodes.

    `jobs`, `failed`: counts with a row for each node and a column for each action. A result is at
    most 1; nodes with no more failures than expected have 1.
    """
    total, total_failed = jobs.sum(0), failed.sum(0)
    factorials = _log_factorials(int(total.max(initial=0)))
    nodes = int((jobs.sum(1) > 0).sum())
    rate = np.divide(total_failed, total, out=np.zeros(len(total)), where=total > 0)
    expected = (jobs * rate).sum(1)
    found = []
    for own, own_failed, mean in zip(jobs, failed, expected.tolist(), strict=True):
        count = int(own_failed.sum())
        if count <= mean or nodes < 2:
            found.append(1.0)
            continue
        low, sums = 0, np.ones(1)
        for action in np.flatnonzero((own > 0) & (total_failed > 0)).tolist():
            start, part = _hypergeometric(
                int(total[action]), int(total_failed[action]), int(own[action]), factorials
            )
            low, sums = low + start, np.convolve(sums, part)
        tail = float(sums[max(0, count - low) :].sum())
        found.append(min(1.0, max(0.0, tail) * nodes))
    return found


def _hypergeometric(
    total: int, marked: int, drawn: int, log_factorials: NDArray[Any]
) -> tuple[int, NDArray[Any]]:
    """Return the probabilities of the numbers of marked ones among those drawn, from the first
    number whose probability is not negligible; and this number.
    """

    def ways(of: Any, chosen: Any) -> Any:
        return log_factorials[of] - log_factorials[chosen] - log_factorials[of - chosen]

    low, high = max(0, drawn - (total - marked)), min(drawn, marked)
    numbers = np.arange(low, high + 1)
    logarithms = ways(marked, numbers) + ways(total - marked, drawn - numbers) - ways(total, drawn)
    found = np.exp(logarithms)
    kept = np.flatnonzero(found > _TINY)
    return low + int(kept[0]), found[kept[0] : kept[-1] + 1]


def _log_factorials(most: int) -> NDArray[Any]:
    logarithms: NDArray[Any] = np.log(np.arange(1, most + 1, dtype=np.float64))
    return np.concatenate([np.zeros(1), np.cumsum(logarithms)])


def standing_out(nodes: tuple[NodeFailures, ...]) -> list[str]:
    """Return a sentence for each node that stands out."""
    return [
        f"{row.node} stands out: {row.failed:,} of {row.jobs:,} jobs failed where "
        f"{row.expected:.0f} would be usual ({chance_text(row.chance)} by chance)"
        for row in nodes
        if row.stands_out
    ]


def chance_text(chance: float) -> str:
    """Return `p < 1e-6`: the power of ten above a probability."""
    if chance < 1e-12:
        return "p < 1e-12"
    return f"p < {10.0 ** (math.floor(math.log10(chance)) + 1):.0e}".replace("e-0", "e-")
