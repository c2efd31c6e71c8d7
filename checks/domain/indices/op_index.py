"""Where the watched indices are used in one tree: files, op registrations, and what each op does with its index."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.core.tree import contains_word
from checks.eval.symbolic.interpret import Interpreter, Watch, is_buffer
from checks.eval.symbolic.values import Access
from checks.lang.ir.source_file import Function, Op, SourceFile
from checks.lang.source import language

# Of the language's own: looked for, they would be found called in every other file, and all of those parsed.
_LIBRARY = frozenset({"abort", "assert", "free", "malloc", "memcpy", "memset", "printf"})
_REGISTERED = re.compile(rb"\b[A-Z][A-Z_]*BUILD[A-Z_]*\(\s*(\w+)\s*\)")


@dataclass(frozen=True, slots=True)
class Uses:
    """Every use that an op makes of its indices. `advances` maps an index that the op writes to where it does so;
    `paths` are the files that its code was found in."""

    accesses: tuple[Access, ...]
    advances: tuple[tuple[str, tuple[str, int]], ...]
    paths: frozenset[str]


@dataclass(frozen=True, eq=False)
class OpFacts:
    """An op's implementation on one hardware. `params` are the names in call order, `indices` those of them that are
    indices; what it does with these is found when first asked for."""

    name: str
    path: str
    hardware: str
    params: tuple[str, ...]
    indices: tuple[str, ...]
    line: int
    find_uses: Callable[[], Uses] = field(repr=False)

    @cached_property
    def uses(self) -> Uses:
        return self.find_uses()

    @property
    def accesses(self) -> tuple[Access, ...]:
        return self.uses.accesses

    @property
    def advances(self) -> tuple[tuple[str, tuple[str, int]], ...]:
        return self.uses.advances

    def advance(self, index: str) -> tuple[str, int] | None:
        return dict(self.advances).get(index)


class Library:
    """The files of one side of a change that hold an index as a word; all else of the tree is never read."""

    def __init__(
        self,
        change: ChangeSet,
        side: Side,
        config: Config,
        watch: Watch,
        twin: Library | None = None,
    ) -> None:
        """`twin` is the other side: what it found in files that did not change holds here too."""
        self.twin = twin
        self.change = change
        self.side = side
        self.config = config
        self.watch = watch
        self._facts: dict[tuple[str, str], OpFacts | None] = {}
        self._references: dict[tuple[str, str], list[Access]] = {}
        self._seen: set[str] = set()
        self._functions: dict[tuple[str, str, int], Function | None] = {}

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Path to contents, in path order."""
        tree = self.change.tree(self.side)
        paths = sorted({path for name in self.watch.names for path in tree.paths_containing(name)})
        found = {p: tree.read(p) for p in paths if language(p)}
        return {p: data for p, data in found.items() if data is not None}

    def holding(self, kind: str, *words: str) -> list[str]:
        """Files of the language `kind` that hold any of `words` as a word."""
        needles = [w.encode() for w in words]
        return [
            p
            for p, data in self.files.items()
            if language(p) == kind and any(contains_word(data, n) for n in needles)
        ]

    def unit(self, path: str) -> SourceFile | None:
        return self.change.unit(path, self.side)

    @cached_property
    def ops(self) -> dict[str, tuple[str, ...]]:
        """Op name to the C++ files that register it."""
        found: dict[str, list[str]] = {}
        for path, data in self.files.items():
            if language(path) == "cpp" and b"BUILD" in data:
                for name in _REGISTERED.findall(data):
                    found.setdefault(name.decode(), []).append(path)
        return {
            name: tuple(dict.fromkeys(paths)) for name, paths in found.items() if name != "name"
        }

    def facts(self, name: str, hardware: str | None = None) -> list[OpFacts]:
        """What the op `name` does, one entry for each file (for `hardware`, where given) that registers it."""
        paths = [
            p
            for p in self.ops.get(name, ())
            if hardware is None or self.config.hardware_of(p) == hardware
        ]
        made = [self.facts_in(name, path) for path in paths]
        return [f for f in made if f is not None]

    def facts_in(self, name: str, path: str) -> OpFacts | None:
        key = (name, path)
        if key not in self._facts:
            self._facts[key] = self._registered(name, path)
        return self._facts[key]

    def _registered(self, name: str, path: str) -> OpFacts | None:
        unit = self.unit(path)
        op = next((o for o in unit.ops if o.name == name), None) if unit else None
        host = (
            next((f for f in unit.functions if f.name == op.kernel), None) if unit and op else None
        )
        if op is None or host is None:
            return None
        names = _names(op, host)
        order = tuple(names.get(p.name, p.name) for p in host.params)
        watched = sorted(p.name for p in host.params if self.watch(p.name) and is_buffer(p.type))
        hardware = self.config.hardware_of(path)
        uses = Uses((), (), frozenset({path}))  # where nothing is an index
        find = partial(self._uses, name, path, host, names) if watched else lambda: uses
        return OpFacts(
            name, path, hardware, order, tuple(names.get(n, n) for n in watched), op.line, find
        )

    def _uses(self, name: str, path: str, host: Function, names: dict[str, str]) -> Uses:
        twin = (
            self.twin.facts_in(name, path)
            if self.twin and path in self.twin.ops.get(name, ())
            else None
        )
        if twin is not None and not twin.uses.paths & self._changed:
            return twin.uses
        self._seen = {path}
        run = Interpreter(self.watch, self.find)
        accesses = tuple(_rename(a, names) for a in run.enter(host))
        advances = tuple((names.get(k, k), v) for k, v in sorted(run.advances.items()))
        return Uses(accesses, advances, frozenset(self._seen))

    @cached_property
    def _changed(self) -> frozenset[str]:
        files = self.change.files
        return frozenset(p for f in files for p in (f.base_path, f.head_path) if p is not None)

    def function_accesses(self, function: Function) -> list[Access]:
        """The uses that a Python function makes of its parameters (a reference implementation)."""
        key = (function.path, function.qualname)
        if key not in self._references:
            self._references[key] = Interpreter(self.watch, self.find, python=True).enter(function)
        return self._references[key]

    def find(self, name: str, path: str, arity: int) -> Function | None:
        """The function that a call of `name` with `arity` arguments means in `path`: one of the same file, of a file
        that it includes, or of a file for the same hardware."""
        key = (name, path, arity)
        if key not in self._functions:
            self._functions[key] = self._look(name, path, arity)
        found = self._functions[key]
        if found is not None:
            self._seen.add(found.path)
        return found

    def _look(self, name: str, path: str, arity: int) -> Function | None:
        unit = self.unit(path)
        if unit is None or name.isupper() or name in _LIBRARY:
            return None
        found = _named(unit, name, arity)
        if found is not None or unit.language != "cpp":
            return found
        for other in self._includes(unit, 2):
            found = _named(other, name, arity)
            if found is not None:
                return found
        return self._elsewhere(name, path, arity)

    def _includes(self, unit: SourceFile, depth: int) -> Iterator[SourceFile]:
        for item in unit.imports:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(unit.path), item.module))
            other = self.unit(target) if not target.startswith("..") else None
            if other is not None:
                yield other
                if depth > 1:
                    yield from self._includes(other, depth - 1)

    def _elsewhere(self, name: str, path: str, arity: int) -> Function | None:
        """A definition in another file of the same hardware that uses the index, not a header's declaration."""
        near = self.config.hardware_of(path)
        plain = re.escape(name.encode())
        opened = re.compile(rb"%b(?<![^\s*&:]%b)\s*\(" % (plain, plain))
        for other, data in self.files.items():
            if language(other) != "cpp" or other == path or self.config.hardware_of(other) != near:
                continue
            if (
                name.encode() not in data
                or not opened.search(data)
                or other.endswith((".h", ".hpp"))
            ):
                continue
            unit = self.unit(other)
            found = _named(unit, name, arity) if unit else None
            if found is not None:
                return found
        return None


_EDGES = frozenset(
    bytes([c]) for c in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
)


def places(data: bytes, word: bytes) -> Iterator[int]:
    """Where `word` stands in `data` as a whole word."""
    start = data.find(word)
    while start >= 0:
        end = start + len(word)
        if data[start - 1 : start] not in _EDGES and data[end : end + 1] not in _EDGES:
            yield start
        start = data.find(word, end)


def _named(unit: SourceFile, name: str, arity: int) -> Function | None:
    """The function of `unit` that a call with `arity` arguments can mean."""
    for function in unit.functions:
        params = [
            p for p in function.params if p.name not in ("self", "cls") or unit.language == "cpp"
        ]
        least = sum(p.default is None and p.kind == "positional" for p in params)
        if function.name == name and least <= arity <= len(params):
            return function
    return None


def _names(op: Op, host: Function) -> dict[str, str]:
    """Parameter of the host function to the name that the registration gives it."""
    return {p.name: op.inputs[i] for i, p in enumerate(host.params) if i < len(op.inputs)}


def _rename(access: Access, names: dict[str, str]) -> Access:
    high = access.high.renamed(names) if access.high is not None else None
    lag = tuple((names.get(n, n), c) for n, c in access.lag)
    buffer, index = (names.get(n, n) for n in (access.buffer, access.index))
    return replace(access, buffer=buffer, index=index, high=high, lag=lag)
