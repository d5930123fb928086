"""Mapping configurations of three sizes, and what is asked of them: always the same ones.

`small` is like the examples of the documentation; `shared` has the shape of Galaxy's shared tool
database (930 tools, nearly all of it constants) with two destinations of one's own; `site` that of
a large public server (1,250 tools, 30 destinations with tags, a default tool with rules, `execute`
and a custom rank). Everything is declared for dialect tpv3, so that TPV can read it too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

Json = dict[str, Any]

SHED = "toolshed.g2.bx.psu.edu/repos"


@dataclass(frozen=True)
class Case:
    """A configuration and whom it is asked about.

    `tools` are ids of tools that jobs use, `users` their (e-mail address, roles).
    """

    name: str
    files: dict[str, str]
    tools: tuple[str, ...]
    users: tuple[tuple[str, tuple[str, ...]], ...]

    def requests(self, number: int, *, sizes_from: int = 0) -> list[Json]:
        """So many requests, no two alike: other tools, users and sizes of inputs, taking turns.

        `sizes_from`: where sizes (in thousandths of a GB) begin.
        """
        sizes = (size / 1000 for size in count(sizes_from * 7 + 1, 7))
        pairs = self.pairs()
        return [
            {
                "tool_id": tool,
                "user": {"email": email, "roles": list(roles)},
                "input_size": next(sizes) % 100,
                "params": {},
            }
            for tool, (email, roles) in (next(pairs) for _ in range(number))
        ]

    def pairs(self) -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
        """Each tool with each user, over and over, neighbours differing in both."""
        while True:
            for turn in range(len(self.users)):
                for at, tool in enumerate(self.tools):
                    yield tool, self.users[(at + turn) % len(self.users)]


def all_cases() -> list[Case]:
    """From the smallest to the largest."""
    return [small(), shared(), site()]


def database(file: Path) -> Case:
    """A real file of tools with two destinations of one's own."""
    text = file.read_text(encoding="utf-8")
    ids = re.findall(r"^  ['\"]?([^\s'\"#:][^\s'\"]*?)['\"]?:\s*$", text, re.MULTILINE)
    used = [each.replace(".*", "1.2.3") for each in ids if each.startswith(SHED)]
    people = tuple((f"person{n}@example.org", ()) for n in range(20))
    local = _LOCAL.replace("    inherits: _slurm\n", "")
    return Case("database", {"tools.yml": text, "local.yml": local}, tuple(used[:180]), people)


def small() -> Case:
    """A dozen entities, with everything that mapping files can say."""
    people = tuple((f"user{n}@example.org", ("training",) if n % 3 == 0 else ()) for n in range(20))
    return Case("small", {"mapping.yml": _SMALL}, ("bwa", "hisat2", "salmon", "trinity"), people)


_SMALL = """\
global:
  default_inherits: default
  context:
    ABSOLUTE_FILE_SIZE_LIMIT: 100
    small_gb: 2

tools:
  default:
    abstract: true
    cores: 2
    mem: cores * 3.8
    env:
      - {name: OMP_NUM_THREADS, value: "{cores}"}
    params:
      native: "--cpus-per-task={cores} --mem={round(mem * 1024)}"
    scheduling:
      accept: [general]
    rules:
      - id: too_large
        if: input_size > ABSOLUTE_FILE_SIZE_LIMIT
        fail: "{tool.id} takes at most {ABSOLUTE_FILE_SIZE_LIMIT} GB"
  bwa:
    cores: 8
    rules:
      - id: small_input
        if: input_size < small_gb
        cores: 4
  hisat2:
    cores: 8
    mem: min(max(input_size * 4, 8), 120)
    scheduling:
      prefer: [highmem]
  salmon:
    inherits: bwa
    mem: 20
  trinity:
    cores: 16
    mem: 16 + input_size * 2
    scheduling:
      require: [highmem]

roles:
  training.*:
    max_cores: 4
    scheduling:
      prefer: [training]

users:
  user1@example.org:
    max_mem: 60
  default:
    abstract: true
    max_cores: 32

destinations:
  main:
    runner: slurm
    max_accepted_cores: 16
    max_accepted_mem: 64
    params: {partition: main}
    scheduling:
      accept: [general]
  highmem:
    runner: slurm
    max_accepted_cores: 64
    max_accepted_mem: 1000
    params: {partition: highmem}
    scheduling:
      accept: [general, highmem]
  training:
    runner: slurm
    max_accepted_cores: 4
    max_accepted_mem: 32
    params: {partition: training}
    scheduling:
      require: [training]
"""


def shared() -> Case:
    """930 tools: 1,537 constants, 23 expressions, 35 rules, 3 of them `fail`, 49 texts."""
    rng = Random(930)
    tools, text = _shared_tools(rng)
    people = tuple((f"person{n}@example.org", ()) for n in range(20))
    used = tuple(tool.removesuffix("/.*") + "/1.2.3" for tool in rng.sample(tools, 180))
    return Case("shared", {"tools.yml": text, "local.yml": _LOCAL}, used, people)


_LOCAL = """\
destinations:
  slurm:
    inherits: _slurm
    runner: slurm
    max_accepted_cores: 64
    max_accepted_mem: 512
    params: {partition: main}
  gpu:
    inherits: _slurm
    runner: slurm
    max_accepted_cores: 16
    max_accepted_gpus: 4
    params: {partition: gpu}
    scheduling:
      prefer: [gpu]
"""

_SHARED_HEAD = """\
global:
  default_inherits: default
tools:
  default:
    abstract: true
    cores: 1
    mem: cores * 3.8
    gpus: 0
    params: {docker_memory: "{mem}G"}
    env: {GALAXY_MEMORY_MB: "{int(mem * 1024)}", SINGULARITY_CACHEDIR: /data/cache}
"""

_SHARED_TAIL = """\
destinations:
  _slurm:
    abstract: true
    params: {native_specification: "--ntasks={cores} --mem={round(mem * 1024)}"}
  _docker:
    abstract: true
    params: {docker_enabled: "true", docker_memory: "{mem}G"}
  _singularity:
    abstract: true
    params: {singularity_enabled: "true"}
"""


def _shared_tools(rng: Random) -> tuple[list[str], str]:
    """The ids of the tools but the default one, and the file."""
    parts = [_SHARED_HEAD]
    names = [
        f"{SHED}/{rng.choice(('iuc', 'bgruening', 'devteam', 'galaxyp'))}/{repo}/{repo}/.*"
        for repo in (f"tool_{n:04}" for n in range(929))
    ]
    # Of each of these, as many as the database has: the default entity and the destinations have
    # 2 constants, 1 expression and 7 texts already.
    expressions, rules, texts = (set(rng.sample(range(929), n)) for n in (22, 32, 42))
    failing, both = set(sorted(rules)[:3]), set(rng.sample(range(929), 606))
    for n, name in enumerate(names):
        parts.append(f"  {name}:\n")
        cores, mem = rng.choice((1, 2, 4, 8, 12, 16)), rng.choice((2, 4, 8, 15.2, 32, 64, 128))
        parts.append(f"    cores: {cores}\n")
        if n in expressions:
            parts.append(f"    mem: min(max(input_size * {rng.randint(2, 9)}, 8), 240)\n")
        elif n in both:
            parts.append(f"    mem: {mem}\n")
        if n in texts:
            parts.append(
                f'    env: {{_JAVA_OPTIONS: "-Xmx{{int(mem)}}G -Xms{rng.randint(1, 4)}G"}}\n'
            )
        if n in rules:
            parts.append("    rules:\n")
            if n in failing:
                parts.append(
                    '      - {if: input_size >= 90, fail: "Too much data ({input_size} GB)"}\n'
                )
            else:
                limit, more = rng.choice((1, 5, 20, 50)), rng.choice((16, 64, 200))
                parts.append(f"      - if: input_size >= {limit}\n        mem: {more}\n")
                parts.append(f"        cores: {rng.choice((8, 16, 20))}\n")
    parts.append(_SHARED_TAIL)
    return names, "".join(parts)


def site() -> Case:
    """The shared tools with those of a site over them, and its destinations, roles and rules."""
    rng = Random(1250)
    names, shared_text = _shared_tools(Random(930))
    own = [f"{SHED}/site/own_{n:03}/own_{n:03}/.*" for n in range(320)]
    files = {
        "tools.yml": shared_text,
        "defaults.yml": _SITE_DEFAULTS,
        "own.yml": _site_tools(rng, names, own),
        "destinations.yml": _site_destinations(rng),
        "people.yml": _SITE_PEOPLE,
    }
    people = tuple(
        (
            f"person{n}@example.org",
            ("training-rna",) if n % 5 == 0 else ("gold", "staff") if n % 7 == 0 else (),
        )
        for n in range(20)
    )
    used = rng.sample(names, 90) + rng.sample(own, 90)
    return Case("site", files, tuple(tool.removesuffix("/.*") + "/1.2.3" for tool in used), people)


_SITE_DEFAULTS = """\
global:
  default_inherits: default
  context:
    largest_gb: 95
tools:
  default:
    abstract: true
    cores: 1
    mem: cores * 3.8
    gpus: 0
    env:
      - {name: GALAXY_MEMORY_MB, value: "{round(mem * 1024)}"}
      - {name: TMPDIR, value: /scratch}
    params:
      request_cpus: "{cores}"
      request_memory: "{mem}G"
      description: "{tool.id.split('/')[-2] if '/' in tool.id else tool.id}"
      metadata_strategy: extended
    context:
      retries: 0
    scheduling:
      reject: [offline]
    rules:
      - id: remote_resources
        if: |
          entity.params.get("remote") == "yes"
        scheduling: {require: [pulsar]}
      - id: too_large
        if: input_size > largest_gb
        fail: "{round(input_size)} GB are more than the {largest_gb} that are possible"
      - id: resubmitted
        if: job.destination_params and "SCALING" in job.destination_params
        context: {retries: 1}
      - id: docker
        if: |
          any(name in tool.id for name in ("own_00", "own_01", "own_02"))
        execute: |
          entity.params["docker_enabled"] = "true"
          entity.params["docker_memory"] = "{mem}G"
      - id: small_jobs
        if: input_size < 0.5
        execute: |
          if not entity.gpus and isinstance(entity.mem, (int, float)) and entity.mem > 8:
              entity.mem = entity.mem / 2
      - id: user_limits
        if: user is not None and user.email.endswith("7@example.org")
        max_cores: 8
        max_mem: 64
    rank: |
      sorted(candidate_destinations,
             key=lambda d: (-d.score(entity), float(d.max_accepted_mem or 0)))
"""

_SITE_PEOPLE = """\
roles:
  training-.*:
    max_cores: 4
    max_mem: 30
    scheduling: {require: [training]}
  gold:
    context: {priority: 10}
  staff:
    scheduling: {prefer: [new]}
  admins:
    max_cores: 128
users:
  default:
    abstract: true
    max_cores: 64
    max_mem: 1000
  person3@example.org:
    env: {EXTRA: "1"}
    rules:
      - if: input_size > 50
        scheduling: {prefer: [highmem]}
"""


def _site_tools(rng: Random, shared_names: list[str], own: list[str]) -> str:
    parts = ["tools:\n"]
    overridden = rng.sample(shared_names, 56)
    for n, name in enumerate([*overridden, *own]):
        parts.append(f"  {name}:\n    cores: {rng.choice((1, 4, 8, 20))}\n")
        parts.append(f"    mem: {rng.choice((4, 12, 30, 60, 120, 250))}\n")
        if n % 6 == 0:
            parts.append(f"    params: {{remote: '{rng.choice(('yes', 'no'))}', n: {n}}}\n")
        if n % 9 == 0:
            tag = rng.choice(("highmem", "new", "fast-disk"))
            parts.append(f"    scheduling: {{prefer: [{tag}]}}\n")
        if n % 25 == 0:
            parts.append("    gpus: 1\n    scheduling: {require: [gpu]}\n" if n % 9 else "")
        if n % 8 == 0:
            parts.append(f"    rules:\n      - if: input_size > {rng.choice((5, 25))}\n")
            parts.append(f"        mem: {rng.choice((80, 180))}\n")
    return "".join(parts)


def _site_destinations(rng: Random) -> str:
    parts = [
        "destinations:\n",
        "  default: {abstract: true, env: {SITE: example}, params: {outputs_to_working: true}}\n",
        "  _condor: {abstract: true, runner: condor, params: {universe: vanilla}}\n",
    ]
    for n in range(28):
        cores, mem = rng.choice((8, 16, 32, 64, 128)), rng.choice((16, 64, 250, 500, 1000))
        parts.append(f"  place{n:02}:\n    inherits: _condor\n    max_accepted_cores: {cores}\n")
        parts.append(f"    max_accepted_mem: {mem}\n    max_accepted_gpus: {int(n % 7 == 3)}\n")
        parts.append(f"    params: {{requirements: 'Group == \"g{n}\"', rank: '{n}'}}\n")
        parts.append("    scheduling:\n")
        offers = rng.sample(("highmem", "new", "fast-disk", "long", "local"), rng.randint(1, 3))
        parts.append(f"      prefer: [{', '.join(offers)}]\n")
        if n % 4 == 0:
            parts.append("      require: [pulsar]\n")
        elif n % 7 == 3:
            parts.append("      accept: [gpu]\n")
        elif n % 5 == 1:
            parts.append("      accept: [training]\n")
        if n % 9 == 2:
            parts.append("      reject: [gold]\n")
        if n == 5:
            parts.append("    rules:\n      - if: entity.gpus\n        env: {GPU: 'yes'}\n")
    return "".join(parts)
