"""What a test replaces before it runs: `@patch`, `with patch(...)` and `monkeypatch.setattr`."""

from __future__ import annotations

import re

from checks.eval.interpreter.calls import Calls
from checks.eval.interpreter.values import ClassRef, GaveUp, Instance, ModuleRef, V
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function

_PATCH = re.compile(r"""(?:\w+\.)*patch\(\s*["']([\w.]+)["']""")


class Patches(Calls):
    """Putting other things in the place of names."""

    def decorated(self, function: Function) -> None:
        """Apply `@patch("module.name")`; what other patches replace is not known, so they end the run."""
        for mark in function.marks:
            target = _PATCH.match(mark)
            if target is not None:
                self._replace(self._named_by(target[1]), V(Instance(None, open=True)))
            elif "patch" in mark:
                raise GaveUp

    def _replace(self, key: tuple[str, str] | None, value: V) -> None:
        if key is not None:
            self.program.replace(key, value)

    def patched(self, items: tuple[E.Expr, ...]) -> list[tuple[tuple[str, str], V | None]]:
        """Apply `mock.patch(...)` and `patch.object(...)`; gives what to restore."""
        undo: list[tuple[tuple[str, str], V | None]] = []
        for item in items:
            if not isinstance(item, E.Call):
                continue
            key = self._target(item)
            new = (
                self.eval(item.args[-1])
                if key and len(item.args) > (2 if E.callee(item) == "object" else 1)
                else None
            )
            if key is None:
                self.eval(item)
                continue
            undo.append((key, self.program.overrides.get(key)))
            self.program.replace(key, new if new is not None else V(Instance(None, open=True)))
        return undo

    def monkeypatch(self, call: E.Call) -> None:
        """`monkeypatch.setattr(owner, "name", value)` and its dotted form."""
        args = [self.eval(a) for a in call.args]
        match [a.value for a in args[:2]]:
            case [Instance() as owner, str() as name] if len(args) > 2:
                owner.attrs[name] = args[2]
            case [ModuleRef() | ClassRef() as owner, str() as name]:
                self._replace(_key(owner, name), args[-1])
            case [str() as target, *_]:
                self._replace(self._named_by(target), args[-1])

    def _target(self, call: E.Call) -> tuple[str, str] | None:
        name = E.dotted(call.func) or ""
        if name.endswith("patch.object") and len(call.args) > 1:
            owner, attr = self.eval(call.args[0]).value, self.eval(call.args[1]).value
            return (
                _key(owner, attr)
                if isinstance(owner, ModuleRef | ClassRef) and isinstance(attr, str)
                else None
            )
        if (
            name.endswith("patch")
            and call.args
            and isinstance(target := self.eval(call.args[0]).value, str)
        ):
            return self._named_by(target)
        return None

    def _named_by(self, target: str) -> tuple[str, str] | None:
        """What a patch of the dotted name `target` replaces: a file's name, or a class's attribute in it."""
        module, _, name = target.rpartition(".")
        found = self.program.module(module)
        if found.unit is not None:
            return found.unit.path, name
        above, _, cls = module.rpartition(".")
        found = self.program.module(above) if above else found
        return (found.unit.path, f"{cls}.{name}") if found.unit is not None else None


def _key(owner: ModuleRef | ClassRef, name: str) -> tuple[str, str] | None:
    """Where a patch of `owner.name` is kept among the overrides."""
    if isinstance(owner, ClassRef):
        return owner.unit.path, f"{owner.cls.name}.{name}"
    return (owner.unit.path, name) if owner.unit is not None else None
