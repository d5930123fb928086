"""A Slurm of a few shell scripts: sbatch puts a script into a folder, squeue lists the folder.

`$FAKE_SLURM/queue/<id>` is a job's script and `<id>.comment` its comment. Nothing runs by itself:
a `run_jobs` step takes jobs out of the queue and runs them. Ids count up from 1001, so that both
programs get the same ones for the same submissions.
"""

from __future__ import annotations

from pathlib import Path

SBATCH = r"""#!/bin/bash
cd "$FAKE_SLURM" || exit 1
read -r id <next
echo $((id + 1)) >next
for option; do
    case $option in --comment=*) printf '%s' "${option#--comment=}" >"queue/$id.comment" ;; esac
done
cat >"queue/$id"
echo "$id"
"""

# Row asks for ids with `-o %A`; rowtui with a format in which some fields stand between marks.
SQUEUE = r"""#!/bin/bash
cd "$FAKE_SLURM/queue" || exit 1
wanted= format=%A
while [ $# -gt 0 ]; do
    case $1 in
        --jobs) wanted=,$2, ; shift ;;
        -o) format=$2 ; shift ;;
        -O) exit 0 ;;
    esac
    shift
done
for id in [0-9]*; do
    case $id in *.comment | '[0-9]*') continue ;; esac
    if [ -n "$wanted" ] && [[ $wanted != *,$id,* ]]; then continue; fi
    comment=$(cat "$id.comment" 2>/dev/null)
    line=$format
    line=${line//%A/$id} line=${line//%T/PENDING} line=${line//%M/0:00} line=${line//%l/1:00:00}
    line=${line//%S/N/A} line=${line//%P/p} line=${line//%N/} line=${line//%r/Priority}
    line=${line//%k/"$comment"} line=${line//%j/job} line=${line//%F/$id} line=${line//%K/N/A}
    printf '%s\n' "$line"
done
"""

NO_ACCOUNTS = """#!/bin/bash
echo "Slurm accounting storage is disabled" >&2
exit 1
"""

# Launchers that write down how they were called and run nothing.
LAUNCHER = r"""#!/bin/bash
printf '%s\0' "${0##*/}" "$@" >>log
"""


def install(folder: Path) -> None:
    """Write the programs into a folder for PATH."""
    folder.mkdir(parents=True)
    programs = {
        "sbatch": SBATCH,
        "squeue": SQUEUE,
        "sacct": NO_ACCOUNTS,
        "scancel": "#!/bin/bash\n",
        "srun": LAUNCHER,
        "mpirun": LAUNCHER,
    }
    for name, text in programs.items():
        path = folder / name
        path.write_text(text)
        path.chmod(0o755)


def make_queue(folder: Path) -> None:
    """An empty queue."""
    (folder / "queue").mkdir(parents=True)
    (folder / "next").write_text("1001\n")


def take_jobs(folder: Path, number: int) -> list[tuple[int, str]]:
    """Take the first jobs out of the queue: (id, script)."""
    queue = folder / "queue"
    ids = sorted(int(path.name) for path in queue.iterdir() if path.name.isdecimal())[:number]
    jobs = []
    for each in ids:
        path = queue / str(each)
        jobs.append((each, path.read_text("utf-8", "surrogateescape")))
        path.unlink()
        (queue / f"{each}.comment").unlink(missing_ok=True)
    return jobs
