"""The registration of a device op does not fit the function behind it.

## What it does

Compares registrations that the change wrote, or whose function it changed, with the function: the
number of inputs and attributes, the types of attributes, the order of names, the in-place map, and
the number of tensors that are returned. Two names without a comma between them, which the compiler
joins into one, are reported with a fix.

## Why it matters

PaddlePaddle/FastDeploy#3815 wrote `"cum_offsets"` without a comma, so that six tensors met five
names. Arguments go by position: a wrong registration fails at the first call, or mixes up tensors.

## Example

```cpp
PD_BUILD_STATIC_OP(count)
    .Inputs({"tokens", "lens"
             "offsets"})                     // two names where three are meant
    .SetKernelFn(PD_KERNEL(Count));          // Count takes three tensors
```

## Known limits

Only registrations whose function stands in the same file are compared, and only types that are
known by name. A registration that did not fit in the same way before the change is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import changed_files
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Definition,
    Edit,
    Finding,
    Fix,
    Location,
    Message,
    Severity,
)
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Op, Param, SourceFile
from checks.lang.ir.stmt import Return, guarded_statements
from checks.rules.sync._cpp_types import certainly_differ

ID = "sync.op-registration"

_ADJACENT_STRINGS = re.compile(r'"(?P<left>[^"\\\n]*)"(?P<between>\s+)"(?P<right>[^"\\\n]*)"')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_ARGUMENT_NAME = re.compile(r"[A-Za-z_]\w*(@\w+)?(\s*:\s*[\w:<>\s]+)?")


@dataclass(frozen=True, slots=True)
class RegistrationMisfit:
    """What does not fit: a message key with its arguments."""

    key: str
    args: dict[str, object]
    severity: Severity = Severity.BUG


@dataclass(frozen=True, slots=True)
class JoinedNames:
    """Two names without a comma between them, and the line of the first."""

    left: str
    right: str
    line: int


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """Every registration that does not fit, where the change touched it or its function."""
    for unit, old_unit in changed_files(change, config, "cpp"):
        for op in unit.ops:
            function = _registered_function(op, unit)
            if function is None or not _is_touched(op, function, change):
                continue
            joined = _joined_names(op, unit, change)
            for names in joined:
                yield _joined_finding(names, op, function, unit)
            # A lost comma alone makes the counts differ.
            misfits = _misfits(op, function) if not joined else []
            misfit = misfits[0] if misfits else None
            if misfit is not None and not _was_misfit_before(op, old_unit, misfit):
                yield _misfit_finding(misfit, op, function, unit)


def _registered_function(op: Op, unit: SourceFile) -> Function | None:
    """The function that `op` calls, where this file has one of that name."""
    if not op.kernel:
        return None
    functions = unit.named(op.kernel.rsplit("::", 1)[-1])
    return functions[0] if len(functions) == 1 else None


def _is_touched(op: Op, function: Function, change: ChangeSet) -> bool:
    if change.touches(op.path, op.line, op.end_line):
        return True
    return change.touches(op.path, function.start_line, function.end_line)


def _joined_names(op: Op, unit: SourceFile, change: ChangeSet) -> list[JoinedNames]:
    """Names next to one another without a comma, on lines of the change."""
    text = _COMMENT.sub(
        lambda comment: re.sub(r"[^\n]", " ", comment[0]), unit.text(op.line, op.end_line)
    )
    joined: list[JoinedNames] = []
    for match in _ADJACENT_STRINGS.finditer(text):
        left, right = match["left"], match["right"]
        if not _ARGUMENT_NAME.fullmatch(left) or not _ARGUMENT_NAME.fullmatch(right):
            continue
        line = op.line + text.count("\n", 0, match.start())
        end_line = op.line + text.count("\n", 0, match.end())
        if change.touches(unit.path, line, end_line):
            joined.append(JoinedNames(left, right, line))
    return joined


def _misfits(op: Op, function: Function) -> list[RegistrationMisfit]:
    """What does not fit, the worst first; nothing where too little is known."""
    arguments = (*op.inputs, *op.attrs)
    if not arguments or not all(arguments) or not function.clean:
        return []
    wanted = len(function.params)
    if len(arguments) != wanted:
        return [RegistrationMisfit("count", {"given": len(arguments), "wanted": wanted})]
    tensors = [p for p in function.params if _is_tensor(p)]
    others = [p for p in function.params if not _is_tensor(p)]
    misfits = [_inplace_misfit(op), _result_misfit(op, function)]
    if len(tensors) == len(op.inputs):
        misfits = [_attribute_misfit(op, others), _order_misfit(op, tensors, others), *misfits]
    return [misfit for misfit in misfits if misfit is not None]


def _is_tensor(param: Param) -> bool:
    return "Tensor" in param.type


def _attribute_misfit(op: Op, params: list[Param]) -> RegistrationMisfit | None:
    """An attribute whose type is not that of its parameter."""
    for attribute, param in zip(op.attrs, params, strict=True):
        name, _, kind = attribute.partition(":")
        if certainly_differ(kind, param.type):
            args: dict[str, object] = {
                "argument": name.strip(),
                "given": kind.strip(),
                "wanted": param.type.strip(),
            }
            return RegistrationMisfit("attribute", args)
    return None


def _order_misfit(op: Op, tensors: list[Param], others: list[Param]) -> RegistrationMisfit | None:
    """Two names that changed places between the registration and the function."""
    attributes = tuple(attribute.partition(":")[0].strip() for attribute in op.attrs)
    for names, params in ((op.inputs, tensors), (attributes, others)):
        param_names = [p.name for p in params]
        for name, param_name in zip(names, param_names, strict=True):
            if name != param_name and name in param_names and param_name in names:
                args: dict[str, object] = {"argument": name, "wanted": param_name}
                return RegistrationMisfit("order", args, Severity.SUGGESTION)
    return None


def _inplace_misfit(op: Op) -> RegistrationMisfit | None:
    """A pair of the in-place map that is not an input and an output."""
    for source, target in op.inplace:
        if source and target and (source not in op.inputs or target not in op.outputs):
            return RegistrationMisfit("inplace", {"given": source, "wanted": target})
    return None


def _result_misfit(op: Op, function: Function) -> RegistrationMisfit | None:
    """A function that returns another number of tensors than there are outputs."""
    return_type = re.sub(r"\s|std::", "", function.returns)
    if "vector" not in return_type or "vector<vector" in return_type or not op.outputs:
        return None
    sizes: set[int] = set()
    for guarded in guarded_statements(function.body):
        match guarded.stmt:
            case Return(value=E.Sequence(items=items)) if items:
                sizes.add(len(items))
            case _:
                pass
    if len(sizes) != 1:
        return None
    size = sizes.pop()
    # Outputs that are inputs written in place may be returned or not.
    if size in (len(op.outputs), len(op.outputs) - len(op.inplace)):
        return None
    return RegistrationMisfit("results", {"given": size, "wanted": len(op.outputs)})


def _was_misfit_before(op: Op, old_unit: SourceFile | None, misfit: RegistrationMisfit) -> bool:
    """Whether the registration did not fit in the same way before the change."""
    if old_unit is None:
        return False
    for old_op in old_unit.ops:
        function = _registered_function(old_op, old_unit)
        if old_op.name == op.name and function is not None:
            return any(old.key == misfit.key for old in _misfits(old_op, function))
    return False


def _misfit_finding(
    misfit: RegistrationMisfit, op: Op, function: Function, unit: SourceFile
) -> Finding:
    is_bug = misfit.severity is Severity.BUG
    place = Location(unit.path, function.start_line)
    args = {"name": op.name, "function": function.name, "at": place, **misfit.args}
    return Finding(
        rule=ID,
        severity=misfit.severity,
        confidence=Confidence.HIGH if is_bug else Confidence.MEDIUM,
        location=Location(unit.path, op.line, op.end_line),
        message=Message(misfit.key, args),
        symbol=op.name,
        subject=f"{misfit.key} {op.name}",
        evidence=(_function_definition(function, unit),),
    )


def _joined_finding(names: JoinedNames, op: Op, function: Function, unit: SourceFile) -> Finding:
    args = {
        "name": op.name,
        "left": names.left,
        "right": names.right,
        "given": len(op.inputs) + len(op.attrs),
        "wanted": len(function.params),
        "function": function.name,
        "at": Location(unit.path, function.start_line),
    }
    line = unit.lines[names.line - 1].rstrip("\r")
    with_comma = line.replace(f'"{names.left}"', f'"{names.left}",', 1)
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(unit.path, names.line),
        message=Message("joined", args),
        symbol=op.name,
        subject=f"{names.left} {names.right}",
        evidence=(_function_definition(function, unit),),
        fix=Fix((Edit(unit.path, names.line, names.line, (with_comma,)),)),
    )


def _function_definition(function: Function, unit: SourceFile) -> Definition:
    params = ", ".join(p.name for p in function.params)
    return Definition(function.name, Location(unit.path, function.start_line), params)
