"""The emulator against a GPU: every kernel of the corpus, bit for bit, and mistakes noticed."""

from __future__ import annotations

import shutil

import pytest

from kernels.emulator.corpus import __main__ as corpus
from tests.device.mutants import MUTANTS, is_noticed

pytestmark = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")),
    reason="neither g++ nor clang++ is on this machine to compile device code with",
)


def test_every_kernel_gives_the_gpus_bytes() -> None:
    emulated = corpus.parse_output(corpus.emulate())
    wanted = corpus.load_results()
    assert len(wanted) >= 120
    assert {name: corpus.digest(data) for name, data in emulated.items()} == wanted


@pytest.mark.parametrize("mutant", MUTANTS[:2], ids=lambda mutant: mutant.mistake)
def test_a_mistake_is_noticed(mutant: object) -> None:
    # All of them: python -m tests.device.mutants
    assert is_noticed(mutant)
