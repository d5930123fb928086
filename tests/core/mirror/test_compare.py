"""The three-way comparison: nothing is lost, nothing changed twice is written over."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.mirror.compare import ManifestEntry, Side, Transfer, compare, restored
from rowtui.core.mirror.model import FILE, FOLDER_FACTS, LINK, FileFacts

OLD, NEW = FileFacts(3, 10), FileFacts(4, 20)
OTHER, LATER = FileFacts(5, 30), FileFacts(4, 40)

# Few sizes and times, so that files are often equal, or equal in part.
facts = st.one_of(
    st.tuples(st.integers(0, 2), st.integers(0, 2)).map(lambda two: FileFacts(*two)),
    st.just(FOLDER_FACTS),
    st.sampled_from(["x", "y"]).map(lambda target: FileFacts(0, 0, LINK, target)),
)
paths = st.sampled_from(["a", "b", "a/c", "a/c/d", "d"])


def whole(side: dict[str, FileFacts]) -> dict[str, FileFacts]:
    """A side as it can be: nothing lies in a file, and what something lies in is a folder."""
    tree: dict[str, FileFacts] = {}
    for path in sorted(side):
        above = [path[:at] for at, char in enumerate(path) if char == "/"]
        if all(tree.get(folder, FOLDER_FACTS) == FOLDER_FACTS for folder in above):
            tree |= dict.fromkeys(above, FOLDER_FACTS)
            tree[path] = side[path]
    return tree


sides = st.dictionaries(paths, facts).map(whole)
manifests = st.dictionaries(paths, st.tuples(facts, facts).map(lambda two: ManifestEntry(*two)))
verdicts = st.dictionaries(paths, st.booleans())


def mirrored(manifest: dict[str, ManifestEntry]) -> dict[str, ManifestEntry]:
    return {path: ManifestEntry(entry.there, entry.here) for path, entry in manifest.items()}


@given(sides, sides, manifests, verdicts)
def test_every_path_gets_exactly_one_answer(
    here: dict[str, FileFacts],
    there: dict[str, FileFacts],
    manifest: dict[str, ManifestEntry],
    same: dict[str, bool],
) -> None:
    found = compare(here, there, manifest, same=same)

    named = [
        *(copy.path for copy in found.send),
        *(copy.path for copy in found.fetch),
        *(conflict.path for conflict in found.conflicts),
        *(item.path for item in found.removed),
        *found.needs_checksum,
        *found.forgotten,
    ]
    assert len(named) == len(set(named))
    assert len(named) + found.unchanged == len({*here, *there, *manifest})


@given(sides, sides, manifests, verdicts)
def test_both_sides_are_treated_alike(
    here: dict[str, FileFacts],
    there: dict[str, FileFacts],
    manifest: dict[str, ManifestEntry],
    same: dict[str, bool],
) -> None:
    found = compare(here, there, manifest, same=same)
    turned = compare(there, here, mirrored(manifest), same=same)

    assert found.send == turned.fetch
    assert found.fetch == turned.send
    assert found.needs_checksum == turned.needs_checksum
    assert found.unchanged == turned.unchanged
    assert [conflict.path for conflict in found.conflicts] == [
        conflict.path for conflict in turned.conflicts
    ]


@given(sides, sides, manifests, verdicts)
def test_nothing_that_changed_since_it_was_equal_is_replaced(
    here: dict[str, FileFacts],
    there: dict[str, FileFacts],
    manifest: dict[str, ManifestEntry],
    same: dict[str, bool],
) -> None:
    found = compare(here, there, manifest, same=same)

    for copy in found.send:
        assert copy.replaces == there.get(copy.path)
        assert copy.replaces is None or manifest[copy.path].there == copy.replaces
    for copy in found.fetch:
        assert copy.replaces == here.get(copy.path)
        assert copy.replaces is None or manifest[copy.path].here == copy.replaces


@given(sides, sides, manifests)
def test_a_file_that_nobody_touched_stays_where_it_is(
    here: dict[str, FileFacts], there: dict[str, FileFacts], manifest: dict[str, ManifestEntry]
) -> None:
    found = compare(here, there, manifest)

    untouched = {
        p for p, e in manifest.items() if here.get(p) == e.here and there.get(p) == e.there
    }
    assert not untouched & {copy.path for copy in (*found.send, *found.fetch)}


@given(sides, sides, manifests, verdicts)
def test_nothing_is_copied_to_below_a_file_or_a_link(
    here: dict[str, FileFacts],
    there: dict[str, FileFacts],
    manifest: dict[str, ManifestEntry],
    same: dict[str, bool],
) -> None:
    found = compare(here, there, manifest, same=same)

    for copies, side in ((found.send, there), (found.fetch, here)):
        for copy in copies:
            above = [copy.path[:at] for at, char in enumerate(copy.path) if char == "/"]
            assert all(side.get(folder, FOLDER_FACTS).kind == "folder" for folder in above)


@given(sides)
def test_the_first_copy_sends_everything_and_then_nothing(here: dict[str, FileFacts]) -> None:
    first = compare(here, {}, {})
    manifest = {copy.path: ManifestEntry(copy.facts, copy.facts) for copy in first.send}

    assert {copy.path for copy in first.send} == set(here)
    assert compare(here, here, manifest) == Transfer(unchanged=len(here))


def test_a_change_on_one_side_goes_to_the_other() -> None:
    manifest = {"a": ManifestEntry(OLD, OLD), "b": ManifestEntry(OLD, OLD)}

    found = compare({"a": NEW, "b": OLD}, {"a": OLD, "b": NEW}, manifest)

    assert [(copy.path, copy.facts, copy.replaces) for copy in found.send] == [("a", NEW, OLD)]
    assert [(copy.path, copy.facts, copy.replaces) for copy in found.fetch] == [("b", NEW, OLD)]
    assert found.send_bytes == 4


def test_a_change_on_both_sides_is_a_conflict() -> None:
    found = compare({"a": NEW}, {"a": OTHER}, {"a": ManifestEntry(OLD, OLD)})

    (conflict,) = found.conflicts
    assert (conflict.path, conflict.here, conflict.there) == ("a", NEW, OTHER)
    assert not found.send
    assert not found.fetch


def test_both_sides_changed_to_one_size_and_time_are_told_apart_by_checksums() -> None:
    changed = {"a": NEW}
    known = {"a": ManifestEntry(OLD, OLD)}
    assert compare(changed, changed, known).needs_checksum == ("a",)
    assert compare(changed, changed, known, same={"a": True}).unchanged == 1
    (conflict,) = compare(changed, changed, known, same={"a": False}).conflicts
    assert conflict.reason == "changed on both sides"
    assert compare(changed, changed, {}).unchanged == 1  # never copied by us: the time will do


def test_equal_sizes_with_other_times_are_told_by_checksums() -> None:
    asked = compare({"a": NEW}, {"a": LATER}, {})
    equal = compare({"a": NEW}, {"a": LATER}, {}, same={"a": True})
    other = compare({"a": NEW}, {"a": LATER}, {}, same={"a": False})

    assert asked.needs_checksum == ("a",)
    assert equal.unchanged == 1
    assert equal.equal == (("a", ManifestEntry(NEW, LATER)),)
    assert [conflict.path for conflict in other.conflicts] == ["a"]


def test_a_deletion_is_told_and_undone_only_when_asked() -> None:
    manifest = {"here": ManifestEntry(OLD, NEW), "there": ManifestEntry(OLD, NEW)}

    found = compare({"there": OLD}, {"here": NEW}, manifest)
    sent_again = restored(found, Side.THERE)
    fetched_again = restored(found, Side.HERE)

    assert [(item.path, item.gone) for item in found.removed] == [
        ("here", Side.HERE),
        ("there", Side.THERE),
    ]
    assert not found.send
    assert not found.fetch
    assert [copy.path for copy in sent_again.send] == ["there"]
    assert [item.path for item in sent_again.removed] == ["here"]
    assert [copy.path for copy in fetched_again.fetch] == ["here"]


def test_what_was_deleted_on_one_side_and_changed_on_the_other_is_not_lost() -> None:
    found = compare({}, {"a": NEW}, {"a": ManifestEntry(OLD, OLD)})

    assert [copy.path for copy in found.fetch] == ["a"]


def test_a_link_above_a_file_is_in_its_way_even_where_it_is_not_compared() -> None:
    link = FileFacts(0, 0, LINK, "/home/someone/.ssh")

    found = compare({}, {"ws/out/keys": NEW}, {}, above_here={"ws/out": link})

    (conflict,) = found.conflicts
    assert not found.fetch
    assert "symbolic link" in conflict.reason


def test_a_file_that_became_executable_has_changed() -> None:
    runs = FileFacts(3, 10, FILE, "", True)

    found = compare({"a": runs}, {"a": OLD}, {"a": ManifestEntry(OLD, OLD)})

    assert [copy.path for copy in found.send] == ["a"]
