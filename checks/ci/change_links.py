"""How a failure is linked to the change: every reason, with a weight that a reader can add up.

     6  a stack frame is on a line that the change added
     5  a stack frame is in a function that the change altered
     5  a compiler or linter points at a changed file
     4  the device function of the failing op was altered
     3  a stack frame is in a file that the change altered
     2  the test itself was altered
     2  rare words of the error stand in altered lines
3, 2, 1 the test imports an altered file: directly, through one module, through two
    -3  nothing that the test imports was altered
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from checks.ci.frames import in_repository
from checks.ci.message_keys import Reason
from checks.ci.observed_failures import ObservedFailure
from checks.ci.report import Category, Evidence, Frame
from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Location, Message, Side
from checks.domain.ops import Ops
from checks.eval.constants.files import path_index
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.source import language

STRONG = 5
"""A link of this weight is enough on its own."""
ENOUGH = 4
"""Links that weigh this much together are enough, where one of them weighs at least 3."""
FARTHEST = 3
"""Imports from the test to an altered file that still count as a link."""
MOST_MODULES = 400
"""The search through imports ends after this many modules.

What it has not seen by then stays open.
"""

# Words of an error that may be names of this code: short ones are everywhere.
_WORD = re.compile(r"\b[A-Za-z_]\w{5,60}\b")
# A word is rare if at most this many files contain it.
_RARE = 4
_MOST_WORDS, _MOST_SHOWN_WORDS = 20, 5
# Failures whose frames are the places of the errors themselves, not calls that led to them.
_AT_PLACE = frozenset({Category.BUILD_ERROR, Category.LINT, Category.COLLECTION_ERROR})


@dataclass
class ChangeLinker:
    """Links failures to one change.

    What is derived from the change is computed once for all failures.
    """

    change: ChangeSet
    config: Config
    _chains: dict[str, tuple[str, ...] | None] = field(default_factory=dict)

    @cached_property
    def paths(self) -> frozenset[str]:
        """All paths of the head tree."""
        return frozenset(self.change.head.paths())

    @cached_property
    def changed(self) -> frozenset[str]:
        """The paths of the changed files."""
        return frozenset(file.path for file in self.change.files)

    def place(self, observed: ObservedFailure) -> tuple[Frame, ...]:
        """The failure's frames, with the repository's paths."""
        return in_repository(observed.frames, self.paths)

    def reasons(self, observed: ObservedFailure) -> tuple[Evidence, ...]:
        """Every reason for or against a link, the heaviest first."""
        reasons = [
            *self._frame_reasons(observed),
            *self._test_reasons(observed),
            *self._op_reasons(observed),
            *self._word_reasons(observed),
        ]
        reasons.sort(key=lambda reason: -abs(reason.weight))
        return tuple(reasons)

    def _frame_reasons(self, observed: ObservedFailure) -> Iterator[Evidence]:
        """A reason for each changed function or file in the traceback, the innermost first."""
        at_place = observed.category in _AT_PLACE
        given: set[tuple[str, str]] = set()
        for frame in reversed(self.place(observed)):
            if not frame.known or frame.path not in self.changed:
                continue
            if at_place:
                at = Location(frame.path, frame.line)
                evidence = Evidence(Message(Reason.COMPILER), at, weight=5)
            elif self.config.is_test(frame.path):
                continue
            else:
                evidence = self._frame_reason(frame)
            key = (frame.path, str(evidence.message.args.get("function", "")))
            if key not in given:
                given.add(key)
                yield evidence

    def _frame_reason(self, frame: Frame) -> Evidence:
        at = Location(frame.path, frame.line)
        source = self.change.unit(frame.path)
        function = source.function_at(frame.line) if source is not None else None
        name = function.qualname if function is not None else frame.function
        if self.change.touches(frame.path, frame.line, frame.line):
            return Evidence(Message(Reason.FRAME_LINE, {"function": name}), at, weight=6)
        if function is not None and (function.path, function.qualname) in self._functions:
            return Evidence(Message(Reason.FRAME_FUNCTION, {"function": name}), at, weight=5)
        return Evidence(Message(Reason.FRAME_FILE), at, weight=3)

    @cached_property
    def _functions(self) -> dict[tuple[str, str], Function]:
        """The head's altered functions, by path and qualified name."""
        functions = {}
        for _, function in self.change.changed_functions():
            if function is not None:
                functions[function.path, function.qualname] = function
        return functions

    def _test_reasons(self, observed: ObservedFailure) -> Iterator[Evidence]:
        path = observed.test.split("::")[0]
        if path not in self.paths:
            return
        if path in self.changed:
            message = Message(Reason.TEST_CHANGED, {"test": observed.test})
            yield Evidence(message, Location(path, 0), weight=2)
        chain = self.chain(path)
        if chain is None:
            yield Evidence(Message(Reason.NO_PATH), weight=-3)
            return
        distance = len(chain) - 1
        if 1 <= distance <= FARTHEST:
            args = {"distance": distance, "chain": " -> ".join(chain)}
            message = Message(Reason.IMPORTS, args)
            yield Evidence(message, Location(chain[-1], 0), weight=FARTHEST + 1 - distance)

    def chain(self, path: str) -> tuple[str, ...] | None:
        """The shortest chain of imports from `path` to an altered product file.

        None where nothing that `path` imports was altered. Empty where that is open: files outside
        Python were altered, which imports do not show, or there were too many modules.
        """
        if path not in self._chains:
            self._chains[path] = self._search(path)
        return self._chains[path]

    def _search(self, start: str) -> tuple[str, ...] | None:
        """A breadth-first search; `parents` also marks what was seen."""
        targets = {path for path in self.changed if self._is_product_python(path)}
        targets.discard(start)
        parents: dict[str, str] = {start: ""}
        queue = [start]
        for path in queue:
            if path in targets:
                return _path_from_root(path, parents)
            if len(parents) >= MOST_MODULES:
                continue
            for imported in self._imports(path):
                if imported not in parents:
                    parents[imported] = path
                    queue.append(imported)
        only_python = all(language(path) == "python" for path in self.changed)
        if only_python and len(parents) < MOST_MODULES:
            return None
        return ()

    def _is_product_python(self, path: str) -> bool:
        return language(path) == "python" and not self.config.is_test(path)

    def _imports(self, path: str) -> tuple[str, ...]:
        """The files that the module at `path` imports."""
        source = self.change.unit(path)
        if source is None:
            return ()
        return self.change.memo(("ci.imports", path), lambda: tuple(self._imported_files(source)))

    def _imported_files(self, source: SourceFile) -> Iterator[str]:
        known = path_index(self.change, Side.HEAD)
        for item in source.imports:
            dot = "" if item.module.endswith(".") else "."
            if item.name:
                yield from known.module(source.path, f"{item.module}{dot}{item.name}")
            yield from known.module(source.path, item.module)

    def _op_reasons(self, observed: ObservedFailure) -> Iterator[Evidence]:
        words = set(_WORD.findall(observed.text))
        for name, function in self._ops.items():
            if name in words:
                message = Message(Reason.OP, {"op": name, "function": function.name})
                yield Evidence(message, Location(function.path, function.start_line), weight=4)

    @cached_property
    def _ops(self) -> dict[str, Function]:
        """The altered device function behind each op's name, and behind each kernel's own name."""
        ops = Ops.of(self.change)
        functions: dict[str, Function] = {}
        for function in self._functions.values():
            if language(function.path) != "cpp":
                continue
            source = self.change.unit(function.path)
            if source is None:
                continue
            for host in [function, *_callers(function, source)]:
                for op in ops.of_function(host):
                    functions.setdefault(op.name, function)
            functions.setdefault(function.name, function)
        return functions

    def _word_reasons(self, observed: ObservedFailure) -> Iterator[Evidence]:
        shared = sorted(set(_WORD.findall(observed.error)) & self._words)
        rare = [word for word in shared[:_MOST_WORDS] if self._is_rare(word)]
        if rare:
            tokens = ", ".join(rare[:_MOST_SHOWN_WORDS])
            yield Evidence(Message(Reason.TOKENS, {"tokens": tokens}), weight=2)

    def _is_rare(self, word: str) -> bool:
        paths = self.change.memo(
            ("ci.word", word), lambda: {match.path for match in self.change.head.find(word)}
        )
        return len(paths) <= _RARE

    @cached_property
    def _words(self) -> frozenset[str]:
        """Words of altered lines that look like names of this code (`step_idx`, `actualTopk`)."""
        words: set[str] = set()
        for file in self.change.files:
            if not file.head_path or not file.hunks:
                continue
            data = self.change.head.read(file.head_path)
            if data is None:
                continue
            lines = data.decode("utf-8", "replace").split("\n")
            for number in file.head_lines():
                if number <= len(lines):
                    words.update(_WORD.findall(lines[number - 1]))
        return frozenset(word for word in words if _looks_like_a_name(word))


def _path_from_root(path: str, parents: dict[str, str]) -> tuple[str, ...]:
    chain = [path]
    while parents[chain[-1]]:
        chain.append(parents[chain[-1]])
    return tuple(reversed(chain))


def _callers(function: Function, source: SourceFile) -> list[Function]:
    """The functions of the file that mention `function`: the host code that launches a kernel."""
    callers = []
    for other in source.functions:
        if function.name in source.text_of(other):
            callers.append(other)
    return callers


def _looks_like_a_name(word: str) -> bool:
    """An underscore inside, or capitals in the middle: no word of a sentence."""
    if "_" in word.strip("_"):
        return True
    is_plain_word = word.islower() or word.istitle() or word.isupper()
    return not is_plain_word
