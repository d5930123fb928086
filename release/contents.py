"""What is in a release: the software bill of materials, and the licences of others."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

LICENCES = ("license", "licence", "copying", "notice", "copyright", "authors")
RULE = "=" * 78


def write_bill(
    target: Path, version: str, environment: Path, tools: Path, others: Iterable[dict[str, str]]
) -> None:
    """Write the bill of materials (CycloneDX) of an environment that has rowtui, and of `others`.

    `others`: a name and a version of software that is not a Python package.
    """
    words: list[str | Path] = ["environment", "--pyproject", "pyproject.toml"]
    words += ["--mc-type", "application", "--output-reproducible", "-o", target]
    words = [tools / "cyclonedx-py", *words, environment / "bin/python"]
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
    bill = json.loads(target.read_text())
    bill["metadata"]["component"]["version"] = version
    for one in others:
        known = {key: text for key, text in one.items() if text}
        bill["components"].append({"bom-ref": one["name"], "type": "library", **known})
    target.write_text(json.dumps(bill, indent=2, sort_keys=True) + "\n")


def write_licences(target: Path, packages: Path, library: Path, shared: Iterable[Path]) -> None:
    """Write the licences of all packages in a folder, of the CPython, and of shared libraries."""
    parts = [("CPython", (library / "LICENSE.txt").read_text())]
    parts += [(file.name, text) for file in shared if (text := _of_library(file))]
    found = sorted(distributions(path=[str(packages)]), key=lambda one: one.name.lower())
    for one in found:
        if one.name != "rowtui":
            named = one.metadata.json
            terms = named.get("license_expression") or named.get("license") or "unknown"
            text = "\n".join(_texts(one)) or f"{terms}\n(the package has no text of it)\n"
            parts.append((f"{one.name} {one.version}", text))
    target.write_text(
        "The offline bundle of rowtui contains the following software of others.\n"
        + "".join(f"\n{RULE}\n{name}\n{RULE}\n\n{text}\n" for name, text in parts)
    )


def _texts(one: Distribution) -> Iterator[str]:
    for file in one.files or []:
        inside = ".dist-info" in file.parts[0]
        if inside and file.name.lower().startswith(LICENCES) and file.suffix != ".py":
            yield Path(str(file.locate())).read_text(errors="replace")


def _of_library(file: Path) -> str:
    """Return the copyright file of the Debian package that has a shared library, or ""."""
    if shutil.which("dpkg") is None:
        return ""
    # Debian lists files below /usr, which /lib may be a link to.
    words = ["dpkg", "-S", f"*/{file.resolve().name}"]
    asked = subprocess.run(words, capture_output=True, text=True, check=False)
    text = Path("/usr/share/doc", asked.stdout.partition(":")[0], "copyright")
    return text.read_text(errors="replace") if asked.returncode == 0 and text.exists() else ""
