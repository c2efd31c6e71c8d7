"""How a failure hangs together with the change: every reason, with a weight that a reader can add up.

6  a stack frame on a line that the change added       5  a compiler or linter at a changed file
5  ... in a function that it altered                   4  the failing op's device function was altered
3  ... in a file that it altered                       2  the test itself was altered
3, 2, 1  the test imports an altered file, directly, over one module, over two
2  rare words of the error stand in altered lines     -3  nothing that the test imports was altered
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
from checks.eval.constants.files import files
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.source import language

STRONG = 5
ENOUGH = 4
FARTHEST = 3
MOST_MODULES = 400
_WORD = re.compile(r"\b[A-Za-z_]\w{5,60}\b")
_RARE = 4
_AT_PLACE = frozenset({Category.BUILD_ERROR, Category.LINT, Category.COLLECTION_ERROR})


@dataclass
class ChangeLinker:
    """Links failures to one change; what is derived of the change is made once."""

    change: ChangeSet
    config: Config
    _distance: dict[str, tuple[str, ...] | None] = field(default_factory=dict)

    @cached_property
    def paths(self) -> frozenset[str]:
        return frozenset(self.change.head.paths())

    @cached_property
    def changed(self) -> frozenset[str]:
        return frozenset(f.path for f in self.change.files)

    def place(self, seen: ObservedFailure) -> tuple[Frame, ...]:
        """The failure's frames, with the repository's paths."""
        return in_repository(seen.frames, self.paths)

    def reasons(self, seen: ObservedFailure) -> tuple[Evidence, ...]:
        """Every reason for or against, the heaviest first."""
        found = [
            *self._of_frames(seen),
            *self._of_test(seen),
            *self._of_ops(seen),
            *self._of_words(seen),
        ]
        return tuple(sorted(found, key=lambda e: -abs(e.weight)))

    def _of_frames(self, seen: ObservedFailure) -> Iterator[Evidence]:
        at_place = seen.category in _AT_PLACE
        given: set[tuple[str, str]] = set()
        for frame in reversed(self.place(seen)):
            if not frame.known or frame.path not in self.changed:
                continue
            if self.config.is_test(frame.path) and not at_place:
                continue
            evidence = self._of_place(frame) if at_place else self._of_frame(frame)
            key = (frame.path, str(evidence.message.args.get("function", "")))
            if key not in given:
                given.add(key)
                yield evidence

    def _of_place(self, frame: Frame) -> Evidence:
        return Evidence(Message(Reason.COMPILER), Location(frame.path, frame.line), weight=5)

    def _of_frame(self, frame: Frame) -> Evidence:
        at = Location(frame.path, frame.line)
        unit = self.change.unit(frame.path)
        function = unit.function_at(frame.line) if unit is not None else None
        name = function.qualname if function is not None else frame.function
        if self.change.touches(frame.path, frame.line, frame.line):
            return Evidence(Message(Reason.FRAME_LINE, {"function": name}), at, weight=6)
        if function is not None and (function.path, function.qualname) in self._functions:
            return Evidence(Message(Reason.FRAME_FUNCTION, {"function": name}), at, weight=5)
        return Evidence(Message(Reason.FRAME_FILE), at, weight=3)

    @cached_property
    def _functions(self) -> dict[tuple[str, str], Function]:
        """The head's altered functions."""
        return {
            (h.path, h.qualname): h for _, h in self.change.changed_functions() if h is not None
        }

    def _of_test(self, seen: ObservedFailure) -> Iterator[Evidence]:
        path = seen.test.split("::")[0]
        if path not in self.paths:
            return
        if path in self.changed:
            yield Evidence(
                Message(Reason.TEST_CHANGED, {"test": seen.test}), Location(path, 0), weight=2
            )
        chain = self.chain(path)
        if chain is None:
            yield Evidence(Message(Reason.NO_PATH), weight=-3)
        elif 2 <= len(chain) <= FARTHEST + 1:
            args = {"distance": len(chain) - 1, "chain": " -> ".join(chain)}
            yield Evidence(
                Message(Reason.IMPORTS, args),
                Location(chain[-1], 0),
                weight=FARTHEST + 2 - len(chain),
            )

    def chain(self, path: str) -> tuple[str, ...] | None:
        """The shortest way of imports from `path` to an altered product file; empty where none was found though files
        outside Python were altered, None where nothing that it imports was."""
        if path not in self._distance:
            self._distance[path] = self._search(path)
        return self._distance[path]

    def _search(self, start: str) -> tuple[str, ...] | None:
        wanted = {p for p in self.changed if language(p) == "python" and not self.config.is_test(p)}
        before: dict[str, str] = {start: ""}
        queue = [start]
        for path in queue:
            if path in wanted and path != start:
                chain = [path]
                while before[chain[-1]]:
                    chain.append(before[chain[-1]])
                return tuple(reversed(chain))
            for target in self._imports(path) if len(before) < MOST_MODULES else ():
                if target not in before:
                    before[target] = path
                    queue.append(target)
        only_python = all(language(p) == "python" for p in self.changed)
        return None if only_python and len(before) < MOST_MODULES else ()

    def _imports(self, path: str) -> tuple[str, ...]:
        """The files that the module at `path` imports."""
        unit = self.change.unit(path)
        return self.change.memo(
            ("ci.imports", path), lambda: tuple(self._imported(unit)) if unit is not None else ()
        )

    def _imported(self, unit: SourceFile) -> Iterator[str]:
        known = files(self.change, Side.HEAD)
        for item in unit.imports:
            dot = "" if item.module.endswith(".") else "."
            if item.name:
                yield from known.module(unit.path, f"{item.module}{dot}{item.name}")
            yield from known.module(unit.path, item.module)

    def _of_ops(self, seen: ObservedFailure) -> Iterator[Evidence]:
        words = set(_WORD.findall(seen.text))
        for name, function in self._ops.items():
            if name in words:
                at = Location(function.path, function.start_line)
                yield Evidence(
                    Message(Reason.OP, {"op": name, "function": function.name}), at, weight=4
                )

    @cached_property
    def _ops(self) -> dict[str, Function]:
        """The altered device function behind each op name, and behind each kernel's own name."""
        ops, found = Ops.of(self.change), dict[str, Function]()
        for function in self._functions.values():
            unit = self.change.unit(function.path) if language(function.path) == "cpp" else None
            if unit is None:
                continue
            callers = [
                f for f in unit.functions if function.name in unit.text(f.start_line, f.end_line)
            ]
            for host in [function, *callers]:
                for op in ops.of_function(host):
                    found.setdefault(op.name, function)
            found.setdefault(function.name, function)
        return found

    def _of_words(self, seen: ObservedFailure) -> Iterator[Evidence]:
        shared = sorted(set(_WORD.findall(seen.error)) & self._words)
        rare = [w for w in shared[:20] if self._is_rare(w)]
        if rare:
            yield Evidence(Message(Reason.TOKENS, {"tokens": ", ".join(rare[:5])}), weight=2)

    def _is_rare(self, word: str) -> bool:
        hits = self.change.memo(
            ("ci.word", word), lambda: {h.path for h in self.change.head.find(word)}
        )
        return len(hits) <= _RARE

    @cached_property
    def _words(self) -> frozenset[str]:
        """Words of altered lines that look like names of this code (`step_idx`, `actualTopk`)."""
        found: set[str] = set()
        for file in self.change.files:
            data = self.change.head.read(file.head_path) if file.head_path and file.hunks else None
            lines = data.decode("utf-8", "replace").split("\n") if data is not None else []
            for number in sorted(file.head_lines()):
                found.update(_WORD.findall(lines[number - 1]) if number <= len(lines) else ())
        return frozenset(
            w
            for w in found
            if "_" in w.strip("_") or not (w.islower() or w.istitle() or w.isupper())
        )
