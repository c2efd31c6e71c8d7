"""Where the lines of a file are: what is read there is what a reader of lines would have given."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.logprobs import places as module
from bot.logprobs.places import places, read_at

PIECES = st.sampled_from(
    [b"\n", b" ", b"\t", b"\r\n", b"\v\f", b"a", b"{}", b"abcdefgh", b" b ", b"\0", b"\xff"]
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None
)
@given(pieces=st.lists(PIECES, max_size=30), buffer=st.integers(1, 9))
def test_every_line_that_holds_something_and_no_other(
    pieces: list[bytes], buffer: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BUFFER", buffer)
    path = tmp_path / "file"
    path.write_bytes(b"".join(pieces))
    with path.open("rb") as file:
        wanted = [(number, line) for number, line in enumerate(file, 1) if not line.isspace()]
    with path.open("rb", 0) as file:
        assert [(place.number, read_at(file, place)) for place in places(file, 1000)] == wanted


@pytest.mark.parametrize("after", [b"", b"\nb\n"])
def test_a_too_long_line_is_cut_after_one_byte_more(
    after: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BUFFER", 4)
    path = tmp_path / "file"
    path.write_bytes(b"a\n" + b"x" * 50 + after)
    with path.open("rb", 0) as file:
        first, second = list(places(file, 10))[:2]
        assert (read_at(file, first), read_at(file, second)) == (b"a\n", b"x" * 11)
        assert second.number == 2
