"""Random projects: workflow.toml, directories with values and products, clusters, launchers.

Most projects are sound, so that many commands have something to do; an `oddity` is something that
Row refuses or treats badly, and a case has at most a few. Every choice comes from one `Random`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.differential.model import Directory, ProjectFiles
from tests.differential.settings import break_workflow, clusters_file, launchers_file
from tests.differential.toml_text import Raw
from tests.differential.values import (
    BROKEN,
    KEYS,
    KINDS,
    SORTABLE,
    STRINGS,
    document,
    of_kind,
    pointer_of,
)

AWKWARD = (
    *("a b", "it's", 'q"uote', "ünï", "-dash", "--all", "$HOME", "${x}", "*", "?", "x[1]", "~"),
    *("#hash", "a;b", "a&b", "back\\slash", ".hidden", "e\u0301", "日本", "a,b", "`x`", "!bang"),
    *("=x", "%j", "(p)", "a|b", "<x>", "😀", "  lead", "trail  ", "v.json", "1", "nul", "𝔘"),
    *("{x}", "a=b", "\u202eabc", "\u00a0", "ß", "ﬀ", "\u200b", "x" * 100, "\\n", "'", '"', "@"),
)
CONTROL = ("new\nline", "tab\tx", "esc\x1b[31m", "\x7f", "cr\r")
TEMPLATES_IN_NAMES = ("{directory}", "{}", "{a}", "{directories}", "{workspace_path}")

# What each workflow can be asked to run on: `none` runs now, the others are printed or faked.
ENVIRONMENT_LOG = (
    'printf \'%s\\0\' env "$ACTION_CLUSTER" "$ACTION_NAME" "$ACTION_PROCESSES" '
    '"$ACTION_WALLTIME_IN_MINUTES" "$ACTION_PROCESSES_PER_DIRECTORY" "$ACTION_THREADS_PER_PROCESS" '
    '"$ACTION_GPUS_PER_PROCESS" "$ACTION_WORKSPACE_PATH" "$SETUP_VARIABLE" {directory} >> log'
)


@dataclass
class Making:
    """A project in the making."""

    rng: Random
    oddities: set[str] = field(default_factory=set)
    fields: dict[str, str] = field(default_factory=dict)  # key of the value files -> kind
    absent: float = 0.0  # how often a directory lacks a key
    plain: bool = True
    value_file: str | None = None

    def odd(self, name: str, chance: float) -> bool:
        """Whether this oddity is in; noted if it is."""
        if self.rng.random() >= chance:
            return False
        self.oddities.add(name)
        return True


def make_project(rng: Random, *, odd: float = 1.0) -> tuple[ProjectFiles, Making]:
    """A random project; `odd` scales how often it has oddities (0: never)."""
    making = Making(rng)
    making.value_file = rng.choice(("v.json", "v.json", "v.json", "v.json", "the value", None))
    if odd and making.odd("nested value file", 0.02 * odd):
        making.value_file = "sub/value.json"
    making.plain = rng.random() < 0.55
    _choose_fields(making, odd)
    workspace = rng.choice(("workspace",) * 6 + ("data", "w s", "a/b", "./w", "ünï", "w'x", "w/"))
    names = _names(making, odd)
    directories = tuple(make_directory(making, name, odd=odd) for name in names)
    clusters = clusters_file(rng) if rng.random() < 0.3 else None
    actions = _actions(
        making, odd, [cluster["name"] for cluster in (clusters or {}).get("cluster", ())]
    )
    workflow: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    if workspace != "workspace" or rng.random() < 0.2:
        settings["path"] = workspace
    if making.value_file is not None:
        settings["value_file"] = making.value_file
    if settings:
        workflow["workspace"] = settings
    default = _default(making) if rng.random() < 0.35 else None
    if default:
        workflow["default"] = {"action": default}
    if actions:
        workflow["action"] = actions
    if odd and rng.random() < 0.04 * odd:
        making.oddities.add("invalid workflow")
        break_workflow(rng, workflow)
    files = ProjectFiles(
        workflow=workflow,
        value_file=making.value_file,
        workspace=workspace,
        directories=directories,
        clusters=clusters,
        launchers=launchers_file(rng) if rng.random() < 0.2 else None,
        loose_files=("file", "link>d0") if rng.random() < 0.1 else (),
    )
    return files, making


def make_directory(making: Making, name: str, *, odd: float = 0.0) -> Directory:
    """A directory with a random value and, by chance, products."""
    rng = making.rng
    products = tuple(
        product for product in ("one", "two", "s/three", "four", "link>") if rng.random() < 0.3
    )
    if making.value_file is None:
        return Directory(name, None, products)
    if odd and making.odd("bad value", 0.004 * odd):
        return Directory(name, rng.choice((*BROKEN, None)), products)
    if not making.fields:
        return Directory(name, of_kind(rng, "mixed").encode(), products)
    fields = {
        key: of_kind(rng, kind)
        for key, kind in making.fields.items()
        if not (making.absent and rng.random() < making.absent)
    }
    return Directory(name, document(rng, fields), products)


def _choose_fields(making: Making, odd: float) -> None:
    rng = making.rng
    keys = rng.sample(KEYS, rng.randint(1, 5))
    kinds = [kind for kind in KINDS if kind != "mixed"]
    making.fields = {key: rng.choice(kinds) for key in keys}
    if odd and making.odd("mixed values", 0.06 * odd):
        making.fields[keys[0]] = "mixed"
    if odd and making.odd("missing values", 0.06 * odd):
        making.absent = 0.15
    if rng.random() < 0.04:
        making.fields = {}


def _names(making: Making, odd: float) -> list[str]:
    rng = making.rng
    count = rng.choice((0, 1, 1, 2, 3, 4, 5, 6, 8, 10, 12))
    if making.plain:
        style = rng.choice(("d{}", "{:03}", "dir{}", "{:032x}"))
        names = [style.format(number) for number in range(count)]
    else:
        names = rng.sample(AWKWARD, min(count, len(AWKWARD)))
        if rng.random() < 0.5 and count:
            names[0] = "d0"
        if odd and making.odd("control characters", 0.05 * odd):
            names.append(rng.choice(CONTROL))
        if odd and making.odd("template in a name", 0.04 * odd):
            names.append(rng.choice(TEMPLATES_IN_NAMES))
    rng.shuffle(names)
    return list(dict.fromkeys(names))


def _operand(making: Making, kind: str) -> Any:
    rng = making.rng
    if kind in ("small", "number"):
        return rng.choice(
            (0, 1, 2, 3, -1, 5, 1.5, 0.1, -0.0, 1e22, 2**53, 2**63 - 1, -(2**63), 2.0)
        )
    if kind == "string":
        return rng.choice(STRINGS)
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "pair":
        return [rng.randint(0, 5), rng.randint(-2, 5)]
    return rng.choice((0, "a", True, [1, 2], []))


def _condition(making: Making) -> list[Any] | None:
    """A triple on a field that has an order, or on anything when an oddity is due."""
    rng = making.rng
    comparable = [key for key, kind in making.fields.items() if kind in SORTABLE - {"null"}]
    operator = rng.choice(("<", "<=", "==", ">=", ">", "!="))
    if making.value_file is None or not comparable or making.odd("odd condition", 0.02):
        if not making.odd("odd condition", 0.05):
            return None
        pointer = rng.choice((*(pointer_of(key) for key in making.fields), "", "/nowhere", "a"))
        operand: Any = rng.choice((1, "a", True, [], [1, [2]], 1.5, float("nan"), {"x": 1}))
        if rng.random() < 0.1:
            operand = Raw("2020-01-01")
        return [pointer, operator, operand]
    key = rng.choice(comparable)
    pointer = pointer_of(key)
    if making.fields[key] == "pair" and rng.random() < 0.5:
        return [pointer + rng.choice(("/0", "/1")), operator, rng.randint(-1, 5)]
    operand = _operand(making, making.fields[key])
    if rng.random() < 0.02:
        making.oddities.add("odd condition")
        operand = rng.choice((1, "a", [1, 2, 3], True))
    return [pointer, operator, operand]


def _group(making: Making) -> dict[str, Any]:
    rng = making.rng
    group: dict[str, Any] = {}
    if rng.random() < 0.45:
        selectors: list[dict[str, Any]] = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            if rng.random() < 0.6:
                if condition := _condition(making):
                    selectors.append({"condition": condition})
            else:
                triples = [_condition(making) for _ in range(rng.randint(0, 3))]
                selectors.append({"all": [triple for triple in triples if triple]})
        if selectors or rng.random() < 0.2:
            group["include"] = selectors
    sortable = [key for key, kind in making.fields.items() if kind in SORTABLE]
    if rng.random() < 0.5 and making.value_file and sortable:
        pointers = []
        for key in rng.sample(sortable, min(len(sortable), rng.choice((1, 1, 2, 3)))):
            deeper = making.fields[key] == "pair" and rng.random() < 0.3
            pointers.append(pointer_of(key) + ("/0" if deeper else ""))
        if making.odd("odd sort key", 0.03):
            pointers.append(rng.choice(("", "/nowhere", "a", *map(pointer_of, making.fields))))
        group["sort_by"] = pointers
    if rng.random() < 0.3:
        group["split_by_sort_key"] = rng.random() < 0.8
    if rng.random() < 0.25:
        group["reverse_sort"] = rng.random() < 0.8
    if rng.random() < 0.5:
        group["maximum_size"] = rng.choice((1, 2, 3, 4, 100))
        if making.odd("maximum_size = 0", 0.01):
            group["maximum_size"] = 0
    if rng.random() < 0.15:
        group["submit_whole"] = rng.random() < 0.8
    return group


WALLTIMES = (
    *("00:10:00", "01:00:00", "1 day", "2 days, 03:04:05", "00:00:30", "PT1H30M", "P1D", "00:01"),
    *("48:00:00", "1d 12:00", "00:10:30", "4d", "100:00:00"),
)


def _resources(making: Making) -> dict[str, Any]:
    rng = making.rng
    resources: dict[str, Any] = {}
    if rng.random() < 0.5:
        how = rng.choice(("per_submission", "per_directory"))
        resources["processes"] = {how: rng.choice((1, 1, 2, 3, 4, 128, 200))}
    if rng.random() < 0.4:
        resources["threads_per_process"] = rng.choice((1, 2, 8, 32))
    if rng.random() < 0.25:
        resources["gpus_per_process"] = rng.choice((1, 1, 2, 8))
    if rng.random() < 0.6:
        how = rng.choice(("per_submission", "per_directory"))
        resources["walltime"] = {how: rng.choice(WALLTIMES)}
    if rng.random() < 0.1:
        resources["memory_per_cpu_mb"] = rng.choice((100, 1000, 4000))
    if rng.random() < 0.1:
        resources["memory_per_gpu_mb"] = rng.choice((1000, 20000, 400000))
    if making.odd("zero resource", 0.01):
        what = rng.choice(("threads_per_process", "gpus_per_process", "processes"))
        resources[what] = {"per_submission": 0} if what == "processes" else 0
    return resources


def _submit_options(making: Making, clusters: list[str]) -> dict[str, Any]:
    rng = making.rng
    options: dict[str, Any] = {}
    names = ("none", "anvil", "delta", "greatlakes", "frontier", "andes", *clusters)
    for name in rng.sample(names, rng.randint(1, 3)):
        one: dict[str, Any] = {}
        if rng.random() < 0.6:
            one["account"] = rng.choice(("acc", "abc123", "my-account"))
        if rng.random() < 0.4:
            one["setup"] = rng.choice(
                (
                    "export SETUP_VARIABLE=hello",
                    "SETUP_VARIABLE=1\nexport SETUP_VARIABLE",
                    "",
                    "true",
                )
            )
            if making.odd("failing setup", 0.05):
                one["setup"] = "false"
        if rng.random() < 0.4:
            one["custom"] = rng.choice(([], ["--mail-type=ALL"], ["--constraint=x", "--exclusive"]))
        if rng.random() < 0.15:
            one["partition"] = rng.choice(("shared", "wholenode", "cpu", "standard", "p1", "p2"))
        if making.odd("manual partition", 0.02):
            one["partition"] = rng.choice(("debug", "highmem", "gpuA40x4", "largemem", "manual"))
        if rng.random() < 0.1:
            one["output_file_name"] = rng.choice(("log-%j.out", "{action_name}.%j", "x"))
        if rng.random() < 0.1:
            one["output_file_path"] = rng.choice(("logs", "out/{action_name}", "/tmp/logs"))
        options[name] = one
    return options


def _command(making: Making, product: str | None) -> str:
    rng = making.rng
    pointers = [
        "{" + pointer_of(key) + "}"
        for key, kind in making.fields.items()
        if "}" not in key and making.value_file and not making.absent
    ]
    each = rng.random() < 0.6
    templates = []
    if each and pointers and rng.random() < 0.4:
        templates = rng.sample(pointers, min(len(pointers), rng.choice((1, 1, 2))))
    if each and rng.random() < 0.15:
        templates.append("{}")
    if rng.random() < 0.3:
        templates.append("{workspace_path}")
    values = "".join(f" {template}" for template in templates)
    parent = product.rpartition("/")[0] if product else ""
    if each:
        command = f"printf '%s\\0' {{directory}}{values} >> log"
        if rng.random() < 0.15:
            command = ENVIRONMENT_LOG
        if rng.random() < 0.1:
            command = f"printf '%s\\0' x{{directory}}.y{values} >> log"
        if product and rng.random() < 0.8:
            path = "{workspace_path}/{directory}/"
            make = f"mkdir -p -- {path}{parent} && " if parent else ""
            command += f" && {make}touch -- {path}{product}"
        if making.odd("failing command", 0.03):
            command = rng.choice(
                (
                    "test -e {workspace_path}/{directory}/one",
                    "false {directory}",
                    "no-such-command {directory}",
                )
            )
        if making.odd("template in quotes", 0.02):
            command = "printf '%s\\0' \"{directory}\" >> log"
    else:
        command = f"printf '%s\\0' {{directories}}{values} >> log"
        if product and rng.random() < 0.8:
            path = '{workspace_path}/"$d"/'
            make = f"mkdir -p -- {path}{parent} && " if parent else ""
            command += f" && for d in {{directories}}; do {make}touch -- {path}{product}; done"
        if making.odd("failing command", 0.02):
            command = "false {directories}"
    if making.odd("broken template", 0.02):
        command = rng.choice(
            (
                *("true", "echo {directory} {directories}", "echo {directories} {/a}"),
                *(
                    "echo {directory} {nothing}",
                    "echo {directory} ${X}",
                    "echo {directory} {/nowhere}",
                ),
            )
        )
    if making.odd("several lines", 0.01):
        command = command + "\n"
    if making.odd("compound command", 0.02):
        command = rng.choice(("false; ", "true; ", "cd . && ", "true | ")) + command
    return command


def _actions(making: Making, odd: float, clusters: list[str]) -> list[dict[str, Any]]:
    rng = making.rng
    names = ["one", "two", "three", "fo ur" if rng.random() < 0.1 else "four"]
    products = {"one": ["one"], "two": ["two"], "three": ["s/three"], names[3]: ["four"]}
    count = rng.choice((0, 1, 2, 2, 3, 3, 4, 4)) if rng.random() < 0.9 else 1
    actions: list[dict[str, Any]] = []
    for name in names[:count]:
        action: dict[str, Any] = {"name": name}
        own = products[name]
        if rng.random() < 0.15:
            own = [*own, rng.choice(("one", "link", "extra"))]
        has_products = rng.random() < 0.85
        action["command"] = _command(making, own[0] if has_products else None)
        if has_products:
            action["products"] = own
        if actions and rng.random() < 0.6:
            earlier = [each["name"] for each in actions]
            action["previous_actions"] = rng.sample(earlier, rng.randint(1, min(2, len(earlier))))
        _fill(making, action, clusters)
        actions.append(action)
    if actions and rng.random() < 0.2:
        actions.append(_another_element(making, rng.choice(actions)))
    if odd and making.odd("circle", 0.01 * odd) and actions:
        actions[0]["previous_actions"] = [actions[-1].get("name", actions[0]["name"])]
    return actions


def _fill(making: Making, action: dict[str, Any], clusters: list[str]) -> None:
    rng = making.rng
    if group := _group(making):
        action["group"] = group
    if rng.random() < 0.5 and (resources := _resources(making)):
        action["resources"] = resources
    if rng.random() < 0.25:
        action["launchers"] = rng.choice((["openmp"], ["mpi"], ["openmp", "mpi"], ["rayon"], []))
        if making.odd("unknown launcher", 0.02):
            action["launchers"] = ["nothing"]
    if rng.random() < 0.3:
        action["submit_options"] = _submit_options(making, clusters)
    needs_mpi = action.get("resources", {}).get("processes")
    if (
        needs_mpi
        and next(iter(needs_mpi.values())) > 0
        and "mpi" not in action.get("launchers", ())
        and rng.random() < 0.9
    ):
        action["launchers"] = [*action.get("launchers", ()), "mpi"]


def _another_element(making: Making, first: dict[str, Any]) -> dict[str, Any]:
    """One more element of a name, by `from` or written out; its includes may overlap."""
    rng = making.rng
    if rng.random() < 0.6:
        element: dict[str, Any] = {"from": first["name"]}
        if rng.random() < 0.3:
            element["name"] = "copied"
    else:
        same = ("name", "command", "products", "previous_actions")
        element = {key: first[key] for key in same if key in first}
    if group := _group(making):
        element["group"] = group
    if rng.random() < 0.3:
        element["resources"] = _resources(making)
    return element


def _default(making: Making) -> dict[str, Any]:
    rng = making.rng
    default: dict[str, Any] = {}
    if rng.random() < 0.5:
        default["resources"] = _resources(making)
    if rng.random() < 0.4:
        default["group"] = _group(making)
    if rng.random() < 0.3:
        default["submit_options"] = _submit_options(making, [])
    if rng.random() < 0.2:
        default["launchers"] = ["openmp"]
    if rng.random() < 0.1:
        default["products"] = ["one"]
    return {key: value for key, value in default.items() if value}
