"""Which headers ask for jobs that stay held."""

from __future__ import annotations

import pytest
from rowtui.core.submission.sending.release_held import staying_held, stays_held

from tests.core.submission.sending.test_journal import job

START = "#!/bin/bash\n# a comment of ours: --hold\n"


@pytest.mark.parametrize(
    ("header", "held"),
    [
        ("#SBATCH --hold", True),
        ("#SBATCH -H", True),
        ("#SBATCH --time=5 --hold  # until Monday", True),
        ("#SBATCH --time=5 # not --hold", False),
        ("#SBATCH --comment='on --hold'", False),
        ("#SBATCH --comment=it's --hold", True),  # what sbatch makes of it, it will say
        ("##SBATCH --hold", False),
        ("#SBATCH -h", False),
        ("#$ -h", True),
        ("#$ -hold_jid 7", False),
        ("#$ -l h_rt=5", False),
        ("", False),
    ],
)
def test_only_the_schedulers_own_word_in_the_header_counts(header: str, held: bool) -> None:
    script = f"{START}{header}\n\necho done\n#SBATCH --hold\n#$ -h\n"
    assert stays_held(job("t-0")._replace(script=script)) is held


def test_the_header_of_one_task_speaks_for_its_array() -> None:
    held, free = "#!/bin/bash\n#SBATCH --hold\n", "#!/bin/bash\ntrue\n#SBATCH --hold\n"
    jobs = [
        *(job(f"a.{n}")._replace(script=held, array="a", task=n) for n in range(2)),
        *(job(f"b.{n}")._replace(script=free, array="b", task=n) for n in range(2)),
        job("c")._replace(script=free),
        job("d")._replace(script=held),
    ]

    assert staying_held(jobs) == {"a.0", "a.1", "d"}
