"""The order of providers, plug-ins of third parties, and what is told of failures."""

from __future__ import annotations

import asyncio
from pathlib import Path

import keyring
import pytest
from rowtui.core.secrets.keyring_provider import KeyringProvider
from rowtui.core.secrets.model import (
    CouldNotDeleteCredentials,
    CouldNotRetrieveCredentials,
    CouldNotSetCredentials,
    Notice,
    Secret,
    SecretError,
    SecretName,
)
from rowtui.core.secrets.netrc_provider import NetrcProvider
from rowtui.core.secrets.service import (
    EnvironmentProvider,
    ListedSecret,
    SecretService,
    open_service,
)

from tests.core.secrets.key_ring import FileKeyring, LockedKeyring, TalkativeKeyring

PLANTED = "pl4nted-s3cret"


@pytest.fixture
def netrc(tmp_path: Path) -> Path:
    path = tmp_path / "netrc"
    path.write_text("machine m login u password from-netrc\nmachine n login u password n\n")
    path.chmod(0o600)
    return path


async def test_the_first_that_knows_wins(tmp_path: Path, netrc: Path) -> None:
    ring = KeyringProvider(FileKeyring(tmp_path / "ring"))
    environment = EnvironmentProvider({"ROWTUI_SECRET_E_U": "from-environment"})
    service = SecretService([environment, ring, NetrcProvider(netrc)])
    assert await service.find_password_for_user("m", "u") == Secret("from-netrc")
    assert await service.set_password_for_user("m", "u", Secret(PLANTED)) == "keyring"
    assert await service.set_password_for_user("e", "u", Secret(PLANTED)) == "keyring"
    assert await service.find_password_for_user("m", "u") == Secret(PLANTED)
    found = (await service.look_up("e", "u")).found
    assert found == (Secret("from-environment"), "environment")
    assert await service.del_password_for_user("m", "u") == "keyring"
    assert await service.find_password_for_user("m", "u") == Secret("from-netrc")


async def test_one_that_fails_does_not_keep_the_next_from_being_asked(
    tmp_path: Path, netrc: Path
) -> None:
    service = SecretService(
        [KeyringProvider(LockedKeyring(tmp_path / "ring")), NetrcProvider(netrc)]
    )
    lookup = await service.look_up("m", "u")
    assert lookup.found == (Secret("from-netrc"), "netrc")
    assert [(it.provider, it.reason) for it in lookup.failures] == [("keyring", "it is locked")]
    listing = await service.names()
    assert listing.names[0] == ListedSecret("netrc", SecretName("m", "u"))
    assert [it.provider for it in listing.failures] == ["keyring"]


async def test_nobody_knows_it_says_who_was_asked_and_why_others_were_not(
    tmp_path: Path, netrc: Path
) -> None:
    service = SecretService(
        [KeyringProvider(LockedKeyring(tmp_path / "ring")), NetrcProvider(netrc)],
        [Notice("vault", "there is no vault", "build one")],
    )
    with pytest.raises(CouldNotRetrieveCredentials) as caught:
        await service.find_password_for_user("elsewhere", "u")
    assert caught.value.message == (
        "could not find the password of u at elsewhere: none of keyring, netrc has it; "
        "keyring: it is locked; vault is left out: there is no vault"
    )


async def test_a_key_ring_that_cannot_store_is_not_passed_over(tmp_path: Path) -> None:
    first = KeyringProvider(TalkativeKeyring(tmp_path / "ring"))
    second = KeyringProvider(FileKeyring(tmp_path / "other"))
    with pytest.raises(CouldNotSetCredentials) as caught:
        await SecretService([first, second]).set_password_for_user("m", "u", Secret(PLANTED))
    assert PLANTED not in str(caught.value)
    assert caught.value.__context__ is None
    assert not (tmp_path / "other").exists()


async def test_where_nobody_stores_the_way_out_is_named(netrc: Path) -> None:
    service = SecretService(
        [NetrcProvider(netrc)], [Notice("keyring", "not installed", "pip install it")]
    )
    with pytest.raises(CouldNotSetCredentials) as storing:
        await service.set_password_for_user("m", "u", Secret(PLANTED))
    with pytest.raises(CouldNotDeleteCredentials) as deleting:
        await service.del_password_for_user("m", "u")
    for error in (storing.value, deleting.value):
        assert "keyring is left out: not installed" in str(error)
        assert error.hint == "pip install it"


# --- plug-ins, each as an installed distribution with an entry point

PLUG_INS = {
    "good": """
from rowtui.core.secrets.model import Secret, SecretName
class Made:
    name = "vault"
    async def find_password_for_user(self, machine, user):
        return Secret("from-vault") if machine == "v" else None
    async def set_password_for_user(self, machine, user, secret): return True
    async def del_password_for_user(self, machine, user): pass
    async def names(self): return (SecretName("v", "u"),)
""",
    "noisy": """
class Made:
    name = "noisy"
    async def find_password_for_user(self, machine, user):
        raise LookupError("pl4nted-s3cret")
    async def set_password_for_user(self, machine, user, secret): raise OSError(secret.reveal())
    def del_password_for_user(self, machine, user): raise KeyError(user)
    async def names(self): return 7
""",
    "careless": """
class Made:
    name = "careless"
    async def find_password_for_user(self, machine, user): return "pl4nted-s3cret"
    async def set_password_for_user(self, machine, user, secret): pass
    async def del_password_for_user(self, machine, user): pass
    async def names(self): return [("m",), ("m", "u")]
""",
    "broken": "import a_library_that_nobody_has",
    "leaving": "raise SystemExit(3)",
    "empty": "",
    "other": "Made = dict",
    "thief": """
from rowtui.core.secrets.service import EnvironmentProvider
def Made(): return EnvironmentProvider({})
""",
    "absent": """
from rowtui.core.secrets.model import ProviderUnavailable
def Made(): raise ProviderUnavailable("there is no vault here", "build one")
""",
}


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, SecretService]:
    """A service for each plug-in, with no other provider that knows anything."""
    monkeypatch.setattr(keyring.core, "_keyring_backend", None)
    keyring.set_keyring(keyring.backends.null.Keyring())
    services = {}
    for name, source in PLUG_INS.items():
        site = tmp_path / name
        (site / f"{name}-1.dist-info").mkdir(parents=True)
        (site / f"rowtui_test_{name}.py").write_text(source)
        (site / f"{name}-1.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: 1\n")
        (site / f"{name}-1.dist-info" / "entry_points.txt").write_text(
            f"[rowtui.secret_providers]\n{name} = rowtui_test_{name}:Made\n"
        )
        with monkeypatch.context() as only_here:
            only_here.syspath_prepend(site)
            services[name] = asyncio.run(open_service({"HOME": str(tmp_path)}))
    return services


def test_a_plug_in_takes_part_behind_ours(installed: dict[str, SecretService]) -> None:
    service = installed["good"]
    assert [it.name for it in service.providers] == ["environment", "netrc", "vault"]
    assert asyncio.run(service.find_password_for_user("v", "u")) == Secret("from-vault")
    assert asyncio.run(service.set_password_for_user("v", "u", Secret(PLANTED))) == "vault"
    assert asyncio.run(service.del_password_for_user("v", "u")) == "vault"
    assert asyncio.run(service.names()).names == (ListedSecret("vault", SecretName("v", "u")),)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", "failed with ModuleNotFoundError"),
        ("leaving", "failed with SystemExit"),
        ("empty", "failed with AttributeError"),
        ("other", "makes no secret provider"),
        ("thief", "calls itself 'environment', which is ours"),
        ("absent", "there is no vault here\n    build one"),
    ],
)
def test_a_bad_plug_in_is_a_notice(
    installed: dict[str, SecretService], name: str, said: str
) -> None:
    service = installed[name]
    assert [it.name for it in service.providers] == ["environment", "netrc"]
    (notice,) = [it for it in service.notices if it.provider == name]
    assert said in str(notice)


def test_a_plug_in_that_raises_anything_is_an_error_in_words(
    installed: dict[str, SecretService],
) -> None:
    service = installed["noisy"]
    lookup = asyncio.run(service.look_up("m", "u"))
    assert lookup.found is None
    assert [it.reason for it in lookup.failures] == ["it failed with LookupError"]
    errors: list[SecretError] = [*lookup.failures, *asyncio.run(service.names()).failures]
    with pytest.raises(CouldNotSetCredentials, match="it failed with OSError") as storing:
        asyncio.run(service.set_password_for_user("m", "u", Secret(PLANTED)))
    with pytest.raises(CouldNotDeleteCredentials, match="it failed with KeyError") as deleting:
        asyncio.run(service.del_password_for_user("m", "u"))
    errors += [storing.value, deleting.value]
    assert len(errors) == 4
    for error in errors:
        assert PLANTED not in str(error)
        assert error.__cause__ is None
        assert error.__context__ is None


def test_a_plug_in_that_answers_with_plain_text_is_not_believed(
    installed: dict[str, SecretService],
) -> None:
    lookup = asyncio.run(installed["careless"].look_up("m", "u"))
    assert lookup.found is None
    assert [it.reason for it in lookup.failures] == ["its return value is no Secret"]
    assert PLANTED not in str(lookup)
    listing = asyncio.run(installed["careless"].names())
    assert [it.provider for it in listing.failures] == ["careless"]
