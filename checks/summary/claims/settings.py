"""What can be set, and to what when nobody sets it: entries of a settings class's tables, and its fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Location, Message, Side
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile
from checks.lang.ir.stmt import Assign
from checks.summary.model import Claim

_CLASS = re.compile(r"(?:Config|Args|Arguments|Options|Settings)$")


@dataclass(frozen=True, slots=True)
class _Setting:
    value: E.Const
    line: int


def settings(change: ChangeSet, config: Config) -> Iterator[Claim]:
    """Settings that came, went or have another value where nobody sets them."""
    for file in change.files:
        head = (
            change.unit(file.head_path)
            if file.head_path and not config.is_test(file.path)
            else None
        )
        base = change.unit(file.base_path, Side.BASE) if file.base_path else None
        if head is None or base is None or head.language != "python":
            continue
        before, now = _settings(base), _settings(head)
        for (owner, name), setting in now.items():
            old = before.get((owner, name))
            args = {
                "owner": owner,
                "name": name,
                "path": head.path,
                "new": repr(setting.value.value),
            }
            where = (Location(head.path, setting.line),)
            if old is None and not _speaks_of(base, owner, name):
                yield Claim(Message("setting-added", args), where, (name,))
            elif old is not None and old.value != setting.value:
                changed = Message("setting-changed", {**args, "old": repr(old.value.value)})
                yield Claim(changed, where, (name,))


def _settings(unit: SourceFile) -> dict[tuple[str, str], _Setting]:
    """(class, name) of every setting with a literal value that stands once: `self.x = 1` in `__init__`, `{"x": 1}`."""
    found: dict[tuple[str, str], list[_Setting]] = {}
    for function in unit.functions:
        if function.name == "__init__" and _CLASS.search(function.owner):
            for s in function.body:
                match s:
                    case Assign(
                        target=E.Attr(base=E.Name(id="self"), name=name),
                        op="=",
                        value=E.Const() as given,
                    ):
                        found.setdefault((function.owner, name), []).append(_Setting(given, s.line))
    for constant in unit.constants:
        if _CLASS.search(constant.owner) and isinstance(constant.value, E.Mapping):
            for key, value in constant.value.items:
                if (
                    isinstance(key, E.Const)
                    and isinstance(key.value, str)
                    and isinstance(value, E.Const)
                ):
                    found.setdefault((constant.owner, key.value), []).append(
                        _Setting(value, key.line)
                    )
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _speaks_of(unit: SourceFile, owner: str, name: str) -> bool:
    """Whether the class had the name in another form: a value that is worked out, a parameter."""
    named = unit.classes_named.get(owner, [])
    texts = (unit.text(c.start_line, c.end_line) for c in named)
    return any(re.search(rf"\b{re.escape(name)}\b", t) for t in texts)
