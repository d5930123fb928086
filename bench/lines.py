"""All that is to be reached, in the order in which it is told: speed and memory of everything.

Figures are for 2 cores. CPU is user and system time of all processes, from exec to exit. To measure
more: add a line here, and a row with its name to a bench that writes `--json` (see `measured`).
"""

from __future__ import annotations

from typing import Any

from bench.line import ANY, Line

_10K, _100K, _1M = 10_000, 100_000, 1_000_000
_START = "interpreter"
_CACHES = "rowtui's caches read"
_CPU, _WALL, _PEAK = "cpu s", "wall s", "peak MB"
_EACH_ROW = "its rows are printed: ten times as many"


def _command(name: str, what: str, figure: str, reach: dict[int, float], **more: Any) -> Line:
    return Line(name, "commands", what, figure, reach, peer="row", **{"floor": _START, **more})


COMMANDS = (
    _command("warm `show status`, 10 actions: CPU", "show status", _CPU,
             {_10K: 0.045, _100K: 0.045, _1M: 0.05}),
    _command("the same: memory", "show status", _PEAK, {_10K: 20, _100K: 20, _1M: 20}),
    _command("`show status DIRECTORY`: CPU", "show status DIRECTORY", _CPU, {_1M: 0.1}),
    _command("`show directories -a X --eligible`: CPU", "show directories --eligible", _CPU,
             {_10K: 0.05, _100K: 0.07, _1M: 0.2}, floor=_CACHES, growth=_EACH_ROW),
    _command("the same: memory", "show directories --eligible", _PEAK,
             {_10K: 120, _100K: 120, _1M: 120}, floor=_CACHES),
    _command("`show directories --value`, all rows: wall", "show directories --value", _WALL,
             {_1M: 3.0}, floor=_CACHES, growth=_EACH_ROW),
    _command("`submit --dry-run -n 1`: CPU", "submit --dry-run -n 1", _CPU, {_1M: 0.4},
             floor=_CACHES),
    _command("`submit --dry-run`, all scripts: CPU", "submit --dry-run", _CPU, {_1M: 5.0},
             floor=_CACHES),
    Line("first `show status`, nothing in memory: wall", "commands", "first show status, cold",
         _WALL, {_1M: 1 / 2}, against="row", floor="each value file read",
         needs="needs --cold, which empties the machine's caches, as root"),
    Line("first `show status`, read before: CPU", "commands", "first show status", _CPU,
         {_1M: 1 / 1.2}, against="row", floor="each value file read",
         growth="the kernel's directory and inode caches no longer hold the workspace"),
    _command("re-sync after 1,000 new directories: CPU", "1,000 new directories", _CPU,
             {_1M: 2.0}, floor=_CACHES),
    Line("`scan`: CPU", "commands", "scan", _CPU, {_1M: 1.0}, against="row",
         floor="each directory listed",
         growth="the kernel's directory and inode caches no longer hold the workspace"),
    Line("1,000 completions arrive: status and visible groups of 10 actions: CPU", "completions",
         "status and pages", "cpu ms", {_1M: 5.0}),
    Line("the same, and on the disk: CPU", "completions", "and on the disk", "cpu ms", {_1M: 10.0}),
)  # fmt: skip
START = tuple(
    Line(f"start of `{words}`{where}: {said}", "start", words,
         figure, {10: most}, floor=floor, peer="row")
    for words, where in (("--help", ""), ("show status", " on 10 directories"))
    for said, figure, most, floor in (
        ("CPU", "cpu ms", 60.0, _START),
        ("heavy modules (numpy, Textual, asyncssh, ...)", "heavy modules", 0.0, ""),
    )
)  # fmt: skip
DASHBOARD = (
    Line("dashboard: first paint from exec, cached data: wall", "tui", "first frame", _WALL,
         {ANY: 0.5}, floor="first frame"),
    Line("dashboard: a page of a list of 1M rows: CPU", "tui", "page down", "cpu ms", {_1M: 6.0},
         floor="page down", peer="DataTable", known="DataTable 65 ms"),
    Line("dashboard: key to paint: p95", "tui", "cursor down", "p95 ms", {_1M: 16.0},
         floor="cursor down"),
    Line("dashboard: idle: share of a core", "tui", "at rest", "%", {ANY: 0.5}),
    Line("dashboard: idle: to the terminal", "tui", "at rest", "kB/s", {ANY: 30.0}),
    Line("dashboard: 48 rows at 10 Hz: share of a core", "tui", "48 rows at 10 Hz", "%",
         {ANY: 6.0}),
    Line("dashboard: stall of the loop by us, everything going on: p95", "tui",
         "everything at once", "p95 ms", {_1M: 16.0}),
    Line("the same: worst", "tui", "everything at once", "longest ms", {_1M: 50.0}),
    Line("memory of the screen, 10 actions", "tui", "everything at once", "screen MB",
         {_1M: 105.0}),
    Line("memory of the engine, 10 actions", "tui", "everything at once", "engine MB",
         {_1M: 200.0}),
    Line("the same after a long time of events", "soak", "engine", "peak MB", {_1M: 200.0}),
)  # fmt: skip
ENGINES = (
    Line("mapping: load of 1,000 tools: CPU", "mapping", "load, warm", "cpu s", {ANY: 0.1},
         variant="shared", floor="the same data by Python's json", peer="tpv",
         known="TPV 0.3 to 1.0 s, and 15 s of import"),
    Line("mapping: 10,000 jobs of 500 kinds, a small file: CPU", "mapping",
         "500 kinds, small", "cpu s", {ANY: 0.5}, known="TPV 5 to 110 s"),
    Line("the same, the file of a site: CPU", "mapping", "500 kinds, site", "cpu s", {ANY: 2.0},
         known="TPV 5 to 110 s"),
    Line("mapping: decision, new: CPU", "mapping", "new", "us", {ANY: 100.0}, variant="shared",
         peer="tpv", known="TPV 0.5 to 11 ms"),
    Line("packing: the seed's, 100 classes: user CPU", "packing", "seed, actions", "user s",
         {_1M: 1.0}),
    Line("packing: the seed's, 20k classes: user CPU", "packing", "seed, hpcmix", "user s",
         {_1M: 20.0}),
    Line("packing: best, 20k classes: cost / assignment bound", "packing", "best, hpcmix",
         "cost / assignment bound", {_1M: 1.015}),
    Line("the same: user CPU", "packing", "best, hpcmix", "user s", {_1M: 10.0}),
    Line("packing: best, up to 100 classes: cost / configuration bound", "packing",
         "best, actions", "cost / bound", {_1M: 1.003}),
    Line("the same: user CPU", "packing", "best, actions", "user s", {_1M: 10.0}),
    Line("network: plan of 1M samples, without readable ids: user CPU", "network_plan", "plan",
         "flow s", {_1M: 1.0}, variant="*", known="Fastr 4 ms for each sample"),
    Line("the same, with readable ids: user CPU", "network_plan", "plan", "named s", {_1M: 4.0},
         variant="*", known="Fastr 4 ms for each sample"),
    Line("network: a completion in a graph of 1M jobs, for an edge: user CPU", "network",
         "completion", "us", {_1M: 20.0}, variant="*"),
    Line("submission: held, recorded and released, one by one", "submission",
         "submit jobs one by one", "jobs/s", {ANY: 100.0}, more_is_better=True, variant="*",
         floor="submit jobs one by one"),
    Line("submission: 10,000 jobs as one array: wall", "submission",
         "submit jobs as one array", _WALL, {_10K: 1.0}),
    Line("queue: 10,300 jobs read: CPU", "queue", "read", "cpu s", {10_300: 0.05}, variant="*"),
)  # fmt: skip
BEYOND = (
    Line("1 ms for each look at a file: warm `show status`: wall", "latency", "show status",
         _WALL, {1_000: 0.5, _10K: 0.5}, peer="row",
         growth="up to 1,000 directories it is looked whether a value was edited"),
    Line("the same: dashboard: first paint from exec: wall", "latency", "dashboard: first paint",
         _WALL, {1_000: 1.5, _10K: 1.5}),
    Line("dashboard: files opened until the first paint", "latency", "dashboard: files opened",
         "files", {ANY: 900.0}),
    Line("the same: first scan, 8 requests at once over one by one", "latency",
         "first scan, 8 at once", "times faster", {ANY: 6.0}, more_is_better=True),
    Line("the same: first scan, 32 requests at once over one by one", "latency",
         "first scan, 32 at once", "times faster", {ANY: 16.0}, more_is_better=True),
)  # fmt: skip
LINES = (*COMMANDS, *START, *DASHBOARD, *ENGINES, *BEYOND)

_LARGE = "its columns are larger than the processor's caches"
REASONS = {
    ("commands", "first show status, cold"): "the kernel's reading from disk, as much as for Row",
    ("network", "completion"): _LARGE,
    ("network_plan", "plan"): f"a join sorts; and {_LARGE}",
    ("queue", "read"): "the processor's caches: the calls for each job are as many at both sizes",
    ("commands", "show directories --value"): _EACH_ROW,
    ("commands", "submit --dry-run"): "each script is printed",
} | {(line.suite, line.what): line.growth for line in LINES if line.growth}
"""Why a cost may grow faster than its size: by suite and row."""
