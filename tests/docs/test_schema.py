from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest
from jsonschema import Draft202012Validator

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def make_schema() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_schema", DOCS / "make_schema.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_schemas_are_those_of_the_types(make_schema: ModuleType) -> None:
    folder = DOCS / "schema"
    written = {
        str(path.relative_to(folder).with_suffix("")): path.read_text(encoding="utf-8")
        for path in folder.rglob("*.json")
    }
    assert written == make_schema.texts(), "run: python docs/make_schema.py"


def test_each_schema_is_one(make_schema: ModuleType) -> None:
    for text in make_schema.texts().values():
        Draft202012Validator.check_schema(json.loads(text))


def test_every_schema_is_in_the_page_on_files(make_schema: ModuleType) -> None:
    page = (DOCS / "formats.md").read_text(encoding="utf-8")
    for name, (command, _) in make_schema.COMMANDS.items():
        assert f"| `{command}` | [{name}](schema/{name}.json) |" in page
