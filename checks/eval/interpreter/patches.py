"""What a test replaces before it runs: `@patch`, `with patch(...)` and `monkeypatch.setattr`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from checks.eval.interpreter.frames import Interpretation
from checks.eval.interpreter.modules import NameKey
from checks.eval.interpreter.values import BudgetExceeded, ClassRef, Instance, ModuleRef, Value
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function

_PATCH_DECORATOR = re.compile(r"""(?:\w+\.)*patch\(\s*["']([\w.]+)["']""")


def apply_decorators(run: Interpretation, function: Function) -> None:
    """Apply `@patch("module.name")`.

    Raises BudgetExceeded for other patches: what they replace is not known.
    """
    for mark in function.marks:
        target = _PATCH_DECORATOR.match(mark)
        if target is not None:
            _replace(run, _find_target(run, target[1]), _new_mock())
        elif "patch" in mark:
            raise BudgetExceeded


def apply_context_managers(
    run: Interpretation, items: tuple[E.Expr, ...]
) -> list[Callable[[], None]]:
    """Apply `with mock.patch(...)` and `patch.object(...)`; gives what puts the old values back."""
    undo: list[Callable[[], None]] = []
    for item in items:
        if not isinstance(item, E.Call):
            continue
        key = target_of_patch(run, item)
        member = _member_of_object(run, item)
        if key is not None:
            replacement = _replacement(run, item)
            undo.append(partial(run.program.replace, key, run.program.overrides.get(key)))
            run.program.replace(key, replacement)
        elif member is not None:
            instance, name = member
            replacement = _replacement(run, item)
            undo.append(partial(_put_back, instance, name, instance.attrs.get(name)))
            instance.attrs[name] = replacement
        else:
            run.eval(item)
    return undo


def _put_back(instance: Instance, name: str, old: Value | None) -> None:
    if old is None:
        instance.attrs.pop(name, None)
    else:
        instance.attrs[name] = old


def _member_of_object(run: Interpretation, call: E.Call) -> tuple[Instance, str] | None:
    """The object and the name that `patch.object(reader, "step")` replaces on this object alone."""
    if not (E.dotted(call.func) or "").endswith("patch.object") or len(call.args) < 2:
        return None
    owner = run.eval(call.args[0]).value
    name = run.eval(call.args[1]).value
    if isinstance(owner, Instance) and isinstance(name, str):
        return owner, name
    return None


def apply_monkeypatch(run: Interpretation, call: E.Call) -> None:
    """`monkeypatch.setattr(owner, "name", value)` and its dotted form."""
    args = [run.eval(arg) for arg in call.args]
    match [arg.value for arg in args[:2]]:
        case [Instance() as owner, str() as name] if len(args) > 2:
            owner.attrs[name] = args[2]
        case [ModuleRef() | ClassRef() as owner, str() as name]:
            _replace(run, _key_of_attribute(owner, name), args[-1])
        case [str() as target, *_]:
            _replace(run, _find_target(run, target), args[-1])


def _replace(run: Interpretation, key: NameKey | None, value: Value) -> None:
    if key is not None:
        run.program.replace(key, value)


def _new_mock() -> Value:
    return Value(Instance(None, open=True))


def _replacement(run: Interpretation, call: E.Call) -> Value:
    """What a `patch(...)` puts in the place of its target: its last argument, else a mock."""
    target_args = 2 if E.callee(call) == "object" else 1
    if len(call.args) > target_args:
        return run.eval(call.args[-1])
    return _new_mock()


def target_of_patch(run: Interpretation, call: E.Call) -> NameKey | None:
    """The name that `patch("module.name")` or `patch.object(owner, "name")` replaces."""
    name = E.dotted(call.func) or ""
    if name.endswith("patch.object") and len(call.args) > 1:
        owner = run.eval(call.args[0]).value
        attribute = run.eval(call.args[1]).value
        if isinstance(owner, ModuleRef | ClassRef) and isinstance(attribute, str):
            return _key_of_attribute(owner, attribute)
        return None
    if name.endswith("patch") and call.args:
        target = run.eval(call.args[0]).value
        if isinstance(target, str):
            return _find_target(run, target)
    return None


def _find_target(run: Interpretation, target: str) -> NameKey | None:
    """What a patch of the dotted name `target` replaces: a name of a file, or of a class in it."""
    owner, _, name = target.rpartition(".")
    unit = run.program.module(owner).unit
    if unit is not None:
        return unit.path, name
    module, _, cls = owner.rpartition(".")
    if not module:
        return None
    unit = run.program.module(module).unit
    return None if unit is None else (unit.path, f"{cls}.{name}")


def _key_of_attribute(owner: ModuleRef | ClassRef, name: str) -> NameKey | None:
    """Where a patch of `owner.name` is kept among the overrides."""
    if isinstance(owner, ClassRef):
        return owner.unit.path, f"{owner.cls.name}.{name}"
    return None if owner.unit is None else (owner.unit.path, name)
