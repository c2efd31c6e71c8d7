"""What a change did to functions, beyond that their lines changed: split, moved, called differently, new branches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from checks.change import ChangeSet
from checks.config import Config
from checks.finding import Side
from checks.ir import expr as E
from checks.ir.stmt import Assign, For, If, Stmt, flatten
from checks.ir.unit import Function, Unit
from checks.kernel.deltas import Delta, deltas, same
from checks.ops import calls_of, expressions

_LEAST_SHARE = 0.3
_LEAST_OF_WHOLE = 0.15
_GRAM = 5
_TOKEN = re.compile(r"\w+|[^\s\w]")


@dataclass(frozen=True, slots=True)
class Split:
    """`whole` handed code to new functions, `parts`, that it now calls. `shares` says how much of each part's code (of
    its runs of five tokens) stood in `whole` before."""

    whole: Function
    parts: tuple[Function, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Calls:
    """What a function calls now and did not, and what it called and does not."""

    function: Function
    gained: tuple[str, ...]
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """The test of a branch, before and after, as written."""

    function: Function
    old: str
    new: str
    line: int


@dataclass(frozen=True, slots=True)
class Written:
    """A line of a function before and after: what `target` gets, or a loop's head (`target` empty). Text that goes over
    several lines is left out."""

    function: Function
    target: str
    old: str
    new: str
    line: int


@dataclass(frozen=True, slots=True)
class Branches:
    """Values of an enum that a function newly compares with: `VerifyStrategy` and its members. `new`: so is the
    function."""

    function: Function
    enum: str
    members: tuple[str, ...]
    line: int
    new: bool


def paired(change: ChangeSet, config: Config) -> tuple[Delta, ...]:
    """Every changed function with what it was. Of overloads under one name, the one with the same parameters; a
    function that stood elsewhere or under another owner counts only where much of its code is still there."""
    return change.once(
        ("analysis.paired", config.paths.tests), lambda: tuple(_paired(d) for d in deltas(change, config))
    )


def _paired(delta: Delta) -> Delta:
    base, unit = delta.base, delta.base_unit
    if base is None or unit is None:
        return delta
    if (base.path, base.qualname) != (delta.head.path, delta.head.qualname) and base.path == delta.head.path:
        before, now = _grams(delta.base_code), _grams(delta.code)
        much = len(before & now) >= _LEAST_SHARE * max(1, min(len(before), len(now)))
        return delta if much else replace(delta, base=None, base_unit=None)
    alike = [f for f in unit.functions if f.qualname == base.qualname and same(f.params, delta.head.params)]
    return replace(delta, base=alike[0]) if len(alike) == 1 and alike[0] is not base else delta


def splits(change: ChangeSet, config: Config) -> Iterator[Split]:
    """Functions that were cut: they call functions that are new in the same file, whose code stood in them."""
    made = {d.head.name: d for d in paired(change, config) if d.base is None}
    for delta in paired(change, config):
        if delta.base is None:
            continue
        called = {E.callee(c) for c, _ in calls_of(delta.head.body)} & made.keys()
        parts = sorted((made[n] for n in called if made[n].unit is delta.unit), key=lambda d: d.head.start_line)
        lost = _grams(delta.base_code) - _grams(delta.code)
        held = [(p.head, share) for p in parts if (share := _share(_grams(p.code), lost))]
        if held:
            yield Split(delta.head, tuple(f for f, _ in held), tuple(s for _, s in held))


def _share(part: set[tuple[str, ...]], lost: set[tuple[str, ...]]) -> float:
    """How much of `part` is in `lost`; 0 where that is little of both."""
    both = len(part & lost)
    share = both / max(1, len(part))
    much_of_whole = both >= _LEAST_OF_WHOLE * max(1, len(lost)) and share >= _LEAST_SHARE / 2
    return share if share >= _LEAST_SHARE or much_of_whole else 0.0


def _grams(code: str) -> set[tuple[str, ...]]:
    tokens = _TOKEN.findall(code)
    return set(zip(*(tokens[i:] for i in range(_GRAM)), strict=False))


def moved(change: ChangeSet, config: Config) -> Iterator[tuple[Function, Function]]:
    """(before, now) of functions that stand in another file than before, under the same name."""
    for delta in paired(change, config):
        file = change.changed(delta.head.path)
        if delta.base is not None and file is not None and delta.base.path != file.base_path:
            yield delta.base, delta.head


def calls(change: ChangeSet, config: Config) -> Iterator[Calls]:
    """Changed functions whose set of called names changed. What a helper in its file now calls for it is not lost."""
    for delta in paired(change, config):
        if delta.base is None:
            continue
        before, now = _callees(delta.base), _callees(delta.head)
        gained = tuple(n for n in now if n not in before)
        handed = {n for f in delta.unit.functions if f.name in gained for n in _callees(f)}
        lost = tuple(n for n in before if n not in now and n not in handed)
        if gained or lost:
            yield Calls(delta.head, gained, lost)


def _callees(function: Function) -> tuple[str, ...]:
    """The names that it calls; C++'s `new` and `delete` are operators."""
    named = (E.callee(c) for c, _ in calls_of(function.body))
    return tuple(dict.fromkeys(n for n in named if n and n not in ("new", "delete")))


def newly_called(change: ChangeSet, config: Config) -> tuple[tuple[str, Function], ...]:
    """(name, caller) of everything that a changed or new function calls, and that no function of its file and its
    hardware called before."""
    found: dict[tuple[str, str], Function] = {}
    for delta in paired(change, config):
        file = change.changed(delta.head.path)
        base = change.unit(file.base_path, Side.BASE) if file and file.base_path else None
        kind = hardware(delta.head, config)
        before = [f for f in base.functions if hardware(f, config) == kind] if base else []
        text = "\n".join(base.text(f.start_line, f.end_line) for f in before) if base else ""
        for name in _callees(delta.head):
            if not re.search(rf"\b{re.escape(name)}\s*(?:<[^;(){{}}]*>+)?\s*\(", text):
                found.setdefault((name, kind), delta.head)
    return tuple((name, caller) for (name, _), caller in found.items())


def hardware(function: Function, config: Config) -> str:
    """The hardware that a function is for: by its file, else by its name (`forward_xpu`)."""
    words = function.name.split("_")
    return config.hardware_of(function.path) or next((h.name for h in config.hardware if h.name in words), "")


def conditions(change: ChangeSet, config: Config) -> Iterator[Condition]:
    """Tests of branches that were written anew in place: one went and one came in the same hunk of a function."""
    for delta in paired(change, config):
        file = change.changed(delta.head.path)
        if delta.base is None or delta.base_unit is None or file is None:
            continue
        before, now = _tests(delta.base), _tests(delta.head)
        for hunk in file.hunks:
            gone = [t for t in before if hunk.base_start <= t.line < hunk.base_start + hunk.base_len]
            come = [t for t in now if hunk.head_start <= t.line < hunk.head_start + hunk.head_len]
            if len(gone) == len(come) == 1 and gone[0] != come[0] and _share_a_name(gone[0], come[0]):
                old, new = written(gone[0], delta.base_unit), written(come[0], delta.unit)
                if old and new and old != new:
                    yield Condition(delta.head, old, new, come[0].line)


def assignments(change: ChangeSet, config: Config) -> Iterator[Written]:
    """State (`a.b`, `a[i]`) that a function sets in one place, before and after, to something else."""
    for delta in paired(change, config):
        if delta.base is None:
            continue
        before, now = _states(g.stmt for g in delta.flat_base), _states(g.stmt for g in delta.flat)
        for state, alike in now.items():
            old = before.get(state, [])
            if len(old) == len(alike) == 1 and not same(old[0].value, alike[0].value):
                (_, was), (target, value) = _sides(old[0], delta.base_unit), _sides(alike[0], delta.unit)
                if target:
                    yield Written(delta.head, target, was, value, alike[0].line)


def _states(body: Iterable[Stmt]) -> dict[E.Expr, list[Assign]]:
    """Every assignment of state, by what it sets."""
    found: dict[E.Expr, list[Assign]] = {}
    for s in body:
        if isinstance(s, Assign) and s.op == "=" and isinstance(s.target, E.Attr | E.Index):
            found.setdefault(s.target, []).append(s)
    return found


def unpacked(change: ChangeSet, config: Config) -> Iterator[Written]:
    """Fields that a function newly takes out of a word: `actual_topk = meta[1] >> 8`."""
    for delta in paired(change, config):
        known = delta.base_code
        for guarded in delta.flat if delta.base is not None else ():
            s = guarded.stmt
            if isinstance(s, Assign) and isinstance(s.target, E.Name) and s.value is not None and _takes_bits(s.value):
                _, value = _sides(s, delta.unit)
                if value and delta.touched(s.line) and not re.search(rf"\b{re.escape(s.target.id)}\b", known):
                    yield Written(delta.head, s.target.id, "", value, s.line)


def _takes_bits(value: E.Expr) -> bool:
    return any(isinstance(e, E.Binary) and e.op in (">>", "&", "<<", "|") for e in E.walk(value))


def loops(change: ChangeSet, config: Config) -> Iterator[Written]:
    """Loops whose bounds changed in place."""
    for delta, gone, come in _hunks(change, config):
        old = [g for g in gone if isinstance(g, For)]
        new = [g for g in come if isinstance(g, For)]
        for now in new:
            before = [b for b in old if same(b.target, now.target)]
            alike = [n for n in new if same(n.target, now.target)]
            if len(before) == len(alike) == 1 and not same((before[0].start, before[0].stop), (now.start, now.stop)):
                assert delta.base_unit is not None
                texts = delta.base_unit.text(before[0].line).strip(" {"), delta.unit.text(now.line).strip(" {")
                yield Written(delta.head, "", *texts, now.line)


def _hunks(change: ChangeSet, config: Config) -> Iterator[tuple[Delta, list[Stmt], list[Stmt]]]:
    """Of every hunk in a changed function: the statements that went and those that came."""
    for delta in paired(change, config):
        file = change.changed(delta.head.path)
        if delta.base is None or file is None:
            continue
        before = [g.stmt for g in flatten(delta.base.body)]
        now = [g.stmt for g in flatten(delta.head.body)]
        for hunk in file.hunks:
            gone = [s for s in before if hunk.base_start <= s.line < hunk.base_start + hunk.base_len]
            come = [s for s in now if hunk.head_start <= s.line < hunk.head_start + hunk.head_len]
            if gone and come:
                yield delta, gone, come


def _sides(stmt: Assign, unit: Unit | None) -> tuple[str, str]:
    """What stands left and right of the sign; the right side is empty where it goes over several lines."""
    line = unit.text(stmt.line).strip() if unit else ""
    left, sign, right = re.sub(r"\s(?:#|//).*", "", line).partition(f" {stmt.op} ")
    ended = stmt.end_line == stmt.line
    return (left, right.rstrip("; ") if ended else "") if sign else ("", "")


def _tests(function: Function) -> list[E.Expr]:
    return [g.stmt.test for g in flatten(function.body) if isinstance(g.stmt, If)]


def _share_a_name(a: E.Expr, b: E.Expr) -> bool:
    return bool(E.names(a) & E.names(b))


def written(test: E.Expr, unit: Unit) -> str:
    """The condition as it stands on its line, empty where it goes over several."""
    line = unit.text(test.line).strip()
    found = re.match(r"(?:\}?\s*else\s+)?if\s*\((.*)\)\s*\{?$|(?:el)?if\s+(.*):$", line)
    return (found[1] or found[2]).strip() if found else ""


def branches(change: ChangeSet, config: Config) -> Iterator[Branches]:
    """Comparisons with members of an enum (`X.NAME`) that a function did not make before."""
    for delta in paired(change, config):
        before = {name for name, _ in _compared(delta.base)} if delta.base else set()
        enums: dict[str, list[tuple[str, int]]] = {}
        for name, line in _compared(delta.head):
            if name not in before:
                owner, _, member = name.rpartition(".")
                enums.setdefault(owner, []).append((member, line))
        for owner, members in enums.items():
            yield Branches(
                delta.head, owner, tuple(dict.fromkeys(m for m, _ in members)), members[0][1], delta.base is None
            )


def _compared(function: Function) -> Iterator[tuple[str, int]]:
    for guarded in flatten(function.body):
        for top in expressions(guarded.stmt):
            for e in E.walk(top):
                if isinstance(e, E.Binary) and e.op in ("==", "!=", "in", "not-in", "is"):
                    yield from ((name, e.line) for side in (e.left, e.right) for name in _members(side))


def _members(e: E.Expr) -> Iterator[str]:
    items = e.items if isinstance(e, E.Sequence) else (e,)
    for item in items:
        name = E.dotted(item)
        # An enum's member: `SpecMethod.MTP`, never `self.method`.
        if name and re.fullmatch(r"(?:\w+\.)*[A-Z][A-Za-z0-9]+\.[A-Z][A-Z0-9_]*", name):
            yield ".".join(name.split(".")[-2:])
