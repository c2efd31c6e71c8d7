"""The example's n-gram op with a test and a change of its own, for `specbot device` to run.

    python -m tests.example.device DIR

The change proposes the tokens two places after the match, where it was as many places as the match
is long. That is the same for pairs, which nearly all matches are. Only the test, which needs a GPU,
has a match of one token.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.example.build import HERE

_TEST = '''"""ngram_match proposes what followed the last tokens before."""

import unittest

import numpy as np
import paddle

from lantern.ops.gpu import ngram_match


class TestNgramMatch(unittest.TestCase):
    def test_match_of_one_token(self):
        # The pair (2, 5) stands nowhere before; after the first 5 came 7 and 8.
        tokens = np.zeros([1, 32], dtype="int64")
        tokens[0, :4] = [1, 2, 3, 4]
        tokens[0, 4:12] = [5, 7, 8, 9, 6, 1, 2, 5]
        drafts = paddle.zeros([1, 5], dtype="int64")
        lengths = paddle.ones([1], dtype="int32")
        ngram_match(
            paddle.to_tensor(tokens),
            paddle.to_tensor([[4]], dtype="int64"),
            paddle.to_tensor([[8]], dtype="int64"),
            paddle.to_tensor([[2]], dtype="int32"),
            drafts,
            lengths,
            paddle.to_tensor([0], dtype="int32"),
            paddle.to_tensor([12], dtype="int32"),
            paddle.to_tensor([[20]], dtype="int64"),
            2,
        )
        np.testing.assert_array_equal(lengths.numpy(), [3])
        np.testing.assert_array_equal(drafts.numpy()[0, 1:3], [7, 8])
'''


_OP = "custom_ops/gpu_ops/speculate_decoding/ngram_match.cu"
_BEFORE = "= source[at + n + k];"
_AFTER = "= source[at + 2 + k];"


def build(repo: Path) -> None:
    """Make the repository with the branches `base` and `head`; an earlier one is replaced."""
    if repo.exists():
        shutil.rmtree(repo)
    shutil.copytree(HERE / "base", repo)
    # This one imports the package's compiled module, which there is none of.
    (repo / "tests" / "spec_decode" / "test_ngram_kernel.py").unlink()
    folder = repo / "tests" / "operators"
    folder.mkdir(parents=True)
    (folder / "test_ngram_match.py").write_text(_TEST, encoding="utf-8")
    _git(repo, "init", "-q", "-b", "base")
    _commit(repo, "Lantern 1.4")
    _git(repo, "checkout", "-q", "-b", "head")
    source = repo / _OP
    text = source.read_text("utf-8")
    assert text.count(_BEFORE) == 1
    source.write_text(text.replace(_BEFORE, _AFTER), encoding="utf-8")
    _commit(repo, "Propose what followed the pair")


def _commit(repo: Path, message: str) -> None:
    _git(repo, "add", "-A")
    _git(repo, "commit", "-qm", message)


def _git(repo: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Lantern Author", "-c", "user.email=author@lantern.example"]
    subprocess.run(["git", *who, *arguments], cwd=repo, check=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
