"""A small network on real files, for the tests of `rowtui network`."""

from __future__ import annotations

import shutil
from pathlib import Path

STUDY = Path(__file__).parents[2] / "examples" / "study"

WORKFLOW = """\
[workspace]
value_file = "value.json"

[default.action.resources]
walltime.per_directory = "00:01:00"

[[action]]
name = "one"
command = "sh step.sh {directory} {/x}"
products = ["one"]
group.maximum_size = 1
[[action.group.include]]
condition = ["/node", "==", "s"]

[[action]]
name = "sum"
command = "cp workspace/{directory}/inputs.json workspace/{directory}/sum"
products = ["sum"]
[[action.group.include]]
condition = ["/node", "==", "sum"]
"""
NETWORK = """\
name = "small"
[[source]]
name = "s"
[source.values]
x = [1, 2, 3]

[[node]]
name = "one"
from = "s"

[[node]]
name = "sum"
from = "one"
output = "one"
collapse = ["x"]
"""
# Notes that it ran, waits while there is a file `wait`, fails on 2 while there is a file `broken`.
STEP = """\
echo "$1" >> ran
while test -e wait; do sleep 0.2; done
test -e broken && test "$2" = 2 && exit 1
touch "workspace/$1/one"
"""


def small_network(folder: Path) -> Path:
    """Three directories, and one that collects them: four jobs of one core-minute each."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "workflow.toml").write_text(WORKFLOW)
    (folder / "network.toml").write_text(NETWORK)
    (folder / "step.sh").write_text(STEP)
    return folder


def study(folder: Path) -> Path:
    """The example study."""
    shutil.copytree(STUDY, folder)
    return folder
