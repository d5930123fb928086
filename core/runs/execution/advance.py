"""Make the directories of jobs that became ready, whichever program completed the jobs before them,
and finish a run whose jobs are all complete.

`follow_network` makes a project advance its network at each synchronisation. While no job is
completed, a synchronisation only stats network.toml and hashes the project's states. The network is
read only after a job was completed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.core.base.errors import InvalidFileError, RowtuiError
from rowtui.core.base.files import read_bounded, replace_file
from rowtui.core.base.text import visible
from rowtui.core.state.store.stored import identity_of
from rowtui.core.workflow.find import NETWORK_FILE, has_network

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.runs.networks import Networks
    from rowtui.core.runs.run import Run
    from rowtui.core.state.model import State
    from rowtui.core.submission.plan.model import Plan

# equal to `run.EVENTS_FILE`, because quick commands do not import `run`
EVENTS_FILE = "events.jsonl"
# in the network's folder: the states at which the network was last advanced
ADVANCED_FILE = "advanced"
_LIMIT = 4096
_ROUNDS = 20  # at most; a round is repeated if jobs ended while the previous round made directories


def follow_network(project: OpenProject, networks: Networks | None = None) -> None:
    """Make a project advance its network at each synchronisation."""
    project.network = NetworkSteps(project, networks)


class NetworkSteps:
    """The steps that a project takes for its network (see the module docstring)."""

    def __init__(self, project: OpenProject, networks: Networks | None = None) -> None:
        """Use the caller's `networks` if given, so that the graph is built only once."""
        self._project = project
        self._networks = networks
        self._busy = False
        self._generation = -1  # the state's generation at the last check
        self._stamp = ""
        # plans being submitted, each with its run and part
        self._taken: dict[str, tuple[Run, Plan]] = {}

    def advance(self) -> None:
        """Make the directories of jobs that became ready, and remove those of jobs that wait again.

        A run whose jobs are all complete is finished and its results are published. Errors are
        reported as notices of the project. Nothing is done while a process drives the run, because
        that process does all of this.
        """
        project = self._project
        state = project.state
        if self._busy:
            return
        if state.generation == self._generation:
            return
        network = identity_of(project.root / NETWORK_FILE)
        if network is None:
            return
        stamp = self._now(state, network)
        self._generation = state.generation
        if stamp == self._stamp or self._stored(stamp) is not None:
            self._stamp = stamp
            return
        self._busy = True
        try:
            for _ in range(_ROUNDS):
                advanced = self._opened().advance()
                before, stamp = stamp, self._now(project.state, network)
                if advanced is None or stamp == before:
                    break  # otherwise jobs ended while directories were made: check again
            if advanced is None or stamp != before:
                self._generation = -1
            elif advanced.settled:
                self._stamp = stamp
                self._store(stamp, advanced.waiting)
        except InvalidFileError as error:
            self._stamp = stamp
            project.notice(f"the network does not go on: {error.problems[0]}")
        except (RowtuiError, OSError) as error:
            self._stamp = stamp
            project.notice(f"the network does not go on: {visible(str(error))}")
        finally:
            self._busy = False

    def waiting(self) -> int:
        """Return how many jobs of the network wait for inputs; 0 if the network cannot be read."""
        network = identity_of(self._project.root / NETWORK_FILE)
        if network is None:
            return 0
        known = self._stored(self._now(self._project.state, network))
        if known is not None:
            return known
        try:
            return self._opened().waiting()
        except (RowtuiError, OSError):  # `advance` reports this error as a notice
            return 0

    def why_not_there(self, action: str, directory: str) -> str:
        """Return why a job of the network has no directory yet; "" if there is no such job.

        Raises: RowtuiError.
        """
        return self._opened().why_not_there(action, directory)

    def submitting(self, plan: Plan) -> None:
        """Record a plan that the user submits as a step of the run. Raises: RowtuiError."""
        if has_network(self._project.root):
            taken = self._opened().take_plan(plan)
            if taken is not None:
                self._taken[plan.id] = taken

    def submitted(self, plan: Plan) -> None:
        """Refund the jobs of a plan that were not submitted.

        If the refund cannot be written to the journal, the jobs stay charged.
        """
        taken = self._taken.pop(plan.id, None)
        if taken is not None:
            try:
                self._opened().note_unsent(*taken)
            except RowtuiError as error:
                self._project.notice(str(error))

    def cancelling(self, tokens: Sequence[str]) -> None:
        """Mark jobs that the user cancels, so that an open run leaves them alone.

        Raises: RowtuiError.
        """
        if has_network(self._project.root):
            self._opened().take_cancelled(tokens)

    def _opened(self) -> Networks:
        if self._networks is None:
            from rowtui.core.runs.networks import Networks

            self._networks = Networks(self._project)
        return self._networks

    @property
    def _path(self) -> Path:
        return self._project.root / ".row" / "rowtui" / "network" / ADVANCED_FILE

    def _now(self, state: State, network: object) -> str:
        """Return a text of everything that determines which jobs have inputs, with the runs'
        events.
        """
        folder = self._path.parent
        runs = []
        with contextlib.suppress(OSError):
            names = sorted(it.name for it in folder.iterdir() if it.is_dir())
            runs = [(name, identity_of(folder / name / EVENTS_FILE)) for name in names]
        return _stamp(state, (network, runs))

    def _stored(self, stamp: str) -> int | None:
        """Return how many jobs waited when the network was advanced at these states.

        The result is None if the network was not advanced at these states.
        """
        with contextlib.suppress(OSError, RowtuiError, ValueError, TypeError, KeyError):
            fields = json.loads(read_bounded(self._path, _LIMIT))
            if fields["records"] == stamp:
                return int(fields["waiting"])
        return None

    def _store(self, stamp: str, waiting: int) -> None:
        # without the file, the next process reads the network again
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fields = {"version": 1, "records": stamp, "waiting": waiting}
            replace_file(self._path, json.dumps(fields).encode() + b"\n")


def _stamp(state: State, network: object) -> str:
    """Return a digest of what determines which jobs have inputs.

    The digest covers the network, the completed directories and the ends of jobs.
    """
    digest = hashlib.sha256(repr((network, len(state.directories))).encode())
    for action, members in sorted(state.completed.items()):
        size = (members.bit_length() + 7) >> 3
        digest.update(f"\n{action} {size} ".encode(errors="surrogateescape"))
        digest.update(members.to_bytes(size, "little"))
    for action, ends in sorted(state.ends.items()):
        digest.update(repr((action, sorted((at, end.token) for at, end in ends.items()))).encode())
    return digest.hexdigest()
