"""Lines as a person would read them, whatever the CI system put around them."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.ci.classify import scan
from checks.ci.log_blocks import LONGEST, blocks, clean_line


@pytest.mark.parametrize(
    "raw",
    [
        "2026-05-22T13:08:27.1234567Z ##[error]E   ValueError: x",
        "\ufeff2026-05-22T13:08:27.1234567Z E   ValueError: x",
        "[2026-05-22T13:08:27.123Z] E   ValueError: x",
        "13:08:27  E   ValueError: x",
        "2026-05-22T13:08:27Z 2026-05-22 13:08:27,120 E   ValueError: x",
        "\x1b[1m\x1b[31mE   ValueError: x\x1b[0m",
        "\x1b_bk;t=1716383307\x07E   ValueError: x",
        " 10%|#   | 1/9\r 50%|##  | 5/9\rE   ValueError: x",
        "E   ValueError: x\r\n",
        "\x1b]8;;https://example.com\x1b\\E   ValueError: x\x1b]8;;\x1b\\",
    ],
)
def test_what_stands_around_a_line_goes(raw):
    assert clean_line(raw.encode()).strip() == "E   ValueError: x"


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=400).map(lambda b: b.replace(b"\n", b"")))
def test_any_bytes_become_a_line(raw):
    line = clean_line(raw)
    assert "\n" not in line and "\x1b" not in line and "\x00" not in line


def test_gbk_and_latin_1_logs_are_read():
    assert clean_line("断言失败: logprobs 不一致".encode("gb18030")) == "断言失败: logprobs 不一致"
    assert clean_line(b"\xff\xfe\xfa caf\xe9!").endswith("!")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"").replace(b"\x1b", b"")),
        max_size=30,
    ),
    st.integers(1, 64),
)
def test_blocks_keep_every_line_and_its_number(lines, size):
    data = b"".join(line + b"\n" for line in lines)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return
    seen = {}
    for block in blocks(io.BytesIO(data), size):
        for n, part in enumerate(block.data.removesuffix(b"\n").split(b"\n"), block.first):
            seen[n] = seen.get(n, b"") + part
    assert [seen.get(n, b"") for n in range(1, len(lines) + 1)] == lines


def test_utf_16_logs_are_scanned():
    text = "noise\r\nE   ValueError: no draft model\r\nmore\r\n"
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
        top = scan(io.BytesIO(mark + text.encode(encoding))).top
        assert top is not None and (top.line.number, top.line.text) == (
            2,
            "E   ValueError: no draft model",
        )


def test_a_line_without_end_is_cut_around_what_matters():
    line = b"x" * 5_000_000 + b" CUDA out of memory. " + b"y" * 5_000_000
    top = scan(io.BytesIO(b"start\n" + line + b"\nend\n")).top
    assert top is not None and top.rule.name == "device-oom"
    assert top.line.number == 2 and len(top.line.text) <= LONGEST


def test_the_last_match_of_the_first_rule_counts_across_blocks():
    noise = b"nothing to see here, step 4 of 9\n" * 90_000
    log = b"E   ValueError: first\n" + noise + b"E   ValueError: last\n" + noise
    found = scan(io.BytesIO(log))
    assert found.top is not None and found.top.line.text == "E   ValueError: last"
    assert found.top.line.number == 90_002 and found.lines == 180_002
