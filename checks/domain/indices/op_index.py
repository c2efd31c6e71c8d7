"""Where the watched indices are used in one tree: files, op registrations, and what each op does
with its index."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.core.words import as_bytes, contains_word
from checks.domain.indices.function_lookup import FunctionLookup
from checks.eval.symbolic.executor import SymbolicExecutor
from checks.eval.symbolic.parameters import is_buffer
from checks.eval.symbolic.run import IndexNames
from checks.eval.symbolic.values import BufferAccess
from checks.lang.ir.source_file import Function, Op, SourceFile
from checks.lang.source import language

_REGISTERED = re.compile(rb"\b[A-Z][A-Z_]*BUILD[A-Z_]*\(\s*(\w+)\s*\)")


@dataclass(frozen=True, slots=True)
class Uses:
    """Every use that an op makes of its indices.

    `advances` maps an index that the op writes to where it does so; `paths` are the files that its
    code was found in.
    """

    accesses: tuple[BufferAccess, ...]
    advances: tuple[tuple[str, tuple[str, int]], ...]
    paths: frozenset[str]


@dataclass(frozen=True, eq=False)
class OpFacts:
    """An op's implementation on one hardware.

    `params` are the names in call order, `indices` those of them that are indices; what it does
    with these is found when first asked for.
    """

    name: str
    path: str
    hardware: str
    params: tuple[str, ...]
    indices: tuple[str, ...]
    line: int
    find_uses: Callable[[], Uses] = field(repr=False)

    @cached_property
    def uses(self) -> Uses:
        """The op's code is interpreted for this."""
        return self.find_uses()

    @property
    def accesses(self) -> tuple[BufferAccess, ...]:
        return self.uses.accesses

    @property
    def advances(self) -> tuple[tuple[str, tuple[str, int]], ...]:
        return self.uses.advances

    def advance(self, index: str) -> tuple[str, int] | None:
        """The (path, line) where the op writes `index`."""
        return dict(self.advances).get(index)


class OpIndex:
    """The files of one side of a change that hold an index as a word; all else of the tree is never
    read.

    `twin` is the other side: what it found in files that did not change holds here too.
    """

    def __init__(
        self,
        change: ChangeSet,
        side: Side,
        config: Config,
        watch: IndexNames,
        twin: OpIndex | None = None,
    ) -> None:
        self.twin = twin
        self.change = change
        self.side = side
        self.config = config
        self.watch = watch
        self._facts: dict[tuple[str, str], OpFacts | None] = {}
        self._references: dict[tuple[str, str], list[BufferAccess]] = {}

    # Files

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Path to contents, in path order."""
        tree = self.change.tree(self.side)
        paths: set[str] = set()
        for name in self.watch.names:
            paths.update(tree.paths_containing(name))
        contents: dict[str, bytes] = {}
        for path in sorted(paths):
            data = tree.read(path) if language(path) else None
            if data is not None:
                contents[path] = data
        return contents

    def holding(self, kind: str, *words: str) -> list[str]:
        """Files of the language `kind` that hold any of `words` as a word."""
        needles = [as_bytes(word) for word in words]
        paths = []
        for path, data in self.files.items():
            if language(path) == kind and any(contains_word(data, needle) for needle in needles):
                paths.append(path)
        return paths

    def unit(self, path: str) -> SourceFile | None:
        return self.change.unit(path, self.side)

    # Ops

    @cached_property
    def ops(self) -> dict[str, tuple[str, ...]]:
        """Op name to the C++ files that register it."""
        paths: dict[str, dict[str, None]] = {}
        for path, data in self.files.items():
            if language(path) != "cpp":
                continue
            for name in _REGISTERED.findall(data):
                paths.setdefault(name.decode(), {})[path] = None
        # The macro's own definition has its parameter where the op's name stands.
        paths.pop("name", None)
        return {name: tuple(registering) for name, registering in paths.items()}

    def facts(self, name: str, hardware: str | None = None) -> list[OpFacts]:
        """What the op `name` does, one entry for each file (for `hardware`, where given) that
        registers it."""
        found = []
        for path in self.ops.get(name, ()):
            if hardware is not None and self.config.hardware_of(path) != hardware:
                continue
            facts = self.facts_in(name, path)
            if facts is not None:
                found.append(facts)
        return found

    def facts_in(self, name: str, path: str) -> OpFacts | None:
        """What the op `name` does that `path` registers."""
        key = (name, path)
        # One object for each op: its code is interpreted once, when its uses are asked for.
        if key not in self._facts:
            self._facts[key] = self._find_facts(name, path)
        return self._facts[key]

    def _find_facts(self, name: str, path: str) -> OpFacts | None:
        unit = self.unit(path)
        if unit is None:
            return None
        op = next((op for op in unit.ops if op.name == name), None)
        if op is None:
            return None
        host = next((f for f in unit.functions if f.name == op.kernel), None)
        if host is None:
            return None
        names = _registered_names(op, host)
        indices = []
        for param in host.params:
            if self.watch(param.name) and is_buffer(param.type):
                indices.append(param.name)
        indices.sort()
        find_uses: Callable[[], Uses]
        if indices:
            find_uses = partial(self._find_uses, name, path, host, names)
        else:
            find_uses = partial(Uses, (), (), frozenset({path}))
        return OpFacts(
            name,
            path,
            self.config.hardware_of(path),
            tuple(names.get(param.name, param.name) for param in host.params),
            tuple(names.get(index, index) for index in indices),
            op.line,
            find_uses,
        )

    def _find_uses(self, name: str, path: str, host: Function, names: dict[str, str]) -> Uses:
        known = self._uses_on_other_side(name, path)
        if known is not None:
            return known
        self._lookup.visited = {path}
        interpreter = SymbolicExecutor(self.watch, self._lookup.find)
        accesses = tuple(_with_names(access, names) for access in interpreter.enter(host))
        advances = []
        for index, place in sorted(interpreter.advances.items()):
            advances.append((names.get(index, index), place))
        return Uses(accesses, tuple(advances), frozenset(self._lookup.visited))

    def _uses_on_other_side(self, name: str, path: str) -> Uses | None:
        """The uses of the same op on the other side, where none of its code changed."""
        if self.twin is None or path not in self.twin.ops.get(name, ()):
            return None
        facts = self.twin.facts_in(name, path)
        if facts is None or not facts.uses.paths.isdisjoint(self._changed_paths):
            return None
        return facts.uses

    @cached_property
    def _lookup(self) -> FunctionLookup:
        return FunctionLookup(self.files, self.unit, self.config)

    @cached_property
    def _changed_paths(self) -> frozenset[str]:
        paths: set[str] = set()
        for file in self.change.files:
            paths.update(path for path in (file.base_path, file.head_path) if path is not None)
        return frozenset(paths)

    def function_accesses(self, function: Function) -> list[BufferAccess]:
        """The uses that a Python function makes of its parameters (a reference implementation)."""
        key = (function.path, function.qualname)
        if key not in self._references:
            interpreter = SymbolicExecutor(self.watch, self._lookup.find, python=True)
            self._references[key] = interpreter.enter(function)
        return self._references[key]


def _registered_names(op: Op, host: Function) -> dict[str, str]:
    """Parameter of the host function to the name that the registration gives it."""
    pairs = zip(host.params, op.inputs, strict=False)
    return {param.name: registered for param, registered in pairs}


def _with_names(access: BufferAccess, names: dict[str, str]) -> BufferAccess:
    """`access` with the registration's names for the host function's."""
    high = access.high.renamed(names) if access.high is not None else None
    lag = tuple((names.get(name, name), count) for name, count in access.lag)
    buffer = names.get(access.buffer, access.buffer)
    index = names.get(access.index, access.index)
    return replace(access, buffer=buffer, index=index, high=high, lag=lag)
