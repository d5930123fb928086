"""How long large made-up mapping files take to load and to lint: `python -m bench.mapping_lint`.

Each is a form in which some step once took quadratic or exponential time.
"""

from __future__ import annotations

import time

from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.lint.lint import lint


def chain(length: int) -> str:
    """Tools of which each inherits from the one before, and sets the same value."""
    links = (f"  t{n}: {{inherits: t{n - 1}, cores: {n}}}\n" for n in range(1, length))
    return "tools:\n  t0: {cores: 1, mem: 2}\n" + "".join(links)


def growing_chain(length: int) -> str:
    """The same, and each adds a rule and a parameter: all together inherit length² of them."""
    links = (
        f"  t{n}:\n    inherits: t{n - 1}\n    params: {{p{n}: '{{cores}}'}}\n"
        f"    rules: [{{id: r{n}, if: input_size > {n}, cores: {n}}}]\n"
        for n in range(1, length)
    )
    return "tools:\n  t0: {cores: 1, mem: 2}\n" + "".join(links)


def tagged_chain(length: int) -> str:
    """Tools of which each requires one tag more than the one before, and a place without any."""
    links = (
        f"  t{n}: {{inherits: t{n - 1}, scheduling: {{require: [tag{n}]}}}}\n"
        for n in range(1, length)
    )
    return "tools:\n  t0: {}\n" + "".join(links) + places(1)


def rules(number: int) -> str:
    """One tool with many rules, all of them code."""
    lines = (
        f"      - {{id: r{n}, if: input_size > {n}, mem: cores + {n}}}\n" for n in range(number)
    )
    return "tools:\n  t:\n    cores: 1\n    mem: 2\n    rules:\n" + "".join(lines)


def tools(number: int, destinations: int) -> str:
    """Tools of which each requires a tag of its own, and destinations for the first of them."""
    jobs = (
        f"  t{n}: {{cores: 1, mem: 1, scheduling: {{require: [tag{n}]}}}}\n" for n in range(number)
    )
    return "tools:\n" + "".join(jobs) + places(destinations)


def tags(number: int, destinations: int) -> str:
    """One tool with many tags."""
    names = ", ".join(f"tag{n}" for n in range(number))
    head = f"tools:\n  t: {{cores: 1, mem: 1, scheduling: {{prefer: [{names}]}}}}\n"
    return head + places(destinations)


def places(number: int) -> str:
    """Destinations of which each accepts one tag."""
    lines = (f"  d{n}: {{runner: r, scheduling: {{accept: [tag{n}]}}}}\n" for n in range(number))
    return "destinations:\n" + "".join(lines)


def main() -> None:
    """Print a table of CPU seconds."""
    cases = {
        **{f"{n:,} chained inherits": chain(n) for n in (1000, 4000, 16_000)},
        **{f"{n:,}, each adds to them": growing_chain(n) for n in (1000, 4000)},
        **{f"{n:,}, each requires one more tag": tagged_chain(n) for n in (200, 800)},
        "20,000 rules": rules(20_000),
        "3,000 tags of one tool, 300 destinations": tags(3_000, 300),
        "30,000 tags of one tool, 3,000 destinations": tags(30_000, 3000),
        "10,000 tools with a tag each, 3,000 destinations": tools(10_000, 3000),
    }
    print(f"{'case':50} {'load s':>8} {'lint s':>8} {'findings':>9}")
    for name, text in cases.items():
        start = time.process_time()
        configuration = merge_files([parse_mapping(text.encode(), "bench.yml")])
        loaded = time.process_time()
        found = len(lint(configuration))
        linted = time.process_time()
        print(f"{name:50} {loaded - start:8.1f} {linted - loaded:8.1f} {found:9,}")


if __name__ == "__main__":
    main()
