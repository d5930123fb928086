"""Publishing: every product at its own place inside the project, whole, and only if it changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.definition.spec import Sink
from rowtui.core.runs.directories.sinks import (
    Publication,
    PublishedFiles,
    Targets,
    publish,
    target_of,
)

SINK = Sink("plot", "fit", "out/energy.pdf", "results/{temperature}.pdf")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in ("a", "b"):
        (root / "workspace" / name / "out").mkdir(parents=True)
        (root / "workspace" / name / "out" / "energy.pdf").write_text(f"plot of {name}")
    (root / "workflow.toml").write_text("")
    return root


SAMPLES = (Publication("a", {"temperature": 1.0}), Publication("b", {"temperature": "../x y"}))


def do(root: Path, sink: Sink = SINK, samples: tuple[Publication, ...] = SAMPLES) -> PublishedFiles:
    return publish(root, root / "workspace", sink, "study", samples)


def test_products_are_published_under_escaped_names(root: Path) -> None:
    result = do(root)

    assert result.failed == []
    assert [name for name, _ in result.published] == ["a", "b"]
    assert result.published[0][1] == "results/1.0.pdf"
    assert (root / "results" / "1.0.pdf").read_text() == "plot of a"
    assert (root / result.published[1][1]).read_text() == "plot of b"
    assert sorted(os.listdir(root)) == ["results", "workflow.toml", "workspace"]
    assert len(os.listdir(root / "results")) == 2


def test_unchanged_files_are_not_copied_again(root: Path) -> None:
    do(root)
    before = (root / "results" / "1.0.pdf").stat().st_ino
    product = root / "workspace" / "b" / "out" / "energy.pdf"
    product.write_text("plot of c")  # as long as before
    os.utime(root / "workspace" / "a" / "out" / "energy.pdf", (1, 1))  # only touched

    result = do(root)

    assert [name for name, _ in result.unchanged] == ["a"]
    assert [name for name, _ in result.published] == ["b"]
    assert (root / "results" / "1.0.pdf").stat().st_ino == before
    assert (root / result.published[0][1]).read_text() == "plot of c"


def test_the_template_knows_its_words() -> None:
    sink = Sink("s", "fit it", "out/e.tar.gz", "{network}/{node}/{sample}/{k}-{file}{ext}")
    sample = Publication("fit,k=1", {"k": True})

    assert target_of(sink, "my study", sample) == ("my%20study/fit%20it/fit,k=1/true-e.tar.gz.gz")


def test_braces_are_written_twice() -> None:
    sink = Sink("s", "n", "e.txt", "{{a}}/{k}{ext}")

    assert target_of(sink, "n", Publication("a", {"k": 1})) == "{a}/1.txt"


def test_no_sample_is_published_over_another_whenever_each_of_them_comes(root: Path) -> None:
    sink = Sink("plot", "fit", "out/energy.pdf", "results/plot.pdf")
    other = Sink("copy", "fit", "out/energy.pdf", "results/plot.pdf")
    targets = Targets(root)

    first = publish(root, root / "workspace", sink, "study", SAMPLES, targets=targets)
    again = publish(root, root / "workspace", sink, "study", SAMPLES[1:], targets=targets)
    by_another = publish(root, root / "workspace", other, "study", SAMPLES[:1], targets=targets)

    assert first.published == [("a", "results/plot.pdf")]
    assert first.failed == again.failed
    assert [(name, why.partition(":")[0]) for name, why in first.failed] == [
        ("b", "cannot be published to results/plot.pdf")
    ]
    assert "sample a is published there: name each dimension" in first.failed[0][1]
    assert "sample a is published there by sink plot" in by_another.failed[0][1]
    assert (root / "results" / "plot.pdf").read_text() == "plot of a"


def test_no_target_is_a_folder_of_another(root: Path) -> None:
    inside = Sink("inside", "n", "out/energy.pdf", "r/a/{sample}")

    do(root, Sink("s", "n", "out/energy.pdf", "r/{sample}"))
    nested = do(root, inside)

    assert nested.published == []
    assert all("is not a folder" in why for _, why in nested.failed)


def test_names_that_differ_in_case_alone_are_two_where_the_file_system_says_so(
    root: Path,
) -> None:
    sink = Sink("s", "n", "out/energy.pdf", "r/{k}")
    samples = (Publication("a", {"k": "x"}), Publication("b", {"k": "X"}))

    assert do(root, sink, samples).failed == []

    (root / "WORKFLOW.TOML").hardlink_to(root / "workflow.toml")  # as if it ignored case
    assert [name for name, _ in do(root, sink, samples).failed] == ["b"]


def test_what_no_run_published_is_not_replaced(root: Path) -> None:
    precious = root / "results" / "1.0.pdf"
    precious.parent.mkdir()
    precious.write_text("mine")

    result = publish(
        root, root / "workspace", SINK, "study", SAMPLES, was_published=lambda path: False
    )

    assert precious.read_text() == "mine"
    assert [name for name, _ in result.published] == ["b"]
    assert "a file that no run published exists" in result.failed[0][1]


@pytest.mark.parametrize(
    "template",
    ["/tmp/x", "../x", "a/../../x", "a//b", "results/", "", ".", "{ext}", "x\0y", ".row/x",
     "workflow.toml", "network.toml", "{nothing}", "results/{}"],
)  # fmt: skip
def test_no_template_leaves_the_project_or_writes_over_what_it_lives_of(
    root: Path, template: str
) -> None:
    sink = Sink("plot", "fit", "out/energy", template)
    before = sorted(path for path in root.parent.rglob("*"))

    with pytest.raises(RowtuiError):
        target_of(sink, "study", SAMPLES[0])

    assert len(do(root, sink, SAMPLES[:1]).failed) == 1
    assert sorted(path for path in root.parent.rglob("*")) == before


def test_no_symbolic_link_is_followed_out_of_the_project(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (root / "results").symlink_to(tmp_path / "outside")

    result = do(root)

    assert [name for name, _ in result.failed] == ["a", "b"]
    assert "symbolic link" in result.failed[0][1]
    assert os.listdir(tmp_path / "outside") == []


def test_a_link_in_a_targets_place_is_replaced_and_not_followed(root: Path) -> None:
    (root / "results").mkdir()
    (root / "precious").write_text("mine")
    (root / "results" / "1.0.pdf").symlink_to(root / "precious")

    do(root)

    assert not (root / "results" / "1.0.pdf").is_symlink()
    assert (root / "precious").read_text() == "mine"


def test_one_that_fails_stops_no_other(root: Path) -> None:
    (root / "workspace" / "a" / "out" / "energy.pdf").unlink()
    samples = (
        *SAMPLES,
        Publication("c", {"temperature": 3}),
        Publication("d", {"temperature": 4}),
        Publication("e", {"temperature": 5}),
    )
    (root / "workspace" / "c" / "out" / "energy.pdf").mkdir(parents=True)
    (root / "workspace" / "d" / "out").mkdir(parents=True)
    os.mkfifo(root / "workspace" / "d" / "out" / "energy.pdf")
    (root / "workspace" / "e" / "out").mkdir(parents=True)
    (root / "workspace" / "e" / "out" / "energy.pdf").write_text("e")
    (root / "results" / "5.pdf").mkdir(parents=True)

    result = do(root, SINK, samples)

    assert [name for name, _ in result.published] == ["b"]
    assert [name for name, _ in result.failed] == ["a", "c", "d", "e"]
    assert all("cannot be published to results/" in why for _, why in result.failed)
    assert sorted(os.listdir(root / "results"))[1:] == ["5.pdf"]


def test_a_product_is_not_published_onto_itself(root: Path) -> None:
    sink = Sink("s", "n", "out/energy.pdf", "workspace/{sample}/out/{file}")

    result = do(root, sink)

    assert "the product itself" in result.failed[0][1]
    assert (root / "workspace" / "a" / "out" / "energy.pdf").read_text() == "plot of a"


PUBLISH = """\
import os, sys
from pathlib import Path
from rowtui.core.network.definition.spec import Sink
from rowtui.core.runs.directories.sinks import Publication, publish
def killer(event, arguments):
    if event == "os.rename":
        os.kill(os.getpid(), 9)
sys.addaudithook(killer)
root = Path(sys.argv[1])
sink = Sink("plot", "fit", "out/energy.pdf", "results/{k}.pdf")
publish(root, root / "workspace", sink, "n", [Publication("a", {"k": 1})])
"""


def test_a_killed_process_leaves_the_old_copy_whole(root: Path) -> None:
    (root / "results").mkdir()
    (root / "results" / "1.pdf").write_text("the old one")

    done = subprocess.run([sys.executable, "-c", PUBLISH, str(root)], check=False)

    assert done.returncode == -9
    assert (root / "results" / "1.pdf").read_text() == "the old one"
    do(
        root,
        Sink("plot", "fit", "out/energy.pdf", "results/{k}.pdf"),
        (Publication("a", {"k": 1}),),
    )
    assert (root / "results" / "1.pdf").read_text() == "plot of a"
