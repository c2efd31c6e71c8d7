"""A review grows with its change and no faster, and what is too much for one is told."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from checks.core.budget import within_budget
from checks.core.change import ChangeSet, FileChange, Hunk
from checks.core.config import Config
from checks.core.finding import Side
from checks.core.tree import MemoryTree
from checks.review import review


def change_of(files: dict[str, str]) -> ChangeSet:
    """The files as if the change had brought them."""
    changes = []
    for path, text in files.items():
        changes.append(FileChange("A", None, path, (Hunk(0, 0, 1, text.count("\n")),)))
    return ChangeSet(MemoryTree({}), MemoryTree(files), tuple(changes))


def python(functions: int) -> str:
    """Methods that call each other, of classes with fields of their own."""
    parts = ["import torch\n\nMOST = 8\n"]
    for n in range(functions):
        if n % 10 == 0:
            parts.append(f"\n\nclass Proposer{n}:\n    def __init__(self, runner):\n")
            parts.append(
                f"        self.runner = runner\n        self.held_{n} = torch.empty(MOST)\n"
            )
        parts.append(f"\n    def step_{n}(self, accept_num, drafts, x):\n")
        parts.append("        if self.runner.is_cuda:\n            return x[accept_num - 1]\n")
        parts.append(f"        return self.step_{n - n % 10}(accept_num, drafts, x)\n")
    return "".join(parts)


def cuda(functions: int) -> str:
    """Kernels and their launches."""
    parts = ['#include "x.h"\n#define MOST 8\n']
    for n in range(functions):
        parts.append(
            f"\n__global__ void kernel_{n}(int *accept_num, const int *drafts, int bs) {{\n"
        )
        parts.append("  int i = threadIdx.x + blockIdx.x * blockDim.x;\n")
        parts.append("  if (i < bs) accept_num[i] = drafts[i] << 8 | MOST;\n}\n")
        parts.append(f"\nvoid launch_{n}(int *a, const int *d, int bs) {{\n")
        parts.append(f"  kernel_{n}<<<(bs + 255) / 256, 256>>>(a, d, bs);\n}}\n")
    return "".join(parts)


def calls_made(change: ChangeSet) -> int:
    """How many calls of functions a review makes: the work, whatever the machine."""
    count = 0

    def note(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        if event == "call":
            count += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        review(change, Config())
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(("write", "path"), [(python, "engine/a.py"), (cuda, "engine/a.cu")])
def test_twice_the_functions_are_twice_the_work(write, path):
    small, large = (calls_made(change_of({path: write(n)})) for n in (150, 300))
    assert large < 2.2 * small


def remade(assignments: int) -> str:
    """A variable that is made from itself again and again."""
    lines = [f"    rows = rows.scaled_rows({n}).kept_rows({n})\n" for n in range(assignments)]
    return "def run(start):\n    rows = start.begin()\n" + "".join(lines) + "    return rows\n"


def test_a_variable_that_is_made_from_itself_is_looked_for_once():
    small, large = (calls_made(change_of({"engine/a.py": remade(n)})) for n in (3, 6))
    assert large < 2.2 * small


def test_what_is_too_much_is_left_out_and_told():
    """The cheapest files are read, in whatever order they come."""
    files = {"engine/large.py": python(300), "engine/small.py": python(3)}
    change = within_budget(change_of(files), 3000)
    outcome = review(change, Config())
    assert outcome.not_analysed == (("engine/large.py", "too-much"),)
    assert change.unit("engine/large.py") is None
    assert change.unit("engine/small.py") is not None


def test_what_fits_is_left_as_it_is():
    change = change_of({"engine/small.py": python(30)})
    assert within_budget(change) is change


def test_one_long_line_is_charged_for_what_is_in_it():
    files = {"engine/table.py": "TABLE = [" + "1," * 50_000 + "]\n", "engine/small.py": python(3)}
    change = within_budget(change_of(files), 3000)
    assert review(change, Config()).not_analysed == (("engine/table.py", "too-much"),)


def altered(path: str, text: str) -> ChangeSet:
    """One line of the file is another."""
    file = FileChange("M", path, path, (Hunk(5, 1, 5, 1),))
    return ChangeSet(MemoryTree({path: text}), MemoryTree({path: text + "\n"}), (file,))


def test_one_line_that_changed_is_charged_for_reading_its_file():
    """That is less than what the file would cost as a new one, and no matter of its lines alone."""
    text = python(2000)
    read = 2 * len(text) // 48
    change = altered("engine/a.py", text)
    assert within_budget(change, read + 50) is change
    assert change.unit("engine/a.py", Side.BASE) is not None
    assert within_budget(change, read) is not change
    new = change_of({"engine/a.py": text})
    assert within_budget(new, 2 * read) is not new
