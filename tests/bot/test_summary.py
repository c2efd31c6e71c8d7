"""The summary says what the change does, from facts alone."""

from __future__ import annotations

import pytest

PYTHON = (
    "K = {k}\n\ndef propose({params}):\n    return ids[:n]\n\ndef {name}(x):\n    return x + 1\n"
)
CUDA = """#define MAX_BSZ {bsz}
void Verify({params}, int bsz) {{
  int a = bsz;
}}
PD_BUILD_STATIC_OP(verify)
    .Inputs({{{inputs}}})
    .Outputs({{"out"}})
    .SetKernelFn(PD_KERNEL(Verify));
"""
TOKENS, LENS = "const paddle::Tensor& tokens", "const paddle::Tensor& lens"
BASE = {
    "engine/spec_decode/ngram.py": PYTHON.format(k=20, params="ids, n=3", name="old_name"),
    "custom_ops/verify.cu": CUDA.format(bsz=512, params=TOKENS, inputs='"tokens"'),
    "docs/guide.md": "text\n",
    "tests/test_ngram.py": "def test_a():\n    assert True\n",
}
HEAD = {
    "engine/spec_decode/ngram.py": PYTHON.format(k=5, params="ids, lens, n=3", name="new_name"),
    "custom_ops/verify.cu": CUDA.format(
        bsz=256, params=f"{TOKENS}, {LENS}", inputs='"tokens", "lens"'
    ),
    "docs/guide.md": "other\n",
    "tests/test_ngram.py": "def test_b():\n    assert True\n",
}


@pytest.fixture
def summary(repo, specbot):
    repo.commit(BASE)
    repo.commit(HEAD)

    def run(language: str) -> str:
        args = (
            "--base",
            "HEAD~1",
            "--format",
            "markdown",
            "--lang",
            language,
            "--profile",
            "generic",
        )
        return specbot("review", "--repo", repo.path, *args).out

    return run


def test_in_english(summary):
    text = summary("en")
    for part in (
        "4 files, +8 −8 lines (2 source, 1 test, 1 docs)",
        "`custom_ops/verify.cu`, `docs/guide.md`, `engine/spec_decode/ngram.py`, `tests/test_ngram.py`",
        "touches `Speculative Decoding`, `OP`, `Docs`, `Tests`",
        "op `verify` gains `lens`",
        "`propose` takes `lens`",
        "`old_name` is now `new_name`",
        "`K = 20` becomes `K = 5`",
        "`#define MAX_BSZ 512` becomes `#define MAX_BSZ 256`",
        "`Verify` takes `const paddle::Tensor& lens`",
    ):
        assert part in text, part


def test_in_chinese(summary):
    text = summary("zh")
    for part in (
        "算子 `verify` 的接口增加 `lens`",
        "`old_name` 改名为 `new_name`",
        "`K = 20` 改为 `K = 5`",
    ):
        assert part in text, part


def test_added_and_removed_files(repo, specbot):
    repo.commit({"a.py": "def f():\n    return 1\n", "b.bin": b"\0"})
    repo.commit({"a.py": None, "b.bin": b"\1\0", "c.py": "def g():\n    return 2\n"})
    text = specbot("review", "--repo", repo.path, "--base", "HEAD~1", "--format", "markdown").out
    assert "`a.py` (+0 −2): deleted; removes `f`" in text
    assert "`b.bin` (+0 −0): binary" in text
    assert "`c.py` (+2 −0): new file; adds `g`" in text


def test_a_large_change_shows_what_changed_most(repo, specbot):
    repo.commit({"x": "x\n"})
    repo.commit({f"f{n:02}.py": "def f():\n" + "    pass\n" * (n + 1) for n in range(20)})
    text = specbot("review", "--repo", repo.path, "--base", "HEAD~1", "--format", "markdown").out
    assert "`f19.py` (+" in text and "`f00.py` (+" not in text and "and 8 more" in text


def test_what_had_nothing_to_look_at_is_not_called_checked(summary):
    """No pull request was given, and no device code ran."""
    text = summary("en")
    checked = text.partition("Rules that were checked and found nothing")[2]
    assert "`sync.missing-argument`" in checked
    assert "`convention." not in checked and "`device." not in checked
