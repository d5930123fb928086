"""What each job needs: the outputs of its samples, traced back through the flow.

For many jobs at once the result is in columns; for one job it is the content of its inputs. A
sample that collapses lists of unknown length also waits for the jobs that make these lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rowtui.core.base.lazy import np
from rowtui.core.network.samples.columns import Columns, Rows, joint_keys, match
from rowtui.core.network.samples.link import LinkStage, SubInput, SubOutput
from rowtui.core.network.samples.node_run import InputGroup, InputStage, NodeRun
from rowtui.core.network.samples.output import UNKNOWN, NodeOutput, Opens
from rowtui.core.network.samples.stage import RowOrigin


class LinkEdges(NamedTuple):
    """What jobs need through one link. Row `jobs[e]` of the node needs row `rows[e]` of `owner`.

    `number` is the link's number among the node's links. `places[e]`: the place in the sample's
    cardinality (None: all of it). `owner`: the number of the source or node at the link's other
    end.
    """

    number: int
    input: InputStage
    link: LinkStage
    output: NodeOutput
    jobs: Rows
    rows: Rows
    places: Rows | None

    @property
    def owner(self) -> int:
        """Return the number of the source or node that the samples come from."""
        return self.output.owner


def edges(node: NodeRun, jobs: Rows | None = None) -> Iterator[LinkEdges]:
    """Yield what these jobs of a node (None: all) need, link by link, in members' order."""
    if jobs is None:
        jobs = np.arange(node.columns.count, dtype=np.int64)
    for number, (part, link, to_link, of_input) in enumerate(_links(node, jobs)):
        yield _through(link, part, number, jobs, to_link.spread(of_input)[2])


def _links(node: NodeRun, jobs: Rows) -> Iterator[tuple[InputStage, LinkStage, RowOrigin, Rows]]:
    """Yield the links of a node in order: each with its input and the input's rows for these jobs.

    The origin leads from the input's rows to the link's rows.
    """
    for group, to_group in zip(node.sources, node.origins, strict=True):
        assert isinstance(group, InputGroup)
        of_group = to_group.spread(jobs)[2]
        for part, to_input in zip(group.sources, group.origins, strict=True):
            assert isinstance(part, InputStage)
            of_input = to_input.spread(of_group)[2]
            for sub_input, to_part in zip(part.sources, part.origins, strict=True):
                assert isinstance(sub_input, SubInput)
                (link,) = sub_input.sources
                assert isinstance(link, LinkStage)
                yield part, link, to_part, of_input


def _through(link: LinkStage, part: InputStage, number: int, jobs: Rows, rows: Rows) -> LinkEdges:
    whose, at, members = link.origins[0].spread(rows)
    places = None if link.places is None else link.places[at]
    (source,) = link.sources
    if isinstance(source, SubOutput):
        (output,) = source.sources
        assert isinstance(output, NodeOutput)
        if places is not None:  # counted within the selection
            places = places + source.first_places()[members]
    else:
        assert isinstance(source, NodeOutput)
        output = source
    owners = jobs if whose is None else jobs[whose]
    return LinkEdges(number, part, link, output, owners, members, places)


class Awaited(NamedTuple):
    """Jobs that wait for lists: row `jobs[e]` needs row `rows[e]` of node `owners[e]`.

    `number` is the number of the link that the list's samples will come through.
    """

    number: int
    jobs: Rows
    owners: Rows
    rows: Rows


def awaited(node: NodeRun) -> Iterator[Awaited]:
    """Yield the jobs whose lists must be known before jobs have all their members, link by link."""
    everything: Rows = np.arange(node.columns.count, dtype=np.int64)
    for number, (_, link, to_link, of_input) in enumerate(_links(node, everything)):
        if link.collapsed and link.opens.number:
            members, opens = _agreeing(link.columns, link.opens)
            at, which = match(to_link.spread(of_input)[2], members)
            opens = opens[which]
            yield Awaited(number, at, link.opens.owners[opens], link.opens.rows[opens])


def _agreeing(table: Columns, opens: Opens) -> tuple[Rows, Rows]:
    """Return the rows that open samples may belong to: equal in all known codes."""
    rows: list[Rows] = [np.zeros(0, dtype=np.int64)]
    which: list[Rows] = [np.zeros(0, dtype=np.int64)]
    known = np.zeros(opens.number, dtype=np.int64)
    for at, column in enumerate(opens.codes):
        known |= (column != UNKNOWN).astype(np.int64) << at
    for kind in np.unique(known):
        alike = np.flatnonzero(known == kind)
        axes = [at for at in range(len(table.axes)) if kind >> at & 1]
        if axes:
            had, wanted = joint_keys(
                [
                    [table.codes[at] for at in axes],
                    [opens.codes[at][alike] for at in axes],
                ],
                # a value that no row has gets a code behind the axis's last
                [max(len(table.axes[at]), int(opens.codes[at].max()) + 1) for at in axes],
            )
            left, right = match(had, wanted)
        else:
            left = np.repeat(np.arange(table.count, dtype=np.int64), len(alike))
            right = np.tile(np.arange(len(alike), dtype=np.int64), table.count)
        rows.append(left)
        which.append(alike[right])
    return np.concatenate(rows), np.concatenate(which)
