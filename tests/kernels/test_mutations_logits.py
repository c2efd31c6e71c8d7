"""Every bug of ``mutations/logits.py`` is noticed by the check that is there for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.mutations.logits import MUTATIONS, Mutation
from tests.kernels.properties import DEVICE

pytestmark = pytest.mark.skipif(
    DEVICE != "cpu", reason="the interpreter runs an edited kernel without compiling it"
)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_it_is_caught(mutation: Mutation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mutation.install(monkeypatch, tmp_path)
    # Only a wrong answer counts: an edit that merely does not run would prove nothing.
    with pytest.raises(AssertionError):
        mutation.caught_by()


def test_the_names_are_distinct() -> None:
    names = [mutation.name for mutation in MUTATIONS]
    assert len(set(names)) == len(names) >= 25
