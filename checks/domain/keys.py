"""Keys of dicts and attributes of batches: where a function sets them and where it needs them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.ops import files_calling, statement_expressions
from checks.domain.siblings import base_unit
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign

_PLATFORM_TEST = re.compile(r"is_\w+")


@dataclass(frozen=True, slots=True)
class KeyUse:
    """A use of `key` of `holder`: `share_inputs` in `self.share_inputs["k"]`, `self` in `self.k`.

    `sets` where the key gets a value, which is `value`; anything else needs it to be there.
    """

    holder: str
    key: str
    sets: bool
    line: int
    guards: tuple[E.Expr, ...]
    value: E.Expr | None = None


def key_uses(function: Function) -> Iterator[KeyUse]:
    """Every use of a key or an attribute of `self` in `function`, in source order."""
    # Kept, because the rules about keys ask for every function of a runner again and again.
    return iter(function.body.memo(key_uses, lambda: list(_uses(function))))


def _uses(function: Function) -> Iterator[KeyUse]:
    for guarded, expressions in statement_expressions(function.body):
        stmt = guarded.stmt
        target: E.Expr | None = None
        if isinstance(stmt, Assign) and stmt.op == "=":
            set_key = _holder_and_key(stmt.target)
            if set_key is not None:
                target = stmt.target
                yield KeyUse(*set_key, True, stmt.line, guarded.guards, stmt.value)
        for expr in expressions:
            if expr is target:
                continue
            read_key = _holder_and_key(expr)
            if read_key is not None:
                yield KeyUse(*read_key, False, expr.line or stmt.line, guarded.guards)


def _holder_and_key(expr: E.Expr) -> tuple[str, str] | None:
    match expr:
        case E.Attr(base=E.Name(id="self"), name=name):
            return "self", name
        case E.Index(base=base, indices=(E.Const(value=str() as key),)):
            holder = (E.dotted(base) or "").rsplit(".", 1)[-1]
            return (holder, key) if holder else None
        case _:
            return None


def asks_platform(guards: tuple[E.Expr, ...]) -> bool:
    """Whether one of the conditions asks which hardware this is."""
    for guard in guards:
        for part in E.walk(guard):
            if not isinstance(part, E.Call) or not _PLATFORM_TEST.match(E.callee(part)):
                continue
            if "platform" in (E.dotted(part.func) or ""):
                return True
    return False


def holds_on_some_hardware_only(test: E.Expr) -> bool:
    """Whether a condition holds on some hardware only; `not (not is_rocm() and not fits)` may hold
    on all."""
    match test:
        case E.Unary(op="not", operand=E.Binary(op="and", left=left, right=right)):
            return holds_on_some_hardware_only(left) and holds_on_some_hardware_only(right)
        case E.Binary(op="or", left=left, right=right):
            return holds_on_some_hardware_only(left) and holds_on_some_hardware_only(right)
        case E.Binary(op="and", left=left, right=right):
            return holds_on_some_hardware_only(left) or holds_on_some_hardware_only(right)
        case E.Unary(op="not", operand=E.Binary(op="or", left=left, right=right)):
            return holds_on_some_hardware_only(left) or holds_on_some_hardware_only(right)
        case _:
            return asks_platform((test,))


def is_key_tested(use: KeyUse) -> bool:
    """Whether the code asks first if the key is there."""
    asked_for: list[E.Expr] = []
    for guard in use.guards:
        asked_for += E.walk(guard)
    return E.Const(use.key) in asked_for


def changed_python_files(
    change: ChangeSet, config: Config
) -> Iterator[tuple[SourceFile | None, SourceFile]]:
    """(base, head) of every changed Python file of the product; None for a new file."""
    for file in change.files:
        path = file.head_path
        if path is None or not path.endswith(".py") or file.mode != "file":
            continue
        if config.is_test(path):
            continue
        unit = change.unit(path)
        if unit is not None:
            base = base_unit(path, change) if file.base_path else None
            yield base, unit


def product_files(word: str, change: ChangeSet, config: Config) -> list[str]:
    """The Python files of the product in which `word` stands."""
    return _without_tests(change.head.paths_containing(word, "python"), config)


def calling_files(name: str, change: ChangeSet, config: Config) -> list[str]:
    """The Python files of the product in which `name` may be called."""
    return _without_tests(files_calling(name, change.head), config)


def _without_tests(paths: list[str] | tuple[str, ...], config: Config) -> list[str]:
    # A stub (`.pyi`) counts as Python and has no code.
    return [path for path in paths if path.endswith(".py") and not config.is_test(path)]


def may_assign(key: str, text: str) -> bool:
    """Whether `text` gives `key` a value in any way that code does."""
    word = re.escape(key)
    item = rf"[\"']{word}[\"']\]\s*=[^=]"
    dict_entry = rf"[\"']{word}[\"']\s*:"
    attribute = rf"\.{word}\b\s*(:[^=\n]+)?=[^=]"
    keyword = rf"\b{word}\s*=[^=]"
    return re.search(f"{item}|{dict_entry}|{attribute}|{keyword}", text) is not None
