"""What a device function does, one atom at a time, and what a change altered in it.

Copies for other hardware spell types, casts and namespaces differently, so atoms are compared without them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, ExprStmt, For, GuardedStmt, If, Return, guarded_statements
from checks.rules.sync._effects import symbols, weight

LEAST_ALIKE = 0.4
MOST_GONE = 0.5
REWRITTEN = 10
_WIDTHS = {
    "int": 32, "int32_t": 32, "uint32_t": 32, "int64_t": 64, "uint64_t": 64, "size_t": 64, "long": 64, "longlong": 64,
}  # fmt: skip
_MEMORY = ("_lm", "_sm", "_gm", "_shared", "_smem")
_ENDING = re.compile(r"(_lm|_sm|_gm|_shared|_smem)+$")
_ALLOCATES = frozenset(
    {"empty", "full", "zeros", "ones", "empty_like", "full_like", "copy_to", "GetEmptyTensor"}
)


@dataclass(frozen=True, slots=True)
class Atom:
    """`assign`: `key` gets `form`; `branch`: `form` decides; `loop`: `form` bounds a counter; `result`: `form` is
    returned. `guards` are the conditions around it, `line`..`end_line` the code's, `width` the bits of a declared
    whole number (0: not one, or not told)."""

    kind: str
    key: E.Expr | None
    form: E.Expr
    guards: tuple[E.Expr, ...]
    line: int
    end_line: int
    width: int = 0

    @property
    def identity(self) -> tuple[object, ...]:
        return self.kind, self.key, self.form

    @property
    def weight(self) -> int:
        """How much it takes for two to be the same by chance: names and constants."""
        return weight(self.form) + (weight(self.key) if self.key is not None else 0)

    @property
    def names(self) -> set[str]:
        return E.names(self.form) | (E.names(self.key) if self.key is not None else set())


@dataclass(frozen=True, slots=True)
class Alteration:
    """What a change did to one atom: `old` became `new` (None: it is gone), gained the condition `guard`, or was
    `widened`: the same value in a wider type."""

    function: Function
    base: Function
    old: Atom
    new: Atom | None
    guard: E.Expr | None = None
    widened: bool = False

    @property
    def line(self) -> int:
        return self.new.line if self.new is not None else self.function.start_line


def plain(expr: E.Expr) -> E.Expr:
    """`expr` without casts, namespaces, template arguments and the endings that say which memory a name is in;
    `a > b` as `b < a`."""
    return E.substitute(expr, _plain)


def _plain(e: E.Expr) -> E.Expr | None:
    match e:
        case E.Cast(operand=operand):
            return plain(operand)
        case E.Call(func=E.Name(id=name), args=(operand,)) if name.endswith("_cast"):
            return plain(operand)
        case E.Call(func=func, args=args, template=template) if template:
            return E.Call(plain(func), tuple(map(plain, args)), line=e.line)
        case E.Name(id=name) if "::" in name or name.endswith(_MEMORY):
            return E.Name(_ENDING.sub("", name.rsplit("::", 1)[-1]) or name, line=e.line)
        case E.Binary(op=">" | ">=" as op, left=left, right=right):
            return E.Binary({">": "<", ">=": "<="}[op], plain(right), plain(left), line=e.line)
        case _:
            return None


def atoms(function: Function) -> list[Atom]:
    """Every atom of `function` in source order."""
    return [a for g in guarded_statements(function.body) for a in _of(g)]


def _of(guarded: GuardedStmt) -> Iterator[Atom]:
    stmt = guarded.stmt
    guards = tuple(plain(g) for g in guarded.guards)
    match stmt:
        case Assign(target=target, op=op, value=value, declares=declares) if value is not None:
            form = value if op == "=" else E.Binary(op, target, value)
            width = _width(declares) if declares is not None else 0
            yield Atom(
                "assign", plain(target), plain(form), guards, stmt.line, stmt.end_line, width
            )
        case If(test=test, then=then):
            end = max(stmt.line, min(stmt.end_line, then[0].line - 1)) if then else stmt.end_line
            yield Atom("branch", None, plain(test), guards, stmt.line, end)
        case For(stop=stop) if stop is not None:
            yield Atom("loop", None, plain(stop), guards, stmt.line, stmt.line)
        case For(test=test) if test is not None:
            yield Atom("branch", None, plain(test), guards, stmt.line, stmt.line)
        case Return(value=value) if value is not None:
            yield Atom("result", None, plain(value), guards, stmt.line, stmt.end_line)
        case ExprStmt(value=E.Call() as call) if not call.launch and call.args:
            yield Atom("call", plain(call.func), plain(call), guards, stmt.line, stmt.end_line)
        case _:
            return


def _width(declares: str) -> int:
    """The bits of a plain integer type, 0 for anything else."""
    kind = re.sub(r"\b(const|constexpr|static|unsigned|std::)\b|std::|\s", "", declares)
    return _WIDTHS.get(kind, 0)


def alterations(old: Function, new: Function) -> list[Alteration]:
    """What the change altered: atoms of the base that are gone, with what stands in their place where that is plain.

    An atom of which the old form still stands somewhere is left out, as are names that were only renamed.
    """
    before, after = atoms(old), atoms(new)
    kept, had = Counter(a.identity for a in after), Counter(a.identity for a in before)
    gone = [a for a in before if not kept[a.identity]]
    come = [a for a in after if not had[a.identity]]
    if len(gone) > max(REWRITTEN, MOST_GONE * len(before)):
        return []
    renamed = _renames(old, before, new, after)
    was, now = _locals(before), _locals(after)
    found: list[Alteration] = []
    for atom in gone:
        best = _successor(atom, come)
        if best is not None:
            come.remove(best)
            same = _expanded(atom.form, was) == _expanded(best.form, now)
            if not same and not _only_renamed(atom, best, renamed) and not _allocates(atom.form):
                found.append(Alteration(new, old, atom, best))
        elif (
            atom.kind == "assign"
            and isinstance(atom.key, E.Index)
            and not (E.names(atom.key) & renamed[0])
        ):
            found.append(Alteration(new, old, atom, None))
    return [*found, *_guarded(old, new, before, after), *_widened(old, new, before, after)]


def _widened(
    old: Function, new: Function, before: list[Atom], after: list[Atom]
) -> Iterator[Alteration]:
    """Products that were kept in 32 bits and now are in 64."""
    narrow = {a.identity: a for a in before if a.width == 32 and _multiplies(a.form)}
    for atom in after if narrow else ():
        if atom.width == 64 and atom.identity in narrow:
            yield Alteration(new, old, narrow[atom.identity], atom, widened=True)


def _multiplies(form: E.Expr) -> bool:
    return any(isinstance(e, E.Binary) and e.op == "*" for e in E.walk(form))


def _successor(atom: Atom, come: list[Atom]) -> Atom | None:
    same = [a for a in come if a.kind == atom.kind and a.key == atom.key]
    best = max(
        same,
        key=lambda a: (alike(atom.form, a.form), a.guards == atom.guards, -a.line),
        default=None,
    )
    if best is None or (atom.kind != "assign" and alike(atom.form, best.form) < LEAST_ALIKE):
        return None
    return best


def alike(left: E.Expr, right: E.Expr) -> float:
    """How much of `left`'s names and constants `right` keeps, or the other way round where that is more; 0 to 1."""
    one, two = Counter(symbols(left)), Counter(symbols(right))
    common = sum((one & two).values())
    return common / max(1, min(sum(one.values()), sum(two.values())))


def _allocates(form: E.Expr) -> bool:
    """Whether a value is a fresh tensor or opens one, which every hardware does in its own way."""
    calls = [E.callee(e) for e in E.walk(form) if isinstance(e, E.Call)]
    return "data" in calls or (isinstance(form, E.Call) and E.callee(form) in _ALLOCATES)


def _locals(known: list[Atom]) -> dict[str, E.Expr]:
    """The names that are given a value once, with it."""
    times = Counter(a.key.id for a in known if isinstance(a.key, E.Name))
    return {a.key.id: a.form for a in known if isinstance(a.key, E.Name) and times[a.key.id] == 1}


def _expanded(form: E.Expr, known: dict[str, E.Expr], depth: int = 3) -> E.Expr:
    """`form` with names replaced by the values they were given."""
    if not depth:
        return form
    return E.substitute(
        form,
        lambda e: (
            _expanded(known[e.id], known, depth - 1)
            if isinstance(e, E.Name) and e.id in known
            else None
        ),
    )


def _renames(
    old: Function, before: list[Atom], new: Function, after: list[Atom]
) -> tuple[set[str], set[str]]:
    """(names that only the base has, names that only the head has), parameters too."""
    was = {n for a in before for n in a.names} | {p.name for p in old.params}
    now = {n for a in after for n in a.names} | {p.name for p in new.params}
    return was - now, now - was


def _only_renamed(old: Atom, new: Atom, renamed: tuple[set[str], set[str]]) -> bool:
    """Whether `new` is `old` with some names that went replaced by names that came."""
    gone, came = renamed
    return _skeleton(old, gone) == _skeleton(new, came)


def _skeleton(atom: Atom, free: set[str]) -> tuple[object, ...]:
    def blank(e: E.Expr) -> E.Expr | None:
        return E.Name("_") if isinstance(e, E.Name) and e.id in free else None

    key = E.substitute(atom.key, blank) if atom.key is not None else None
    return atom.kind, key, E.substitute(atom.form, blank)


def _guarded(
    old: Function, new: Function, before: list[Atom], after: list[Atom]
) -> Iterator[Alteration]:
    """Stores to memory that gained one condition which the base did not have anywhere."""
    known = {g for a in before for g in a.guards} | {a.form for a in before if a.kind == "branch"}
    places: dict[tuple[object, ...], list[Atom]] = {}
    for atom in after:
        if isinstance(atom.key, E.Index) and atom.kind == "assign":
            places.setdefault(atom.identity, []).append(atom)
    for atom in before if places else ():
        twins = places.get(atom.identity, [])
        if len(twins) != 1:
            continue
        fresh = [g for g in twins[0].guards if g not in atom.guards and g not in known]
        if (
            len(fresh) == 1
            and len(E.names(fresh[0])) > 1
            and set(atom.guards) <= set(twins[0].guards)
        ):
            yield Alteration(new, old, atom, twins[0], fresh[0])
