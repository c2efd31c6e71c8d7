"""The overview names the ends of a message that were found to agree, and only those."""

import pytest

STRUCT = """#define MAX_ROWS 4
struct Rows {
  long mtype;
  int meta[3 + MAX_ROWS];
  int tokens[MAX_ROWS];
};
"""
RECEIVER = """#include "rows.h"

void GetRows(const Tensor& out, int64_t rank) {
  static struct Rows got;
  msgrcv(queue, &got, sizeof(got) - sizeof(long), 0, 0);
  int64_t* out_data = const_cast<int64_t*>(out.data<int64_t>());
  out_data[0] = got.meta[0];
  out_data[1] = (int64_t)got.meta[1];
}
PD_BUILD_STATIC_OP(get_rows)
    .Inputs({"out"})
    .Attrs({"rank: int64_t"})
    .SetKernelFn(PD_KERNEL(GetRows));
"""
SENDER = """#include "rows.h"

void SaveRows(const Tensor& ids, int flag) {{
  static struct Rows sent;
  sent.meta[1] = {word};
  msgsnd(queue, &sent, sizeof(sent) - sizeof(long), 0);
}}
PD_BUILD_STATIC_OP(save_rows)
    .Inputs({{"ids"}})
    .Attrs({{"flag: int"}})
    .SetKernelFn(PD_KERNEL(SaveRows));
"""
READER = """from engine.ops import get_rows


class Reader:
    def poll(self):
        get_rows(self.buffer, 0)

    def step(self):
        word = int(self.buffer[1, 0].item())
        return {read}
"""
TEST = """def test_step(reader):
    reader.buffer[1, 0] = {word}
    reader.step()
"""
PACKED = "(flag & 0xFF) | (ids.shape()[1] << 8)"
TWO_FIELDS = "word & 0xFF, word >> 8"


def files(word, read, fixture):
    return {
        "ops/rows.h": STRUCT,
        "ops/get_rows.cc": RECEIVER,
        "ops/save_rows.cc": SENDER.format(word=word),
        "engine/reader.py": READER.format(read=read),
        "tests/test_reader.py": TEST.format(word=fixture),
    }


@pytest.fixture
def overview(repo, specbot):
    """What the overview says after a change to this word, read and fixture."""

    def review(word, read, fixture="3 | (5 << 8)", language="en"):
        repo.commit(files("flag", "word", "3"))
        repo.commit(files(word, read, fixture))
        args = ("--base", "HEAD~1", "--format", "markdown", "--lang", language)
        text = specbot("review", "--repo", repo.path, *args, "--profile", "generic").out
        return text.split("<details>")[0]

    return review


@pytest.mark.parametrize(("language", "says"), [("en", "the ends agree"), ("zh", "各端一致")])
def test_ends_that_agree_are_named_with_their_places(overview, language, says):
    text = overview(PACKED, TWO_FIELDS, language=language)
    (line,) = [line for line in text.splitlines() if says in line]
    for place in ("ops/save_rows.cc:5", "engine/reader.py:10", "tests/test_reader.py:2"):
        assert f"`{place}`" in line


def test_a_fixture_of_another_form_is_not_named(overview):
    text = overview(PACKED, TWO_FIELDS, "3 | (5 << 4)")
    (line,) = [line for line in text.splitlines() if "the ends agree" in line]
    assert "tests/test_reader.py" not in line


@pytest.mark.parametrize(
    "read", ["word & 0xFF, word >> 9", "word & 0xF, word >> 8", "word >> 8", "word"]
)
def test_nothing_is_said_where_a_reader_takes_it_apart_otherwise(overview, read):
    assert "the ends agree" not in overview(PACKED, read)
