"""Plans as JSON, byte-stable, and saved: the confirmed plan is the plan that is carried out.

The module converts `Plan`s; the id is the SHA-256 of the canonical JSON of everything else, so that
a plan that was changed on disk is noticed. The JSON is ASCII only: bytes of names that are not
UTF-8 are lone surrogates, which only escapes can represent. The fixed part that all scripts share
is written once.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Iterator, Mapping
from json.encoder import encode_basestring_ascii as _quoted
from pathlib import Path
from typing import Any

from rowtui.core.base.codec import record
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, replace_file
from rowtui.core.base.lazy import hashlib, pattern
from rowtui.core.base.text import Cost, visible
from rowtui.core.submission.plan.model import Packed, Plan, PlannedJob
from rowtui.core.submission.scripts.fixed_part import PRELUDE
from rowtui.core.submission.scripts.parts import cut_at

VERSION = 1
LIMIT = 4 << 30
_ID = pattern(r"[0-9a-f]{64}")


def plan_id(plan: Plan) -> str:
    """Return the hash of everything in a plan but its id."""
    return hashlib.sha256(_canonical(plan).encode("ascii")).hexdigest()


def named_plan(plan: Plan) -> Plan:
    """Return the plan for directories that the user named."""
    jobs = (job._replace(named=True) for job in plan.jobs)
    plan = plan._replace(jobs=tuple(jobs))
    return plan._replace(id=plan_id(plan))


def plan_to_json(plan: Plan) -> str:
    """Return one line of canonical JSON: sorted keys, no spaces, ASCII."""
    return _canonical(plan, plan.id)


def plan_from_json(text: str | bytes, *, scripts: bool = True) -> Plan:
    """Return the plan from the text of `plan_to_json`; `scripts`: see `load_plan`.

    Raises: RowtuiError if the text is damaged, was changed, or is of another version.
    """
    try:
        fields = json.loads(text)
        version = fields["version"]
        if version != VERSION:
            raise RowtuiError(f"the plan has version {version}, this rowtui reads {VERSION}")
        plan = _plan(fields, scripts=scripts)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RowtuiError("the plan is damaged", "make a new one") from error
    if not _has_hash(text, plan.id) and plan_id(_plan(json.loads(text))) != plan.id:
        raise RowtuiError("the plan was changed after it was made", "make a new one")
    return plan


def _has_hash(text: str | bytes, identity: str) -> bool:
    """Whether the text has the hash that it names.

    The text itself is hashed, because another version of rowtui, whose scripts have another fixed
    part, would divide the scripts in another way.
    """
    data = text.encode("ascii", "replace") if isinstance(text, str) else text
    rest = data.strip().replace(f'"id":"{identity}",'.encode("ascii", "replace"), b"", 1)
    return hashlib.sha256(rest).hexdigest() == identity


def plans_folder(root: Path) -> Path:
    """Return the folder of a project's plans."""
    return root / ".row" / "rowtui" / "plans"


def save_plan(root: Path, plan: Plan) -> Path:
    """Save a plan under its id; it is on the disk when this returns.

    Raises: RowtuiError if it cannot be written.
    """
    path = plans_folder(root) / f"{plan.id}.json"
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, plan_to_json(plan).encode("ascii"))
    except OSError as error:
        raise RowtuiError(
            f"cannot save the plan in {visible(str(path.parent))}: {error.strerror or error}",
            "no job was submitted; free some space or correct the permissions, then try again",
        ) from None
    return path


def load_plan(root: Path, identity: str, *, scripts: bool = True) -> Plan:
    """Return a saved plan; without `scripts`, those of its jobs are "".

    Raises: RowtuiError if there is none, or it is damaged.
    """
    if not _ID.fullmatch(identity):
        raise RowtuiError(f"{visible(identity)} is not the id of a plan")
    path = plans_folder(root) / f"{identity}.json"
    try:
        return plan_from_json(read_bounded(path, LIMIT), scripts=scripts)
    except OSError as error:
        journal = path.parent.parent / "journal" / f"{identity}.jsonl"
        raise RowtuiError(
            f"cannot read plan {identity[:12]}: {error.strerror or error}",
            f"restore {visible(str(path))} from a backup; if none of its jobs is in a queue any "
            f"more, remove {visible(str(journal))}",
        ) from None


def _canonical(plan: Plan, identity: str | None = None) -> str:
    fields = _fields(plan) | ({} if identity is None else {"id": identity})
    written = {key: _written(value) for key, value in fields.items()}
    written["jobs"] = f"[{','.join(_jobs_written(plan.jobs))}]"
    return f"{{{','.join(f'{_quoted(key)}:{written[key]}' for key in sorted(written))}}}"


_written = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def _jobs_written(jobs: Iterable[PlannedJob]) -> Iterator[str]:
    """Yield the JSON of each job.

    Neighbours differ in a few fields; the others are encoded once.
    """
    same: tuple[Any, ...] = ()
    to_directories = to_name = to_script = to_task = to_token = end = ""
    for job in jobs:
        now = _USUALLY_SAME(job)
        if now != same:
            same = now
            to_directories, to_name, to_script, to_task, to_token, end = _around_own(job)
        directories = ",".join(map(_quoted, job.directories))
        # Two parts with `shared` between them, or the whole script.
        script = ",".join(map(_quoted, cut_at(job.script, PRELUDE) or (job.script,)))
        task = f"{to_task}{'null' if job.task is None else job.task}" if job.array else ""
        yield (
            f"{to_directories}[{directories}]{to_name}{_quoted(job.name)}{to_script}[{script}]"
            f"{task}{to_token}{_quoted(job.token)}{end}"
        )


_OWN = ("directories", "name", "script", "task", "token")  # in the order of their names
_SHARED = [name for name in PlannedJob._fields if name not in _OWN]
_USUALLY_SAME = operator.attrgetter(*_SHARED)
# Fields that plans of the first versions do not have: their ids must not change.
_MAY_BE_LEFT_OUT = (
    "array",
    "basis",
    "bundle",
    "starts_steps",
    "node_type",
    "requires",
    "named",
)


def _around_own(job: PlannedJob) -> list[str]:
    """Return the texts before each of a job's own fields, and after the last one."""
    fields = _job_fields(job)
    own = [key for key in _OWN if job.array or key != "task"]
    texts = [""]
    for key in sorted([*fields, *own]):
        texts[-1] += f"{',' if key != 'action' else '{'}{_quoted(key)}:"
        if key in own:
            texts.append("")
        else:
            texts[-1] += _written(fields[key])
    texts[-1] += "}"
    if not job.array:
        texts.insert(_OWN.index("task"), "")
    return texts


def _fields(plan: Plan) -> dict[str, Any]:
    """Return all fields of the plan except its id and its jobs."""
    return {
        "version": VERSION,
        "created": plan.created,
        "user": plan.user,
        "cluster": plan.cluster,
        "scheduler": plan.scheduler,
        "shared": PRELUDE if any(PRELUDE in job.script for job in plan.jobs) else "",
        "cost": _cost_fields(plan.cost),
        "warnings": plan.warnings,
        "skipped": plan.skipped,
        **({"packed": [*map(_packed_fields, plan.packed)]} if plan.packed else {}),
    }


def _packed_fields(packed: Packed) -> dict[str, Any]:
    return {**packed._asdict(), "destination": packed.destination._asdict()}


def _cost_fields(cost: Cost) -> dict[str, float]:
    return {"cpu_hours": float(cost.cpu_hours), "gpu_hours": float(cost.gpu_hours)}


def _job_fields(job: PlannedJob) -> dict[str, Any]:
    """Return all fields of the job except its own ones."""
    fields = dict(zip(_SHARED, _USUALLY_SAME(job), strict=True))
    fields["destination"] = job.destination._asdict()
    if job.bundle:
        fields["bundle"] = job.bundle._asdict()
    for name in _MAY_BE_LEFT_OUT:
        if not fields[name]:
            del fields[name]
    return fields | {"cost": _cost_fields(job.cost)}


def _plan(fields: Mapping[str, Any], *, scripts: bool = True) -> Plan:
    """Return the plan; without `scripts`, those of its jobs are ""."""
    shared, jobs = fields["shared"], fields["jobs"]
    for job in jobs:
        job["script"] = shared.join(job["script"]) if scripts else ""
    return record(Plan, fields, extra=True)
