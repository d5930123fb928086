"""Compare facts: two sources that state the same field of the same subject state the same value.

Beside that one rule there are laws of what the facts and the record of what ran mean together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tests.seams.facts import COUNTS, Fact, Subject
from tests.seams.folder import ACTIVE
from tests.seams.projects import Ran

READY = ("eligible", "failed", "not reached", "cancelled")  # statuses of what may be sent
BAD = ("failed", "timeout", "out of memory", "node failed", "lost")
UNSENT = ("refused", "never sent", "not reached")
# By a directory's status: the states in which its newest job may be.
OF_NEWEST_JOB = {
    "failed": BAD,
    "cancelled": ("cancelled",),
    "not reached": (*BAD, "cancelled", "not reached"),
    "eligible": UNSENT,
    "waiting": UNSENT,
}
# By a sample's state: the statuses that its directory may have. What is sent or done stays so in a
# network, also if the directory is edited out of its action.
STATUSES_OF_SAMPLE = {
    "completed": ("completed", "not there"),
    "submitted": ("submitted", "not there"),
    "failed": ("failed", "not reached"),
    "eligible": READY,
    "waiting": ("waiting", "not there"),
    "unusable": ("not there", "eligible", "waiting"),
}
COUNTED_ALIKE = ("completed", "submitted", "failed")


class Contradiction(NamedTuple):
    """Values of one field that are not all the same, each with its sources; or a broken law."""

    subject: Subject
    field: str
    statements: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """`action one, count.eligible: 3 (plan, explain) but 5 (view 1)`."""
        said = " but ".join(f"{value} ({sources})" for value, sources in self.statements)
        return f"{' '.join(self.subject)}, {self.field}: {said}"


def in_brief(found: Iterable[Contradiction]) -> list[str]:
    """One line for those of the same field and sources: the first one, and how many are like it."""
    alike: dict[object, list[Contradiction]] = {}
    for it in found:
        sources = frozenset(sources for _, sources in it.statements)
        alike.setdefault((it.subject[0], it.field, sources), []).append(it)
    return [f"{first}{f' and {len(more)} more' if more else ''}" for first, *more in alike.values()]


class Known(NamedTuple):
    """All facts of one moment, by subject and field, with what ran until then."""

    values: Mapping[Subject, Mapping[str, Any]]
    ran: Sequence[Ran]

    def of(self, kind: str) -> Iterator[tuple[Subject, Mapping[str, Any]]]:
        """All subjects of a kind."""
        return ((it, fields) for it, fields in self.values.items() if it[0] == kind)


Law = Callable[[Known], Iterator[Contradiction]]


def check(
    facts: Iterable[Fact], ran: Sequence[Ran] = (), laws: Sequence[Law] | None = None
) -> list[Contradiction]:
    """All contradictions between facts, and all broken laws (None: of all laws)."""
    facts = list(facts)
    found = list(compare(facts))
    values: dict[Subject, dict[str, Any]] = defaultdict(dict)
    for fact in facts:
        values[fact.subject].setdefault(fact.field, fact.value)
    known = Known(values, ran)
    return found + [it for law in (LAWS if laws is None else laws) for it in law(known)]


def compare(facts: Iterable[Fact]) -> Iterator[Contradiction]:
    """The one rule: the same field of the same subject has the same value everywhere."""
    stated: dict[tuple[Subject, str], dict[Any, dict[str, None]]] = defaultdict(dict)
    for fact in facts:
        sources = stated[fact.subject, fact.field].setdefault(_plain(fact.value), {})
        sources[fact.source] = None
    for (subject, field), values in stated.items():
        if len(values) > 1:
            said = tuple((str(value), ", ".join(sources)) for value, sources in values.items())
            yield Contradiction(subject, field, said)


def compared(facts: Iterable[Fact]) -> Counter[str]:
    """In how many comparisons with another source each source took part."""
    sources: dict[tuple[Subject, str], set[str]] = defaultdict(set)
    for fact in facts:
        sources[fact.subject, fact.field].add(fact.source)
    return Counter(source for those in sources.values() if len(those) > 1 for source in those)


def _plain(value: Any) -> Any:
    """A number without what floating point adds to it."""
    return round(value, 6) + 0.0 if isinstance(value, float) else value


def _broken(subject: Subject, law: str, what: object) -> Contradiction:
    return Contradiction(subject, law, ((str(what), "a law"),))


def counts_add_up(known: Known) -> Iterator[Contradiction]:
    """Completed, submitted, eligible and waiting are all directories; what ended is eligible."""
    listed = Counter(subject[1] for subject, fields in known.of("directory") if "job" in fields)
    for subject, fields in known.of("action"):
        if any(f"count.{name}" not in fields for name in COUNTS):
            continue
        completed, submitted, eligible, waiting, *ended = (fields[f"count.{it}"] for it in COUNTS)
        total = completed + submitted + eligible + waiting
        if total != listed[subject[1]]:
            yield _broken(subject, "counts add up", f"{total} of {listed[subject[1]]} directories")
        if sum(ended) > eligible:
            yield _broken(subject, "what ended is eligible", f"{ended} of {eligible}")


def submitted_means_an_active_job(known: Known) -> Iterator[Contradiction]:
    """A directory is submitted exactly while a job of its action that is not over has it."""
    held = {
        (fields["action"], name)
        for _, fields in known.of("job")
        if fields.get("state") in ACTIVE
        for name in fields.get("directories", ())
    }
    for subject, fields in known.of("directory"):
        status, has_job = fields.get("status"), subject[1:] in held
        if (status == "submitted") != has_job and status != "completed":
            job = "an active job" if has_job else "no active job"
            yield _broken(subject, "submitted means an active job", f"{status}, {job}")


def ends_have_their_job(known: Known) -> Iterator[Contradiction]:
    """How the newest job of a directory that is not complete ended is what its status says."""
    newest: dict[tuple[str, ...], tuple[int, str]] = {}
    for _, fields in known.of("job"):
        for name in fields.get("directories", ()):
            key, age = (fields["action"], name), fields.get("age", 0)
            if key not in newest or age < newest[key][0]:
                newest[key] = age, fields["state"]
    for subject, fields in known.of("directory"):
        _, state = newest.get(subject[1:], (0, ""))
        allowed = OF_NEWEST_JOB.get(fields.get("status", ""))
        if allowed is not None and state and state not in allowed:
            yield _broken(subject, "its newest job", f"{fields['status']}, its job {state}")
        if not state and fields.get("status") in ("failed", "not reached", "cancelled"):
            yield _broken(subject, "its newest job", f"{fields['status']}, but no job had it")


def what_is_eligible_is_planned_or_refused(known: Known) -> Iterator[Contradiction]:
    """A plan holds each eligible directory once, or refuses it with a reason."""
    planned: Counter[tuple[str, ...]] = Counter()
    for subject, fields in (*known.of("request"), *known.of("refused")):
        planned.update((subject[1], name) for name in fields.get("directories", ()))
    for subject, fields in known.of("directory"):
        if "job" not in fields:  # a sample without a directory of the action
            continue
        wanted = 1 if fields.get("status") in READY else 0
        if planned[subject[1:]] != wanted:
            times = planned[subject[1:]]
            yield _broken(
                subject, "eligible = planned + refused", f"{fields.get('status')}, {times}x"
            )


def what_ran_has_a_record(known: Known) -> Iterator[Contradiction]:
    """Each job that wrote a line is known, and none wrote the same line twice."""
    ids = {str(fields.get("id") or "").split(".")[0].split("_")[0] for _, fields in known.of("job")}
    sent = Counter(
        (fields["action"], name)
        for _, fields in known.of("job")
        for name in fields.get("directories", ())
    )
    # A task of an array has an id of its own in its environment, that of its array in records.
    unknown = {it.job for it in known.ran} - ids
    if len({it.job for it in known.ran}) > len(list(known.of("job"))):
        yield _broken(("project",), "what ran has a record", sorted(unknown))
    for line, times in Counter((it.job, it.action, it.directory) for it in known.ran).items():
        if times > 1:
            yield _broken(("directory", *line[1:]), "ran once", f"{times}x in job {line[0]}")
    for key, times in Counter((it.action, it.directory) for it in known.ran).items():
        if times > sent[key]:
            yield _broken(("directory", *key), "ran once", f"{times}x, in {sent[key]} jobs")


def nothing_runs_before_its_inputs(known: Known) -> Iterator[Contradiction]:
    """A job found its inputs when it began."""
    for it in known.ran:
        if it.inputs != "there":
            yield _broken(("directory", it.action, it.directory), "ran before its inputs", it.job)


def samples_are_directories(known: Known) -> Iterator[Contradiction]:
    """What a run says of a sample fits its directory: one that waits for inputs is not eligible."""
    for (_, action, name), fields in known.of("sample"):
        status = _status(known, action, name)
        state = fields["state"]
        if ("project", "run") not in known.values and state in ("eligible", "waiting"):
            continue
        if status not in STATUSES_OF_SAMPLE.get(state, (status,)):
            yield _broken(("directory", action, name), "a sample's state", f"{state}, but {status}")


def networks_count_directories(known: Known) -> Iterator[Contradiction]:
    """A network counts what its actions count, and directories that were edited out of them."""
    for (_, action), fields in known.of("node"):
        for state in COUNTED_ALIKE:
            names = [
                subject[2]
                for subject, sample in known.of("sample")
                if subject[1] == action and sample["state"] == state
            ]
            left_out = sum(_status(known, action, name) == "not there" for name in names)
            number = fields[f"count.{state}"] - left_out
            if state == "failed":
                number -= fields["count.unusable"]
            counted = known.values.get(("action", action), {}).get(f"count.{state}", number)
            if number != counted:
                said = f"{number} {state} in the network, {counted} in its action"
                yield _broken(("action", action), "a network's counts", said)


def _status(known: Known, action: str, directory: str) -> str:
    status = known.values.get(("directory", action, directory), {}).get("status", "not there")
    return str(status)


def all_is_complete(known: Known) -> Iterator[Contradiction]:
    """At the end of a scenario each directory of an action that can run is complete."""
    for subject, fields in known.of("directory"):
        if subject[1] != "huge" and fields.get("status") != "completed":
            yield _broken(subject, "all is complete", fields.get("status"))
    for subject, fields in known.of("sample"):
        if subject[1] != "huge" and fields.get("state") != "completed":
            yield _broken(subject, "all is complete", fields.get("state"))
    for subject, fields in known.of("project"):
        if fields.get("runs", 1) != 1:
            yield _broken(subject, "one run does it all", fields["runs"])


LAWS: tuple[Law, ...] = (
    counts_add_up,
    submitted_means_an_active_job,
    ends_have_their_job,
    what_is_eligible_is_planned_or_refused,
    what_ran_has_a_record,
    nothing_runs_before_its_inputs,
    samples_are_directories,
    networks_count_directories,
)
