"""Publishing: every product at its own place inside the project, whole, and only if it changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rowtui.core.errors import RowtuiError
from rowtui.core.network.spec import Sink
from rowtui.core.runs.sinks import Publication, Published, publish, target_of, targets

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


def do(root: Path, sink: Sink = SINK, samples: tuple[Publication, ...] = SAMPLES) -> Published:
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


def test_two_samples_with_one_target_are_named_before_anything_is_copied(root: Path) -> None:
    one = Sink("plot", "fit", "out/energy.pdf", "results/plot.pdf")

    with pytest.raises(RowtuiError, match=r"samples a and b would both be published to results"):
        do(root, one)

    assert not (root / "results").exists()


def test_no_target_is_a_folder_of_another() -> None:
    samples = [Publication("a", {"k": "r"}), Publication("b", {"k": "r"})]
    sink = Sink("s", "n", "p", "{k}/{sample}")
    nested = [Publication("a", {}), Publication("a/b", {})]

    with pytest.raises(RowtuiError, match="samples a and a/b would both be published to r/a"):
        targets(Sink("s", "n", "p", "r/{sample}"), "n", nested)

    assert targets(sink, "n", samples) == {"a": "r/a", "b": "r/b"}


def test_names_that_differ_in_case_alone_are_two_where_the_file_system_says_so() -> None:
    samples = [Publication("a", {}), Publication("A", {})]
    sink = Sink("s", "n", "p", "r/{sample}")

    with pytest.raises(RowtuiError, match="both be published to r/A"):
        targets(sink, "n", samples, ignores_case=True)

    assert len(targets(sink, "n", samples)) == 2


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

    with pytest.raises(RowtuiError) as raised:
        do(root, sink, SAMPLES[:1])

    assert raised.value.hint
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
from rowtui.core.network.spec import Sink
from rowtui.core.runs.sinks import Publication, publish
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
