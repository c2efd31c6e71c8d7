"""Which hardware a line runs on, as far as the code asks for hardware by name
(`current_platform.is_xpu()`, `paddle.is_compiled_with_xpu()`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.calls.names import nearest_imports
from checks.domain.calls.targets import CallTarget, CallTargets
from checks.domain.keys import asks_platform, product_files
from checks.domain.ops import arguments, expressions_of, functions_calling
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, GuardedStmt, Raise, guarded_statements

# Words that the name of any switch may hold, so that they say nothing of what it switches.
_COMMON_WORDS = frozenset(
    {"config", "enable", "model", "output", "current", "platform"}
    | {"tensors", "inputs", "share", "sampler"}
)
_SHORTEST_WORD = 5
# How many calls are gone back through to the code of some hardware.
_DEEPEST = 4


def holds_on(test: E.Expr, hardware: str, config: Config) -> bool | None:
    """What `test` comes to on `hardware`; None where it asks something else."""
    match test:
        case E.Call():
            asked = _hardware_asked_for(test, config)
            return asked == hardware if asked else None
        case E.Unary(op="not", operand=operand):
            inner = holds_on(operand, hardware, config)
            return None if inner is None else not inner
        case E.Binary(op="and" | "or" as op, left=left, right=right):
            sides = (holds_on(left, hardware, config), holds_on(right, hardware, config))
            # One true side settles an `or`, one false side an `and`.
            settling = op == "or"
            if settling in sides:
                return settling
            return None if None in sides else not settling
        case _:
            return None


def _hardware_asked_for(call: E.Call, config: Config) -> str:
    """`xpu` for `current_platform.is_xpu()` and `paddle.is_compiled_with_xpu()`; empty for any
    other call."""
    if not isinstance(call.func, E.Attr):
        return ""
    name = call.func.name
    is_platform = "platform" in (E.dotted(call.func.base) or "")
    if name.startswith("is_compiled_with_") or (name.startswith("is_") and is_platform):
        return config.hardware_of(name)
    return ""


def is_excluded(guards: tuple[E.Expr, ...], hardware: str, config: Config) -> bool:
    """Whether one of the conditions is false on `hardware`."""
    return any(holds_on(guard, hardware, config) is False for guard in guards)


def asks_for_new_name(guards: tuple[E.Expr, ...], change: ChangeSet) -> bool:
    """Whether a condition asks for something that this change brings: it is off for whoever was
    there before."""
    names: set[str] = set()
    for guard in guards:
        names.update(_names(guard))
    return any("_" in name and not change.base.contains(name) for name in sorted(names))


def _names(expr: E.Expr) -> Iterator[str]:
    """Every name and attribute in `expr`."""
    for part in E.walk(expr):
        if isinstance(part, E.Attr):
            yield part.name
        elif isinstance(part, E.Name):
            yield part.id


def is_refused(
    guards: tuple[E.Expr, ...], platform: str, change: ChangeSet, config: Config
) -> bool:
    """Whether the product raises on the hardware of `is_<platform>()` over such a switch.

    `if enable_logprob and not current_platform.is_cuda(): raise` refuses what stands under
    conditions that are named as `enable_logprob` is.
    """
    wanted: set[str] = set()
    for guard in guards:
        wanted.update(switch_words(guard))
    hardware = config.hardware_of(f"is_{platform}")
    if not wanted or not hardware:
        return False
    # Kept, because the whole product is searched for it.
    refusals = change.memo(is_refused, lambda: list(_refusals(change, config)))
    for words, test in refusals:
        if not wanted.isdisjoint(words) and _may_hold_on(test, hardware, config):
            return True
    return False


def _refusals(change: ChangeSet, config: Config) -> Iterator[tuple[frozenset[str], E.Expr]]:
    """(words of the switch, condition) of every refusal that depends on the hardware."""
    for path in product_files("NotImplementedError", change, config):
        if b"platform.is_" not in (change.head.read(path) or b""):
            continue
        unit = change.unit(path)
        if unit is None:
            continue
        for function in unit.functions:
            for test in _conditions_of_raises(function):
                if test.op == "and" and asks_platform((test,)):
                    yield frozenset(switch_words(test)), test


def _conditions_of_raises(function: Function) -> Iterator[E.Binary]:
    """The innermost condition of each `raise`, where it is made of two parts."""
    for guarded in guarded_statements(function.body):
        if isinstance(guarded.stmt, Raise) and guarded.guards:
            test = guarded.guards[-1]
            if isinstance(test, E.Binary):
                yield test


def _may_hold_on(test: E.Expr, hardware: str, config: Config) -> bool:
    """Whether `test` holds on `hardware` once its switches are on."""
    if isinstance(test, E.Binary) and test.op == "and":
        left = _may_hold_on(test.left, hardware, config)
        return left and _may_hold_on(test.right, hardware, config)
    return holds_on(test, hardware, config) is not False


def switch_words(test: E.Expr) -> Iterator[str]:
    """The telling words of the names in a condition, in the singular."""
    for name in _names(test):
        for word in name.lower().split("_"):
            if len(word) >= _SHORTEST_WORD and word not in _COMMON_WORDS:
                yield word.rstrip("s")


@dataclass(frozen=True, slots=True)
class FieldReaders:
    """Answers who reads a field or a parameter, and on which hardware."""

    change: ChangeSet
    config: Config
    targets: CallTargets

    def is_field_unread(self, name: str, owner: str, hardware: str) -> bool:
        """Whether the field `name` of the class `owner` is read somewhere, and nowhere that
        `hardware` gets to."""
        reads = list(self._reads_of(name, owner))
        if not reads:
            return False
        return not any(self._runs_on(name, read, hardware) for read in reads)

    def reads_field_itself(self, name: str, owner: str, hardware: str) -> bool:
        """Whether a file of this hardware reads the field `name` of the class `owner`."""
        for read in self._reads_of(name, owner):
            if self.config.hardware_of(read.unit.path) == hardware:
                return True
        return False

    def is_parameter_unread(self, target: CallTarget, name: str, hardware: str) -> bool:
        """Whether a function uses its parameter for other hardware only.

        A branch of this hardware that calls the very op which gets the parameter elsewhere counts
        as one that needs it.
        """
        function = target.function
        elsewhere: set[tuple[str, str]] = set()
        own: set[tuple[str, str]] = set()
        for guarded in guarded_statements(function.body):
            is_elsewhere = is_excluded(guarded.guards, hardware, self.config)
            called = _functions_called(guarded, function, target.unit)
            # The op of this hardware's own library is not the one that the others call.
            ours = {one for one in called if self.config.hardware_of(one[1]) == hardware}
            if not is_elsewhere:
                own |= ours or called
            if not any(name in E.names(top) for top in expressions_of(guarded.stmt)):
                continue
            if not is_elsewhere:
                return False
            elsewhere |= called - ours
        return bool(elsewhere) and elsewhere.isdisjoint(own)

    def _reads_of(self, name: str, owner: str) -> Iterator[_FieldUse]:
        """The statements that read the field `name` of an object of the class `owner`, tests left
        out."""
        holders = self._names_of_objects(owner)
        for path in product_files(name, self.change, self.config):
            unit = self.change.unit(path)
            if unit is None:
                continue
            for function in unit.functions:
                text = unit.text_of(function)
                if f".{name}" not in text:
                    continue
                # In the class itself, and in what inherits it, the object is `self`.
                known = holders if not holders or function.owner != owner else {*holders, "self"}
                for guarded in guarded_statements(function.body):
                    if _reads(guarded, name, known):
                        yield _FieldUse(guarded, function, unit)

    def _names_of_objects(self, owner: str) -> frozenset[str]:
        """What objects of a class are called: where one is made, and where a parameter says so.

        Empty where nothing is known.
        """
        return self.change.memo((FieldReaders, owner), lambda: frozenset(self._names_found(owner)))

    def _names_found(self, owner: str) -> Iterator[str]:
        for path in product_files(owner, self.change, self.config):
            unit = self.change.unit(path)
            for function in unit.functions_naming(owner) if unit is not None else ():
                yield from (p.name for p in function.params if owner in p.type)
                for guarded in guarded_statements(function.body):
                    match guarded.stmt:
                        case Assign(target=target, value=E.Call() as made):
                            if E.callee(made) == owner:
                                yield _last_name(target)
                        case _:
                            pass

    def _is_reached(self, function: Function, hardware: str, depth: int = 0) -> bool:
        """Whether code of `hardware`, or code of which that is not known, calls `function`."""
        if function.owner or depth == _DEEPEST:
            return True
        is_called = False
        for path in product_files(function.name, self.change, self.config):
            unit = self.change.unit(path)
            own = self.config.hardware_of(path)
            for caller in functions_calling(function.name, unit) if unit is not None else ():
                if caller.qualname == function.qualname:
                    continue
                is_called = True
                if own == hardware:
                    return True
                if not own and self._is_reached(caller, hardware, depth + 1):
                    return True
        return not is_called

    def _runs_on(self, name: str, read: _FieldUse, hardware: str) -> bool:
        """Whether a read of the field `name` matters on `hardware`.

        It does not where the field is only passed on, for parameters that nobody reads there.
        """
        own_hardware = self.config.hardware_of(read.unit.path)
        if own_hardware and own_hardware != hardware:
            return False
        if is_excluded(read.guarded.guards, hardware, self.config):
            return False
        if not own_hardware and not self._is_reached(read.function, hardware):
            return False
        passed_on = 0
        for target, param in self._parameters_given(name, read):
            if not self.is_parameter_unread(target, param, hardware):
                return True
            passed_on += 1
        parts = _expressions_in(read.guarded)
        return passed_on < sum(_is_read(part, name) for part in parts)

    def _parameters_given(self, name: str, read: _FieldUse) -> Iterator[tuple[CallTarget, str]]:
        """The parameters, of functions that can be followed, for which the field is passed."""
        for call in _calls_in(read.guarded):
            target = self.targets.of(call, read.function, read.unit)
            if target is None:
                continue
            params = tuple(param.name for param in target.params)
            for param, value in arguments(call, params).items():
                if _is_read(value, name):
                    yield target, param


@dataclass(frozen=True, slots=True)
class _FieldUse:
    """A statement of `function` that reads a field."""

    guarded: GuardedStmt
    function: Function
    unit: SourceFile


def _expressions_in(guarded: GuardedStmt) -> Iterator[E.Expr]:
    for top in expressions_of(guarded.stmt):
        yield from E.walk(top)


def _calls_in(guarded: GuardedStmt) -> Iterator[E.Call]:
    for expr in _expressions_in(guarded):
        if isinstance(expr, E.Call):
            yield expr


def _reads(guarded: GuardedStmt, name: str, holders: Collection[str]) -> bool:
    """Whether a statement reads the attribute `name` of one of `holders`, or of anything where none
    is known."""
    stmt = guarded.stmt
    target = stmt.target if isinstance(stmt, Assign) else None
    for expr in _expressions_in(guarded):
        match expr:
            case E.Attr(base=base, name=read) if read == name and expr is not target:
                if not holders or _last_name(base) in holders:
                    return True
            case _:
                pass
    return False


def _last_name(expr: E.Expr) -> str:
    """`c` of `a.b.c`; empty for what is no path of names."""
    return (E.dotted(expr) or "").rsplit(".", 1)[-1]


def _is_read(expr: E.Expr, name: str) -> bool:
    return isinstance(expr, E.Attr) and expr.name == name


def _functions_called(
    guarded: GuardedStmt, function: Function, unit: SourceFile
) -> set[tuple[str, str]]:
    """(name, module) of the imported functions that a statement calls."""
    called: set[tuple[str, str]] = set()
    for call in _calls_in(guarded):
        if not isinstance(call.func, E.Name):
            continue
        line = call.line or guarded.stmt.line
        for item in nearest_imports(call.func.id, line, function, unit):
            called.add((call.func.id, item.module))
    return called
