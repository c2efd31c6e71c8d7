"""TOML tables read into dataclasses, strictly: an unknown key or a wrong type is an error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from checks.core.near_names import nearest_name

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


class ConfigError(ValueError):
    """A configuration that cannot be used: `problem` is a message key, `args_` its arguments."""

    def __init__(self, problem: str, **args: str) -> None:
        super().__init__(problem, args)
        self.problem = problem
        self.args_ = args


def override(defaults: T, table: Mapping[str, Any], where: str) -> T:
    """`defaults` with the values of a TOML table put over them.

    `where` is the key of that table and a dot, empty for the top level.
    """
    hints = get_type_hints(type(defaults))
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{where}{key}"
        if key not in hints:
            raise _unknown_key(name, key, hints)
        if is_dataclass(hints[key]):
            values[key] = override(getattr(defaults, key), _table(value, name), f"{name}.")
        else:
            values[key] = _value(hints[key], value, name)
    return replace(defaults, **values)


def _value(kind: Any, value: Any, name: str) -> Any:
    """`value` as a field of type `kind`: a string, number, switch, list, or table of lists."""
    if get_origin(kind) is Mapping:
        item_kind = get_args(kind)[1]
        table = _table(value, name)
        return {key: _value(item_kind, item, f"{name}.{key}") for key, item in table.items()}
    if get_origin(kind) is tuple:
        return _tuple(get_args(kind)[0], value, name)
    # To Python, True is an int.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ConfigError("type", key=name, wanted=kind.__name__)
    if kind is int and value < 0:
        raise ConfigError("negative", key=name)
    return value


def _tuple(item_kind: type[Any], value: Any, name: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ConfigError("type", key=name, wanted="list")
    if is_dataclass(item_kind):
        return tuple(_list_item(item_kind, item, name) for item in value)
    if not all(isinstance(item, item_kind) for item in value):
        raise ConfigError("type", key=name, wanted=f"list of {item_kind.__name__}")
    return tuple(value)


def _list_item(kind: type[Any], item: Any, name: str) -> Any:
    """One table of a list of tables (`[[family]]`) as a `kind`."""
    if not isinstance(item, dict):
        raise ConfigError("type", key=name, wanted="list of tables")
    hints = get_type_hints(kind)
    for key in item:
        if key not in hints:
            raise _unknown_key(f"{name}.{key}", key, hints)
    for field_ in fields(kind):
        if field_.default is MISSING and field_.name not in item:
            raise ConfigError("missing", key=f"{name}.{field_.name}")
    values = {key: _value(hints[key], value, f"{name}.{key}") for key, value in item.items()}
    return kind(**values)


def _table(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError("type", key=name, wanted="table")
    return value


def _unknown_key(name: str, key: str, known: Iterable[str]) -> ConfigError:
    return ConfigError("unknown", key=name, nearest=nearest_name(key, known))
