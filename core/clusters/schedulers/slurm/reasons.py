"""Slurm's reasons for which a job waits, and their meaning for the user.

The limits of accounts and of qualities of service have a hundred names that combine a few parts:
the owner of the limit, the resource, and the way of counting. These names are parsed into their
parts. Source: the reasons in Slurm 22.05's library and Slurm's page on resource limits.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rowtui.core.clusters.schedulers.reason_table import (
    HELD,
    ReasonExplanation,
    Reasons,
    foreign,
    waits,
)

_ASK = "Ask the administrators, or cancel it and submit to another partition."
_LESS = "Cancel it, ask for less, and submit again."


def _never(sentence: str, hint: str) -> ReasonExplanation:
    """Return the explanation of a reason that waiting does not resolve."""
    return ReasonExplanation(sentence, hint, needs_person=True)


_ROOM = waits("It waits until enough CPUs, memory or GPUs are free for it.")
_LATER_TURN = waits("Jobs of higher priority are before it in the queue.")
_NODES_GONE = "Waiting may help: administrators bring nodes back. Or submit to another partition."
_CLOSED = ReasonExplanation(
    "Its partition starts no jobs at present.",
    "It starts when the administrators open the partition again.",
)
_MAINTENANCE = ReasonExplanation(
    "The nodes are reserved for maintenance that begins before the job would end.",
    "It starts after the maintenance; with a shorter time limit it may start before it.",
)
_ACCOUNT = _never(
    "Its account cannot be used for it.",
    "Cancel it, and submit with an account that may use the partition.",
)
_QOS = _never(
    "Its quality of service (QOS) cannot be used for it.",
    "Cancel it, and submit with another QOS.",
)

WORDS = {
    "Resources": _ROOM,
    "Priority": _LATER_TURN,
    "SchedDefer": waits("The scheduler has not come to it yet."),
    "WaitingForScheduling": waits("The scheduler has not come to it yet."),
    "Dependency": waits("It waits for other jobs to end."),
    "DependencyNeverSatisfied": _never(
        "A job that it has to wait for did not end as it must: this one never starts.",
        "Cancel it, and submit the failed job again.",
    ),
    "JobHeldUser": HELD,
    "JobHeldAdmin": _never(
        "An administrator holds it.", "Only an administrator can release it: ask why."
    ),
    "job requeued in held state": _never(
        "It was put back into the queue and held.", "Look at its log, then release or cancel it."
    ),
    "launch failed requeued held": _never(
        "It could not be started on its node, and is held.",
        "Release it to try again, or cancel it and submit it again. If it fails again, report"
        " the node to the administrators.",
    ),
    "launch failure limit exceeded requeued held": _never(
        "It could not be started several times, and is held.",
        "Report it to the administrators; then release it, or cancel it and submit it again.",
    ),
    "JobHoldMaxRequeue": _never(
        "It was put back into the queue too many times, and is held.",
        "Look at its log, then release or cancel it.",
    ),
    "BeginTime": waits(
        "It may not start before its time: it was submitted for later, or its node failed and it"
        " was put back into the queue."
    ),
    "JobArrayTaskLimit": ReasonExplanation(
        "As many jobs of its array run as may run at a time.", "It starts when one of them ends."
    ),
    "PartitionTimeLimit": _never(
        "Its time limit is longer than the partition allows.",
        "Cancel it, ask for less time or use another partition, and submit again.",
    ),
    "PartitionNodeLimit": _never(
        "It asks for more or fewer nodes than the partition gives to one job, or its nodes are"
        " down.",
        "Cancel it, and ask for another number of nodes or use another partition.",
    ),
    "PartitionConfig": _never(
        "The partition is not meant for such a job: its limits exclude the request.",
        _LESS,
    ),
    "PartitionDown": _CLOSED,
    "PartitionInactive": _CLOSED,
    "MaxMemPerLimit": _never(
        "It asks for more memory than the partition allows on one node or for one CPU.", _LESS
    ),
    "BadConstraints": _never(
        "No node has all that it asks for.",
        "Cancel it, and check the kinds of nodes, GPUs and memory that it asks for.",
    ),
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": (
        ReasonExplanation(
            "All nodes that it could use are out of service, or kept for partitions of higher"
            " priority.",
            _NODES_GONE,
        )
    ),
    "ReqNodeNotAvail, Reserved for maintenance": _MAINTENANCE,
    "ReqNodeNotAvail, May be reserved for other job": waits(
        "The nodes that it could use are promised to other jobs."
    ),
    "NodeDown": ReasonExplanation("A node that it needs is down.", _NODES_GONE),
    "FrontEndDown": waits("The machine that starts jobs is down."),
    "PowerNotAvail": waits("Its nodes would need more power than there is now."),
    "PowerReserved": waits("The power for its nodes is reserved for other jobs."),
    "Reservation": ReasonExplanation(
        "It waits for the reservation that it was submitted to.", "It starts when that begins."
    ),
    "ReservationDeleted": _never(
        "The reservation that it was submitted to does not exist any more.",
        "Cancel it, and submit again without the reservation.",
    ),
    "Licenses": ReasonExplanation(
        "All licences of a program that it needs are in use.", "It starts when one is given back."
    ),
    "Prolog": waits("Its nodes are being prepared."),
    "configuring": waits("It has its nodes, which are being prepared."),
    "Cleaning": waits("It goes back to the queue after its last run was cleaned up."),
    "BurstBufferResources": waits("It waits for room in the burst buffer."),
    "BurstBufferStageIn": waits("Its data is being brought to the burst buffer."),
    "BurstBufferOperation": _never(
        "The burst buffer could not be prepared for it.", "Ask the administrators, or cancel it."
    ),
    "InvalidAccount": _ACCOUNT,
    "AccountNotAllowed": _ACCOUNT,
    "InvalidQOS": _QOS,
    "QOSNotAllowed": _QOS,
    "QOSUsageThreshold": ReasonExplanation(
        "Your share of the cluster is used up for its quality of service (QOS).",
        "It starts when your use has aged, or submit with another QOS.",
    ),
    "AccountingPolicy": ReasonExplanation(
        "A limit of your account or of its quality of service (QOS) is reached.",
        "It starts as your other jobs end, unless it asks for too much by itself.",
    ),
    "DeadLine": _never("It cannot end before its own deadline any more.", "Cancel it."),
    "FedJobLock": waits("The clusters agree on which of them starts it."),
    "SystemFailure": _never("The cluster failed while it was to be started.", _ASK),
}


_UNAVAILABLE = re.compile(r"ReqNodeNotAvail(?:[(, _]*(?:Unavailable(?:Nodes)?:)?(.*?)\)?)?", re.S)


def _without_nodes(match: re.Match[str]) -> ReasonExplanation:
    nodes = foreign(match[1] or "").strip(" ,:")
    if not nodes:
        return ReasonExplanation("Nodes that it needs are not available now.", _NODES_GONE)
    return ReasonExplanation(f"Nodes that it needs are not available now: {nodes}.", _NODES_GONE)


class _Thing(NamedTuple):
    """The texts for a limited resource: `as many`, `fewer`, `CPUs`, `CPU-hours`."""

    much: str
    less: str
    name: str
    hours: str


_THINGS = {
    "cpu": _Thing("as many", "fewer", "CPUs", "CPU-hours"),
    "node": _Thing("as many", "fewer", "nodes", "node hours"),
    "mem": _Thing("as much", "less", "memory", "memory hours"),
    "memory": _Thing("as much", "less", "memory", "memory hours"),
    "gres": _Thing("as many", "fewer", "GPUs (or the like)", "GPU hours (or the like)"),
    "license": _Thing("as many", "fewer", "licences", "licence hours"),
    "bb": _Thing("as much", "less", "burst buffer space", "burst buffer hours"),
    "billing": _Thing("as many", "fewer", "billing units", "billing unit hours"),
    "energy": _Thing("as much", "less", "energy", "energy hours"),
    "unknown": _Thing("as much", "less", "of some resource", "hours of some resource"),
}
_LIMIT = re.compile(
    r"(?:QOS|Assoc)?(Grp|Max|Min)"
    rf"({'|'.join(sorted(_THINGS, key=len, reverse=True))}|Wall(?:Duration)?|Submit|Jobs?)"
    r"(Jobs?)?(RunMinutes|Minutes)?(Per(?:Job|Node|User|Account))?(?:NotSatisfied)?(?:Limit)?",
    re.IGNORECASE,
)
_TOGETHER = "It starts when other jobs that count have ended."
_BUDGET = "Ask the administrators for more, or cancel it and submit with another account or QOS."


def _limit(match: re.Match[str]) -> ReasonExplanation:
    """Explain a limit by its parts, such as QOS, Max, Cpu, PerUser."""
    of_qos = match[0].upper().startswith("QOS")
    whose = "its quality of service (QOS)" if of_qos else "your account"
    kind, what = match[1].lower(), match[2].lower()
    counted, per = (match[4] or "").lower(), (match[5] or "").lower()
    if what in ("submit", "job", "jobs"):
        where, may = ("are in the queue", "be") if what == "submit" else ("run", "run at a time")
        if kind == "grp" or per == "peraccount":
            return ReasonExplanation(f"As many jobs of {whose} {where} as may {may}.", _TOGETHER)
        return ReasonExplanation(f"As many of your jobs {where} as {whose} allows.", _TOGETHER)
    if what.startswith("wall"):
        if kind == "grp":
            return _never(f"The time that {whose} has for all jobs together is used up.", _BUDGET)
        sentence = f"Its time limit is longer than {whose} allows."
        return _never(sentence, "Cancel it, ask for less time, and submit again.")
    thing = _THINGS[what]
    if kind == "min":
        return _never(
            f"It asks for {thing.less} {thing.name} than {whose} demands at least.",
            "Cancel it, and ask for more or use another QOS.",
        )
    if kind == "grp" and counted == "minutes":
        return _never(f"The {thing.hours} of {whose} are used up.", _BUDGET)
    if kind == "grp" and counted == "runminutes":
        return ReasonExplanation(
            f"Running jobs of {whose} still need all the {thing.hours} that may be promised at a"
            " time.",
            "It starts as they get on; with a shorter time limit it starts earlier.",
        )
    used = f"use {thing.much} {thing.name} as"
    if kind == "grp":
        return ReasonExplanation(
            f"Together the jobs of {whose} {used} they may at a time.", _TOGETHER
        )
    if per == "peraccount":
        return ReasonExplanation(f"The jobs of your account {used} they may at a time.", _TOGETHER)
    if per == "peruser":
        return ReasonExplanation(f"Your jobs {used} {whose} gives one user at a time.", _TOGETHER)
    more = thing.hours if counted else thing.name
    place = "on one node" if per == "pernode" else "for one job"
    return _never(f"It asks for more {more} than {whose} allows {place}.", _LESS)


def _old_limit(match: re.Match[str]) -> ReasonExplanation:
    whose = "its quality of service (QOS)" if match[1] == "QOS" else "your account"
    what = {"Job": "number of jobs", "Resource": "amount of some resource", "Time": "time"}
    return ReasonExplanation(
        f"A limit of {whose} is reached: {what[match[2]]}.",
        "It starts as your other jobs end, unless it asks for too much by itself.",
    )


SLURM = Reasons(
    WORDS,
    (
        (_UNAVAILABLE, _without_nodes),
        (_LIMIT, _limit),
        (re.compile(r"(QOS|Association)(Job|Resource|Time)Limit"), _old_limit),
        (re.compile(r"JobHeld.*", re.S), lambda _: HELD),
    ),
)
