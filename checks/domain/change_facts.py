"""What a change does, computed and not judged: files, functions, ops, constants, and what it
touches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Side
from checks.domain.impact_tags import impact_tags
from checks.domain.table_entries import EntryChanges, entry_changes
from checks.lang.ir.expr import Const, Expr, dotted
from checks.lang.ir.source_file import Constant, Function, Op, Param, SourceFile, group_by
from checks.lang.source import language


@dataclass(frozen=True, slots=True)
class FileFact:
    """A changed file. `kind`: source, test, e2e, docs, ci, build or other."""

    path: str
    old_path: str
    status: str
    kind: str
    hardware: str
    added: int
    removed: int
    binary: bool


@dataclass(frozen=True, slots=True)
class FunctionFact:
    """A function in which a line changed.

    `what`: added, removed, renamed (the same text under another name), signature (its parameters
    changed) or body.
    """

    path: str
    name: str
    what: str
    line: int
    old_params: tuple[str, ...] = ()
    new_params: tuple[str, ...] = ()
    old_name: str = ""

    @property
    def added_params(self) -> tuple[str, ...]:
        return tuple(p for p in self.new_params if p not in self.old_params)

    @property
    def removed_params(self) -> tuple[str, ...]:
        return tuple(p for p in self.old_params if p not in self.new_params)


@dataclass(frozen=True, slots=True)
class OpFact:
    """A registered op. `what`: added, removed or changed.

    `gained` and `lost` are inputs, outputs and attributes.
    """

    path: str
    name: str
    what: str
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConstantFact:
    """A named constant whose value changed.

    `old` and `new` are its first source lines, empty where it did not exist; `entries` is what
    differs inside of a table. `line` is where it stands in the head, or in the base where it is
    gone.
    """

    path: str
    name: str
    old: str
    new: str
    line: int
    entries: EntryChanges


@dataclass(frozen=True, slots=True)
class Area:
    """The changed files of one folder."""

    folder: str
    files: tuple[str, ...]
    added: int
    removed: int


@dataclass(frozen=True)
class Facts:
    """Everything that is known of a change; `topics` are its impact tags."""

    files: tuple[FileFact, ...]
    functions: tuple[FunctionFact, ...]
    ops: tuple[OpFact, ...]
    constants: tuple[ConstantFact, ...]
    areas: tuple[Area, ...]
    hardware: tuple[str, ...]
    topics: tuple[str, ...]

    @property
    def added(self) -> int:
        return sum(f.added for f in self.files)

    @property
    def removed(self) -> int:
        return sum(f.removed for f in self.files)

    def functions_of(self, path: str) -> list[FunctionFact]:
        """What is known of the functions of one file."""
        return self._functions_by_path.get(path, [])

    @cached_property
    def _functions_by_path(self) -> dict[str, list[FunctionFact]]:
        return group_by(self.functions, lambda function: function.path)

    def of_kind(self, *kinds: str) -> tuple[FileFact, ...]:
        return tuple(f for f in self.files if f.kind in kinds)


def change_facts(change: ChangeSet, config: Config) -> Facts:
    """The facts of `change`, each list in path order."""
    files = tuple(_file_fact(file, config) for file in change.files)
    # What changed inside tests is not told, so they need not be parsed for it.
    product_files = tuple(file for file in change.files if not config.is_test(file.path))
    product = replace(change, files=product_files)
    ops: list[OpFact] = []
    constants: list[ConstantFact] = []
    for file in product_files:
        base, head = _units(change, file)
        ops += _op_facts(file.path, base, head)
        constants += _constant_facts(file.path, base, head)
    hardware = {file.hardware for file in files if file.hardware}
    kinds = [(file.path, file.kind) for file in files]
    return Facts(
        files=files,
        functions=tuple(_function_facts(product)),
        ops=tuple(ops),
        constants=tuple(constants),
        areas=_areas(files),
        hardware=tuple(sorted(hardware)),
        topics=impact_tags(kinds, has_ops=bool(ops)),
    )


def _file_fact(change: FileChange, config: Config) -> FileFact:
    old_path = change.base_path if change.status == "R" else ""
    return FileFact(
        path=change.path,
        old_path=old_path or "",
        status=change.status,
        kind=_kind(change.path, config),
        hardware=config.hardware_of(change.path),
        added=change.added,
        removed=change.removed,
        binary=change.binary,
    )


_CI_FOLDERS = (".github/", ".ci/", ".gitlab/", ".circleci/")
_DOCS = frozenset({".md", ".rst", ".txt", ".adoc"})
_BUILD = frozenset(
    {"setup.py", "pyproject.toml", "CMakeLists.txt", "Makefile", "build.sh", "Dockerfile"}
)


def _kind(path: str, config: Config) -> str:
    pure = PurePosixPath(path)
    if path.startswith(_CI_FOLDERS):
        return "ci"
    if config.is_e2e(path):
        return "e2e"
    if config.is_test(path):
        return "test"
    if pure.name in _BUILD or pure.name.startswith("requirements"):
        return "build"
    if pure.suffix.lower() in _DOCS or pure.parts[0] == "docs":
        return "docs"
    return "source" if language(path) else "other"


def _units(change: ChangeSet, file: FileChange) -> tuple[SourceFile | None, SourceFile | None]:
    """The file in the base and in the head; symbolic links and submodules have no source."""
    if file.mode != "file":
        return None, None
    base = change.base_unit(file)
    head = change.head_unit(file)
    return base, head


def _function_facts(change: ChangeSet) -> Iterator[FunctionFact]:
    pairs = list(change.changed_functions())
    old_of_renamed = _renamed(pairs, change)
    old_names = {(old.path, old.start_line) for old in old_of_renamed.values()}
    for base, head in pairs:
        if head is None:
            assert base is not None
            if (base.path, base.start_line) not in old_names:
                yield _function_fact(base, None)
        elif base is None and head.qualname in old_of_renamed:
            old = old_of_renamed[head.qualname]
            yield replace(_function_fact(old, head), what="renamed", old_name=old.qualname)
        else:
            yield _function_fact(base, head)


def _renamed(
    pairs: list[tuple[Function | None, Function | None]], change: ChangeSet
) -> dict[str, Function]:
    """New qualified name -> the removed function that has the same text."""
    removed: dict[tuple[str, str, str], Function] = {}
    for base, head in pairs:
        if base is not None and head is None:
            removed[_nameless(change, base, Side.BASE)] = base
    renamed: dict[str, Function] = {}
    for base, head in pairs:
        if base is None and head is not None:
            old = removed.pop(_nameless(change, head, Side.HEAD), None)
            if old is not None:
                renamed[head.qualname] = old
    return renamed


def _nameless(change: ChangeSet, function: Function, side: Side) -> tuple[str, str, str]:
    """What stays when a function gets another name: its file, its owner, and its text without the
    name."""
    unit = change.unit(function.path, side)
    text = unit.text_of(function) if unit is not None else ""
    return function.path, function.owner, text.replace(function.name, "")


def _function_fact(base: Function | None, head: Function | None) -> FunctionFact:
    old = _params(base)
    new = _params(head)
    if base is None:
        what = "added"
    elif head is None:
        what = "removed"
    else:
        what = "body" if old == new else "signature"
    present = head or base
    assert present is not None
    return FunctionFact(present.path, present.qualname, what, present.start_line, old, new)


def _params(function: Function | None) -> tuple[str, ...]:
    if function is None:
        return ()
    show = _cpp_param if language(function.path) == "cpp" else _python_param
    return tuple(show(param) for param in function.params)


def _cpp_param(param: Param) -> str:
    """A parameter with its type, however the author spaces it: `const Tensor& x`, `int64_t *x`."""
    words = " ".join(f"{param.type} {param.name}".split())
    return re.sub(r" ?([*&]+) ?", r"\1 ", words)


def _python_param(param: Param) -> str:
    """A parameter with its default and without its annotation."""
    stars = {"args": "*", "kwargs": "**"}.get(param.kind, "")
    return f"{stars}{param.name}{_default(param.default)}"


def _default(value: Expr | None) -> str:
    if value is None:
        return ""
    if isinstance(value, Const):
        return f"={value.value!r}"
    return f"={dotted(value) or '...'}"


def _op_facts(path: str, base: SourceFile | None, head: SourceFile | None) -> Iterator[OpFact]:
    old = {op.name: op for op in base.ops} if base is not None else {}
    new = {op.name: op for op in head.ops} if head is not None else {}
    for name in old | new:
        if name not in old:
            yield OpFact(path, name, "added")
        elif name not in new:
            yield OpFact(path, name, "removed")
        else:
            before, after = op_parts(old[name]), op_parts(new[name])
            if before != after:
                gained = tuple(part for part in after if part not in before)
                lost = tuple(part for part in before if part not in after)
                yield OpFact(path, name, "changed", gained, lost)


def op_parts(op: Op) -> tuple[str, ...]:
    """What an op is registered with: inputs, outputs, attributes."""
    return (*op.inputs, *op.outputs, *op.attrs)


def _constant_facts(
    path: str, base: SourceFile | None, head: SourceFile | None
) -> Iterator[ConstantFact]:
    if base is None or head is None:
        return
    old, new = _single_constants(base), _single_constants(head)
    for name in old | new:
        before, after = old.get(name), new.get(name)
        if before is not None and after is not None and before.value == after.value:
            continue
        present = after or before
        line = present.line if present is not None else 0
        entries = entry_changes(before.value if before else None, after.value if after else None)
        yield ConstantFact(path, name, _line(base, before), _line(head, after), line, entries)


def _single_constants(unit: SourceFile) -> dict[str, Constant]:
    """Constants with one value. A name bound twice (under `#if`, or reassigned) has none to
    compare."""
    by_name = group_by(unit.constants, _qualified_name)
    return {name: found[0] for name, found in by_name.items() if len(found) == 1}


def _qualified_name(constant: Constant) -> str:
    return f"{constant.owner}.{constant.name}".lstrip(".")


def _line(unit: SourceFile, constant: Constant | None) -> str:
    return unit.excerpt(constant.line) if constant is not None else ""


def _areas(files: tuple[FileFact, ...]) -> tuple[Area, ...]:
    folders = group_by(files, lambda file: str(PurePosixPath(file.path).parent))
    areas = []
    for folder, inside in sorted(folders.items()):
        names = tuple(PurePosixPath(file.path).name for file in inside)
        added = sum(file.added for file in inside)
        removed = sum(file.removed for file in inside)
        areas.append(Area(folder, names, added, removed))
    return tuple(areas)
