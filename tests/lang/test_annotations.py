"""Annotations are taken apart to the one type they name, and hostile text never raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.lang.python.annotations import Annotation, parse_annotation

NAMES = st.sampled_from(["Request", "engine.Request", "int", "torch.Tensor"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Request", Annotation("Request")),
        ("Optional[engine.Request]", Annotation("engine.Request")),
        ('"Request | None"', Annotation("Request")),
        ("None | Request", Annotation("Request")),
        ("Union[Request, None]", Annotation("Request")),
        ("Annotated[Request, 1]", Annotation("Request")),
        ('list["Request"]', Annotation("list", (Annotation("Request"),))),
        ("Request | Batch", None),
        ("lambda: 1", None),
        ("", None),
        ("list[", None),
    ],
)
def test_the_one_type(text: str, expected: Annotation | None) -> None:
    assert parse_annotation(text) == expected


@given(NAMES)
def test_what_may_be_none_is_the_type_itself(name: str) -> None:
    plain = parse_annotation(name)
    assert plain == Annotation(name)
    for text in (f"{name} | None", f"None | {name}", f"Optional[{name}]", f"'{name}'"):
        assert parse_annotation(text) == plain


@given(NAMES, NAMES)
def test_the_elements_of_a_mapping(key: str, value: str) -> None:
    expected = Annotation("dict", (Annotation(key), Annotation(value)))
    assert parse_annotation(f"dict[{key}, {value}]") == expected


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    found = parse_annotation(text)
    assert found is None or isinstance(found, Annotation)
