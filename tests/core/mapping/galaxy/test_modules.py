"""What expressions see where TPV shows Galaxy's objects."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.mapping.code.expressions import ExpressionError, compile_block, evaluate
from rowtui.core.mapping.code.model import (
    JobMappingException,
    JobNotReadyException,
    TryNextDestinationOrWait,
)
from rowtui.core.mapping.galaxy import modules as stand_ins
from rowtui.core.mapping.galaxy.modules import expression_builtins, tpv_names
from rowtui.core.mapping.galaxy.objects import (
    App,
    GalaxyJob,
    GalaxyRole,
    GalaxyTool,
    GalaxyUser,
    JobWrapper,
    NotInRowtui,
    ReadOnlyError,
)
from rowtui.core.mapping.model import tags


def value(text: str, **names: Any) -> Any:
    return evaluate(compile_block(text), {"__builtins__": expression_builtins(), **names})


def error(text: str, **names: Any) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        value(text, **names)
    return caught.value


def test_a_tool_is_the_action() -> None:
    tool = GalaxyTool(id="simulate", version="2")

    assert (tool.id, tool.old_id, tool.name, tool.action, tool.version) == ("simulate",) * 4 + (
        "2",
    )
    assert (tool.tool_type, tool.dynamic_tool) == ("default", None)
    assert tool.requires_galaxy_python_environment is False


def test_a_user_has_a_name_a_number_and_roles() -> None:
    user = GalaxyUser("ann", roles=("staff", "gpu"))

    assert (user.username, user.name, user.email) == ("ann", "ann", "ann")
    assert user.id == GalaxyUser("ann").id != GalaxyUser("bob").id
    assert GalaxyUser("ann", id=7).id == 7
    assert [role.name for role in user.all_roles() if not role.deleted] == ["staff", "gpu"]
    assert [link.role.name for link in user.roles] == ["staff", "gpu"]
    assert user.extra_preferences.get("x") is None
    assert not user.is_admin
    assert GalaxyUser("a\udcff").id >= 0


def test_a_job_has_state_attempt_parameters_and_history() -> None:
    job = GalaxyJob(
        state="resubmitted",
        attempt=2,
        params={"a": 1},
        destination_params={"mem": 8},
        history_tags=("name:x", "gpu"),
    )

    assert (job.state, job.get_state(), job.attempt) == ("resubmitted", "resubmitted", 2)
    assert job.get_param_values(App()) == {"a": 1}
    assert job.destination_params == {"mem": 8}
    assert [(tag.user_tname, tag.value) for tag in job.history.tags] == [
        ("name", "x"),
        ("gpu", None),
    ]
    assert GalaxyJob().destination_params is None
    assert list(GalaxyJob().input_datasets) == []
    assert GalaxyJob(input_size=3.5).input_size == 3.5


@pytest.mark.parametrize(
    ("shown", "text", "what"),
    [
        (App(), "app.model.context.query(1)", "app.model"),
        (JobWrapper(), "job_wrapper.get_job()", "job_wrapper.get_job"),
        (GalaxyTool("t"), "tool.parameters", "tool.parameters"),
        (GalaxyJob(), "job.galaxy_session", "job.galaxy_session"),
        (GalaxyUser("u"), "user.api_keys", "user.api_keys"),
        (GalaxyJob(), "job.history.datasets", "job.history.datasets"),
    ],
)
def test_other_parts_of_galaxy_are_explained(shown: object, text: str, what: str) -> None:
    failed = error(text, **{text.partition(".")[0]: shown})

    assert failed.message == f"{what} is part of Galaxy; rowtui does not have it"
    assert isinstance(failed.cause, NotInRowtui)
    assert isinstance(failed.cause, RowtuiError)


def test_code_can_ask_whether_a_part_of_galaxy_is_there() -> None:
    assert (
        value(
            "hasattr(app, 'model') or getattr(tool, 'x', 'none')", app=App(), tool=GalaxyTool("t")
        )
        == "none"
    )


@pytest.mark.parametrize(
    "shown",
    [
        GalaxyTool("t"),
        GalaxyUser("u"),
        GalaxyJob(),
        App(),
        JobWrapper(),
        GalaxyRole("r"),
        GalaxyJob().history,
    ],
)
def test_what_is_shown_can_only_be_read(shown: object) -> None:
    for name in ("id", "name", "state", "new"):
        with pytest.raises(ReadOnlyError, match="can only be read"):
            setattr(shown, name, 1)
    with pytest.raises(ReadOnlyError):
        del shown.id  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        GalaxyJob().params["a"] = 1  # type: ignore[index]


# Builtins and imports


def test_code_has_pythons_builtins() -> None:
    assert value("sorted(map(abs, [-2, 1]))") == [1, 2]
    assert value("class A:\n  x = 3\nA().x") == 3
    assert value("__import__('os').sep") == "/"
    assert value("import os.path\nos.path.join('a', 'b')") == "a/b"
    assert value("from math import floor\nfloor(2.5)") == 2


@pytest.mark.parametrize("name", ["input", "breakpoint", "exit", "quit", "help"])
def test_what_needs_a_terminal_is_refused(name: str) -> None:
    assert f"{name}() does not work in an expression" in error(f"{name}()").message


def test_what_code_prints_goes_to_the_log(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO, "rowtui.mapping"):
        value("print('cores', 4, '\\x1b[2J', sep='-')\n1")

    assert caplog.messages == [r"cores-4-\x1b[2J"]
    assert capsys.readouterr() == ("", "")


def test_a_warning_in_the_log_does_not_reach_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    value("log.warning('too late')\n1", log=stand_ins.log)

    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from tpv.core.entities import TagType\nTagType.REQUIRE", tags.TagType.REQUIRE),
        ("from tpv.core.entities import Tag, SchedulingTags as S\nS", tags.SchedulingTags),
        ("import tpv.core.entities\ntpv.core.entities.Tag", tags.Tag),
        ("import tpv.core.entities as e\ne.Tag", tags.Tag),
        ("from tpv.core import entities\nentities.Tag", tags.Tag),
        ("from galaxy.jobs.mapper import JobMappingException as M\nM", JobMappingException),
        ("import galaxy.jobs.mapper as m\nm.JobNotReadyException", JobNotReadyException),
        (
            "from tpv.core.entities import TryNextDestinationOrWait as W\nW",
            TryNextDestinationOrWait,
        ),
        ("__import__('galaxy.jobs.mapper').__name__", "galaxy"),
    ],
)  # fmt: skip
def test_modules_of_tpv_and_galaxy_are_ours(text: str, expected: object) -> None:
    assert value(text) is expected or value(text) == expected


def test_the_helpers_can_be_imported() -> None:
    text = "from tpv.core.helpers import tool_version_gt\ntool_version_gt(tool, '1')"
    assert value(text, tool=GalaxyTool("t", version="2")) is True
    assert (
        value("from tpv.core import helpers\nhelpers.input_size(job)", job=GalaxyJob(input_size=2))
        == 2
    )


def test_the_rest_of_galaxy_is_no_module() -> None:
    assert (
        "galaxy.model is part of Galaxy or TPV" in error("from galaxy.model import User\n1").message
    )
    assert value("try:\n  import galaxy.model\nexcept ImportError:\n  x = 1\nx") == 1
    assert "ImportError" in error("from galaxy.jobs.mapper import nothing\n1").message


def test_pythons_own_import_is_as_it_was() -> None:
    import builtins

    expression_builtins()

    assert builtins.__import__ is not expression_builtins()["__import__"]
    assert builtins.input is not expression_builtins()["input"]
    assert expression_builtins() is expression_builtins()


def test_the_names_that_tpv_shows_by_accident_are_there() -> None:
    listed = (
        "Any Callable CodeType Entity EntityType GlobalConfig InvalidParentException "
        "TPVCodeEvaluator TPVConfig TPVConfigLoader TypeVar annotations ast cast functools log "
        "logging util"
    )
    assert set(tpv_names()) == set(listed.split())
    assert value("functools.reduce(lambda a, b: a + b, [1, 2, 3])", **tpv_names()) == 6
    assert "util.x is part of Galaxy" in error("util.x", **tpv_names()).message
    names = tpv_names()
    names.clear()
    assert tpv_names()
