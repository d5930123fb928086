from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rowtui.core.state.export import export_row_files
from rowtui.core.state.jobs import TakenError, accept, end_jobs, forget, release, reserve
from rowtui.core.state.model import Failure, Submitted
from rowtui.core.state.postcard import encode_submitted
from rowtui.core.state.staging import stage_completions
from rowtui.core.state.store import Store
from rowtui.core.state.stored import Stored

from tests.core.state.building import built


def begun(root: Path, names: str = "abcdef") -> Stored:
    directories = built({name.encode(): 1 for name in names})

    def edit(before: Stored) -> Stored:
        state = replace(before.state, directories=directories, completed={"one": 0, "two": 0})
        return replace(before, state=state, reread=False)

    return Store(root).commit(edit)


def jobs(root: Path) -> dict[str, dict[str, Submitted]]:
    stored = Store(root).load().stored
    assert stored is not None
    return {
        action: {stored.directories.name(at): job for at, job in found.items()}
        for action, found in stored.state.submitted.items()
    }


def test_a_pair_goes_from_reserved_to_accepted_to_ended(tmp_path: Path) -> None:
    seen = begun(tmp_path).directories
    store = Store(tmp_path)
    reserve(store, seen, {"one": [0, 1], "two": [2]}, "c", "t1")
    assert jobs(tmp_path) == {
        "one": {"a": Submitted("c", 0, "t1"), "b": Submitted("c", 0, "t1")},
        "two": {"c": Submitted("c", 0, "t1")},
    }
    accept(store, "t1", 77)
    assert jobs(tmp_path)["two"] == {"c": Submitted("c", 77, "t1")}
    end_jobs(store, "other", {77: "exit code 1"})
    assert jobs(tmp_path)["two"] == {"c": Submitted("c", 77, "t1")}
    state = end_jobs(store, "c", {77: "exit code 1"}).state
    assert jobs(tmp_path) == {}
    assert state.failed["one"][0] == Failure("c", 77, "t1", "exit code 1")
    state = reserve(store, seen, {"one": [0]}, "c", "t2").state
    assert set(state.failed["one"]) == {1}


def test_what_ended_well_or_is_complete_does_not_count_as_failed(tmp_path: Path) -> None:
    seen = begun(tmp_path).directories
    store = Store(tmp_path)
    reserve(store, seen, {"one": [0, 1]}, "c", "t1")
    accept(store, "t1", 5)
    store.commit(lambda s: replace(s, state=replace(s.state, completed={"one": 1, "two": 0})))
    state = end_jobs(store, "c", {5: "time limit"}).state
    assert {action: set(found) for action, found in state.failed.items()} == {"one": {1}}
    reserve(store, seen, {"two": [4]}, "c", "t2")
    accept(store, "t2", 6)
    assert "two" not in end_jobs(store, "c", {6: ""}).state.failed


def test_all_or_none_is_reserved_and_the_refusal_names_the_directory(tmp_path: Path) -> None:
    seen = begun(tmp_path).directories
    reserve(Store(tmp_path), seen, {"one": [1]}, "c", "t1")
    before = jobs(tmp_path)
    with pytest.raises(TakenError, match="one of b is being submitted to c") as caught:
        reserve(Store(tmp_path), seen, {"one": [0, 1, 2]}, "c", "t2")
    assert [name for _, name, _ in caught.value.taken] == ["b"]
    assert jobs(tmp_path) == before
    accept(Store(tmp_path), "t1", 9)
    with pytest.raises(TakenError, match="already submitted as c/9"):
        reserve(Store(tmp_path), seen, {"one": [1]}, "d", "t3")


def test_the_same_token_may_reserve_again(tmp_path: Path) -> None:
    seen = begun(tmp_path).directories
    first = reserve(Store(tmp_path), seen, {"one": [1]}, "c", "t1")
    again = reserve(Store(tmp_path), seen, {"one": [1]}, "c", "t1")
    assert again.state.generation == first.state.generation


def test_released_pairs_are_free_and_others_are_not_touched(tmp_path: Path) -> None:
    seen = begun(tmp_path).directories
    reserve(Store(tmp_path), seen, {"one": [1]}, "c", "t1")
    reserve(Store(tmp_path), seen, {"one": [2]}, "c", "t2")
    release(Store(tmp_path), ["t1", ""])
    assert jobs(tmp_path) == {"one": {"c": Submitted("c", 0, "t2")}}


def test_positions_are_those_of_the_directories_that_were_seen(tmp_path: Path) -> None:
    seen = begun(tmp_path, "bcd").directories
    begun(tmp_path, "abd")  # since then a came and c went
    reserve(Store(tmp_path), seen, {"one": [2]}, "c", "t")
    assert jobs(tmp_path) == {"one": {"d": Submitted("c", 0, "t")}}
    with pytest.raises(TakenError, match="one of c is no longer in the workspace"):
        reserve(Store(tmp_path), seen, {"one": [0, 1]}, "c", "t2")


def test_what_row_submitted_and_what_jobs_completed_meanwhile_is_taken(tmp_path: Path) -> None:
    seen = begun(tmp_path).directories
    (tmp_path / ".row" / "submitted.postcard").write_bytes(
        encode_submitted({"one": {b"a": ("anvil", 12)}})
    )
    stage_completions(tmp_path, {"one": ["b"]})
    with pytest.raises(TakenError) as caught:
        reserve(Store(tmp_path), seen, {"one": [0, 1, 2]}, "c", "t")
    assert [(name, why) for _, name, why in caught.value.taken] == [
        ("a", "is already submitted as anvil/12"),
        ("b", "is already complete"),
    ]


def test_cleaning_completions_also_forgets_those_that_still_lie_staged(tmp_path: Path) -> None:
    seen = begun(tmp_path).directories
    stage_completions(tmp_path, {"one": ["b"]})
    reserve(Store(tmp_path), seen, {"two": [0]}, "c", "t")  # merges what is staged
    export_row_files(Store(tmp_path))
    stage_completions(tmp_path, {"one": ["c"]})
    reserve(Store(tmp_path), seen, {"two": [1]}, "c", "t2")

    forget(Store(tmp_path), directories=False, submitted=False, completed=True)
    assert os.listdir(tmp_path / ".row" / "completed") == []
    assert not (tmp_path / ".row" / "completed.postcard").exists()
    stored = export_row_files(Store(tmp_path)).stored
    assert stored is not None
    assert stored.state.completed == {"one": 0, "two": 0}
    assert set(stored.state.submitted) == {"two"}
    forget(Store(tmp_path), directories=True, submitted=True, completed=False)
    assert jobs(tmp_path) == {}
    assert not (tmp_path / ".row" / "directories.json").exists()


def test_of_many_who_submit_the_same_group_exactly_one_wins(tmp_path: Path) -> None:
    seen = begun(tmp_path).directories
    ready, go = os.pipe()

    def one(token: str) -> Callable[[], int]:
        def work() -> int:
            os.close(go)
            os.read(ready, 1)  # everybody starts at once, when the pipe is closed
            try:
                reserve(Store(tmp_path), seen, {"one": [1, 2], "two": [3]}, "c", token)
            except TakenError:
                return 7
            return 0

        return work

    pids = []
    for number in range(6):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = one(f"t{number}")()
            finally:
                os._exit(code)
        pids.append(pid)
    os.close(ready)
    os.close(go)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids)
    assert codes == [0, 7, 7, 7, 7, 7]
    tokens = {job.token for found in jobs(tmp_path).values() for job in found.values()}
    assert len(tokens) == 1
