"""The four steps of the study: `python3 study.py STEP DIRECTORY`, run beside workflow.toml.

A step with several inputs from other steps finds them in `inputs.json` of its directory.
"""

import json
import random
import sys
from pathlib import Path
from statistics import fmean, linear_regression
from typing import Any


def main(step: str, directory: str) -> None:
    """Do one step in one directory of the workspace."""
    place = Path("workspace", directory)
    value = json.loads((place / "value.json").read_text())
    STEPS[step](place, value)


def simulate(place: Path, value: dict[str, Any]) -> None:
    """Write an energy that grows with temperature, with noise seeded by the replica's number."""
    noise = random.Random(value["replica"]).gauss(0, 0.01)
    energy = value["temperature"] * (1 + value["pressure"]) + noise / value["size"]
    save(place / "energy.json", energy)


def average(place: Path, _: dict[str, Any]) -> None:
    """Write the mean over the replicas."""
    energies = [load(place / member["path"]) for member in members(place, "simulate")]
    save(place / "mean.json", fmean(energies))


def fit(place: Path, _: dict[str, Any]) -> None:
    """Write the slope of the energy over the temperatures."""
    points = members(place, "average")
    temperatures = [member["sample"]["temperature"] for member in points]
    energies = [load(place / member["path"]) for member in points]
    save(place / "slope.json", linear_regression(temperatures, energies).slope)


def plot(place: Path, _: dict[str, Any]) -> None:
    """Write a bar for each slope, as a picture and as text, which its log shows, too."""
    bars, lines = [], []
    for row, member in enumerate(members(place, "fit")):
        slope = load(place / member["path"])
        sentence = ", ".join(f"{name} {number}" for name, number in member["sample"].items())
        bars.append(f'<rect y="{30 * row}" width="{100 * slope:.1f}" height="20"/>')
        bars.append(f'<text x="300" y="{30 * row + 15}">{sentence}: {slope:.3f}</text>')
        lines.append(f"{sentence}: {slope:.3f}  {'#' * round(16 * slope)}")
    (place / "slopes.txt").write_text("\n".join(lines) + "\n")
    print("Energy over temperature:", *lines, sep="\n")
    text = "\n".join(bars)
    (place / "slopes.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="600" height="200">\n{text}\n</svg>\n'
    )


def members(place: Path, name: str) -> list[dict[str, Any]]:
    """Return the members of one of this sample's inputs."""
    inputs = json.loads((place / "inputs.json").read_text())["inputs"]
    return list(inputs[name])


def load(path: Path) -> float:
    """Return a number that an earlier step wrote."""
    return float(json.loads(path.read_text()))


def save(path: Path, number: float) -> None:
    """Write a number."""
    path.write_text(json.dumps(number))


STEPS = {"simulate": simulate, "average": average, "fit": fit, "plot": plot}

if __name__ == "__main__":
    main(*sys.argv[1:])
