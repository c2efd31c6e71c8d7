"""What can be set, and its default: fields of settings classes, and entries of their tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import changed_files
from checks.core.config import Config
from checks.core.finding import Location, Message
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Constant, Function, SourceFile
from checks.lang.ir.stmt import Assign
from checks.summary.model import Claim

_SETTINGS_CLASS = re.compile(r"(?:Config|Args|Arguments|Options|Settings)$")


@dataclass(frozen=True, slots=True)
class _Setting:
    """A setting of the class `owner` with a literal default."""

    owner: str
    name: str
    value: E.Const
    line: int


def describe_settings(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """Settings that are new, or whose default changed."""
    for head, base in changed_files(change, config, "python"):
        if base is None:
            continue
        before = _settings_in(base)
        for key, setting in _settings_in(head).items():
            args = {
                "owner": setting.owner,
                "name": setting.name,
                "path": head.path,
                "new": repr(setting.value.value),
            }
            place = Location(head.path, setting.line)
            old = before.get(key)
            if old is None:
                if not _mentions(base, setting):
                    yield Claim(Message("setting-added", args), (place,), (setting.name,))
            elif old.value != setting.value:
                message = Message("setting-changed", {**args, "old": repr(old.value.value)})
                yield Claim(message, (place,), (setting.name,))


def _settings_in(unit: SourceFile) -> dict[tuple[str, str], _Setting]:
    """By (class, name) every setting that stands once, with a literal value."""
    settings: list[_Setting] = []
    for function in unit.functions:
        if function.name == "__init__" and _SETTINGS_CLASS.search(function.owner):
            settings += _set_in_constructor(function)
    for constant in unit.constants:
        if _SETTINGS_CLASS.search(constant.owner):
            settings += _listed_in_table(constant)
    by_name: dict[tuple[str, str], list[_Setting]] = {}
    for setting in settings:
        by_name.setdefault((setting.owner, setting.name), []).append(setting)
    return {key: same[0] for key, same in by_name.items() if len(same) == 1}


def _set_in_constructor(function: Function) -> Iterator[_Setting]:
    """`self.x = 1` at the top level of `__init__`."""
    for stmt in function.body:
        match stmt:
            case Assign(
                target=E.Attr(base=E.Name(id="self"), name=name), op="=", value=E.Const() as value
            ):
                yield _Setting(function.owner, name, value, stmt.line)


def _listed_in_table(constant: Constant) -> Iterator[_Setting]:
    """The entries of a class attribute `{"x": 1}`."""
    if not isinstance(constant.value, E.Mapping):
        return
    for key, value in constant.value.items:
        match key, value:
            case E.Const(value=str() as name), E.Const():
                yield _Setting(constant.owner, name, value, key.line)


def _mentions(unit: SourceFile, setting: _Setting) -> bool:
    """Whether the class had the name in another form: a computed value, a parameter."""
    word = re.compile(rf"\b{re.escape(setting.name)}\b")
    classes = unit.classes_named.get(setting.owner, [])
    return any(word.search(unit.text_of(cls)) for cls in classes)
