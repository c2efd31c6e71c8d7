"""Calls: casts and views, block copies, and helpers or kernels that are stepped into."""

from __future__ import annotations

import re

from checks.eval.symbolic.affine import Linear, number, product, symbol
from checks.eval.symbolic.places import Places
from checks.eval.symbolic.values import Pointer, Reference, State, Value
from checks.lang.ir.expr import Attr, Binary, Call, Expr, Name, Unknown, callee, dotted
from checks.lang.ir.source_file import Function

# Methods that give the same elements again: another view, type or place of them.
SAME = frozenset(
    {
        "data",
        "data_ptr",
        "get",
        "cuda",
        "cpu",
        "to",
        "clone",
        "copy",
        "copy_to",
        "contiguous",
        "detach",
        "numpy",
    }
    | {"ravel", "reshape", "flatten", "squeeze", "view", "astype", "cast", "tolist"}
)
CASTS = frozenset(("int", "float", "long", "size_t", "int32_t", "int64_t", "np.int32", "np.int64"))
# Block copies: (source argument, destination argument). memcpy is C's; the others move between Kunlun's global, shared
# and local memory, `GM2SM_ASYNC(source, destination, bytes)`.
COPIES = {"memcpy": (1, 0)} | {
    f"{a}2{b}{how}": (0, 1)
    for a in ("GM", "SM", "LM")
    for b in ("GM", "SM", "LM")
    if a != b
    for how in ("", "_ASYNC")
}
# Algorithms over ranges: (read or write, argument that starts the range, first of the two that give its length).
RANGES: dict[str, tuple[tuple[str, int, int], ...]] = {
    "std::equal": (("read", 0, 0), ("read", 2, 0)),
    "std::mismatch": (("read", 0, 0), ("read", 2, 0)),
    "std::search": (("read", 0, 0), ("read", 2, 2)),
    "std::find": (("read", 0, 0),),
    "std::fill": (("write", 0, 0),),
    "std::copy": (("read", 0, 0), ("write", 2, 0)),
}
DEEPEST = 8


class Calls(Places):
    """The part of the run that follows calls."""

    def call(self, expr: Call, state: State) -> Value:
        name = callee(expr)
        if isinstance(expr.func, Attr):
            base = self.value(expr.func.base, state)
            if isinstance(base, Pointer):
                if expr.func.name == "item":
                    return self.load(base, expr.line, state)
                return (
                    base if expr.func.name in SAME else symbol("opaque", f"{base.buffer}.{name}()")
                )
        if name in COPIES and len(expr.args) >= 2:
            return self.copied(expr, state)
        args = [self.value(a, state) for a in expr.args]
        words = {k: self.value(v, state) for k, v in expr.keywords}
        if isinstance(expr.func, Name) and expr.func.id in RANGES:
            self.ranged(RANGES[expr.func.id], args, expr.line, state)
        if (dotted(expr.func) or "") in CASTS and len(args) == 1:
            return self.number(args[0], state)
        wanted = name and self.relevant(args, words, state)
        found = self.find(name, self.path, len(args) + len(words)) if wanted else None
        if found is not None and found not in self.stack and len(self.stack) < DEEPEST:
            return self.inline(found, args, words, expr.template, state)
        return symbol("opaque", f"{name}({', '.join(map(str, args))})")

    def relevant(self, args: list[Value], words: dict[str, Value], state: State) -> bool:
        """Whether a call is worth following: it gets the index, or a place or number that moves with it."""
        for value in (*args, *words.values()):
            form = value.offset if isinstance(value, Pointer) else value
            if isinstance(value, Pointer) and value.buffer in state.cells:
                return True
            if isinstance(form, Linear) and form.symbols("index"):
                return True
        return False

    def copied(self, expr: Call, state: State) -> Value:
        """A block copy of `size` bytes: reads the source, and gives a local its value or stores to the target."""
        src, dst = (expr.args[i] for i in COPIES[callee(expr)])
        extent = self.extent(expr.args[2], state) if len(expr.args) > 2 else number(1)
        source, target = self.value(src, state), self.value(dst, state)
        got: Value = state.env.get(source.name) if isinstance(source, Reference) else None
        if isinstance(source, Pointer) and source.buffer in state.cells:
            got = state.cells[source.buffer]
        elif isinstance(source, Pointer):
            self.record(
                "read", source.buffer, source.offset, _last(source, extent), expr.line, state
            )
            got = symbol("load", f"{source.buffer}[{source.offset}]", source.buffer)
        if (
            isinstance(dst, Name)
            and isinstance(source, Pointer)
            and not isinstance(target, Pointer)
        ):
            # A local array is from now on the part of the buffer that was copied into it.
            state.env[dst.id] = source
        elif isinstance(target, Reference):
            state.env[target.name] = got if got is not None else self.unknown(target.name)
        elif isinstance(target, Pointer) and target.buffer in state.cells:
            form = self.number(got, state)
            state.set_cell(target.buffer, form if form is not None else self.later(target.buffer))
            self.advanced(target.buffer, expr.line)
        elif isinstance(target, Pointer):
            self.record(
                "write", target.buffer, target.offset, _last(target, extent), expr.line, state
            )
        return None

    def ranged(
        self, ranges: tuple[tuple[str, int, int], ...], args: list[Value], line: int, state: State
    ) -> None:
        """Note what an algorithm over `[first, last)` reads and writes."""
        for kind, start, length in ranges:
            if len(args) <= max(start, length + 1):
                continue
            place, first, last = args[start], args[length], args[length + 1]
            if (
                isinstance(place, Pointer)
                and isinstance(first, Pointer)
                and isinstance(last, Pointer)
            ):
                size = last.offset - first.offset
                if first.buffer == last.buffer:
                    end = (place.offset + size).plus(-1)
                    self.record(kind, place.buffer, place.offset, end, line, state, place.where)

    def extent(self, expr: Expr, state: State) -> Linear | None:
        """How many elements `n * sizeof(T)` bytes are."""
        match expr:
            case Call() if callee(expr) == "sizeof":
                return number(1)
            case Unknown(text=text) if text.startswith("sizeof"):
                return number(1)
            case Binary(op="*", left=left, right=right):
                a, b = self.extent(left, state), self.extent(right, state)
                return product(a, b) if a is not None and b is not None else None
            case _:
                return self.number(self.value(expr, state), state)

    def inline(
        self,
        function: Function,
        args: list[Value],
        words: dict[str, Value],
        template: str,
        state: State,
    ) -> Value:
        """Run `function` on these arguments, in this state; its result, where every way out gives the same."""
        inner = State({}, state.cells, state.writes, list(state.limits))
        inner.env.update(bind(function, args, words, template))
        for param in function.params:
            if param.name not in inner.env:
                inner.env[param.name] = self.value(param.default, state) if param.default else None
        outs = self.call_body(function, inner)
        if not outs:
            state.left = True
            return None
        ends = [out for out, _ in outs]
        merged = State()
        self.join(merged, [State({}, e.cells, e.writes, state.limits) for e in ends])
        state.cells, state.writes = merged.cells, merged.writes
        first = outs[0][1]
        return first if all(v == first for _, v in outs) else self.unknown(function.name)


def _last(place: Pointer, extent: Linear | None) -> Linear | None:
    return (place.offset + extent).plus(-1) if extent is not None else None


def bind(
    function: Function, args: list[Value], words: dict[str, Value], template: str
) -> dict[str, Value]:
    """The parameters of `function` with these arguments; integer template arguments too."""
    params = [p.name for p in function.params if p.name not in ("self", "cls")]
    bound = dict(zip(params, args, strict=False))
    bound.update({k: v for k, v in words.items() if k in params})
    heads = [m for m in function.marks if m.startswith("template")]
    if template and heads:
        wanted = re.findall(r"(?:int|size_t|unsigned|int64_t|uint32_t)\s+(\w+)", heads[0])
        given = [t.strip() for t in template.split(",")]
        bound.update(
            {n: number(int(t)) for n, t in zip(wanted, given, strict=False) if t.isdigit()}
        )
    return bound
