"""docs/formats.md read literally: real files, read with struct and json alone."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from rowtui.core.project.summary import FIELDS

from tests.eventually import eventually

ODD = os.fsdecode(b"odd\xff")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Values, a name that is not UTF-8, a bad directory; three jobs of which one fails."""
    root = tmp_path_factory.mktemp("formats") / "p"
    for number in range(40):
        folder = root / "workspace" / f"d{number:02}"
        folder.mkdir(parents=True)
        (folder / "v.json").write_text(f'{{ "T": {number % 3}.5, "s": "x{number % 2}" }}')
    (root / "workspace" / ODD).mkdir()
    (root / "workspace" / ODD / "v.json").write_text('{"s":"y","T":7}')
    (root / "workspace" / "bad").mkdir()
    (root / "workspace" / "bad" / "v.json").write_text("{")
    (root / "workflow.toml").write_text(
        """
        [workspace]
        value_file = "v.json"
        [[action]]
        name = "one"
        command = "sh one.sh {directory}"
        products = ["out"]
        resources.walltime.per_submission = "00:10:00"
        [action.group]
        sort_by = ["/T", "/s"]
        maximum_size = 2
        [[action]]
        name = "two"
        command = "true {directory}"
        products = ["two"]
        previous_actions = ["one"]
        """
    )
    # The second job waits in d12 until the gate opens, and fails in d18.
    (root / "one.sh").write_text(
        'if [ "$1" = d12 ]; then cat ../gate; elif [ "$1" = d18 ]; then exit 5; fi\n'
        'touch "workspace/$1/out"\n'
    )
    os.mkfifo(root.parent / "gate")
    run(root, "submit", "--yes", "--detach", "-a", "one", "-n", "3")
    yield root
    run(root, "cancel", "--all", "--yes")


def environment(root: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ROW", "SLURM", "XDG_"))}
    queue = str(root.parent / "queue")
    return {**kept, "HOME": str(root.parent), "ROWTUI_LOCAL_DIR": queue, "ROWTUI_CLUSTER": "local"}


def run(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "rowtui.cli.main", *arguments],
        cwd=root,
        env=environment(root),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return os.fsdecode(done.stdout)


class Rtc:
    """The container, by the table in the page."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        assert data[:8] == b"rowtui\r\n"
        version, length, checksum = struct.unpack_from("<III", data, 8)
        header = data[20 : 20 + length]
        assert (version, checksum) == (1, crc32(header))
        parsed = json.loads(header)
        self.meta: dict[str, Any] = parsed["meta"]
        self.sections = {}
        for name, (offset, size, section_checksum) in parsed["sections"].items():
            assert offset % 64 == 0
            self.sections[name] = data[offset : offset + size]
            assert crc32(self.sections[name]) == section_checksum

    def members(self, name: str) -> set[int]:
        bits = self.sections[name] if name else b""
        return {at for at in range(8 * len(bits)) if bits[at // 8] >> at % 8 & 1}

    def jobs(self, name: str) -> dict[str, dict[int, list[Any]]]:
        line, _, rest = self.sections[name].partition(b"\n")
        numbers = iter(struct.unpack(f"<{len(rest) // 4}I", rest))
        return {
            action: {next(numbers): job for job, count in jobs for _ in range(count)}
            for action, jobs in json.loads(line)
        }


def newest(root: Path) -> Rtc:
    files = (root / ".row" / "rowtui").glob("done.*.rtc")
    return Rtc(max(files, key=lambda path: int(path.name.split(".")[1])))


def names_of(dirs: Rtc) -> list[str]:
    count = dirs.meta["count"]
    ends = struct.unpack(f"<{count + 1}I", dirs.sections["offsets"])
    blob = dirs.sections["names"]
    return [os.fsdecode(blob[ends[at] : ends[at + 1]]) for at in range(count)]


def varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def text(data: bytes, at: int) -> tuple[str, int]:
    size, at = varint(data, at)
    return data[at : at + size].decode(), at + size


def postcard(data: bytes, *, with_jobs: bool) -> tuple[dict[str, Any], bytes]:
    """The records in it, and what stands behind them."""
    found: dict[str, Any] = {}
    actions, at = varint(data, 0)
    for _ in range(actions):
        action, at = text(data, at)
        count, at = varint(data, at)
        found[action] = {}
        for _ in range(count):
            name, at = text(data, at)
            job: Any = None
            if with_jobs:
                cluster, at = text(data, at)
                number, at = varint(data, at)
                job = (cluster, number)
            found[action][name] = job
    return found, data[at:]


def test_directories_and_values_are_where_the_page_says(project: Path) -> None:
    done = newest(project)
    folder = project / ".row" / "rowtui"
    dirs = Rtc(folder / done.meta["dirs"])
    names = names_of(dirs)
    assert names == sorted(os.listdir(project / "workspace"), key=os.fsencode)
    assert dirs.meta["order"] == sys.byteorder
    count = len(names)
    values = b"".join((folder / file).read_bytes() for file, _ in done.meta["values"])
    starts = struct.unpack(f"<{count}Q", dirs.sections["value_start"])
    sizes = struct.unpack(f"<{count}I", dirs.sections["value_size"])
    times = struct.unpack(f"<{count}q", dirs.sections["stamp_time"])
    for at, name in enumerate(names):
        file = project / "workspace" / name / "v.json"
        assert times[at] == file.stat().st_mtime_ns
        if name == "bad":
            assert sizes[at] == 0xFFFFFFFF
        else:
            value = json.loads(file.read_text())
            compact = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
            assert values[starts[at] : starts[at] + sizes[at]] == compact
    assert {names[at] for at in done.members(done.meta["bad"])} == {"bad"}
    assert {names[at] for at in done.members(done.meta["nameless"])} == {ODD}
    reasons = json.loads(dirs.sections["reasons"])
    assert "not valid JSON" in reasons["texts"][reasons["of"][0]]


def test_columns_hold_ranks_of_the_distinct_values(project: Path) -> None:
    done = newest(project)
    dirs = Rtc(project / ".row" / "rowtui" / done.meta["dirs"])
    names = names_of(dirs)
    assert done.meta["pointers"] == ["/T", "/s"]
    for index, pointer in enumerate(done.meta["pointers"]):
        magic, header, body = dirs.sections[f"column{index}"].split(b"\n", 2)
        assert magic == b"rowtui column 1"
        meta = json.loads(header)
        assert (meta["pointer"], meta["count"], meta["code"]) == (pointer, len(names), 1)
        form = meta["form"]
        raw = body[: meta["size"]]
        distinct = (
            json.loads(raw) if form == "json" else struct.unpack(f"<{len(raw) // 8}{form}", raw)
        )
        codes = struct.unpack(f"<{len(names)}B", body[meta["size"] :])
        for name, code in zip(names, codes, strict=True):
            if name == "bad":
                assert code == len(distinct)
            else:
                value = json.loads((project / "workspace" / name / "v.json").read_text())
                assert distinct[code] == value[pointer[1:]]
        assert list(distinct) == sorted(distinct)


def test_submissions_leave_the_files_of_the_page(project: Path) -> None:
    """In the order in which they appear: records, journal, plan, queue, fence, end, report."""
    rowtui = project / ".row" / "rowtui"
    gate = os.open(project.parent / "gate", os.O_WRONLY)  # as soon as the job reads it
    done = newest(project)
    names = names_of(Rtc(rowtui / done.meta["dirs"]))
    jobs = {names[at]: job for at, job in done.jobs("submitted")["one"].items()}
    tokens = sorted({job[2] for job in jobs.values()})
    assert list(jobs) == ["d00", "d06", "d12", "d18", "d24", "d30"]
    assert {job[0] for job in jobs.values()} == {"local"}
    assert {job[1] for job in jobs.values()} == {1, 2, 3}

    data = (project / ".row" / "submitted.postcard").read_bytes()
    records, trailer = postcard(data, with_jobs=True)
    assert records == {"one": {name: (job[0], job[1]) for name, job in jobs.items()}}
    lineage = bytes.fromhex(done.meta["lineage"])
    magic, of, generation = struct.unpack("<8s8sQ", trailer)
    assert (magic, of) == (b"\0rowtui\0", lineage)
    assert generation <= done.meta["generation"]

    (journal,) = (rowtui / "journal").glob("*.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    first = [(it["step"], it["job_id"], it["detail"]) for it in lines if it["token"] == tokens[0]]
    host = os.uname().nodename
    queue = project.parent / "queue" / host
    assert first[:4] == [
        ("planned", 0, ""),
        ("sending", 0, f"{host}:{queue}"),
        ("accepted", 1, ""),
        ("accepted", 1, "recorded"),
    ]
    assert {it["v"] for it in lines} == {1}

    plan = json.loads((rowtui / "plans" / f"{journal.stem}.json").read_text())
    rest = {key: value for key, value in plan.items() if key != "id"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
    assert plan["id"] == journal.stem == hashlib.sha256(canonical).hexdigest()
    assert [job["token"] for job in plan["jobs"]] == tokens
    script = plan["shared"].join(plan["jobs"][0]["script"])

    first_job = queue / "jobs" / "1"
    assert (first_job / "script").read_text() == script
    spec = json.loads((first_job / "spec.json").read_text())
    assert (spec["version"], spec["token"], spec["walltime_seconds"]) == (1, tokens[0], 600)
    token_name = hashlib.sha256(tokens[0].encode()).hexdigest()[:40]
    assert (first_job / "spec.json").samefile(queue / "tokens" / token_name)

    os.close(gate)
    eventually(lambda: all((rowtui / "ended" / token).exists() for token in tokens))
    assert [os.readlink(rowtui / "fence" / token) for token in tokens] == [
        "local:1",
        "local:2",
        "local:3",
    ]
    endings = [(rowtui / "ended" / token).read_text().split("\n") for token in tokens]
    assert [lines[:3] + lines[4:6] for lines in endings] == [
        ["0", "exit", "local:1", "0", ""],
        ["2", "exit", "local:2", "5", "1"],
        ["0", "exit", "local:3", "0", ""],
    ]
    staged = [postcard(path.read_bytes(), with_jobs=False)[0] for path in staged_files(project)]
    reported = sorted(name for records in staged for name in records["one"])
    assert reported == ["d00", "d06", "d12", "d24", "d30"]

    run(project, "show", "status", "--json")
    assert staged_files(project) == []
    records, trailer = postcard(
        (project / ".row" / "completed.postcard").read_bytes(), with_jobs=False
    )
    assert {action: sorted(found) for action, found in records.items()} == {
        "one": reported,
        "two": [],
    }
    assert len(trailer) == 24
    done = newest(project)
    failed = done.jobs("failed")["one"]
    assert [[names[at], *job] for at, job in failed.items()] == [
        ["d18", "local", 2, tokens[1], "exit code 5", "failed"]
    ]
    assert (rowtui / "journal" / "done" / journal.name).exists()
    assert not journal.exists()


def staged_files(project: Path) -> list[Path]:
    return sorted((project / ".row" / "completed").iterdir())


def test_a_name_that_is_not_utf8_is_reported_in_our_form(project: Path) -> None:
    (project / "workspace" / ODD / "out").touch()
    run(project, "scan", "-a", "one")
    (names,) = [path for path in staged_files(project) if path.suffix == ".names"]
    assert len(names.stem) == 32
    assert names.read_bytes() == b"one\0odd\xff\0\0"


def test_the_summary_says_what_the_records_depend_on(project: Path) -> None:
    # A listing right after a change is not relied upon: here the last one was an hour ago.
    hour_ago = time.time() - 3600
    os.utime(project / "workspace", (hour_ago, hour_ago))
    run(project, "show", "status")
    shown = run(project, "show", "status")
    summary = json.loads((project / ".row" / "rowtui" / "summary.json").read_text())
    assert tuple(summary) == FIELDS
    assert summary["generation"] == newest(project).meta["generation"]
    stamps = {name: time for name, time, _ in summary["stamps"]}
    assert stamps["d00"] == (project / "workspace" / "d00" / "v.json").stat().st_mtime_ns
    status = os.stat(project / "workflow.toml")
    assert summary["files"][str(project / "workflow.toml")] == [
        status.st_mtime_ns,
        status.st_size,
        status.st_ino,
    ]
    if summary["texts"]:
        assert summary["texts"]["status"] == shown


def test_directories_json_is_rows(project: Path) -> None:
    cache = json.loads((project / ".row" / "directories.json").read_text())
    assert cache["modified_time"] == [0, 0]  # one directory is bad
    assert "bad" not in cache["values"]
    assert list(cache["values"]) == [f"d{number:02}" for number in range(40)]
    (project / "workspace" / "bad" / "v.json").write_text("{}")
    run(project, "scan")
    run(project, "show", "status")
    cache = json.loads((project / ".row" / "directories.json").read_text())
    seconds, nanoseconds = cache["modified_time"]
    mtime = (project / "workspace").stat().st_mtime_ns
    assert seconds * 1_000_000_000 + nanoseconds == mtime
    assert cache["values"]["bad"] == {}
