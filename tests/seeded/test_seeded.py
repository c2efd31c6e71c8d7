"""The bugs that `python -m tests.seeded` puts into trees are the ones that it says."""

from __future__ import annotations

import random

import pytest

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.tree import MemoryTree
from tests.seeded.drops import incomplete
from tests.seeded.operators import CPP, PYTHON, Source, mistakes
from tests.seeded.seed import lines_of, with_file

ROWS = """\
import os
from engine.sizes import width


class Rows:
    padding: int = 0

    def __init__(self, size):
        self.size = size
        self.share["rows"] = size

    def padded_rows(self, rows, lens, total):
        if rows is not None:
            self.share["rows"] = lens
        return rows, lens, self.size + self.padding


def padded(self, rows, lens, total):
    rows, lens, size = self.padded_rows(rows, lens, total)
    return self.share["rows"], width, os.name, self.padding
"""
OPS = """\
#define MAX_ROWS 512
PD_BUILD_OP(pad).Inputs({"rows", "lens", "total"}).Attrs({"size: int", "limit: int"});
"""
FILES = {"engine/rows.py": ROWS, "ops/pad.cc": OPS, "ops/trim.cc": "#define MAX_ROWS 512\n"}


@pytest.mark.parametrize("operator", [*PYTHON, *CPP])
def test_every_operator_changes_one_place(operator: str) -> None:
    tree = MemoryTree(FILES)
    path = "engine/rows.py" if operator in PYTHON else "ops/pad.cc"
    found = mistakes(Source(path, FILES[path], tree), operator)
    assert found
    for mistake in found:
        change = with_file(ChangeSet(tree, tree, ()), path, mistake.text)
        (file,) = change.files
        assert len(file.hunks) == 1
        assert change.touches(path, mistake.line - 1, mistake.line + 1)


def test_an_incomplete_change_lacks_one_of_the_places_of_a_name() -> None:
    before = {"engine/a.py": "def pad(rows):\n    return rows\n", "engine/b.py": "pad(1)\n"}
    after = {
        "engine/a.py": "def pad(rows, lens):\n    return rows\n",
        "engine/b.py": "pad(1, lens)\n",
    }
    change = ChangeSet(MemoryTree(before), MemoryTree(before), ())
    for path, text in after.items():
        change = with_file(change, path, text)
    seed = incomplete(change, Config(), random.Random(1))
    assert seed is not None
    assert len(seed.change.files) == 1
    assert seed.words == {"lens"}
    assert lines_of(seed.change.head.read(seed.path)) == before[seed.path].splitlines()
