"""Site percolation: the study that `rowtui demo` runs. Standard library only.

Fill the sites of a lattice one by one in random order until a connected path leads from the top
to the bottom. The filled share at that moment, averaged over many lattices, tends to the
percolation threshold as the lattice grows: 1/2 exactly on the triangular lattice, 0.592746 on
the square one. Method: union-find on sites that are added in random order (Newman and Ziff,
Phys. Rev. Lett. 85, 4104 (2000)).

    percolation.py sample DIRECTORY...       spanning.txt: one filled share for each lattice
    percolation.py combine DIRECTORY...      size.json: the mean over replicas of one size
    percolation.py extrapolate DIRECTORY...  threshold.json: the limit of an infinite lattice
"""

import json
import math
import random
import sys
from pathlib import Path

WORKSPACE = Path("workspace")
KNOWN = {"triangular": 0.5, "square": 0.592746}  # exact; Jacobsen, J. Phys. A 48, 454003 (2015)

# Neighbours as (row, column) steps. A square lattice with one diagonal is a triangular lattice.
NEIGHBOURS = {
    "square": ((0, 1), (1, 0), (0, -1), (-1, 0)),
    "triangular": ((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1), (-1, -1)),
}


def spanning_share(lattice: str, size: int, rng: random.Random) -> float:
    """Return the filled share of a size x size lattice when top and bottom are first joined."""
    top, bottom = size * size, size * size + 1
    parent = [-1] * (size * size + 2)  # -1: empty; a filled site is at first a root of itself
    parent[top], parent[bottom] = top, bottom

    def root(site: int) -> int:
        while parent[site] != site:
            parent[site] = parent[parent[site]]
            site = parent[site]
        return site

    order = list(range(size * size))
    rng.shuffle(order)
    steps = NEIGHBOURS[lattice]
    for filled, site in enumerate(order, start=1):
        row, column = divmod(site, size)
        parent[site] = site
        for down, right in steps:
            r, c = row + down, column + right
            if r < 0:
                neighbour = top
            elif r == size:
                neighbour = bottom
            elif 0 <= c < size and parent[r * size + c] >= 0:
                neighbour = r * size + c
            else:
                continue
            parent[root(neighbour)] = root(site)
        if root(top) == root(bottom):
            return (filled - 0.5) / (size * size)  # between this site and the one before
    raise AssertionError("a full lattice always spans")


def sample(name: str) -> None:
    """Fill `lattices` lattices of one directory's kind and size."""
    folder = WORKSPACE / name
    value = json.loads((folder / "value.json").read_text())
    rng = random.Random(value["seed"])
    shares = [
        spanning_share(value["lattice"], value["size"], rng) for _ in range(value["lattices"])
    ]
    write(folder / "spanning.txt", "".join(f"{share:.6f}\n" for share in shares))


def combine(names: list[str]) -> None:
    """Write the mean over the replicas of one lattice and size, and its standard error."""
    averages = [json.loads((WORKSPACE / name / "average.json").read_text()) for name in names]
    lattices = sum(average["lattices"] for average in averages)
    mean = sum(average["mean"] * average["lattices"] for average in averages) / lattices
    variance = sum(average["variance"] * average["lattices"] for average in averages) / lattices
    result = {"mean": mean, "error": math.sqrt(variance / lattices), "lattices": lattices}
    for name in names:
        write(WORKSPACE / name / "size.json", json.dumps(result) + "\n")


def extrapolate(names: list[str]) -> None:
    """Fit mean(L) = threshold + slope * L ** -(1 + 1 / nu), weighted by the errors; nu = 4/3."""
    points = {}
    for name in names:
        value = json.loads((WORKSPACE / name / "value.json").read_text())
        points[value["size"]] = json.loads((WORKSPACE / name / "size.json").read_text())
    rows = [(size**-1.75, p["mean"], 1 / p["error"] ** 2) for size, p in points.items()]
    weight = sum(w for _, _, w in rows)
    x0 = sum(w * x for x, _, w in rows) / weight
    y0 = sum(w * y for _, y, w in rows) / weight
    spread = sum(w * (x - x0) ** 2 for x, _, w in rows)
    slope = sum(w * (x - x0) * (y - y0) for x, y, w in rows) / spread
    threshold = y0 - slope * x0
    lattice = value["lattice"]
    result = {
        "lattice": lattice,
        "threshold": threshold,
        "error": math.sqrt(1 / weight + x0**2 / spread),
        "known": KNOWN[lattice],
        "lattices": sum(p["lattices"] for p in points.values()),
    }
    for name in names:
        write(WORKSPACE / name / "threshold.json", json.dumps(result) + "\n")


def write(path: Path, text: str) -> None:
    """Write a product whole or not at all."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(text)
    temporary.rename(path)


if __name__ == "__main__":
    action, *directories = sys.argv[1:]
    if action == "sample":
        for directory in directories:
            sample(directory)
            print(f"{directory}: sampled", flush=True)
    else:
        {"combine": combine, "extrapolate": extrapolate}[action](directories)
        print(f"{action}: {len(directories)} directories")
