"""`node` makes the objects that `dataclass` makes."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.lang.ir.node import node

FORMS = st.lists(
    st.sampled_from(["plain", "default", "made", "named", "named default", "named made"]),
    max_size=7,
)
_SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "default": {"default": "d"},
    "made": {"default_factory": list},
    "named": {"kw_only": True},
    "named default": {"kw_only": True, "default": 0},
    "named made": {"kw_only": True, "default_factory": dict},
}


def _class(forms: list[str]) -> type:
    body: dict[str, Any] = {"__annotations__": {}, "__qualname__": "Made", "__module__": __name__}
    for number, form in enumerate(sorted(forms, key=lambda f: f != "plain")):
        body["__annotations__"][f"f{number}"] = "object"
        body[f"f{number}"] = field(**_SETTINGS[form])
    return type("Made", (), body)


class Made:
    """Where pickle looks for the class that the test below made last."""


@settings(deadline=None)
@given(FORMS, st.integers(0, 7), st.sets(st.integers(0, 7)))
def test_a_node_is_built_as_a_dataclass_is(
    forms: list[str], given_in_order: int, given_by_name: set[int]
) -> None:
    global Made
    ours, theirs = node(_class(forms)), dataclass(frozen=True, slots=True)(_class(forms))
    Made = ours  # type: ignore[misc]
    args = tuple(range(given_in_order))
    words = {f"f{n}": f"v{n}" for n in given_by_name}
    try:
        wanted = theirs(*args, **words)
    except TypeError:
        with pytest.raises(TypeError):
            ours(*args, **words)
        return
    made, again = ours(*args, **words), ours(*args, **words)
    values = {f.name: getattr(made, f.name) for f in fields(made)}
    assert values == {f.name: getattr(wanted, f.name) for f in fields(wanted)}
    assert repr(made) == repr(wanted) and made == again and replace(made, **values) == made
    assert pickle.loads(pickle.dumps(made)) == made
    kept = [
        (values[f.name], getattr(again, f.name)) for f in fields(made) if values[f.name] in ([], {})
    ]
    assert all(one is not other for one, other in kept), "what is made is made for each"


def test_classes_of_one_form_keep_their_own_names_and_defaults() -> None:
    @node
    class One:
        left: int
        right: int = 1

    @node
    class Other:
        first: str
        second: str = "two"

    assert (One(0).right, Other("one").second) == (1, "two")
    assert One(left=2, right=3) == One(2, 3) and One(2, 3) != One(3, 2)
