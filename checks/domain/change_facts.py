"""What a change does, computed and not judged: files, functions, ops, constants, and what it touches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Side
from checks.domain.impact_tags import impact_tags
from checks.lang.ir.expr import Const, Expr, dotted
from checks.lang.ir.source_file import Constant, Function, Op, Param, SourceFile
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
    """A function in which a line changed. `what`: added, removed, renamed (the same text under another name),
    signature (its parameters changed) or body."""

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
    """A registered op. `what`: added, removed or changed; `gained` and `lost` are inputs, outputs and attributes."""

    path: str
    name: str
    what: str
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConstantFact:
    """A named constant whose value changed: its source line before and after, empty where it did not exist.
    `line` is where it stands in the head, or in the base where it is gone."""

    path: str
    name: str
    old: str
    new: str
    line: int


@dataclass(frozen=True, slots=True)
class Area:
    """The changed files of one folder."""

    folder: str
    files: tuple[str, ...]
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Facts:
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

    def of_kind(self, *kinds: str) -> tuple[FileFact, ...]:
        return tuple(f for f in self.files if f.kind in kinds)


def change_facts(change: ChangeSet, config: Config) -> Facts:
    """The facts of `change`, each list in path order."""
    files = tuple(_file(f, config) for f in change.files)
    # What changed inside tests is not told, so they need not be parsed for it.
    product = replace(change, files=tuple(f for f in change.files if not config.is_test(f.path)))
    units = [(f, *_units(change, f)) for f in product.files]
    ops = tuple(fact for f, base, head in units for fact in _ops(f.path, base, head))
    return Facts(
        files=files,
        functions=tuple(_functions(product)),
        ops=ops,
        constants=tuple(fact for f, base, head in units for fact in _constants(f.path, base, head)),
        areas=_areas(files),
        hardware=tuple(sorted({f.hardware for f in files if f.hardware})),
        topics=impact_tags(((f.path, f.kind) for f in files), has_ops=bool(ops)),
    )


def _file(change: FileChange, config: Config) -> FileFact:
    return FileFact(
        path=change.path,
        old_path=change.base_path if change.status == "R" and change.base_path else "",
        status=change.status,
        kind=_kind(change.path, config),
        hardware=config.hardware_of(change.path),
        added=change.added,
        removed=change.removed,
        binary=change.binary,
    )


_DOCS = frozenset({".md", ".rst", ".txt", ".adoc"})
_BUILD = frozenset(
    {"setup.py", "pyproject.toml", "CMakeLists.txt", "Makefile", "build.sh", "Dockerfile"}
)


def _kind(path: str, config: Config) -> str:
    pure = PurePosixPath(path)
    if path.startswith((".github/", ".ci/", ".gitlab/", ".circleci/")):
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
    base = (
        change.unit(file.base_path, Side.BASE) if file.base_path and file.mode == "file" else None
    )
    head = change.unit(file.head_path) if file.head_path and file.mode == "file" else None
    return base, head


def _functions(change: ChangeSet) -> Iterator[FunctionFact]:
    pairs = list(change.changed_functions())
    gone = {
        _shape(change, base, Side.BASE): base
        for base, head in pairs
        if base is not None and head is None
    }
    renamed = {}
    for base, head in pairs:
        if base is None and head is not None:
            before = gone.pop(_shape(change, head, Side.HEAD), None)
            if before is not None:
                renamed[head.qualname] = before
    old = set(map(id, renamed.values()))
    for base, head in pairs:
        if base is not None and id(base) in old:
            continue
        known = renamed.get(head.qualname) if head is not None and base is None else None
        made = _function(known or base, head, _now(base, head))
        yield replace(made, what="renamed", old_name=known.qualname) if known else made


def _now(base: Function | None, head: Function | None) -> Function:
    now = head or base
    assert now is not None
    return now


def _shape(change: ChangeSet, function: Function, side: Side) -> tuple[str, str, str]:
    """What stays when a function gets another name: its file, its owner, and its text without the name."""
    unit = change.unit(function.path, side)
    text = unit.text(function.start_line, function.end_line) if unit else ""
    return function.path, function.owner, text.replace(function.name, "")


def _function(base: Function | None, head: Function | None, now: Function) -> FunctionFact:
    cpp = language(now.path) == "cpp"
    old = tuple(_param(p, cpp) for p in base.params) if base else ()
    new = tuple(_param(p, cpp) for p in head.params) if head else ()
    if base is None:
        what = "added"
    elif head is None:
        what = "removed"
    else:
        what = "signature" if old != new else "body"
    return FunctionFact(now.path, now.qualname, what, now.start_line, old, new)


def _param(param: Param, cpp: bool) -> str:
    """A parameter in one line: C++'s with its type, Python's with its default and without its annotation."""
    if cpp:
        # However the author spaces it: `const Tensor& x`, `int64_t *x`.
        return re.sub(r" ?([*&]+) ?", r"\1 ", " ".join(f"{param.type} {param.name}".split()))
    stars = {"args": "*", "kwargs": "**"}.get(param.kind, "")
    return f"{stars}{param.name}{_default(param.default)}"


def _default(value: Expr | None) -> str:
    if value is None:
        return ""
    return f"={value.value!r}" if isinstance(value, Const) else f"={dotted(value) or '...'}"


def _ops(path: str, base: SourceFile | None, head: SourceFile | None) -> Iterator[OpFact]:
    old = {o.name: o for o in base.ops} if base else {}
    new = {o.name: o for o in head.ops} if head else {}
    for name in [*old, *(n for n in new if n not in old)]:
        before, after = old.get(name), new.get(name)
        if before is None or after is None:
            yield OpFact(path, name, "added" if before is None else "removed")
            continue
        was, now = parts(before), parts(after)
        if was != now:
            gained = tuple(p for p in now if p not in was)
            yield OpFact(path, name, "changed", gained, tuple(p for p in was if p not in now))


def parts(op: Op) -> tuple[str, ...]:
    """What an op is registered with: inputs, outputs, attributes."""
    return (*op.inputs, *op.outputs, *op.attrs)


def _constants(
    path: str, base: SourceFile | None, head: SourceFile | None
) -> Iterator[ConstantFact]:
    if base is None or head is None:
        return
    old, new = _values(base), _values(head)
    for name in [*old, *(n for n in new if n not in old)]:
        before, after = old.get(name), new.get(name)
        if before is None or after is None or before.value != after.value:
            now = after or before
            yield ConstantFact(
                path, name, _line(base, before), _line(head, after), now.line if now else 0
            )


def _values(unit: SourceFile) -> dict[str, Constant]:
    """Constants with one value. A name bound twice (under `#if`, or reassigned) has none to compare."""
    named: dict[str, list[Constant]] = {}
    for constant in unit.constants:
        named.setdefault(f"{constant.owner}.{constant.name}".lstrip("."), []).append(constant)
    return {name: found[0] for name, found in named.items() if len(found) == 1}


def _line(unit: SourceFile, constant: Constant | None) -> str:
    return unit.text(constant.line).strip() if constant else ""


def _areas(files: tuple[FileFact, ...]) -> tuple[Area, ...]:
    folders: dict[str, list[FileFact]] = {}
    for file in files:
        folders.setdefault(str(PurePosixPath(file.path).parent), []).append(file)
    return tuple(
        Area(
            folder,
            tuple(PurePosixPath(f.path).name for f in inside),
            sum(f.added for f in inside),
            sum(f.removed for f in inside),
        )
        for folder, inside in sorted(folders.items())
    )
