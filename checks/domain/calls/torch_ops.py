"""Ops of `torch.ops`: what a schema in C++ or a Python function behind an op takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Param, SourceFile

_SCHEMA = r"\bdef\(\s*\"{name}\(([^;]*?)\)\s*->"
_ANY_SCHEMA = re.compile(_SCHEMA.format(name=r"(\w+)"))
# Two literals that stand side by side are one.
_SEAM = re.compile(r"\"\s*\"")
_OP_FUNCTION = r"op_name\s*=\s*[\"']{name}[\"']\s*,\s*op_func\s*=\s*(\w+)"
_OP_FUNCTION_BY_POSITION = r"register_custom_op\(\s*[\"']{name}[\"']\s*,\s*(\w+)\s*,"


@dataclass
class TorchOps:
    """The ops of one side of a change, found by name when asked for."""

    change: ChangeSet
    side: Side = Side.HEAD
    _by_name: dict[str, tuple[Function, SourceFile] | None] = field(default_factory=dict)
    _foreign: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def of_change(cls, change: ChangeSet, side: Side = Side.HEAD) -> TorchOps:
        """The one table of this side of the change."""
        return change.memo((cls, side), lambda: cls(change, side))

    def named(self, name: str) -> tuple[Function, SourceFile] | None:
        """What stands behind the op: a Python function, or one made of its schema.

        None where nothing does, or where several hardware's libraries do not agree.
        """
        if name not in self._by_name:
            found = [*self._python_functions(name), *self._schemas(name)]
            signatures = {function.params for function, _ in found}
            self._by_name[name] = found[0] if len(signatures) == 1 else None
        return self._by_name[name]

    def is_foreign(self, library: str) -> bool:
        """Whether `torch.ops.library` is of a package that the tree imports and does not have.

        Its ops may have the names of the tree's own: `torch_xla` brings a `torch.ops.xla`, and
        PygmalionAI/aphrodite-engine has a `paged_attention` for other hardware.
        """
        if library not in self._foreign:
            packages = (library, f"torch_{library}")
            self._foreign[library] = any(map(self._is_imported_only, packages))
        return self._foreign[library]

    def _is_imported_only(self, library: str) -> bool:
        tree = self.change.tree(self.side)
        statement = re.compile(rf"\s*(import|from)\s+{re.escape(library)}\b")
        if not any(statement.match(match.text) for match in tree.find(library, "python")):
            return False
        paths = set(tree.paths())
        is_package = re.compile(rf"(.*/)?{re.escape(library)}/__init__\.py")
        for path in paths:
            if path.startswith(f"{library}/"):
                return False
            found = is_package.fullmatch(path)
            # A package inside of another has a longer name.
            if found is not None and f"{found[1] or ''}__init__.py" not in paths:
                return False
        return True

    def _python_functions(self, name: str) -> Iterator[tuple[Function, SourceFile]]:
        patterns = (_OP_FUNCTION, _OP_FUNCTION_BY_POSITION)
        behind = re.compile("|".join(pattern.format(name=name) for pattern in patterns))
        for unit in self._files(name, "python"):
            names = [first or second for first, second in behind.findall("\n".join(unit.lines))]
            for function in unit.functions:
                mark = rf"(custom_op|triton_op)\([\"']\w+::{name}[\"']"
                is_marked = any(re.search(mark, own) for own in function.marks)
                if function.qualname in names or is_marked:
                    yield function, unit

    def _schemas(self, name: str) -> Iterator[tuple[Function, SourceFile]]:
        schema = re.compile(_SCHEMA.format(name=re.escape(name)))
        for unit in self._files(name, "cpp"):
            text = "\n".join(unit.lines)
            for match in schema.finditer(text):
                params = schema_params(_SEAM.sub("", match[1]))
                line = text.count("\n", 0, match.start()) + 1
                if params is not None:
                    yield _function(name, params, line, unit), unit

    def _files(self, name: str, language: str) -> Iterator[SourceFile]:
        for path in self.change.tree(self.side).paths_containing(name, language):
            unit = self.change.unit(path, self.side)
            if unit is not None:
                yield unit


def op_name(func: E.Expr) -> tuple[str, str] | None:
    """`engine` and `f` for `torch.ops.engine.f` and `torch.ops.engine.f.default`."""
    parts = (E.dotted(func) or "").split(".")
    if parts[-1] == "default":
        parts.pop()
    is_op = len(parts) == 4 and parts[:2] == ["torch", "ops"]
    return (parts[2], parts[3]) if is_op else None


def schema_names(text: str) -> set[tuple[str, str]]:
    """The ops that C++ code defines by a schema, each with what the schema says."""
    joined = _SEAM.sub("", text)
    return {(match[1], match[2]) for match in _ANY_SCHEMA.finditer(joined)}


def schema_params(text: str) -> tuple[Param, ...] | None:
    """The parameters of a schema: `Tensor! out, int n, *, float eps=1e-6`.

    None for what is no schema that we read.
    """
    params: list[Param] = []
    kind = "positional"
    for part in filter(None, [piece.strip() for piece in text.split(",")]):
        if part == "*":
            kind = "keyword"
            continue
        declared, _, default = part.partition("=")
        words = declared.split()
        if len(words) != 2 or not words[1].isidentifier():
            return None
        value = E.Unknown(default.strip()) if default else None
        params.append(Param(words[1], words[0], value, kind))
    return tuple(params)


def _function(name: str, params: tuple[Param, ...], line: int, unit: SourceFile) -> Function:
    return Function(name, name, unit.path, params, line, line, lambda: ())
