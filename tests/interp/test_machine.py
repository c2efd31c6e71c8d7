"""Tests followed without running them: what certainly fails, and what must not be claimed."""

import pytest

from checks.interp.machine import Machine
from checks.interp.program import Modules, Program
from checks.py.parse import parse_python

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
    files = {"app/reader.py": READER, "tests/test_it.py": test}
    files |= {f"app/{name}.py": text for name, text in modules.items()}
    units = {path: parse_python(path, text.encode()) for path, text in files.items()}
    machine = Machine(
        Program(Modules(units.get)), lambda path, start, end: True, lambda path: path.startswith("tests/")
    )
    unit = units["tests/test_it.py"]
    function = next(f for f in unit.functions if f.name.startswith("test"))
    machine.run(function, unit)
    return [(f.exception, f.line) for f in machine.failures]


HEAD = "from app.reader import Reader\n\n\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def test():\n    r = Reader()\n    r.words[1, 0] = 3\n    r.step()\n", [("IndexError", 7)]),
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
        ("def test(flag):\n    r = Reader()\n    if flag:\n        r.words[1, 0] = 256\n    r.step()\n", []),
        ("def test(flag):\n    if flag:\n        return\n    [][0]\n", []),
        ("def test():\n    for n in range(3):\n        [0, 1][n]\n", [("IndexError", 5)]),
        ("def test(monkeypatch):\n    monkeypatch.setattr(Reader, 'step', None)\n    Reader().step()\n", []),
    ],
)
def test_what_is_predicted(body, expected):
    found = follow(HEAD + body)
    assert [name for name, _ in found] == [name for name, _ in expected]


def test_the_test_is_followed_beyond_its_first_failure():
    body = "def test():\n    r = Reader()\n    r.words[1, 0] = 3\n    r.step()\n    r.words[1, 0] = 4\n    r.step()\n"
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
