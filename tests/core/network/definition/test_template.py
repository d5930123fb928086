from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.network.definition.load_tables import PublishError, TemplatePiece, pieces_of


def test_texts_and_fields_come_in_order() -> None:
    assert pieces_of("a/{T}-{a.b}{ext}") == (
        TemplatePiece("a/", False),
        TemplatePiece("T", True),
        TemplatePiece("-", False),
        TemplatePiece("a.b", True),
        TemplatePiece("ext", True),
    )


def test_doubled_braces_are_braces() -> None:
    assert pieces_of("{{{T}}}") == (
        TemplatePiece("{", False),
        TemplatePiece("T", True),
        TemplatePiece("}", False),
    )


@pytest.mark.parametrize("template", ["{", "}", "a{b", "a}b", "{}", "{a{b}", "{{}"])
def test_a_brace_alone_is_refused(template: str) -> None:
    with pytest.raises(PublishError):
        pieces_of(template)


@given(st.lists(st.tuples(st.text(min_size=1), st.booleans())))
def test_whatever_was_put_into_a_template_is_read_again(parts: list[tuple[str, bool]]) -> None:
    fields = [(text, is_field and not set(text) & {"{", "}"}) for text, is_field in parts]
    template = "".join(
        f"{{{text}}}" if is_field else text.replace("{", "{{").replace("}", "}}")
        for text, is_field in fields
    )

    pieces = pieces_of(template)

    assert "".join(piece.text for piece in pieces) == "".join(text for text, _ in fields)
    assert [piece.text for piece in pieces if piece.is_field] == [
        it for it, is_it in fields if is_it
    ]
