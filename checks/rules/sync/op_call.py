"""A call of an op passes another number of arguments than the op takes.

## What it does

For every device op whose registration or function the change altered, looks at each call in the
tree: an op takes all of its inputs and attributes, in order.

## Why it matters

PaddlePaddle/FastDeploy#6069 gave an op a new input and three branches of one file, for other
hardware, went on passing twelve.

## Example

```python
penalty(logits, words)          # the change gave the op a third input, `lens`
```

## Known limits

Ops of other hardware without a registration of their own are taken to share the signature that
their call fitted before, unless their package names them itself. `*args` and calls in tests are
left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity, Side
from checks.core.words import as_bytes
from checks.domain.calls.names import nearest_imports
from checks.domain.calls.sites import CallSite
from checks.domain.keys import calling_files
from checks.domain.ops import OpInfo, Ops, calls_of, functions_calling
from checks.eval.interpreter.program import absolute_module_name
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Import, SourceFile
from checks.lang.source import language
from checks.rules.sync._line_priority import one_per_line

ID = "sync.op-call"


@dataclass(frozen=True, slots=True)
class ImportedOps:
    """The ops that an import may bind.

    `is_own` where they are of the very hardware that it names.
    """

    ops: list[OpInfo]
    is_own: bool


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding a line."""
    yield from one_per_line(_op_findings(change, config), change, config)


def _op_findings(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """Calls that do not fit an op whose registration or function the change touched."""
    ops, base_ops = Ops.of(change), Ops.of(change, Side.BASE)
    for name in sorted(_touched_ops(change)):
        for path in calling_files(name, change, config):
            unit = change.unit(path)
            if unit is None:
                continue
            for site in _plain_calls(name, unit):
                choices = _imported_ops(site, name, ops, change, config)
                finding = _op_finding(site, choices, base_ops)
                if finding is not None:
                    yield finding


def _touched_ops(change: ChangeSet) -> set[str]:
    """The ops whose registration or function the change touched."""
    names: set[str] = set()
    for file in change.files:
        if not file.head_path or language(file.head_path) != "cpp":
            continue
        unit = change.unit(file.head_path)
        if unit is None:
            continue
        for op in unit.ops:
            spans = [(op.line, op.end_line)]
            for function in unit.named(op.kernel)[:1]:
                spans.append((function.start_line, function.end_line))
            if any(change.touches(file.path, start, end) for start, end in spans):
                names.add(op.name)
    return names


def _plain_calls(name: str, unit: SourceFile) -> Iterator[CallSite]:
    """The calls `name(...)` of the file whose arguments are all known."""
    for function in functions_calling(name, unit):
        for call, _ in calls_of(function.body):
            if call.func == E.Name(name) and not E.starred(call):
                yield CallSite(call, function, unit)


def _imported_ops(
    site: CallSite, name: str, ops: Ops, change: ChangeSet, config: Config
) -> list[ImportedOps]:
    """What the call may reach, for each import that may bind the name."""
    choices: list[ImportedOps] = []
    for item in nearest_imports(name, site.call.line, site.function, site.unit):
        if _binds_no_op_of_tree(item, site.unit, change):
            continue
        # `from fastdeploy.model_executor.ops.xpu import name`
        hardware = item.module.rsplit(".", 1)[-1]
        named = ops.named(name)
        own = [op for op in named if config.hardware_of(op.unit.path) == hardware]
        registered = [op for op in named if op.registration is not None]
        choices.append(ImportedOps(own or registered, bool(own)))
    return choices


def _binds_no_op_of_tree(item: Import, unit: SourceFile, change: ChangeSet) -> bool:
    """Whether an import binds a Python function of the module it names, or an op that comes from
    elsewhere.

    The package of another hardware's ops may give a name to what it takes from another library.
    """
    module = absolute_module_name(item.module, unit.path).replace(".", "/")
    package = f"{module}/__init__.py"
    for path in (f"{module}.py", package):
        other = change.unit(path)
        if other is not None and other.named(item.name):
            return True
    return as_bytes(f'"{item.name}"') in (change.head.read(package) or b"")


def _op_finding(site: CallSite, choices: list[ImportedOps], base_ops: Ops) -> Finding | None:
    """The finding about a call that fits none of the ops it may reach."""
    # A name may be bound by the hardware: a call that fits one op may be meant for that one alone.
    if any(_fits_one(site.call, choice.ops) for choice in choices):
        return None
    for choice in choices:
        if not choice.ops:
            continue
        fitted_before = _fits_one(site.call, _ops_before(choice.ops, base_ops))
        if fitted_before or choice.is_own:
            return _make_op_finding(site, choice, fitted_before)
    return None


def _ops_before(ops: list[OpInfo], base_ops: Ops) -> list[OpInfo]:
    """The same ops, by name and file, as they were in the base."""
    paths = {op.unit.path for op in ops}
    return [op for op in base_ops.named(ops[0].name) if op.unit.path in paths]


def _fits_one(call: E.Call, ops: list[OpInfo]) -> bool:
    return any(_fits(call, op) for op in ops)


def _fits(call: E.Call, op: OpInfo) -> bool:
    if len(call.args) + len(call.keywords) != len(op.params):
        return False
    return all(keyword in op.params for keyword, _ in call.keywords)


def _make_op_finding(site: CallSite, choice: ImportedOps, fitted_before: bool) -> Finding:
    op = choice.ops[0]
    place = Location(op.unit.path, op.line)
    args = {
        "name": op.name,
        "given": len(site.call.args) + len(site.call.keywords),
        "wanted": len(op.params),
        "at": place,
        "argument": "",
    }
    return Finding(
        rule=ID,
        severity=Severity.BUG if fitted_before else Severity.SUGGESTION,
        confidence=Confidence.HIGH if choice.is_own else Confidence.MEDIUM,
        location=Location(site.unit.path, site.call.line),
        message=Message("op" if fitted_before else "op-before", args),
        symbol=site.function.qualname,
        subject=f"{op.name} {len(op.params)}",
        evidence=(Definition(op.name, place, ", ".join(op.params)),),
        pedantic=not fitted_before,
    )
