"""One parsed source file, whatever its language: what it defines, and where."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from checks.lang.ir.expr import Expr
from checks.lang.ir.memo import WithMemo
from checks.lang.ir.stmt import Body, Stmt

T = TypeVar("T")
# Line ranges: first and last line, both included.
Ranges = tuple[tuple[int, int], ...]
K = TypeVar("K", bound=Hashable)
_WORD = re.compile(r"\w+")
_PAST_EVERY_LINE = 1 << 62


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter.

    `type` is the source text (`const paddle::Tensor&`, a Python annotation, or empty); `kind` is
    `positional`, `keyword` (after `*`), `args` (`*args`) or `kwargs`.
    """

    name: str
    type: str = ""
    default: Expr | None = None
    kind: str = "positional"
    line: int = 0


@dataclass
class Function:
    """A function definition.

    `qualname` has its class or namespace (`TokenProcessor._process`, `ns::f`); `owner` is the
    class. `marks` holds `__global__`, `__device__`, `static`, `inline`, `template<...>`, and Python
    decorators as source text (`pytest.fixture`, `triton.jit`, `staticmethod`). `clean` is False
    where the parser had to skip something inside, and `broken` then lists those lines. `body` is
    lowered, and what is broken found, when first asked for.
    """

    name: str
    qualname: str
    path: str
    params: tuple[Param, ...]
    start_line: int
    end_line: int
    lower: Callable[[], tuple[Stmt, ...]] = field(repr=False, compare=False)
    returns: str = ""
    owner: str = ""
    marks: tuple[str, ...] = ()
    find_broken: Callable[[], Ranges] = field(default=tuple, repr=False, compare=False)
    doc: str = ""

    @cached_property
    def body(self) -> Body:
        """The statements of the function."""
        return Body(self.lower())

    @cached_property
    def broken(self) -> Ranges:
        """The lines inside that did not parse."""
        return self.find_broken()

    @property
    def clean(self) -> bool:
        """Whether all of the function parsed."""
        return not self.broken

    def covers(self, line: int) -> bool:
        """Whether `line` is one of the function's lines."""
        return self.start_line <= line <= self.end_line


@dataclass(frozen=True, slots=True)
class Constant:
    """A named value at file or class level.

    `kind`: `define`, `constexpr`, `enum`, `assign` (Python), `field` (class attribute). A `#define`
    with parameters has them in `params`.
    """

    name: str
    value: Expr | None
    path: str
    line: int
    kind: str
    owner: str = ""
    params: tuple[str, ...] | None = None
    type: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A struct member: `int tokens[MAX * (K + 1)]` has type `int` and one dim."""

    name: str
    type: str
    dims: tuple[Expr, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Struct:
    """A C++ struct, class or union with its data members."""

    name: str
    members: tuple[Member, ...]
    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Class:
    """A Python class, or a C++ class with methods: names of bases, and lines."""

    name: str
    bases: tuple[str, ...]
    path: str
    start_line: int
    end_line: int
    decorators: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Op:
    """An op registration (`PD_BUILD_STATIC_OP(name).Inputs({...}).Outputs({...}).Attrs({...})
    .SetInplaceMap({...}).SetKernelFn(PD_KERNEL(F))`). `lines` maps each part to its line."""

    name: str
    path: str
    line: int
    end_line: int
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attrs: tuple[str, ...] = ()
    inplace: tuple[tuple[str, str], ...] = ()
    kernel: str = ""
    macro: str = ""


@dataclass
class Binding:
    """A pybind11 `m.def("name", &Func, py::arg("x"), ...)`.

    Its `args` are read when first asked for.
    """

    name: str
    function: str
    path: str
    line: int
    end_line: int
    find_args: Callable[[], tuple[str, ...]] = field(repr=False, compare=False)

    @cached_property
    def args(self) -> tuple[str, ...]:
        return self.find_args()


@dataclass
class Declaration:
    """A C++ function declared but not defined here; `owner` is the class that declares it.

    Its `params` are read when first asked for.
    """

    name: str
    path: str
    line: int
    end_line: int
    returns: str
    find_params: Callable[[], tuple[Param, ...]] = field(repr=False, compare=False)
    owner: str = ""

    @cached_property
    def params(self) -> tuple[Param, ...]:
        return self.find_params()


@dataclass(frozen=True, slots=True)
class Import:
    """`from module import name as alias` (name empty for `import module`), or `#include "module"`.

    `guard` is the source of the conditions around it (`current_platform.is_cuda()`), empty at top
    level.
    """

    module: str
    name: str
    alias: str
    line: int
    guard: str = ""
    function: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment without its markers; a block of `//` or `#` lines that belong together is one
    comment.
    """

    text: str
    line: int
    end_line: int


@dataclass
class SourceFile(WithMemo):
    """A parsed file.

    `unparsed` lists the line ranges outside functions that did not parse; `top` are the statements
    at module level (Python only).
    """

    path: str
    language: str
    lines: tuple[str, ...]
    functions: tuple[Function, ...] = ()
    classes: tuple[Class, ...] = ()
    structs: tuple[Struct, ...] = ()
    constants: tuple[Constant, ...] = ()
    ops: tuple[Op, ...] = ()
    bindings: tuple[Binding, ...] = ()
    declarations: tuple[Declaration, ...] = ()
    imports: tuple[Import, ...] = ()
    unparsed: Ranges = ()
    top: tuple[Stmt, ...] = ()
    find_comments: Callable[[], tuple[Comment, ...]] = field(
        default=tuple, repr=False, compare=False
    )

    @cached_property
    def comments(self) -> tuple[Comment, ...]:
        """Every comment; found when first asked for, few rules read them."""
        return self.find_comments()

    def text(self, start: int, end: int | None = None) -> str:
        """The source of lines `start`..`end`, both included; of one line without `end`."""
        return "\n".join(self.lines[start - 1 : end or start])

    def text_of(self, definition: Function | Struct | Class) -> str:
        """The source of a definition, as written."""
        return self.text(definition.start_line, definition.end_line)

    def excerpt(self, line: int) -> str:
        """A line without the white space around it, as evidence shows it; empty for line 0."""
        return self.text(line).strip()

    def function_at(self, line: int) -> Function | None:
        """The innermost function that holds `line`."""
        return self._innermost.get(line)

    @cached_property
    def _innermost(self) -> dict[int, Function]:
        """The innermost function of each line that stands in one."""
        innermost: dict[int, Function] = {}
        # The shortest first: what is around it does not take its lines.
        for function in sorted(self.functions, key=lambda f: f.end_line - f.start_line):
            for line in range(function.start_line, function.end_line + 1):
                innermost.setdefault(line, function)
        return innermost

    def functions_naming(self, word: str) -> list[Function]:
        """The functions in whose text `word` stands as a whole word, in source order."""
        return self._functions_by_word.get(word, [])

    def functions_naming_any(self, words: Iterable[str]) -> list[Function]:
        """The functions in whose text one of `words` stands, in source order."""
        found = {id(f): f for word in words for f in self.functions_naming(word)}
        return sorted(found.values(), key=lambda f: (f.start_line, -f.end_line))

    def functions_on(self, lines: Iterable[int]) -> list[Function]:
        """The functions that hold one of `lines`, in source order."""
        ordered = sorted(lines)
        return [f for f in self.functions if any_line_in(ordered, f.start_line, f.end_line)]

    def methods_of(self, owner: str) -> list[Function]:
        """The functions of the class `owner`, in source order."""
        return self._functions_by_owner.get(owner, [])

    @cached_property
    def _functions_by_owner(self) -> dict[str, list[Function]]:
        return group_by(self.functions, lambda f: f.owner)

    def constants_of(self, owner: str) -> list[Constant]:
        """The constants of the class `owner`, in source order."""
        return self._constants_by_owner.get(owner, [])

    @cached_property
    def _constants_by_owner(self) -> dict[str, list[Constant]]:
        return group_by(self.constants, lambda c: c.owner)

    @cached_property
    def _functions_by_word(self) -> dict[str, list[Function]]:
        """The functions by each word of their text.

        One pass over the file, so that as many questions as a change has functions cost no more
        than the file is long.
        """
        found: dict[str, list[Function]] = {}
        for function in self.functions:
            for word in set(_WORD.findall(self.text_of(function))):
                found.setdefault(word, []).append(function)
        return found

    @cached_property
    def functions_named(self) -> dict[str, list[Function]]:
        """Functions by qualified name."""
        return group_by(self.functions, lambda f: f.qualname)

    @cached_property
    def classes_named(self) -> dict[str, list[Class]]:
        return group_by(self.classes, lambda c: c.name)

    @cached_property
    def constants_named(self) -> dict[tuple[str, str], list[Constant]]:
        """Constants by owner (empty at the top level) and name."""
        return group_by(self.constants, lambda c: (c.owner, c.name))

    @cached_property
    def imports_named(self) -> dict[str, list[Import]]:
        """Imports by the name that they bind."""
        return group_by(self.imports, lambda i: i.alias or i.name or i.module.split(".")[0])

    def named(self, name: str) -> list[Function]:
        """Functions with this plain or qualified name."""
        return self._functions_by_either_name.get(name, [])

    @cached_property
    def _functions_by_either_name(self) -> dict[str, list[Function]]:
        found: dict[str, list[Function]] = {}
        for function in self.functions:
            for name in {function.name, function.qualname}:
                found.setdefault(name, []).append(function)
        return found

    @cached_property
    def broken(self) -> Ranges:
        """The line ranges that did not parse, of every function too."""
        ranges = set(self.unparsed)
        for function in self.functions:
            ranges.update(function.broken)
        return tuple(sorted(ranges))

    def is_broken(self, start: int, end: int) -> bool:
        """Whether any part of these lines did not parse."""
        place = bisect_right(self._broken_apart, (end, _PAST_EVERY_LINE)) - 1
        return place >= 0 and start <= self._broken_apart[place][1]

    @cached_property
    def _broken_apart(self) -> Ranges:
        """The same ranges, of which no two overlap."""
        return join_ranges(self.broken)


def any_line_in(lines: Sequence[int], first: int, last: int) -> bool:
    """Whether one of `lines`, which are in order, is one of `first` to `last`."""
    place = bisect_left(lines, first)
    return place < len(lines) and lines[place] <= last


def join_ranges(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The line ranges in order, those that overlap or touch made one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return tuple(joined)


def group_by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """The items by their keys, in order."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
