"""A secret shows itself to nobody who does not ask for it by name."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import logging
import pickle
import pprint
import traceback
from collections.abc import Callable

import orjson
import pytest
from rowtui.core.secrets import model
from rowtui.core.secrets.model import (
    CouldNotDeleteCredentials,
    CouldNotRetrieveCredentials,
    CouldNotSetCredentials,
    NotSupportedByProvider,
    Secret,
    SecretError,
)

PLANTED = "pl4nted-s3cret"


@dataclasses.dataclass
class Login:
    """What code of ours may well build around a secret."""

    machine: str
    secret: Secret


def logged(secret: Secret) -> str:
    stream = io.StringIO()
    logger = logging.Logger("test", logging.DEBUG)
    logger.addHandler(logging.StreamHandler(stream))
    logger.warning("with %s and %r", secret, secret)
    logger.warning(secret)
    logger.warning("%(secret)s", {"secret": secret})
    try:
        raise ValueError(secret)
    except ValueError:
        logger.exception("failed with %s", [secret])
    return stream.getvalue()


def traced(secret: Secret) -> str:
    """All of a traceback, with the variables of its frames."""
    kept = [secret]
    try:
        raise RuntimeError("went wrong", secret, kept)
    except RuntimeError as error:
        with_locals = traceback.TracebackException.from_exception(error, capture_locals=True)
        assert "kept = " in "".join(with_locals.format())
        return traceback.format_exc() + "".join(with_locals.format())


WAYS: dict[str, Callable[[Secret], str]] = {
    "repr": repr,
    "str": str,
    "format": lambda secret: format(secret, ">40"),
    "f-string": lambda secret: f"{secret} {secret!r} {secret!s:>40} {secret=}",
    "percent": lambda secret: "%s %r %a" % (secret, secret, secret),  # noqa: UP031
    "list": lambda secret: str([secret, {"password": secret}]),
    "dataclass": lambda secret: f"{Login('m', secret)} {dataclasses.asdict(Login('m', secret))}",
    "pprint": lambda secret: pprint.pformat(Login("m", secret)),
    "json": lambda secret: json.dumps({"secret": secret}, default=str),
    "logging": logged,
    "traceback": traced,
    "copies": lambda secret: repr((copy.copy(secret), copy.deepcopy([secret]))),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_shows_a_secret_shows_stars(way: str) -> None:
    shown = WAYS[way](Secret(PLANTED))
    assert PLANTED not in shown
    assert "***" in shown


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_is_not_pickled(protocol: int) -> None:
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps({"login": Login("m", Secret(PLANTED))}, protocol)


@pytest.mark.parametrize("write", [json.dumps, orjson.dumps], ids=["json", "orjson"])
def test_a_secret_is_not_json(write: Callable[[object], object]) -> None:
    with pytest.raises(TypeError) as caught:
        write({"secret": Secret(PLANTED)})
    assert PLANTED not in str(caught.value)


def test_a_secret_has_no_state_to_look_into() -> None:
    secret = Secret(PLANTED)
    with pytest.raises(TypeError):
        vars(secret)
    with pytest.raises(TypeError):
        secret.__getstate__()


def test_secrets_are_equal_if_their_texts_are() -> None:
    assert Secret("a\udcff") == Secret("a\udcff")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    with pytest.raises(TypeError):
        hash(Secret("a"))


def test_no_text_is_no_secret() -> None:
    assert Secret.of(None) is None
    assert Secret.of("") is None
    found = Secret.of(PLANTED)
    assert found is not None
    assert found.reveal() == PLANTED


def test_what_is_no_text_is_refused_without_showing_it() -> None:
    with pytest.raises(TypeError) as caught:
        Secret(PLANTED.encode())  # type: ignore[arg-type]
    ours = [
        frame
        for frame in traceback.TracebackException.from_exception(
            caught.value, capture_locals=True
        ).stack
        if frame.filename == model.__file__
    ]
    assert ours
    assert PLANTED not in str([frame.locals for frame in ours])


def test_what_was_revealed_is_an_ordinary_string() -> None:
    """The limit: whoever binds the text to a name shows it in tracebacks with variables."""

    def careless(secret: Secret) -> None:
        text = secret.reveal()
        raise RuntimeError(len(text))

    def careful(secret: Secret) -> None:
        raise RuntimeError(len(secret.reveal()))

    def shown(use: Callable[[Secret], None]) -> str:
        with pytest.raises(RuntimeError) as caught:
            use(Secret(PLANTED))
        return "".join(
            traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()
        )

    assert PLANTED in shown(careless)
    assert PLANTED not in shown(careful)


@pytest.mark.parametrize(
    "kind",
    [
        CouldNotRetrieveCredentials,
        CouldNotSetCredentials,
        CouldNotDeleteCredentials,
        NotSupportedByProvider,
    ],
)
def test_errors_name_machine_user_and_provider_and_cross_processes(
    kind: type[SecretError],
) -> None:
    error = kind("bad\x1b[2J.org", "jane\n", "keyring", "it is locked", "unlock it")
    assert str(error).endswith(
        r"jane\n at bad\x1b[2J.org: keyring: it is locked" + "\n    unlock it"
    )
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)
