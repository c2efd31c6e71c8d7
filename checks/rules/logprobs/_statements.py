"""What a statement does, apart from names of locals and the place where its values lie."""

from __future__ import annotations

import re

from checks.core.change import ChangeSet
from checks.domain.hardware_reach import asks_for_new_name
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, ExprStmt, GuardedStmt, If, Return, Stmt

_LOG_CALL = re.compile(
    r"(?i)^(debug|info|warning|warn|error|print|printf|log|v?log)$|logger|cout|cerr"
)
# Calls that move or reshape a value and do not compute one.
_CARRYING_CALLS = frozenset(
    {
        "cpu",
        "cuda",
        "tolist",
        "numpy",
        "item",
        "clone",
        "contiguous",
        "detach",
        "copy_to",
        "pin_memory",
        "reshape",
    }
)
_ALLOCATING_CALLS = ("empty", "empty_like", "copy_")
_PLACE_KEYWORDS = frozenset({"device", "place", "blocking"})
# Calls that hand on the rows of a tensor in another order.
_ROW_CALLS = re.compile(
    r"^(?:index_select|gather|gather_nd|scatter|scatter_nd|take)$"
    r"|(?:^|_)(?:reorder|recover|permute)(?:_|$)"
)


def last_line(stmt: Stmt) -> int:
    """The last line of a statement itself, without what a branch holds."""
    return stmt.line if isinstance(stmt, If) else stmt.end_line


def does_something(stmt: Stmt) -> bool:
    """Whether it is no log line, and no statement that only holds others."""
    if not isinstance(stmt, ExprStmt):
        return isinstance(stmt, Assign | Return | If)
    names = E.names(stmt.value)
    for expr in E.walk(stmt.value):
        if isinstance(expr, E.Call):
            names.add(E.callee(expr))
    return not any(_LOG_CALL.search(name) for name in names)


def only_carries(stmt: Stmt) -> bool:
    """`x = empty_like(y)`, `x.copy_(y)`, `x = gather(y, order)`: room for a value, or its way."""
    value = stmt.value if isinstance(stmt, Assign | ExprStmt) else None
    while _is_carrying_call(value):
        assert isinstance(value, E.Call) and isinstance(value.func, E.Attr)
        value = value.func.base
    if not isinstance(value, E.Call):
        return False
    name = E.callee(value)
    return name in _ALLOCATING_CALLS or _ROW_CALLS.search(name) is not None


def _is_carrying_call(value: E.Expr | None) -> bool:
    """`x.cpu()`"""
    if not isinstance(value, E.Call) or not isinstance(value.func, E.Attr):
        return False
    return value.func.name in _CARRYING_CALLS


def assigned_names(stmt: Stmt) -> list[str]:
    """The last names of what a statement sets; the keys of a table before its name."""
    if not isinstance(stmt, Assign):
        return []
    targets = stmt.target.items if isinstance(stmt.target, E.Sequence) else (stmt.target,)
    names = []
    for target in targets:
        while isinstance(target, E.Index):
            if len(target.indices) == 1:
                key = target.indices[0]
                if isinstance(key, E.Const) and isinstance(key.value, str):
                    names.append(key.value)
            target = target.base
        dotted = E.dotted(target)
        if dotted:
            names.append(dotted.rsplit(".", 1)[-1])
    return names


def called_names(stmt: Stmt) -> list[str]:
    """The names of everything that a statement calls."""
    names = []
    for top in expressions_of(stmt):
        for expr in E.walk(top):
            if isinstance(expr, E.Call):
                names.append(E.callee(expr))
    return names


def local_names(body: list[GuardedStmt]) -> set[str]:
    """The names that a function sets itself, `self.x` among them."""
    names = set()
    for guarded in body:
        if isinstance(guarded.stmt, Assign):
            name = E.dotted(guarded.stmt.target)
            if name:
                names.add(name)
    return names


def key_of(stmt: Stmt, local: set[str], change: ChangeSet) -> tuple[object, ...]:
    """A value that is equal for statements that do the same.

    Whatever their locals are called, however many they unpack, and wherever their values lie.
    """

    def simplify(expr: E.Expr) -> E.Expr | None:
        match expr:
            case E.Name() | E.Attr() if E.dotted(expr) in local:
                return E.Name("_")
            case E.Ternary(test=test) if asks_for_new_name((test,), change):
                return E.substitute(_arm_without_option(expr), simplify)
            case E.Call(
                func=E.Attr(base=E.Name(id="paddle" | "torch" | "np"), name="reshape"),
                args=(base, *_),
            ):
                return E.substitute(base, simplify)
            case E.Call(func=E.Attr(base=base, name=name)) if name in _CARRYING_CALLS:
                return E.substitute(base, simplify)
            case E.Call(keywords=keywords) if any(k in _PLACE_KEYWORDS for k, _ in keywords):
                kept = tuple((k, v) for k, v in keywords if k not in _PLACE_KEYWORDS)
                call = E.Call(expr.func, expr.args, kept, expr.launch, expr.template)
                return E.substitute(call, simplify)
            case _:
                return None

    expressions = list(expressions_of(stmt))
    if isinstance(stmt, Assign) and isinstance(stmt.target, E.Sequence):
        # The first is the target: a function may give one value more now.
        expressions = expressions[1:]
    parts = tuple(E.substitute(expr, simplify) for expr in expressions)
    return type(stmt).__name__, getattr(stmt, "op", ""), parts


def _arm_without_option(value: E.Ternary) -> E.Expr:
    """The arm that counts for those who do not use the option that the test asks for.

    `x if option is None else y`, `x if not option else y`: x.
    """
    test = value.test
    asks_for_absence = isinstance(test, E.Unary)
    if isinstance(test, E.Binary) and test.op == "is":
        asks_for_absence = True
    return value.then if asks_for_absence else value.orelse
