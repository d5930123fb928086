"""A network held against its workflow.toml."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.base.errors import Problem
from rowtui.core.network.definition.check import check_against_workflow
from rowtui.core.network.definition.load import parse_network
from rowtui.core.workflow.load import parse_workflow
from rowtui.core.workflow.model import Workflow

STUDY = """\
[[source]]
name = "state"
values = { T = [1, 2], r = [1, 2] }
[[node]]
name = "simulate"
from = "state"
[[node]]
name = "analyse"
from = "simulate"
output = "energy.json"
[[node]]
name = "average"
from = "analyse"
collapse = ["r"]
[[sink]]
name = "plot"
from = "average"
output = "plot/mean.pdf"
publish = "{T}.pdf"
"""


def action(name: str, product: str, home: str = "", previous: str = "", more: str = "") -> str:
    include = f'include = [{{ condition = ["/node", "==", "{home}"] }}]\n' if home else ""
    before = f'previous_actions = ["{previous}"]\n' if previous else ""
    return (
        f'[[action]]\nname = "{name}"\ncommand = "{name} {{directory}}"\n'
        f'products = ["{product}"]\n{before}[action.group]\n{include}{more}'
    )


HEAD = '[workspace]\nvalue_file = "value.json"\n'
SIMULATE = action("simulate", "energy.json", "state")
ANALYSE = action("analyse", "a.json", previous="simulate")
AVERAGE = action("average", "plot", "average")
GOOD = HEAD + SIMULATE + ANALYSE + AVERAGE


def workflow(text: str) -> Workflow:
    found = parse_workflow(text.encode(), Path("/p"), "workflow.toml")
    assert not [it for it in found.problems if it.severity == "error"]
    return found


def checked(network: str, text: str) -> tuple[Problem, ...]:
    loaded = parse_network(network.encode(), "network.toml", "p")
    return check_against_workflow(loaded.network, workflow(text))


def only(network: str, text: str) -> Problem:
    found = checked(network, text)
    assert len(found) == 1, "\n".join(map(str, found))
    return found[0]


def test_a_network_that_fits_has_no_problems() -> None:
    assert checked(STUDY, GOOD) == ()


def test_an_action_that_is_not_there_is_named_with_what_was_probably_meant() -> None:
    problem = only(STUDY + '[[node]]\nname = "n"\naction = "averag"\nfrom = "state"\n', GOOD)
    assert problem.message == "node 'n': workflow.toml has no action 'averag'"
    assert (problem.line, problem.hint) == (21, "did you mean 'average'?")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (
            '"energy.json"',
            '"energi.json"',
            9,
            "node 'analyse', input 'simulate': 'energi.json' is no product of action 'simulate'",
        ),
        (
            '"plot/mean.pdf"',
            '"mean.pdf"',
            17,
            "sink 'plot': 'mean.pdf' is no product of action 'average'",
        ),
    ],
)
def test_an_output_must_be_a_product_or_lie_in_one(
    old: str, new: str, line: int, message: str
) -> None:
    problem = only(STUDY.replace(old, new), GOOD)
    assert (problem.line, problem.message, problem.severity) == (line, message, "error")


def test_directories_that_are_made_need_a_value_file() -> None:
    text = action("simulate", "energy.json") + ANALYSE + action("average", "plot")
    problem = next(it for it in checked(STUDY, text) if it.severity == "error")
    assert problem.message == "source 'state' needs a `value_file` in workflow.toml"
    assert 'value_file = "value.json"' in problem.hint


def test_a_network_on_directories_that_exist_needs_no_value_file() -> None:
    network = '[[source]]\nname = "w"\nworkspace = true\n[[node]]\nname = "a"\nfrom = "w"\n'
    text = action("a", "o")
    assert checked(network, text) == ()
    own, _ = checked(network + 'directories = "own"\n', text)
    assert own.message == "node 'a' has directories of its own, which need a `value_file`"
    assert own.severity == "error"


def test_one_action_twice_in_the_same_directories_would_be_one_job() -> None:
    again = STUDY + '[[node]]\nname = "again"\naction = "analyse"\nfrom = "simulate"\n'
    (problem,) = [it for it in checked(again, GOOD) if it.severity == "error"]
    assert problem.message == (
        "node 'again' and node 'analyse' run action 'analyse' in the same directories, those of "
        "'state'"
    )
    own = again + 'directories = "own"\n'
    assert "same directories" not in str(checked(own, GOOD))


def test_the_lines_that_keep_an_action_to_its_directories_do_so() -> None:
    loose = action("average", "plot")
    problem = only(STUDY, HEAD + SIMULATE + ANALYSE + loose)
    assert problem.severity == "warning"
    assert problem.message == (
        "node 'average': Row, and `submit` by hand, would run action 'average' in the directories "
        "of other nodes, too"
    )
    _, _, lines = problem.hint.partition(":\n")
    assert '[[action.group.include]]\n    condition = ["/node", "==", "average"]' in lines

    kept = HEAD + SIMULATE + ANALYSE + loose.replace("[action.group]\n", "") + lines

    assert checked(STUDY, kept) == ()


def test_an_include_with_other_conditions_has_to_name_the_node_too() -> None:
    loose = action("average", "plot", more='include = [{ condition = ["/T", ">", 1] }]\n')
    problem = only(STUDY, HEAD + SIMULATE + ANALYSE + loose)
    assert 'add ["/node", "==", "average"] to each `include`' in problem.hint
    both = 'include = [{ all = [["/node", "==", "average"], ["/T", ">", 1]] }]\n'
    assert checked(STUDY, HEAD + SIMULATE + ANALYSE + action("average", "plot", more=both)) == ()


def test_an_operand_that_is_a_list_keeps_nothing() -> None:
    odd = action("average", "plot", more='include = [{ condition = ["/node", "==", ["x"]] }]\n')
    assert only(STUDY, HEAD + SIMULATE + ANALYSE + odd).severity == "warning"


def test_directories_that_exist_need_the_key_before_row_can_ask_for_it() -> None:
    network = (
        '[[source]]\nname = "w"\nworkspace = true\n[[node]]\nname = "a"\nfrom = "w"\n'
        'directories = "own"\n'
    )
    problem = only(network, HEAD + action("a", "o"))
    assert "the key `node` in its value file, also those of source 'w'" in problem.hint


def test_a_previous_action_that_runs_elsewhere_is_never_complete_here() -> None:
    text = HEAD + SIMULATE + ANALYSE + action("average", "plot", "average", "simulate")
    problem = only(STUDY, text)
    assert problem.severity == "error"
    assert problem.action == 2
    assert problem.message == (
        "node 'average': action 'average' waits for 'simulate', which no node runs in the "
        "directories of 'average'"
    )


def test_a_previous_action_that_comes_later_in_the_network_waits_for_ever() -> None:
    text = HEAD + action("simulate", "energy.json", "state", "analyse")
    text += action("analyse", "a.json", "state") + AVERAGE
    errors = [it.message for it in checked(STUDY, text) if "waits for 'analyse'" in it.message]
    assert errors == [
        "node 'simulate': action 'simulate' waits for 'analyse', but node 'analyse' waits for this "
        "node"
    ]


def test_a_previous_action_that_no_sink_needs_is_not_run() -> None:
    network = STUDY.replace('from = "simulate"\noutput = "energy.json"\n', 'from = "state"\n')
    problem = next(it for it in checked(network, GOOD) if it.severity == "error")
    assert "node 'simulate' is not run, as no sink needs it" in problem.message


def test_a_link_in_shared_directories_is_told_to_row_by_previous_actions() -> None:
    problem = only(STUDY, HEAD + SIMULATE + action("analyse", "a.json", "state") + AVERAGE)
    assert problem.severity == "error"
    assert "it is unknown that action 'analyse' waits for 'simulate'" in problem.message
    assert 'previous_actions = ["simulate"]' in problem.hint


def test_an_action_without_products_never_completes() -> None:
    text = GOOD.replace('products = ["a.json"]\n', "")
    problem = only(STUDY, text)
    assert problem.severity == "error"
    assert problem.message == (
        "node 'analyse': action 'analyse' has no products, so it never completes and node "
        "'average' waits for ever"
    )


def test_a_last_node_without_products_is_refused_unless_no_sink_needs_it() -> None:
    text = GOOD.replace('products = ["plot"]\n', "")
    message = "node 'average': action 'average' has no products, so it never completes"

    last = only(STUDY[: STUDY.index("[[sink]]")], text)
    assert (last.severity, last.message) == ("error", message)
    assert "`products` of workflow.toml" in last.hint

    sink = '[[sink]]\nname = "a"\nfrom = "analyse"\noutput = "a.json"\npublish = "{T}-{r}"\n'
    unneeded = only(STUDY[: STUDY.index("[[sink]]")] + sink, text)
    assert (unneeded.severity, unneeded.message) == ("warning", message)


def test_submit_whole_is_not_what_a_network_does() -> None:
    whole = action("average", "plot", "average", more="submit_whole = true\n")
    problem = only(STUDY, HEAD + SIMULATE + ANALYSE + whole)
    assert problem.severity == "warning"
    assert "`submit_whole`" in problem.message
