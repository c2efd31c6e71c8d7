"""What a repository says of a source in other places: the ops that it registers there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from os.path import commonpath
from pathlib import Path

from kernels.emulator.bindings import bindings_of
from kernels.emulator.build_files import type_switches
from kernels.emulator.discovery import hardware_of, registered_ops
from kernels.emulator.extensions import Extension, extensions_of
from kernels.emulator.rewrite.text import UnbalancedBracket, closing, mask
from kernels.emulator.torch_bindings import TorchOp, includes_torch, ops_near, torch_ops_of


@dataclass(frozen=True)
class Bindings:
    """What the repository says of a source elsewhere: the ops that are registered for Python and
    for PyTorch, the modules that it is a part of, and what its build defines."""

    functions: dict[tuple[str, str], str]
    torch_ops: list[TorchOp]
    switches: list[str]
    extensions: list[Extension]

    @classmethod
    def of(cls, root: Path) -> Bindings:
        """All of a repository's."""
        return cls(bindings_of(root), torch_ops_of(root), type_switches(root), extensions_of(root))

    def extension_of(self, source: str) -> Extension | None:
        """The module that a source is a part of: of several the nearest."""
        found = [extension for extension in self.extensions if source in extension.members]
        return max(found, key=lambda item: len(commonpath([item.binding, source])), default=None)

    def members_of(self, sources: Iterable[str]) -> list[str]:
        """All files of the modules that one of the sources is a part of."""
        members: set[str] = set()
        for source in sources:
            extension = self.extension_of(source)
            if extension is not None:
                members |= set(extension.members)
        return sorted(members)

    def ops_of(self, source: str, text: str) -> tuple[str, ...]:
        """The ops that a source registers, with what `text_for` gives it."""
        extension = self.extension_of(source)
        places = (source,) if extension is None else extension.members
        own = {op.name for op in self.torch_ops if op.path in places}
        if extension is not None:
            own |= set(extension.ops_of(source))
        return tuple(sorted(own | set(registered_ops(text))))

    def text_for(self, source: str, text: str) -> str:
        """The registrations of functions that a source defines."""
        # What a source registers itself is there already, but for a schema in another file.
        ops = [op for op in ops_near(source, self.torch_ops) if op.path != source]
        own = [op for op in self.torch_ops if op.path == source]
        defined = "".join(f"\n{op.definition()}" for op in own if not op.is_defined_in(text))
        hardware = hardware_of(source)
        functions = {n: f for (kind, n), f in self.functions.items() if kind in ("", hardware)}
        # Functions on PyTorch's tensors are bound by PyTorch's own pybind alone.
        bound = "" if includes_torch(text) else _binding_text(text, functions)
        return bound + defined + _torch_text(text, ops)


def _binding_text(text: str, names: dict[str, str]) -> str:
    """Registrations of functions that the repository binds to Python in another file."""
    registered = set(registered_ops(text))
    lines = []
    for name, function in names.items():
        if name not in registered and function in text and _has_body(text, function):
            lines.append(f"EMULATOR_BIND({name}, {function});")
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def _torch_text(text: str, ops: list[TorchOp]) -> str:
    """Registrations with PyTorch's dispatcher of the functions that are defined here."""
    lines = []
    for op in ops:
        function = op.function.rsplit("::", maxsplit=1)[-1]
        if function in text and _has_body(text, function):
            lines.append(op.registration())
    if not lines:
        return ""
    stable = [line.startswith("STABLE") for line in lines]
    headers = ["#include <torch/csrc/stable/library.h>"] if any(stable) else []
    headers += [] if all(stable) else ["#include <torch/library.h>"]
    return "\n" + "\n".join([*headers, *lines]) + "\n"


def _has_body(text: str, function: str) -> bool:
    """Whether a line begins the definition of a function: its parameters, then a brace."""
    code = mask(text)
    for match in re.finditer(rf"^[^\n;{{}}#()]*\b{function}[ \t]*\(", code, re.MULTILINE):
        with suppress(UnbalancedBracket):
            end = closing(code, match.end() - 1)
            if code[end + 1 : end + 200].lstrip().startswith("{"):
                return True
    return False
