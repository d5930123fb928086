"""Where the jobs of the sample project would go: a small mapping file, and the real mapper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rowtui.core.clusters.model import JobTotals, PartitionLoad
from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.decision import Decision
from rowtui.core.mapping.model.request import Amounts, ClusterFacts, MappingRequest, Person
from rowtui.core.project.views.views import WhatIfRequest
from rowtui.core.workflow.model import Resources

MAPPING = """\
global:
  default_inherits: default

tools:
  default:
    cores: 1
    mem: cores * 2
    scheduling:
      reject: [offline]
  equilibrate:
    scheduling:
      prefer: [fast]
    rules:
      - id: many-directories
        if: len(directories) > 4
        mem: 96
        scheduling:
          require: [highmem]
  sample:
    gpus: 2
    scheduling:
      require: [gpu]
  analyze:
    rules:
      - id: not-on-mondays
        if: len(directories) > 0
        fail: "{len(directories)} directories are too many for one analysis"

roles:
  physics:
    scheduling:
      prefer: [owned]

destinations:
  default:
    abstract: true
    runner: anvil
  wholenode:
    max_accepted_cores: 128
    max_accepted_mem: 256
    params: {partition: wholenode}
    scheduling:
      accept: [highmem, owned]
  highmem:
    max_accepted_cores: 128
    max_accepted_mem: 1000
    params: {partition: highmem}
    scheduling:
      accept: [highmem]
      prefer: [fast]
    rules:
      - id: only-large-jobs
        if: mem < 500
        execute: |
          helpers.try_next("highmem takes jobs of 500 GB and more")
  shared:
    max_accepted_cores: 8
    max_accepted_mem: 64
    params: {partition: shared}
  standby:
    max_accepted_cores: 64
    max_accepted_mem: 128
    params: {partition: standby}
    scheduling:
      accept: [highmem]
      prefer: [slow]
  gpu:
    max_accepted_cores: 48
    max_accepted_gpus: 4
    params: {partition: gpu}
    scheduling:
      require: [gpu]
      accept: [highmem]
  old-cluster:
    runner: local
    max_accepted_mem: 64
    scheduling:
      require: [offline]
"""

LOADS = {
    ("anvil", partition): PartitionLoad(
        partition, 4_096, free, 0, 0, 32, 0, 0, 40, 12, 900, wait
    )
    for partition, free, wait in (
        ("wholenode", 1_404, 600.0), ("standby", 1_404, 180.0), ("shared", 0, 3_600.0),
        ("gpu", 96, None),
    )
}  # fmt: skip
"""How busy the partitions are; nothing is known of the others."""

PERSON = Person("someone", ("physics", "gpu-users"))


@lru_cache
def mapper_of(text: str | bytes = MAPPING, *, sealed: bool = False) -> Mapper:
    """The mapper of one mapping file."""
    data = text.encode() if isinstance(text, str) else text
    return Mapper(merge_files([parse_mapping(data, "mapping.yml", sealed=sealed)]))


def decision_of(
    mapper: Mapper,
    action: str,
    directories: Sequence[str],
    *,
    cores: int = 16,
    walltime: int = 14_400,
    what_if: WhatIfRequest | None = None,
    person: Person = PERSON,
) -> Decision:
    """Where a job of this action on these directories would go, and why."""
    asked = what_if or WhatIfRequest()
    request = MappingRequest(
        tool_id=action,
        user=Person(
            person.name if asked.user is None else asked.user,
            person.roles if asked.roles is None else asked.roles,
        ),
        declared=Amounts(cores=cores),
        directories=tuple(directories),
        totals=JobTotals(cores, 0, walltime, Resources(), len(directories)),
        what_if=what_if.change if what_if else None,
    )
    return decide(mapper, request, ClusterFacts(loads=LOADS))
