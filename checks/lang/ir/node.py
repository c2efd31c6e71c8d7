"""The decorator of the small classes: those made by the hundred thousand, and those that every start has to define."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def node(cls: type[T]) -> type[T]:
    """A dataclass with slots that the type checker holds to be frozen.

    At run time nothing guards it: a frozen dataclass sets each field by a call, which makes a new object cost three
    times as much. `dataclass` itself compiles six functions for a class, which for all of ours takes longer than
    reading their modules; only the constructor is worth it, and one is enough for all classes of one form.
    """
    cls.__doc__ = cls.__doc__ or cls.__name__  # else `dataclass` works a signature out
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    all_fields = fields(made)
    made.__init__ = _constructor(all_fields)
    made.__repr__ = _repr
    made.__eq__, made.__hash__ = _comparison(made, [f.name for f in all_fields if f.compare])
    made.__getstate__, made.__setstate__ = _state([f.name for f in all_fields]), _restore
    result: type[T] = made
    return result


def _constructor(all_fields: tuple[Field[Any], ...]) -> Callable[..., None]:
    """`__init__`, with each field a parameter and its default one of the function's."""
    order = sorted(all_fields, key=lambda f: bool(f.kw_only))
    plain = [f for f in order if not f.kw_only]
    code = _numbered(
        len(plain),
        len(order) - len(plain),
        tuple([f.default_factory is not MISSING for f in order]),
    )
    names = {f"_{n}": f.name for n, f in enumerate(order)}
    code = code.replace(
        co_varnames=tuple([names.get(n, n) for n in code.co_varnames]),
        co_names=tuple([names.get(n, n) for n in code.co_names]),
    )
    makers = {f"make_{n}": f.default_factory for n, f in enumerate(order)}
    given = {
        f.name: f.default
        for f in order
        if f.default is not MISSING or f.default_factory is not MISSING
    }
    made = FunctionType(
        code,
        {"MISSING": MISSING, **makers},
        "__init__",
        tuple([given[f.name] for f in plain if f.name in given]),
    )
    made.__kwdefaults__ = {f.name: given[f.name] for f in order if f.kw_only and f.name in given}
    return made


@cache
def _numbered(plain: int, named: int, factories: tuple[bool, ...]) -> CodeType:
    """The code of a constructor whose fields are called `_0`, `_1`, ...: compiling it takes ten times as long as giving
    it other names, and our classes have few forms. A field that is made takes `MISSING` for what is not given."""
    parameters = ["self", *[f"_{n}" for n in range(plain)]]
    if named:
        parameters += ["*", *[f"_{n}" for n in range(plain, plain + named)]]
    body = ["pass"]
    for n, made in enumerate(factories):
        body.append(
            f"self._{n} = make_{n}() if _{n} is MISSING else _{n}" if made else f"self._{n} = _{n}"
        )
    source = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body)
    made_code: dict[str, Any] = {}
    exec(source, made_code)  # of numbers alone
    code: CodeType = made_code["__init__"].__code__
    return code


def _state(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """For pickle: the fields in order, which takes half the time of a dict of them."""
    if len(names) > 1:
        together = attrgetter(*names)
        return lambda self: together(self)
    return lambda self: tuple([getattr(self, name) for name in names])


def _restore(self: Any, state: tuple[Any, ...]) -> None:
    """The first object of a class that comes out of a pickle has the class learn how: most never do."""
    cls = self.__class__
    targets = ", ".join(f"self.{f.name}" for f in fields(cls))
    made: dict[str, Any] = {}
    exec(f"def restore(self, state):\n [{targets}] = state", made)  # names of our own classes
    cls.__setstate__ = made["restore"]
    cls.__setstate__(self, state)


def _comparison(
    cls: type, names: list[str]
) -> tuple[Callable[[Any, object], Any], Callable[[Any], int]]:
    """`__eq__` and `__hash__` over the fields `names`."""
    key: Callable[[Any], Any] = attrgetter(*names) if names else lambda _: ()

    def equal(self: Any, other: Any) -> Any:
        return key(self) == key(other) if other.__class__ is cls else NotImplemented

    return equal, lambda self: hash(key(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({shown})"
