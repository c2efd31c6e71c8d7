"""A function or op changed its parameters and a caller was left behind, or a new call does not fit.

## What it does

For every Python function and device op whose parameters the change altered, looks at each call in the tree, and for
every call that the change wrote, at what it reaches: missing, extra, renamed or unknown arguments are an error that
will be raised. The same for a function that gives back another number of values than its callers take apart, and for
one that some hardware puts in the place of a method and that lacks a new parameter. A parameter that may be None, is
used without a check, and is not passed is one too. So is a name that the change uses on all hardware but imports on
some only, and a list of names that became an index for want of a comma.

## Why it matters

PaddlePaddle/FastDeploy#6493 dropped a parameter of `post_process`; the runner of one hardware went on passing it by
name. #6069 gave an op a new input and three branches of one file, for other hardware, went on passing twelve.

## Example

```python
def post_process(output, state): ...          # the change dropped `line_break`

post_process(output, state, line_break=13)    # another runner: TypeError
```

## Known limits

A method is followed only from `self` and constructors only by name; what a decorator wraps, `*args` and calls in tests
are left out (tests are `protocol.stale-fixture`'s). Ops of other hardware without a registration of their own are taken
to share the signature that their call fitted before, unless their package names them itself. A name that some hardware
lacks is reported only where that hardware could get before: it did not lack another name on the way, and nothing
refuses the feature there. What is used under an option of its own, and a call that did not fit before, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity, Side
from checks.domain.call_targets import (
    Misfit,
    Target,
    Targets,
    called,
    misfit,
    nearest_imports,
    signature,
)
from checks.domain.keys import calling_files
from checks.domain.ops import OpInfo, Ops, callers, calls_of
from checks.eval.interpreter.program import absolute
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Import, SourceFile
from checks.lang.source import language
from checks.rules.sync import _imports, _method_replacements, _optional_parameters
from checks.rules.sync._return_arity import unpacked

ID = "sync.signature"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    seen: set[tuple[str, int]] = set()
    for finding in _all(change, config):
        key = (finding.location.path, finding.location.start_line)
        if key not in seen:
            seen.add(key)
            yield finding


def _all(change: ChangeSet, config: Config) -> Iterator[Finding]:
    targets, before = Targets.of_change(change), Targets.of_change(change, Side.BASE)
    for unit, function, call in _calls(change, config):
        target = targets.of(call, function, unit)
        if target is not None:
            yield from _python(call, function, unit, target, change, before)
            if misfit(call, target) is None:
                yield from _optional_parameters.missing(
                    call, function, unit, target, targets, change, ID
                )
    yield from _ops(change, config)
    yield from unpacked(change, config, ID)
    yield from _method_replacements.lagging(change, config, ID)
    yield from _imports.unbound(change, config, ID)
    yield from _imports.lost_comma(change, config, ID)


def _calls(change: ChangeSet, config: Config) -> Iterator[tuple[SourceFile, Function, E.Call]]:
    """Calls on lines of the change, and calls of every Python function whose parameters it altered."""
    names: set[str] = set()
    for old, head in change.changed_functions():
        if head is None or language(head.path) != "python" or config.is_test(head.path):
            continue
        unit = change.unit(head.path)
        if unit is None:
            continue
        for call, _ in calls_of(head.body):
            if change.touches(unit.path, call.line, call.line):
                yield unit, head, call
        renewed = old is not None and (
            signature(old) != signature(head) or _optional_parameters.newly_needed(old, head)
        )
        if renewed or _optional_parameters.passed_on(head, unit, change):
            names.add(head.owner if head.name == "__init__" else head.name)
    for name in sorted(names):
        yield from _callers(name, change, config)


def _callers(
    name: str, change: ChangeSet, config: Config
) -> Iterator[tuple[SourceFile, Function, E.Call]]:
    for path in calling_files(name, change, config):
        unit = change.unit(path)
        for function in callers(name, unit) if unit is not None else ():
            for call, _ in calls_of(function.body):
                if (
                    unit is not None
                    and E.callee(call) == name
                    and unit.function_at(call.line) is function
                ):
                    yield unit, function, call


def _python(
    call: E.Call,
    function: Function,
    unit: SourceFile,
    target: Target,
    change: ChangeSet,
    before: Targets,
) -> Iterator[Finding]:
    wrong = misfit(call, target)
    if wrong is None or _was_wrong(call, function, unit, change, before):
        return
    place = Location(target.unit.path, target.function.start_line)
    yield _finding(
        wrong,
        call,
        function,
        unit,
        called(target.function),
        place,
        target.unit.text(place.start_line).strip(),
    )


def _was_wrong(
    call: E.Call, function: Function, unit: SourceFile, change: ChangeSet, before: Targets
) -> bool:
    """Whether the same call did not fit in the base either; a call that the change wrote was not there."""
    file = change.changed(unit.path)
    old_unit = change.unit((file.base_path or unit.path) if file else unit.path, Side.BASE)
    for old in old_unit.named(function.qualname) if old_unit is not None else ():
        for other, _ in calls_of(old.body):
            if other == call and old_unit is not None:
                target = before.of(other, old, old_unit)
                return target is None or misfit(other, target) is not None
    return not change.touches(unit.path, call.line, call.line)


def _finding(
    wrong: Misfit,
    call: E.Call,
    function: Function,
    unit: SourceFile,
    name: str,
    place: Location,
    excerpt: str,
) -> Finding:
    args = {
        "name": name,
        "argument": wrong.name,
        "given": wrong.given,
        "wanted": wrong.wanted,
        "at": place,
    }
    key = {"missing": "missing", "unexpected": "unexpected", "many": "many"}[wrong.kind]
    lines = (
        [v.line for k, v in call.keywords if k == wrong.name and v.line]
        if wrong.kind == "unexpected"
        else []
    )
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(unit.path, (lines or [call.line])[0]),
        message=Message(key, args),
        symbol=function.qualname,
        subject=f"{name} {wrong.name}",
        evidence=(Definition(name, place, excerpt),),
    )


def _ops(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """Calls of ops whose number of arguments the change altered, and calls of ops on its lines."""
    head, base = Ops.of(change), Ops.of(change, Side.BASE)
    for name in sorted(_touched_ops(change)):
        for path in calling_files(name, change, config):
            unit = change.unit(path)
            for function in callers(name, unit) if unit is not None else ():
                if unit is not None:
                    yield from _op_calls(name, function, unit, head, base, change, config)


def _touched_ops(change: ChangeSet) -> set[str]:
    """Ops whose registration or function the change touched."""
    names: set[str] = set()
    for file in change.files:
        unit = (
            change.unit(file.head_path)
            if file.head_path and language(file.head_path) == "cpp"
            else None
        )
        for op in unit.ops if unit is not None else ():
            function = next(iter(unit.named(op.kernel)), None) if unit is not None else None
            spans = [
                (op.line, op.end_line),
                *([(function.start_line, function.end_line)] if function else []),
            ]
            if any(change.touches(file.path, *span) for span in spans):
                names.add(op.name)
    return names


def _op_calls(
    name: str,
    function: Function,
    unit: SourceFile,
    head: Ops,
    base: Ops,
    change: ChangeSet,
    config: Config,
) -> Iterator[Finding]:
    for call, _ in calls_of(function.body):
        if call.func != E.Name(name) or E.starred(call):
            continue
        places = [
            i
            for i in nearest_imports(name, call.line, function, unit)
            if not _elsewhere(i, unit, change)
        ]
        choices = [_ops_for(item, head.named(name), config) for item in places]
        # A name that is bound by the hardware: a call that fits one of them may be meant for that one alone.
        if any(_fits(call, i) for infos, _ in choices for i in infos):
            continue
        for infos, own in choices:
            old = [i for i in base.named(name) if any(i.unit.path == n.unit.path for n in infos)]
            if not infos:
                continue
            fitted = any(_fits(call, i) for i in old)
            if fitted or own:
                yield _op_finding(
                    call, infos[0], function, unit, own, "op" if fitted else "op-before"
                )
                break


def _elsewhere(item: Import, unit: SourceFile, change: ChangeSet) -> bool:
    """Whether an import binds something else than an op of this tree: a function of the module it names, or what the
    package of another hardware's ops calls by this name."""
    module = absolute(item.module, unit.path).replace(".", "/")
    package = f"{module}/__init__.py"
    if any(
        (other := change.unit(p)) is not None and other.named(item.name)
        for p in (f"{module}.py", package)
    ):
        return True
    return f'"{item.name}"'.encode() in (change.head.read(package) or b"")


def _ops_for(item: Import, named: tuple[OpInfo, ...], config: Config) -> tuple[list[OpInfo], bool]:
    """The ops that an import from `...ops.<hardware>` may bind, and whether they are that hardware's own."""
    hardware = item.module.rsplit(".", 1)[-1]
    own = [i for i in named if config.hardware_of(i.unit.path) == hardware]
    return own or [i for i in named if i.registration is not None], bool(own)


def _fits(call: E.Call, op: OpInfo) -> bool:
    return len(call.args) + len(call.keywords) == len(op.params) and all(
        k in op.params for k, _ in call.keywords
    )


def _op_finding(
    call: E.Call, op: OpInfo, function: Function, unit: SourceFile, own: bool, key: str
) -> Finding:
    given, place = len(call.args) + len(call.keywords), Location(op.unit.path, op.line)
    args = {"name": op.name, "given": given, "wanted": len(op.params), "at": place, "argument": ""}
    return Finding(
        rule=ID,
        severity=Severity.BUG if key == "op" else Severity.SUGGESTION,
        confidence=Confidence.HIGH if own else Confidence.MEDIUM,
        location=Location(unit.path, call.line),
        message=Message(key, args),
        symbol=function.qualname,
        subject=f"{op.name} {len(op.params)}",
        evidence=(Definition(op.name, place, ", ".join(op.params)),),
        pedantic=key == "op-before",
    )
