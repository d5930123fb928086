"""A job graph in the plainest form: everything is worked out anew from what was said."""

from __future__ import annotations

from rowtui.core.network.graph.job_model import STRENGTH, GraphJobState

LOST = (GraphJobState.FAILED, GraphJobState.CANCELLED, GraphJobState.BLOCKED)
OVER = (*LOST, GraphJobState.COMPLETED, GraphJobState.SKIPPED)


class NaiveGraph:
    """What was said of each job, and what it needs: (number, slot or -1); slots' least numbers."""

    def __init__(self) -> None:
        self.own: list[GraphJobState] = []
        self.needs: list[list[tuple[int, int]]] = []
        self.least: list[list[int]] = []

    def add(self, needs: list[tuple[int, int]], least: list[int]) -> None:
        self.own.append(GraphJobState.WAITING)
        self.needs.append(list(needs))
        self.least.append(list(least))

    def say(self, job: int, word: GraphJobState) -> None:
        if STRENGTH[word] > STRENGTH[self.own[job]]:
            self.own[job] = word

    def states(self) -> list[GraphJobState]:
        """Until nothing changes; also takes from schedulers what is lost."""
        found: dict[int, GraphJobState] = {}
        while len(found) < len(self.own):
            for job, needs in enumerate(self.needs):
                if job not in found and all(other in found for other, _ in needs):
                    found[job] = self._state(job, found)
        return [found[job] for job in range(len(self.own))]

    def _state(self, job: int, found: dict[int, GraphJobState]) -> GraphJobState:
        own = self.own[job]
        if own in (GraphJobState.COMPLETED, *LOST):
            return own
        strict = [found[other] for other, slot in self.needs[job] if slot < 0]
        cancelled = any(state in LOST for state in strict)
        missing = GraphJobState.SKIPPED in strict or own is GraphJobState.SKIPPED
        waits = any(state is not GraphJobState.COMPLETED for state in strict)
        for slot, least in enumerate(self.least[job]):
            members = [found[other] for other, mine in self.needs[job] if mine == slot]
            lost = sum(state in LOST for state in members)
            gone = members.count(GraphJobState.SKIPPED)
            waits = waits or any(state not in OVER for state in members)
            if len(members) - lost - gone < min(least, len(members)):
                cancelled = cancelled or lost > 0
                missing = missing or lost == 0
        if cancelled or missing:
            if own is GraphJobState.SUBMITTED:
                self.own[job] = GraphJobState.WAITING
            return GraphJobState.BLOCKED if cancelled else GraphJobState.SKIPPED
        if own is GraphJobState.SUBMITTED:
            return own
        return GraphJobState.WAITING if waits else GraphJobState.ELIGIBLE

    def root_causes(self, job: int) -> list[int]:
        states = self.states()
        kind = LOST if states[job] in LOST else (GraphJobState.SKIPPED,)
        if states[job] not in kind:
            return []
        found: set[int] = set()
        todo = [job]
        while todo:
            one = todo.pop()
            if self.own[one] is states[one]:
                found.add(one)
                continue
            for other, slot in self.needs[one]:
                if states[other] in kind and (slot < 0 or self._breaks(one, slot, states, kind)):
                    todo.append(other)
        return sorted(found)

    def _breaks(
        self, job: int, slot: int, states: list[GraphJobState], kind: tuple[GraphJobState, ...]
    ) -> bool:
        members = [states[other] for other, mine in self.needs[job] if mine == slot]
        lost = sum(state in LOST for state in members)
        left = len(members) - lost - members.count(GraphJobState.SKIPPED)
        return left < min(self.least[job][slot], len(members)) and (lost > 0) == (kind is LOST)
