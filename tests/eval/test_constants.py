"""Names to values, across files and languages."""

from __future__ import annotations

import pytest

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.core.tree import MemoryTree
from checks.eval.constants.lookup import Constants, ConstantValue
from checks.lang.ir.expr import Expr
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Return

CPP = {
    "ops/common/limits.h": """\
#pragma once
#define MAX_BSZ 512
#define SHIFT(x, n) ((x) << (n))
constexpr int K = 20;
constexpr int64_t STRIDE = K + 1;
enum Flag { FIRST = 3, SECOND };
enum class Color : uint8_t { RED = 250, BLUE };
namespace deep { constexpr unsigned int MASK = 0xFFFF; }
__host__ __device__ inline int cdiv(int a, int b) { return (a + b - 1) / b; }
#ifdef WIDE
#define WIDTH 64
#else
#define WIDTH 32
#endif
#ifdef WIDE
#define SAME 7
#else
#define SAME (8 - 1)
#endif
""",
    "ops/gpu/pack.cu": """\
#include "../common/limits.h"
#include "helper.h"
#include <cuda.h>

#define LOOP_A LOOP_B + 1
#define LOOP_B LOOP_A + 1

int pack(int n) {
  const int width = K / 3;
  int twice = width * 2;
  int moved = 1;
  moved = 2;
  int filled = 4;
  fill(&filled);
  return MAX_BSZ;
}
""",
    "ops/gpu/helper.h": "#define LOCAL (MAX_BSZ * 2)\n",
    "other/helper.h": "#define LOCAL 9\n",
}

PYTHON = {
    "pkg/__init__.py": "from .limits import K as TOP\n",
    "pkg/limits.py": """\
import enum
from enum import IntEnum, auto

K = 20
MAX_BSZ = 256 * 2
LOW, HIGH = -1, K // -3
CHANGED = 1
NAMES = ("a", K)


class Flag(IntEnum):
    FIRST = auto()
    SECOND = auto()
    TENTH = 10
    NEXT = auto()


class Base:
    WIDTH = K


def touch():
    global CHANGED
    CHANGED = 2


def cdiv(a, b):
    return (a + b - 1) // b
""",
    "pkg/reader.py": """\
import os
import pkg.limits
import pkg.limits as lim
from pkg import TOP
from pkg.limits import K, Base, Flag, cdiv, CHANGED
from .limits import MAX_BSZ as LARGEST, NAMES
from torch import K as THEIRS

try:
    from fast import LEVEL
except ImportError:
    LEVEL = 3

if os.name:
    SIDE = 4
else:
    SIDE = 2 + 2


@dataclass
class Options:
    depth: int = 3


class Reader(Base):
    STEP = 2
    DOUBLE = STEP * 2

    def __init__(self, size):
        self.size = size
        self.span = K + 1
        self.grown = 1

    def read(self, n):
        self.grown += 1
        start = K + 1
        if n:
            start = 21
        end = start
        end = 2
        for i in range(3):
            pass

        def inner():
            return start

        return None
""",
}


def make(files: dict[str, str]) -> tuple[ChangeSet, Constants]:
    change = ChangeSet(MemoryTree({}), MemoryTree(files), ())
    return change, Constants(change)


def look(files: dict[str, str], path: str, source: str, function: str = "") -> ConstantValue | None:
    """The value of the text `source`, read as if it stood in `path` (in `function`)."""
    change, constants = make(files)
    unit = change.unit(path)
    assert unit is not None
    inside = unit.named(function)[0] if function else None
    return constants.resolve(parsed(source, unit.language), unit, inside)


def parsed(source: str, language: str) -> Expr:
    cpp = f"int f() {{ return {source}; }}"
    path, text = (
        ("x.cc", cpp) if language == "cpp" else ("x.py", f"def f():\n    return {source}\n")
    )
    unit = ChangeSet(MemoryTree({}), MemoryTree({path: text}), ()).unit(path)
    assert isinstance(unit, SourceFile)
    function: Function = unit.functions[0]
    statement = function.body[0]
    assert isinstance(statement, Return) and statement.value is not None
    return statement.value


def plain(found: ConstantValue | None) -> object:
    return "unknown" if found is None else found.value


@pytest.mark.parametrize(
    ("source", "function", "expected"),
    [
        ("MAX_BSZ", "", 512),
        ("K * 2 / 3", "", 13),
        ("-K / 3", "", -6),
        ("STRIDE", "", 21),
        ("SECOND", "", 4),
        ("Color::BLUE", "", 251),
        ("deep::MASK", "", 65535),
        ("SHIFT(K, 2)", "", 80),
        ("cdiv(K, 3)", "", 7),
        ("LOCAL", "", 1024),
        ("WIDTH", "", "unknown"),
        ("SAME", "", 7),
        ("LOOP_A", "", "unknown"),
        ("sizeof(int64_t) * K", "", 160),
        ("missing", "", "unknown"),
        ("width", "pack", 6),
        ("twice", "pack", 12),
        ("moved", "pack", "unknown"),
        ("filled", "pack", "unknown"),
        ("n", "pack", "unknown"),
        ("(int8_t)MAX_BSZ", "", 0),
        ("K > 3 ? 1 : missing", "", 1),
    ],
)
def test_cpp(source: str, function: str, expected: object) -> None:
    assert plain(look(CPP, "ops/gpu/pack.cu", source, function)) == expected


@pytest.mark.parametrize(
    ("source", "function", "expected"),
    [
        ("K", "", 20),
        ("TOP", "", 20),
        ("LARGEST", "", 512),
        ("lim.HIGH", "", -7),
        ("pkg.limits.LOW", "", -1),
        ("NAMES", "", ("a", 20)),
        ("THEIRS", "", "unknown"),
        ("LEVEL", "", "unknown"),
        ("SIDE", "", 4),
        ("CHANGED", "", "unknown"),
        ("lim.CHANGED", "", "unknown"),
        ("Flag.SECOND", "", 2),
        ("Flag.NEXT.value", "", 11),
        ("lim.Flag.TENTH", "", 10),
        ("Base.WIDTH", "", 20),
        ("Reader.WIDTH", "", 20),
        ("Reader.DOUBLE", "", 4),
        ("Options.depth", "", 3),
        ("cdiv(K, 3)", "", 7),
        ("self.STEP", "Reader.read", 2),
        ("self.WIDTH", "Reader.read", 20),
        ("self.span", "Reader.read", 21),
        ("self.span", "Reader.read.inner", 21),
        ("self.size", "Reader.read", "unknown"),
        ("self.grown", "Reader.read", "unknown"),
        ("start", "Reader.read", 21),
        ("start", "Reader.read.inner", 21),
        ("end", "Reader.read", "unknown"),
        ("n", "Reader.read", "unknown"),
        ("i", "Reader.read", "unknown"),
        ("os.name", "", "unknown"),
    ],
)
def test_python(source: str, function: str, expected: object) -> None:
    assert plain(look(PYTHON, "pkg/reader.py", source, function)) == expected


def test_a_module_s_name_that_a_function_sets_is_not_constant() -> None:
    assert look(PYTHON, "pkg/limits.py", "CHANGED") is None


def test_every_definition_on_the_way_is_cited() -> None:
    found = look(CPP, "ops/gpu/pack.cu", "LOCAL")
    assert found is not None
    assert [(p.path, p.start_line) for p in found.locations] == [
        ("ops/gpu/helper.h", 1),
        ("ops/common/limits.h", 2),
    ]
    same = look(CPP, "ops/gpu/pack.cu", "SAME")
    assert same is not None and [p.start_line for p in same.locations] == [16, 18]
    literal = look(CPP, "ops/gpu/pack.cu", "3")
    assert literal == ConstantValue(3)


def test_definitions_of_one_name_in_both_languages() -> None:
    _, constants = make(CPP | PYTHON)
    found = constants.definitions("MAX_BSZ")
    assert [(c.path, c.line) for c in found] == [("ops/common/limits.h", 2), ("pkg/limits.py", 5)]
    values = [constants.value_of(c) for c in found]
    assert [plain(v) for v in values] == [512, 512]
    assert [(c.path, plain(constants.value_of(c))) for c in constants.definitions("LOCAL")] == [
        ("ops/gpu/helper.h", "unknown"),
        ("other/helper.h", 9),
    ]


def test_a_template_parameter_hides_a_constant_of_its_name() -> None:
    source = """\
constexpr int K = 20;
namespace deep { constexpr int N = 3; }
template <typename T, int K>
__global__ void wide(T *out) { out[0] = K; }
template <class Traits>
struct Holder { static constexpr int SIZE = Traits::K; static constexpr int TEN = K / 2; };
template <int K>
struct Other { static constexpr int HALF = K / 2; };
"""
    assert plain(look({"a.cu": source}, "a.cu", "K")) == 20
    assert plain(look({"a.cu": source}, "a.cu", "K", "wide")) == "unknown"
    assert plain(look({"a.cu": source}, "a.cu", "Holder::SIZE")) == "unknown"
    assert plain(look({"a.cu": source}, "a.cu", "Other::HALF")) == "unknown"
    assert plain(look({"a.cu": source}, "a.cu", "deep::N")) == 3


def test_each_side_has_its_own_values() -> None:
    base, head = MemoryTree({"m.py": "K = 1\n"}), MemoryTree({"m.py": "K = 2\n"})
    change = ChangeSet(base, head, ())
    for side, expected in ((Side.BASE, 1), (Side.HEAD, 2)):
        constants = Constants(change, side)
        (definition,) = constants.definitions("K")
        found = constants.value_of(definition)
        assert found is not None and found.value == expected
        assert found.locations[0].side is side


def test_imports_in_a_circle_end() -> None:
    files = {"a.py": "from b import X as Y\nX = Y\n", "b.py": "from a import Y as X\n"}
    change, constants = make(files)
    unit = change.unit("a.py")
    assert unit is not None
    assert constants.resolve(parsed("X", "python"), unit) is None


@pytest.mark.parametrize("first", ["1", "missing", "'a'"])
def test_a_dense_web_of_definitions_is_walked_once(first: str) -> None:
    text = f"X0 = {first}\n" + "".join(f"X{i} = X{i - 1} + X{i - 1}\n" for i in range(1, 60))
    change, constants = make({"a.py": text})
    unit = change.unit("a.py")
    assert unit is not None
    for n in range(60):
        found = constants.resolve(parsed(f"X{n}", "python"), unit)
        assert found is None or len(found.locations) == n + 1
    assert (plain(constants.resolve(parsed("X59", "python"), unit)) == 2**59) == (first == "1")


def test_deep_definitions_do_not_exhaust_the_stack() -> None:
    deep = "(" * 60 + "X{}" + "+ 1)" * 60
    text = "X0 = 1\n" + "".join(f"X{i} = {deep.format(i - 1)}\n" for i in range(1, 24))
    change, constants = make({"a.py": text})
    unit = change.unit("a.py")
    assert unit is not None
    assert constants.resolve(parsed("X23", "python"), unit) is None
    assert plain(constants.resolve(parsed("X1", "python"), unit)) == 61


def test_definitions_of_one_value_in_two_types_agree() -> None:
    source = "#ifdef A\nconstexpr int64_t N = 5;\n#else\n#define N 5\n#endif\n"
    assert plain(look({"a.cc": source}, "a.cc", "N")) == 5


def test_a_long_chain_is_cut_off() -> None:
    text = "X0 = 1\n" + "".join(f"X{i} = X{i - 1} + 1\n" for i in range(1, 200))
    change, constants = make({"a.py": text})
    unit = change.unit("a.py")
    assert unit is not None
    assert constants.resolve(parsed("X199", "python"), unit) is None
    assert plain(constants.resolve(parsed("X20", "python"), unit)) == 21
