"""New containers, and what changes one in place."""

from __future__ import annotations

from checks.lang.ir import expr as E

CHANGING_METHODS = frozenset(
    {"append", "extend", "insert", "remove", "clear", "update", "add", "setdefault", "discard"}
    | {"pop", "popleft", "appendleft", "sort", "reverse"}
)
_MAKERS = frozenset({"list", "dict", "set", "defaultdict", "deque", "OrderedDict"})


def is_new_container(value: E.Expr) -> bool:
    """Whether each evaluation of `value` makes a list, dict or set of its own."""
    match value:
        case E.Sequence(kind="list" | "set") | E.Mapping() | E.Comprehension():
            return True
        case E.Call(func=E.Name(id=name)):
            return name in _MAKERS
        case _:
            return False
