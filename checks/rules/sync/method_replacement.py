"""A function that is put in the place of a method lacks a parameter that the method was given.

## What it does

Finds methods to which the change gave a parameter, and functions that some hardware puts in their
place (`x.forward = MethodType(other, x)` under `isinstance(x, Mlp)`) without that parameter.

## Why it matters

PaddlePaddle/FastDeploy@5cd17fd66 gave the `forward` of the MLP a parameter; what the HPU runner
puts in its place took the rows alone, until ebe613ccc.

## Example

```python
class Mlp:
    def forward(self, rows, meta=None): ...           # the change: `meta` is new

def fused_mlp(self, rows): ...                        # hpu_model_runner.py

if isinstance(module, Mlp):
    module.forward = types.MethodType(fused_mlp, module)
```

## Known limits

Only replacements by `MethodType` under an `isinstance` of the very class are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.core.words import as_bytes, contains_word
from checks.domain.keys import product_files
from checks.domain.source_search import (
    changed_python_functions,
    code_line,
    functions_matching,
    whole_word,
)
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.rules.sync import return_arity, unchecked_none
from checks.rules.sync._call_rules import ARGUMENT_RULES
from checks.rules.sync._line_priority import one_per_line

ID = "sync.method-replacement"


@dataclass(frozen=True, slots=True)
class Replacement:
    """`function` is put in the place of a method on `line`."""

    function: Function
    line: int
    unit: SourceFile


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each replacement that lacks a new parameter."""
    findings = _findings(change, config)
    earlier_rules = (*ARGUMENT_RULES, unchecked_none, return_arity)
    yield from one_per_line(findings, change, config, earlier_rules)


def _findings(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for base, method, method_unit in changed_python_functions(change, config):
        if base is None or not method.owner:
            continue
        new_names = _parameter_names(method) - _parameter_names(base)
        if not new_names:
            continue
        for replacement in _replacements(method, change, config):
            if _takes_any_keyword(replacement.function):
                continue
            lacking = sorted(new_names - _parameter_names(replacement.function))
            if lacking:
                yield _finding(replacement, lacking, method, method_unit)


def _parameter_names(function: Function) -> set[str]:
    return {param.name for param in function.params}


def _takes_any_keyword(function: Function) -> bool:
    return any(param.kind == "kwargs" for param in function.params)


def _replacements(method: Function, change: ChangeSet, config: Config) -> Iterator[Replacement]:
    """What the product puts in the place of `method`."""
    for path in product_files("MethodType", change, config):
        if not contains_word(change.head.read(path) or b"", as_bytes(method.owner)):
            continue
        unit = change.unit(path)
        if unit is None:
            continue
        for function in functions_matching(whole_word("MethodType"), unit):
            for guarded in guarded_statements(function.body):
                if not isinstance(guarded.stmt, Assign):
                    continue
                # A function of this name may be put into objects of many classes.
                if not any(_is_instance_test(guard, method.owner) for guard in guarded.guards):
                    continue
                name = _put_in_place(guarded.stmt, method)
                functions = unit.named(name)
                if len(functions) == 1:
                    yield Replacement(functions[0], guarded.stmt.line, unit)


def _put_in_place(stmt: Assign, method: Function) -> str:
    """`other` in `x.method = MethodType(other, x)`; empty for any other assignment."""
    match stmt:
        case Assign(
            target=E.Attr(name=method.name), value=E.Call(args=(E.Name(id=other), *_)) as call
        ):
            return other if E.callee(call) == "MethodType" else ""
        case _:
            return ""


def _is_instance_test(guard: E.Expr, class_name: str) -> bool:
    """Whether `guard` is `isinstance(x, <class_name>)`."""
    match guard:
        case E.Call(func=E.Name(id="isinstance"), args=(_, E.Name(id=name))):
            return name == class_name
        case _:
            return False


def _finding(
    replacement: Replacement, lacking: list[str], method: Function, method_unit: SourceFile
) -> Finding:
    method_name = f"{method.owner}.{method.name}"
    place = Location(method.path, method.start_line)
    args = {
        "name": replacement.function.name,
        "method": method_name,
        "lacks": lacking,
        "at": place,
        "put": Location(replacement.unit.path, replacement.line),
    }
    code = code_line(method_unit, method.start_line)
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(replacement.unit.path, replacement.function.start_line),
        message=Message("stand-in", args),
        symbol=replacement.function.qualname,
        subject=f"{method_name} {' '.join(lacking)}",
        evidence=(Definition(method.name, place, ", ".join(lacking), code),),
    )
