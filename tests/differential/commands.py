"""Random commands with every option, and changes of the workspace between them."""

from __future__ import annotations

import copy
from dataclasses import replace
from random import Random
from typing import Any

from tests.differential.model import Case, Change, Command, Directory, ProjectFiles
from tests.differential.projects import AWKWARD, Making, make_directory, make_project
from tests.differential.values import pointer_of

SLURM_CLUSTERS = ("anvil", "delta", "greatlakes", "frontier", "andes")
PATTERNS = ("*", "one", "t*", "*o*", "?ne", "none", "two", "o?e", "", "[o]ne", "**", "f*", "o*e*")


def make_case(seed: int, number: int) -> Case:
    """The case of that number: always the same for one seed."""
    rng = Random(f"{seed}:{number}")
    turns = rng.random() < 0.25
    project, making = make_project(rng, odd=0.3 if turns else 1.0)
    return Case(
        seed=seed,
        number=number,
        project=project,
        steps=tuple(_steps(rng, project, making, turns=turns)),
        turns=turns,
        oddities=frozenset(making.oddities),
    )


class _Steps:
    def __init__(self, rng: Random, project: ProjectFiles, making: Making) -> None:
        self.rng = rng
        self.making = making
        self.project = project
        self.names = [directory.name for directory in project.directories]
        self.cluster = rng.choice(("none", "none", "none", "slurm"))
        if self.cluster == "slurm":
            own = [
                each["name"]
                for each in (project.clusters or {}).get("cluster", ())
                if each["scheduler"] == "slurm"
            ]
            self.cluster = rng.choice((*SLURM_CLUSTERS, *own, *own))

    def actions(self) -> list[str]:
        found = [action.get("name") for action in self.project.workflow.get("action", ())]
        return [name for name in found if isinstance(name, str)] or ["one"]

    def some(self) -> tuple[str, ...]:
        """Directories as arguments: real ones, unknown ones, some with a slash behind."""
        rng = self.rng
        if not self.names or rng.random() < 0.08:
            return ("nodir",)
        chosen = rng.sample(self.names, rng.randint(1, len(self.names)))
        if rng.random() < 0.12:
            chosen.append("nodir")
        if rng.random() < 0.06:
            chosen[0] += "/"
        if rng.random() < 0.05:
            chosen.append(chosen[0])
        return tuple(chosen)

    def selection(
        self, argv: list[str], *, stdin: bool = True
    ) -> tuple[tuple[str, ...], bytes | None]:
        """`argv` with directories, as arguments or on standard input, or with none."""
        rng = self.rng
        pick = rng.random()
        if pick < 0.6:
            return tuple(argv), None
        chosen = self.some()
        if pick < 0.75 and stdin:
            end = rng.choice(("\n", "\n", "\r\n"))
            text = end.join(chosen) + rng.choice((end, ""))
            if rng.random() < 0.05:
                text = ""
            return (*argv, "-"), text.encode()
        dashes = ("--",) if any(name.startswith("-") for name in chosen) else ()
        return (*argv, *dashes, *chosen), None

    def command(self, *argv: str, stdin: bool = True, select: bool = True) -> Command:
        """A command with the global options, in random places."""
        rng = self.rng
        words = list(argv)
        given: bytes | None = None
        environment: list[tuple[str, str]] = []
        if rng.random() < 0.05:
            environment.append(("ROW_CLUSTER", self.cluster))
        elif self.cluster == "none" and argv[:2] == ("show", "status") and rng.random() < 0.3:
            pass  # Row recognises `none`, rowtui something else, and it does not matter
        else:
            words += (
                [f"--cluster={self.cluster}"] if rng.random() < 0.5 else ["--cluster", self.cluster]
            )
        if rng.random() < 0.1:
            word = rng.choice(("--no-progress", "--clear-progress", "-q", "-v", "-qq", "-vv"))
            # Its messages show why a command failed.
            words.append("-q" if word == "-qq" and select else word)
        if rng.random() < 0.08:
            words += ["--color", rng.choice(("always", "never", "auto"))]
        if rng.random() < 0.05:
            words.append(f"--io-threads={rng.choice((1, 2, 16))}")
        if select:
            chosen, given = self.selection(words, stdin=stdin)
        else:
            chosen = tuple(words)
        folder = "." if rng.random() < 0.96 else "below/deeper"
        return Command(chosen, given, tuple(environment), rng.random() < 0.5, folder)

    def status(self) -> Command:
        rng = self.rng
        argv = ["show", "status"]
        if rng.random() < 0.3:
            argv += [rng.choice(("-a", "--action")), rng.choice(PATTERNS)]
        if rng.random() < 0.4:
            filters = ["--completed", "--submitted", "--eligible", "--waiting"]
            argv += rng.sample(filters, rng.choice((1, 1, 2, 3)))
            if rng.random() < 0.03:
                argv.append("--all")
        elif rng.random() < 0.3:
            argv.append("--all")
        if rng.random() < 0.2:
            argv.append("--no-header")
        return self.command(*argv)

    def directories(self) -> Command:
        rng = self.rng
        argv = ["show", "directories"]
        if rng.random() < 0.9:
            name = rng.choice(self.actions()) if rng.random() < 0.95 else rng.choice(PATTERNS)
            argv += [rng.choice(("-a", "--action")), name]
        elif rng.random() < 0.9:
            return self.command(*argv)
        if rng.random() < 0.5:
            filters = ["--completed", "--submitted", "--eligible", "--waiting"]
            argv += rng.sample(filters, rng.choice((1, 1, 2, 3)))
        for option, chance in (
            ("--no-header", 0.2),
            ("--no-separate-groups", 0.2),
            ("--short", 0.25),
        ):
            if rng.random() < chance:
                argv.append(option)
        for _ in range(rng.choice((0, 0, 0, 1, 1, 2, 3))):
            pointers = ["", *map(pointer_of, self.making.fields)]
            if rng.random() < 0.03:
                pointers = ["/nowhere", "a", "/a/0"]
            argv.append(f"--value={rng.choice(pointers)}")
        if rng.random() < 0.2:
            argv += [rng.choice(("-n", "--n-groups")), str(rng.choice((0, 1, 1, 2, 3, 100)))]
        return self.command(*argv)

    def jobs(self) -> Command:
        rng = self.rng
        argv = ["show", "jobs"]
        if rng.random() < 0.3:
            argv += ["-a", rng.choice(PATTERNS)]
        if rng.random() < 0.2:
            argv.append("--no-header")
        if rng.random() < 0.3:
            argv.append("--short")
        return self.command(*argv)

    def configuration(self) -> Command:
        rng = self.rng
        argv = ["show", rng.choice(("cluster", "launchers"))]
        which = rng.choice(((), ("--all",), ("--short",), ("--all", "--short")))
        return self.command(*argv, *which, select=False)

    def scan(self) -> Command:
        rng = self.rng
        argv = ["scan"]
        if rng.random() < 0.3:
            name = rng.choice(self.actions()) if rng.random() < 0.9 else "nobody"
            argv += [rng.choice(("-a", "--action")), name]
        return self.command(*argv)

    def clean(self) -> Command:
        rng = self.rng
        which = [
            f"--{name}" for name in ("directory", "submitted", "completed") if rng.random() < 0.4
        ]
        if rng.random() < 0.4:
            which.append("--force")
        return self.command("clean", *which, select=False)

    def submit(self, *, dry: bool) -> Command:
        rng = self.rng
        argv = ["submit"]
        if dry:
            argv.append("--dry-run")
        else:
            argv += rng.choice((["--yes"], ["--yes"], ["--yes"], []))
        if rng.random() < 0.3:
            argv += [rng.choice(("-a", "--action")), rng.choice(PATTERNS)]
        if rng.random() < 0.3:
            argv += ["-n", str(rng.choice((0, 1, 1, 2, 3)))]
        command = self.command(*argv, stdin=False)
        # Row does not ask, and rowtui reads the answer; or there is none.
        answered = "--yes" not in argv and not dry and rng.random() < 0.7
        return replace(command, stdin=b"y\n") if answered else command

    def init(self) -> Command:
        rng = self.rng
        argv = ["init"]
        if rng.random() < 0.4:
            argv.append("--signac")
        if rng.random() < 0.4:
            argv += ["-w", rng.choice(("data", "a b", "/abs", "x/y", "it's"))]
        where = rng.choice((".", "../elsewhere", "../elsewhere"))
        target = rng.choice((".", "new", "sub/new", "a b"))
        return Command((*argv, target), turn=rng.random() < 0.5, folder=where)

    def usage(self) -> Command:
        return Command(
            self.rng.choice(
                (
                    *(
                        ("show",),
                        ("show", "nothing"),
                        ("nothing",),
                        ("show", "status", "--nothing"),
                    ),
                    *(("submit", "-n", "x"), ("show", "directories", "--short"), ("--version",)),
                    *(
                        ("show", "directories", "--value", "/a"),
                        ("--help",),
                        ("show", "status", "-h"),
                    ),
                    *(("show", "cluster", "--cluster", "nobody"), ("scan", "-a"), ("clean", "x")),
                    *(("show", "status", "--cluster", "nobody"), ("--io-threads", "x", "scan")),
                )
            ),
            turn=self.rng.random() < 0.5,
        )

    def change(self) -> Change:
        """Something that changes on disk, and what Row notices of it."""
        rng = self.rng
        pick = rng.random()
        if pick < 0.3 or not self.names:
            name = rng.choice(AWKWARD) if not self.making.plain else f"new{rng.randint(0, 99)}"
            if name not in self.names:
                self.names.append(name)
                return Change("add", make_directory(self.making, name))
        if not self.names or pick < 0.35:
            return Change("run_jobs", number=rng.randint(1, 3))
        name = rng.choice(self.names)
        if pick < 0.45:
            self.names.remove(name)
            return Change("remove", Directory(name))
        if pick < 0.88:
            return Change("touch", Directory(name, None, (rng.choice(("one", "two", "s/three")),)))
        if pick < 0.91:
            return Change("delete_product", Directory(name, None, (rng.choice(("one", "two")),)))
        if pick < 0.94 and self.making.value_file is not None:
            return Change("edit_value", make_directory(self.making, name))
        if pick < 0.97:
            return Change("workflow", workflow=self.changed_workflow())
        return Change("touch", Directory(name, None, ("one", "two", "s/three", "four")))

    def changed_workflow(self) -> dict[str, Any]:
        """The workflow with an action less, or with another one."""
        workflow = copy.deepcopy(self.project.workflow)
        actions = workflow.get("action", [])
        if len(actions) > 1 and self.rng.random() < 0.5:
            actions.pop()
        elif actions and "command" in actions[0]:
            actions.append({"name": "later", "command": actions[0]["command"], "products": ["one"]})
        return workflow


def _steps(
    rng: Random, project: ProjectFiles, making: Making, *, turns: bool
) -> list[Command | Change]:
    make = _Steps(rng, project, making)
    steps: list[Command | Change] = []
    count = rng.randint(5, 10)
    queued = make.cluster != "none"
    if turns and rng.random() < 0.85:
        steps.append(replace(make.status(), turn=True))
    for _ in range(count):
        pick = rng.random()
        if pick < 0.24:
            steps.append(make.status())
        elif pick < 0.44:
            steps.append(make.directories())
        elif pick < 0.50:
            steps.append(make.scan())
        elif pick < 0.53:
            steps.append(make.clean())
        elif pick < 0.60:
            steps.append(make.submit(dry=True))
        elif pick < 0.69:
            steps.append(make.submit(dry=False))
            if queued and make.names and rng.random() < 0.3:
                # Completed and still submitted.
                done = Directory(rng.choice(make.names), None, ("one", "two", "s/three", "four"))
                steps += [Change("touch", done), make.scan(), make.status()]
        elif pick < 0.74:
            steps.append(make.jobs() if queued or rng.random() < 0.2 else make.status())
        elif pick < 0.76:
            steps.append(make.configuration())
        elif pick < 0.77:
            steps.append(make.init() if rng.random() < 0.5 else make.usage())
        elif queued and pick < 0.83:
            steps.append(
                Change(rng.choice(("run_jobs", "run_jobs", "drop_jobs")), number=rng.randint(1, 3))
            )
        elif turns and pick < 0.9:
            steps.append(make.status())
        else:
            steps.append(make.change())
    steps.append(make.status())
    if queued and rng.random() < 0.5:
        steps.append(make.jobs())
    return steps
