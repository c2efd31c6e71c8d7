"""Tests followed without running them: what certainly fails, and what must not be claimed."""

import pytest

from checks.eval.interpreter.machine import TestInterpreter
from checks.eval.interpreter.modules import Modules
from checks.eval.interpreter.program import PatchedModules
from checks.lang.python.parse import parse_python

READER = """
import numpy as np

WIDTH = 4


class Reader:
    def __init__(self, on=True):
        self.on = on
        self.words = np.zeros([20, 1], dtype="int64")

    def step(self):
        width = int(self.words[1, 0]) >> 8
        rows = self.words[4:12].reshape([2, WIDTH])[:, :width].tolist()
        return [row[0] for row in rows]
"""


def follow(test, **modules):
    """The failures that the interpreter predicts for the one test in `test`."""
    (machine,) = follow_all(test, **modules)
    return [(f.exception, f.line) for f in machine.failures]


def follow_all(test, budget=60_000, **modules):
    """The machines that followed each test in `test`, over the same modules."""
    files = {"app/reader.py": READER, "tests/test_it.py": test}
    files |= {f"app/{name}.py": text for name, text in modules.items()}
    units = {path: parse_python(path, text.encode()) for path, text in files.items()}
    shared, unit, machines = Modules(units.get), units["tests/test_it.py"], []
    for function in unit.functions:
        if function.name.startswith("test"):
            program, altered = PatchedModules(shared), lambda path, start, end: True
            machines.append(
                TestInterpreter(program, altered, lambda path: path.startswith("tests/"), budget)
            )
            machines[-1].run(function, unit)
    return machines


HEAD = "from app.reader import Reader\n\n\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "def test():\n    r = Reader()\n    r.words[1, 0] = 3\n    r.step()\n",
            [("IndexError", 7)],
        ),
        ("def test():\n    r = Reader()\n    r.words[1, 0] = 3 | (2 << 8)\n    r.step()\n", []),
        ("def test(size):\n    r = Reader()\n    r.words[1, 0] = size\n    r.step()\n", []),
        ("def test():\n    r = Reader()\n    r.words[:] = unknown()\n    r.step()\n", []),
        ("def test():\n    assert Reader().on == False\n", [("AssertionError", 5)]),
        ("def test():\n    Reader(1, 2, 3)\n", [("TypeError", 5)]),
        ("def test():\n    Reader(off=True)\n", [("TypeError", 5)]),
        ("def test():\n    Reader().missing\n", [("AttributeError", 5)]),
        ("def test():\n    {'a': 1}['b']\n", [("KeyError", 5)]),
        ("def test():\n    a, b = [1, 2, 3]\n", [("ValueError", 5)]),
        ("def test():\n    1 // 0\n", [("ZeroDivisionError", 5)]),
        ("def test():\n    try:\n        [][0]\n    except IndexError:\n        pass\n", []),
        ("def test():\n    with pytest.raises(IndexError):\n        Reader().step()\n", []),
        (
            "def test(flag):\n    r = Reader()\n"
            "    if flag:\n        r.words[1, 0] = 256\n    r.step()\n",
            [],
        ),
        ("def test(flag):\n    if flag:\n        return\n    [][0]\n", []),
        ("def test():\n    for n in range(3):\n        [0, 1][n]\n", [("IndexError", 5)]),
        (
            "def test(monkeypatch):\n    monkeypatch.setattr(Reader, 'step', None)\n"
            "    Reader().step()\n",
            [],
        ),
    ],
)
def test_what_is_predicted(body, expected):
    found = follow(HEAD + body)
    assert [name for name, _ in found] == [name for name, _ in expected]


def test_the_test_is_followed_beyond_its_first_failure():
    body = (
        "def test():\n    r = Reader()\n    r.words[1, 0] = 3\n    r.step()\n"
        "    r.words[1, 0] = 4\n    r.step()\n"
    )
    assert follow(HEAD + body) == [("IndexError", 7), ("IndexError", 9)]


def test_a_patched_function_is_not_entered():
    helper = "def width():\n    return 0\n\n\ndef first():\n    return [1][: width()][0]\n"
    text = (
        "from unittest import mock\n\nfrom app import helper\n\n\n"
        "def test():\n    with mock.patch.object(helper, 'width'):\n        helper.first()\n"
    )
    assert follow(text, helper=helper) == []
    plain = "from app import helper\n\n\ndef test():\n    helper.first()\n"
    assert follow(plain, helper=helper) == [("IndexError", 5)]


def test_objects_with_their_own_indexing():
    tensor = """
import numpy as np


class Tensor:
    def __init__(self, array):
        self.array = array

    def __getitem__(self, key):
        return Tensor(self.array[key])

    def __setitem__(self, key, value):
        self.array[key] = value

    def __int__(self):
        return int(self.array.item())


def make():
    return Tensor(np.zeros([3], dtype="int64"))
"""
    text = (
        "from app.tensor import make\n\n\n"
        "def test():\n    t = make()\n    t[0] = 2\n    [1, 2][int(t[0])]\n    [1, 2][int(t[1])]\n"
    )
    assert follow(text, tensor=tensor) == [("IndexError", 7)]


SET_UP = """
import numpy as np
from app.reader import Reader

SEEN = []


class TestIt:
    def setUp(self):
        self.reader = Reader()
        self.reader.words[1, 0] = 2 << 8
        self.rows = self.reader.words[4:6]
        self.named = {"rows": self.rows, "reader": self.reader, "list": [0, 1]}
        self.step = self.reader.step
        self.reader.test, self.list = self, self.named["list"]
        self.long = np.zeros([5000], dtype="int64")
        self.part = self.long[1:]
        self.add = self.list.append

        def size():
            return len(self.list)

        self.size = size
        SEEN.append(1)
"""


def test_tests_of_a_class_share_no_object_that_its_set_up_made():
    each = """
    def test_{name}(self):
        assert len(SEEN) == 1 and len(self.named["list"]) == 2 and self.rows[0, 0] == 0
        self.step()
        self.rows[:] = 7
        assert self.reader.words[4, 0] == 7
        self.reader.test.add(2)
        assert len(self.named["list"]) == 3 and self.size() == 3 and self.long[1] == 0
        unknown(self.part)
        assert self.long[1] == 1
        self.named["reader"].words[1, 0] = 3
        self.step()
"""
    machines = follow_all(
        SET_UP + each.format(name="first") + each.format(name="second") + each.format(name="third")
    )
    failures = [[(f.exception, f.line - m.failures[0].line) for f in m.failures] for m in machines]
    assert failures == [[("IndexError", 0)]] * 3
    assert [m.failures[0].line for m in machines] == [36, 48, 60]
    assert len({m.budget for m in machines}) == 1
    assert [sorted(o.line for o in m.stores)[:4] for m in machines] == [[10, 11, 12, 13]] * 3


def test_a_set_up_is_followed_for_each_test_that_patches_first():
    test = """
    def test_plain(self):
        assert self.reader.on == False

    @patch("app.reader.Reader.__init__")
    def test_patched(self, init):
        assert self.reader.on == False

    def test_plain_again(self):
        assert self.reader.on == False
"""
    failed = [[f.exception for f in m.failures] for m in follow_all(SET_UP + test)]
    assert failed == [["AssertionError"], [], ["AssertionError"]]


def test_a_set_up_that_patches_patches_for_every_test():
    set_up = """
from app import reader


class TestIt:
    def setUp(self):
        reader.WIDTH = 2
"""
    test = "\n    def test_{}(self):\n        assert reader.WIDTH == 4\n        reader.WIDTH = 4\n"
    failed = [
        [f.exception for f in m.failures]
        for m in follow_all(set_up + test.format(1) + test.format(2))
    ]
    assert failed == [["AssertionError"]] * 2
