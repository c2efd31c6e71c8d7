"""Constructors that nobody wrote: those of data classes and named tuples."""

from __future__ import annotations

from collections.abc import Iterator

from checks.domain.calls.classes import Lineage
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Class, Constant, Function, Param


def is_dataclass(cls: Class) -> bool:
    """Whether a decorator makes the constructor."""
    for decorator in cls.decorators:
        name = decorator.partition("(")[0].rsplit(".", 1)[-1]
        if name == "dataclass" and "init=False" not in decorator.replace(" ", ""):
            return True
    return False


def is_named_tuple(cls: Class) -> bool:
    """Whether the class is a typed named tuple."""
    return any(base.rsplit(".", 1)[-1] == "NamedTuple" for base in cls.bases)


def record_constructor(ref: ClassRef, lineage: Lineage) -> Function | None:
    """The constructor of a data class or named tuple, with its fields as parameters.

    None where a base is out of the tree, so that not all fields are known.
    """
    owners = [ref]
    if is_dataclass(ref.cls):
        if not lineage.is_whole:
            return None
        owners = [owner for owner in reversed(lineage.classes) if is_dataclass(owner.cls)]
    fields: dict[str, Param] = {}
    for owner in owners:
        for param in _field_params(owner):
            fields[param.name] = param
    # Fields that are passed by name alone come behind the others.
    ordered = sorted(fields.values(), key=lambda param: param.kind == "keyword")
    cls = ref.cls
    return Function(
        "__init__",
        f"{cls.name}.__init__",
        cls.path,
        (Param("self"), *ordered),
        cls.start_line,
        cls.end_line,
        lambda: (),
        owner=cls.name,
    )


def _field_params(owner: ClassRef) -> Iterator[Param]:
    keyword_only = any("kw_only=True" in mark.replace(" ", "") for mark in owner.cls.decorators)
    for constant in owner.unit.constants:
        if constant.owner != owner.cls.name or not constant.type:
            continue
        if constant.type.rsplit(".", 1)[-1] == "KW_ONLY":
            keyword_only = True
            continue
        if "ClassVar" in constant.type or _is_left_out(constant):
            continue
        kind = "keyword" if keyword_only or _field_option(constant, "kw_only") else "positional"
        yield Param(constant.name, constant.type, _default(constant), kind, constant.line)


def _default(constant: Constant) -> E.Expr | None:
    """The default of a field; a call of `field` without one has none."""
    value = constant.value
    if not isinstance(value, E.Call) or E.callee(value) not in ("field", "Field"):
        return value
    # pydantic takes the default by position too.
    given = {name for name, _ in value.keywords}
    has_default = value.args or given & {"default", "default_factory", "**"}
    return value if has_default else None


def _is_left_out(constant: Constant) -> bool:
    return _field_option(constant, "init") is False


def _field_option(constant: Constant, name: str) -> object:
    """What a call of `field` passes for `name`, where that is a constant."""
    if isinstance(constant.value, E.Call):
        for keyword, value in constant.value.keywords:
            if keyword == name and isinstance(value, E.Const):
                return value.value
    return None
