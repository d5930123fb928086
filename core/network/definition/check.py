"""Find contradictions between a network.toml and a workflow.toml.

Takes both, gives `Problem`s of network.toml: errors for jobs that could never run, and for jobs
that Row would run before their inputs exist; warnings for other cases in which Row, or a manual
`submit`, would not do what the network means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from rowtui.core.base.errors import Problem
from rowtui.core.base.text import visible
from rowtui.core.network.definition.spec import NODE_KEY, Existing, Network, NetworkPosition, Node
from rowtui.core.network.definition.structure import needed_by_sinks, problem_at, upstream
from rowtui.core.network.samples.shape import homes_of
from rowtui.core.workflow.model import Action, Selector, Workflow
from rowtui.core.workflow.toml_file import did_you_mean

_POINTER = f"/{NODE_KEY}"


def check_against_workflow(
    network: Network, workflow: Workflow, file: str = "network.toml"
) -> tuple[Problem, ...]:
    """Return all contradictions, in the order of the file. The network has no errors of its own."""
    homes = {name: home.name for name, home in homes_of(network).items()}
    check = _Check(network, workflow, file, homes)
    check.value_file()
    for node in network.nodes:
        actions = workflow.named(node.action)
        if actions:
            check.outputs(node)
            check.products(node, actions)
            check.previous(node, actions)
            check.told_apart(node, actions)
            check.waits_in_row(node, actions)
            check.whole(node, actions)
        else:
            check.no_action(node)
    check.same_jobs()
    for sink in network.sinks:
        upstream_node = network.node(sink.source)
        if upstream_node is not None:
            what = f"sink '{visible(sink.name)}'"
            check.output(what, upstream_node, sink.output, sink.place)
    return tuple(sorted(dict.fromkeys(check.problems), key=lambda it: (it.line, it.column)))


class _Check:
    def __init__(
        self, network: Network, workflow: Workflow, file: str, homes: Mapping[str, str]
    ) -> None:
        self.network = network
        self.workflow = workflow
        self.file = file
        self.problems: list[Problem] = []
        self.homes = homes
        self.needed = needed_by_sinks(network)

    def note(
        self,
        place: NetworkPosition,
        message: str,
        hint: str = "",
        severity: str = "error",
        action: int = -1,
    ) -> None:
        problem = problem_at(self.file, place, message, hint, severity)
        self.problems.append(problem._replace(action=None if action < 0 else action))

    def value_file(self) -> None:
        """Require value files, which identify the node of a directory and hold the values."""
        if self.workflow.value_file is not None:
            return
        hint = 'add to workflow.toml:\n    [workspace]\n    value_file = "value.json"'
        for source in self.network.sources:
            if not isinstance(source.data, Existing) or source.data.dimensions:
                what = f"source '{visible(source.name)}'"
                self.note(source.place, f"{what} needs a `value_file` in workflow.toml", hint)
                return
        for node in self.network.nodes:
            if self.homes.get(node.name) == node.name:
                message = f"{_of(node)} has directories of its own, which need a `value_file`"
                self.note(node.place, message, hint)
                return

    def no_action(self, node: Node) -> None:
        names = self.workflow.action_names()
        shown = ", ".join(map(visible, names[:10]))
        hint = did_you_mean(node.action, names) or (f"there are {shown}" if names else "")
        message = f"{_of(node)}: workflow.toml has no action '{visible(node.action)}'"
        self.note(node.place, message, hint)

    def outputs(self, node: Node) -> None:
        for it in node.inputs:
            for link in it.links:
                source = self.network.node(link.source)
                if link.output and source is not None:
                    what = f"{_of(node)}, input '{visible(it.name)}'"
                    self.output(what, source, link.output, link.place)

    def output(self, what: str, source: Node, output: str, place: NetworkPosition) -> None:
        """Require an output to be a product, or in a folder that is a product.

        Otherwise no job would wait for the output.
        """
        actions = self.workflow.named(source.action)
        if not actions:
            return
        products = actions[0].products
        wanted = PurePosixPath(output)
        if any(wanted.is_relative_to(product) for product in products if product):
            return
        action = visible(source.action)
        message = f"{what}: '{visible(output)}' is no product of action '{action}'"
        hint = did_you_mean(output, products)
        if not hint:
            shown = ", ".join(f"'{visible(product)}'" for product in products) or "none"
            hint = f"add it to `products` in workflow.toml; there are {shown}"
        self.note(place, message, hint)

    def products(self, node: Node, actions: Sequence[Action]) -> None:
        """Report an action without products, because the action never completes."""
        if actions[0].products:
            return
        waiting = [
            f"node '{visible(it.name)}'" for it in self.network.nodes if node.name in upstream(it)
        ]
        message = f"{_of(node)}: action '{visible(node.action)}' has no products, so it never"
        hint = "name the files that it makes in `products` of workflow.toml"
        if waiting:
            self.note(node.place, f"{message} completes and {waiting[0]} waits for ever", hint)
        else:
            # A node that no sink needs does not run.
            severity = "error" if node.name in self.needed else "warning"
            self.note(node.place, f"{message} completes", hint, severity)

    def previous(self, node: Node, actions: Sequence[Action]) -> None:
        """Require previous actions to run in the same directories, before the action."""
        home = self.homes.get(node.name)
        if home is None:
            return
        there = {
            it.action: it for it in self.network.nodes if self.homes.get(it.name, home) == home
        }
        source = self.network.source(home)
        by_hand = source is not None and isinstance(source.data, Existing)
        for name in actions[0].previous_actions:
            before = there.get(name)
            what = f"{_of(node)}: action '{visible(node.action)}' waits for '{visible(name)}'"
            hint = f"take '{visible(name)}' out of its `previous_actions`; links define what waits"
            if before is None:
                message = f"{what}, which no node runs in the directories of '{visible(home)}'"
                severity = "warning" if by_hand else "error"
                self.note(node.place, message, hint, severity, actions[0].index)
            elif before.name not in self.needed and node.name in self.needed:
                message = f"{what}, and {_of(before)} is not run, as no sink needs it"
                self.note(node.place, message, hint, "error", actions[0].index)
            elif node.name in self.above(before):
                message = f"{what}, but {_of(before)} waits for this node"
                self.note(node.place, message, hint, "error", actions[0].index)

    def above(self, node: Node) -> set[str]:
        """Return all nodes that a node needs, directly or indirectly."""
        found: set[str] = set()
        todo = list(upstream(node))
        while todo:
            name = todo.pop()
            if name not in found and (it := self.network.node(name)) is not None:
                found.add(name)
                todo.extend(upstream(it))
        return found

    def told_apart(self, node: Node, actions: Sequence[Action]) -> None:
        """Warn if `include` lets Row run an action in directories of other nodes."""
        home = self.homes.get(node.name)
        if home is None or self.only_home() or self.is_kept(node.action, frozenset()):
            return
        homes = sorted(self.homes_of(node.action))
        if node is not next(it for it in self.network.nodes if it.action == node.action):
            return
        name = visible(node.action)
        message = f"{_of(node)}: Row, and `submit` by hand, would run action '{name}' in the"
        message += " directories of other nodes, too"
        self.note(
            node.place, message, self.how_to_keep(actions, homes), "warning", actions[0].index
        )

    def how_to_keep(self, actions: Sequence[Action], homes: Sequence[str]) -> str:
        """Return a hint with the lines to add to workflow.toml."""
        wanted = [f'["{_POINTER}", "==", "{home}"]' for home in homes]
        if any(action.group.include for action in actions):
            hint = f"add {' or '.join(wanted)} to each `include` of the action in workflow.toml: "
            hint += f'all = [{wanted[0]}, ["/...", "==", ...]]'
        else:
            lines = [f"[[action.group.include]]\n    condition = {each}" for each in wanted]
            hint = "add to the action in workflow.toml:\n    " + "\n    ".join(lines)
        foreign = [it.name for it in self.network.sources if isinstance(it.data, Existing)]
        if foreign:
            hint += f"\n    every directory then needs the key `{NODE_KEY}` in its value file, also"
            hint += f" those of source '{visible(foreign[0])}'"
        return hint

    def only_home(self) -> bool:
        """Whether all directories that the network uses belong to one home."""
        homes = {self.homes.get(node.name, node.name) for node in self.network.nodes}
        return len(homes.union(source.name for source in self.network.sources)) == 1

    def homes_of(self, action: str) -> set[str]:
        """Return the homes whose directories the nodes with an action use."""
        nodes = (it.name for it in self.network.nodes if it.action == action)
        return {self.homes.get(name, name) for name in nodes}

    def is_kept(self, action: str, seen: frozenset[str]) -> bool:
        """Whether `include`, or previous actions, keep an action to the homes of its nodes."""
        homes = self.homes_of(action)
        elements = self.workflow.named(action)
        if not homes or not elements or action in seen:
            return False
        if all(
            it.group.include and all(_names_one_of(each, homes) for each in it.group.include)
            for it in elements
        ):
            return True
        return any(
            self.homes_of(name) <= homes and self.is_kept(name, seen | {action})
            for name in elements[0].previous_actions
        )

    def waits_in_row(self, node: Node, actions: Sequence[Action]) -> None:
        """Require `previous_actions` in shared directories, because Row does not use links."""
        home = self.homes.get(node.name)
        if home is None or home == node.name:
            return
        behind = self.behind(actions[0].name)
        for name in upstream(node):
            it = self.network.node(name)
            if it is None or self.homes.get(name) != home or it.action in behind:
                continue
            message = f"{_of(node)}: for Row, and for `submit` by hand, it is unknown that action"
            message += f" '{visible(node.action)}' waits for '{visible(it.action)}'"
            names = ", ".join(
                f'"{visible(each)}"' for each in (*actions[0].previous_actions, it.action)
            )
            hint = f"add to the action in workflow.toml:\n    previous_actions = [{names}]"
            self.note(node.place, message, hint, "error", actions[0].index)

    def behind(self, action: str) -> set[str]:
        """Return all actions that an action waits for, directly or indirectly."""
        found: set[str] = set()
        todo = [action]
        while todo:
            for element in self.workflow.named(todo.pop())[:1]:
                new = set(element.previous_actions) - found
                found |= new
                todo.extend(new)
        return found

    def whole(self, node: Node, actions: Sequence[Action]) -> None:
        for action in actions:
            if action.group.submit_whole:
                name = visible(node.action)
                message = f"{_of(node)}: action '{name}' has `submit_whole`, but a network forms"
                message += " groups of the directories that are ready"
                hint = "to wait for all of several samples, collapse their dimension"
                self.note(node.place, message, hint, "warning", action.index)
                return

    def same_jobs(self) -> None:
        """Report two nodes that run the same action in the same directories."""
        first: dict[tuple[str, str], Node] = {}
        for node in self.network.nodes:
            home = self.homes.get(node.name)
            if home is None:
                continue
            other = first.setdefault((node.action, home), node)
            if other is not node:
                message = f"{_of(node)} and {_of(other)} run action '{visible(node.action)}' in the"
                message += f" same directories, those of '{visible(home)}'"
                hint = 'write directories = "own" for one of them, or give it another action'
                self.note(node.place, message, hint)


def _names_one_of(selector: Selector, homes: Iterable[str]) -> bool:
    """Whether a selector includes only directories of these homes."""
    wanted = list(homes)  # a list, because an operand may be any value, even an unhashable one
    return any(
        it.pointer == _POINTER and it.operator == "==" and it.operand in wanted
        for it in selector.conditions
    )


def _of(node: Node) -> str:
    return f"node '{visible(node.name)}'"
