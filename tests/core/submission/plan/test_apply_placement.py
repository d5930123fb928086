"""What a mapping file can put into a job script, run by a real bash."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.slurm.options import native_options
from rowtui.core.mapping.model.decision import MappingOutcome, Placement
from rowtui.core.mapping.model.request import Amounts
from rowtui.core.submission.plan.apply_placement import PlacedRequest, placed
from rowtui.core.submission.scripts.parts import (
    options_for,
    shared_header,
)
from rowtui.core.workflow.model import Action, Processes, Resources, SubmitOptions

from tests.core.submission.conftest import HOSTILE, make_request

NO_AMOUNTS = Amounts()
SLURM = Cluster("hpc", Identify(), "slurm", (Partition("cpu"), Partition("gpu")))


def place(
    params: Mapping[str, Any] | None = None,
    env: tuple[Mapping[str, Any], ...] = (),
    *,
    amounts: Amounts = NO_AMOUNTS,
    destination: str = "cpu",
    name: str = "",
    processes: int = 1,
    setup: str | None = None,
) -> PlacedRequest:
    resources = Resources(Processes(processes))
    options = {"hpc": SubmitOptions(setup=setup)}
    request = make_request(Action(0, "one", "echo", resources=resources, submit_options=options), 1)
    placement = Placement(
        MappingOutcome.CHOSEN, destination, name or destination, "hpc", amounts, env, params or {}
    )
    return placed(request, placement, SLURM)


def header(found: PlacedRequest) -> list[str]:
    return shared_header(found.request, SLURM, found.partition)


def custom(**params: Any) -> tuple[str, ...]:
    return options_for(place(params).request.action, "hpc").custom


def words_of_sbatch(lines: list[str]) -> list[str]:
    """As sbatch splits header lines: at spaces, with quotes, backslashes and comments."""
    import shlex

    return [word for line in lines for word in shlex.split(line, comments=True)]


def run_setup(found: PlacedRequest, then: str) -> tuple[int, str]:
    """The setup as scripts have it, then a command: its exit code and output."""
    setup = options_for(found.request.action, "hpc").setup
    script = f"{{ :\n{setup}\n}} </dev/null\ntest $? -eq 0 || exit 9\n{then}\n".encode(
        "utf-8", "surrogateescape"
    )
    checked = subprocess.run(["bash", "-n"], input=script, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, b"")
    ran = subprocess.run(["bash"], input=script, capture_output=True, check=False, timeout=20)
    return ran.returncode, ran.stdout.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    "native",
    [
        "--array=0-9", "--array 0-9", "--arr=1", "-a0-9", "-a 0-9", "-Qa0", "-HsWx",
        "--wrap=true", "--wra true", "--comment=mine", "--comm mine", "--job-name=x", "-Jx", "-J x",
        "--dependency=afterok:1", "--dep=singleton", "-d 1", "--kill-on-invalid-dep=no",
        "--output=/dev/null", "-o x", "--error=x", "-ex", "--chdir=/", "--workdir=/", "-D /",
        "--clusters=other", "--cluster other", "-M other", "--parsable", "--wait", "-W",
        "--test-only", "--help", "-h", "--usage", "--version", "-V", "--uid=0", "--gid=0",
        "--nodes=1 '--array=0-1'", '--nodes=1 --"array"=0-1', "--nodes=1 --arra\\y=0-1",
    ],
)  # fmt: skip
def test_an_option_that_rowtui_needs_itself_is_refused(native: str) -> None:
    with pytest.raises(RowtuiError, match="cannot be set there"):
        place({"nativeSpecification": native})


@pytest.mark.parametrize(
    ("native", "words"),
    [
        ("--nodes=1 --ntasks=4 --mem=8192", ["--nodes=1", "--ntasks=4", "--mem=8192"]),
        ("-N 2 -p long", ["-N", "2", "-p", "long"]),
        ("-koff -Cbig", ["-koff", "-Cbig"]),
        ("--wait-all-nodes=1 --export=NONE -H", ["--wait-all-nodes=1", "--export=NONE", "-H"]),
        ("--cluster-constraint=a --time-min=5", ["--cluster-constraint=a", "--time-min=5"]),
        ("--constraint='a b' --wckey=x#y", ["--constraint=a b", "--wckey=x#y"]),
        ("--constraint 'a b'", ["--constraint", "a b"]),
        ("--wckey=\"it's\" --qos='a\"b\\c'", ["--wckey=it's", '--qos=a"b\\c']),
        ("--wckey '' --qos=", ["--wckey", "", "--qos="]),
        ("'--qos=x --array=0-9'", ["--qos=x --array=0-9"]),
        ("--qos=$HOME*", ["--qos=$HOME*"]),
    ],
)
def test_a_native_specification_reaches_sbatch_word_by_word(native: str, words: list[str]) -> None:
    options = native_options("nativeSpecification", native)

    assert words_of_sbatch(options) == words
    assert all("\n" not in line for line in options)


@pytest.mark.parametrize("native", ["normal", "--nodes=1 x", "--nodes 1 2", "--", "-", "--mem 1 -"])
def test_a_word_that_belongs_to_no_option_is_refused(native: str) -> None:
    with pytest.raises(RowtuiError, match="belongs to no option"):
        native_options("nativeSpecification", native)


@pytest.mark.parametrize("native", ["--qos='x", "--qos=x\n#SBATCH --array=0-9", "--qos=\x1b[31m"])
def test_a_native_specification_of_several_lines_or_open_quotes_is_refused(native: str) -> None:
    with pytest.raises(RowtuiError):
        native_options("nativeSpecification", native)


@pytest.mark.parametrize(
    "value", ["x --array=0-9", "x #", 'a"b', "a'b", "back\\slash", "é", "a;b|c&d", "-x", "$(id)"]
)
def test_a_parameter_stays_the_value_of_its_option(value: str) -> None:
    assert words_of_sbatch(list(custom(qos=value))) == [f"--qos={value}"]
    assert all("--array" not in word.split("=")[0] for word in words_of_sbatch(header(place())))


@given(st.text(max_size=30))
def test_no_parameter_adds_a_line_or_an_option(value: str) -> None:
    try:
        found = place({"qos": value, "partition": value, "account": value})
    except RowtuiError:
        assert any(ord(char) < 32 or ord(char) == 127 for char in value)
        return
    lines = header(found)
    plain = header(place({"qos": "x", "partition": "x", "account": "x"} if value else {}))
    assert [line.split("=")[0] for line in lines] == [line.split("=")[0] for line in plain]
    assert "\n" not in "".join(lines)


@pytest.mark.parametrize("name", ["qos", "partition", "account"])
def test_a_parameter_with_a_newline_is_refused(name: str) -> None:
    with pytest.raises(RowtuiError, match="control characters"):
        place({name: "x\n#SBATCH --array=0-9"})


def test_a_parameter_that_is_no_text_is_refused() -> None:
    with pytest.raises(RowtuiError, match="must be one text"):
        place({"constraint": ["a", "b"]})


def test_switches_read_words_for_yes_and_no() -> None:
    assert custom(exclusive=True, requeue="yes") == ("--exclusive", "--requeue")
    assert custom(exclusive="False", requeue="no") == ()
    assert custom(exclusive="user") == ("--exclusive=user",)
    with pytest.raises(RowtuiError, match="true or false"):
        custom(requeue="maybe")


@pytest.mark.parametrize("value", [*HOSTILE, "$HOME", "", "a\\"])
def test_a_variable_has_exactly_its_value(value: str) -> None:
    found = place(env=({"name": "X", "value": value}, {"name": "Y", "value": "y"}))

    code, out = run_setup(found, "printf '%s' \"$X$Y\"")

    assert (code, out) == (0, value + "y")


@pytest.mark.parametrize("name", ["", "A B", "A=1;id", "é", "1A", "X\n", "A[$(id)]"])
def test_a_variable_that_no_shell_takes_is_refused(name: str) -> None:
    with pytest.raises(RowtuiError, match="no shell takes"):
        place(env=({"name": name, "value": "x"},))


@pytest.mark.parametrize("name", ["rowtui_token", "rowtui_job", "directories", "UID", "SHELLOPTS"])
def test_a_variable_that_scripts_need_themselves_is_refused(name: str) -> None:
    with pytest.raises(RowtuiError, match="need it themselves"):
        place(env=({"name": name, "value": "x"},))


@pytest.mark.parametrize("name", ["env", "-x", "new\nline", "a'; echo pwned #", "$(echo pwned)"])
def test_a_file_is_sourced_whatever_it_is_called(name: str, tmp_path: Any) -> None:
    (tmp_path / name).write_text("X=sourced\n")
    found = place(env=({"file": f"{tmp_path}/{name}"},))

    assert run_setup(found, 'echo "$X"') == (0, "sourced\n")


def test_a_file_whose_name_looks_like_an_option_is_sourced(tmp_path: Any) -> None:
    (tmp_path / "-x").write_text("X=sourced\n")
    found = place(env=({"execute": f"cd {tmp_path}; PATH=.:$PATH"}, {"file": "-x"}))

    assert run_setup(found, 'echo "$X"') == (0, "sourced\n")


@pytest.mark.parametrize(
    "command",
    [
        "X=1",
        "export X=1\nexport Y=2\n",
        "if true\nthen X=1\nfi",
        "X=$(cat <<'END'\n1\nEND\n)",
        'X="1" # a comment',
        "X='a\nb'; X=1",
        "set_x() { X=1; }; set_x",
    ],
)
def test_a_command_of_several_lines_runs_in_the_same_shell(command: str) -> None:
    found = place(env=({"execute": command}, {"name": "Z", "value": "z"}), setup="W=w")

    assert run_setup(found, 'echo "$X$Z$W"') == (0, "1zw\n")


@pytest.mark.parametrize(
    "command", ["X=1 \\", "cat <<END", "if true", "for", "echo 'x", "true &&", "}", "(", 'X="', "{"]
)
def test_an_incomplete_command_does_not_swallow_what_follows(command: str) -> None:
    found = place(env=({"execute": command}, {"name": "Z", "value": "z"}), setup="W=w")

    code, out = run_setup(found, 'echo "after $Z$W"')

    assert (code, out.splitlines()[-1:]) == (0, ["after zw"])


def test_a_plain_command_is_shown_as_it_is() -> None:
    found = place(env=({"execute": "module load gcc/12"},))

    assert options_for(found.request.action, "hpc").setup == "module load gcc/12"


@pytest.mark.parametrize(
    "amount", [math.nan, math.inf, -1, 10**400, "many", [], 2.0**31, "nan", "inf"]
)
@pytest.mark.parametrize("what", ["cores", "gpus", "mem"])
def test_an_amount_that_is_none_is_refused(what: str, amount: Any) -> None:
    with pytest.raises(RowtuiError, match="not an amount"):
        place(amounts=Amounts(**{what: amount}))


def test_amounts_are_shared_out_to_processes_with_a_warning_where_they_are_rounded() -> None:
    found = place(amounts=Amounts(gpus=3, cores="6"), processes=4)

    assert found.request.action.resources.threads_per_process == 2
    assert found.request.action.resources.gpus_per_process == 1
    assert found.warnings == (
        "the mapping gives 6 cores to 4 processes: each gets 2",
        "the mapping gives 3 gpus to 4 processes: each gets 1",
    )


def test_the_partition_is_the_one_that_was_checked() -> None:
    assert place(destination="hpc/gpu").partition == Partition("gpu")
    assert place(destination="gpu").partition == Partition("gpu")
    assert place(destination="hpc/new").partition == Partition("new")
    assert place(destination="hpc/gpu", name="hpc/cpu").partition == Partition("gpu")
    assert place({"partition": "cpu"}, destination="hpc/gpu").partition == Partition("cpu")
    assert place(destination="elsewhere").partition is None
