"""The change makes the host wait for the device inside a step.

## What it does

Finds `.item()`, `.tolist()`, `.numpy()`, `.cpu()` on device tensors that the change adds to
functions on the path of every step (sampling, proposing, post-processing, the runner's execution),
where the function did without them before. On the device side, `cudaMalloc`, `cudaFree` and
synchronising copies added to an op.

## Why it matters

Overlap scheduling launches step n + 1 while step n still runs. One `.item()` waits for the device
and gives the overlap up: PaddlePaddle/FastDeploy#7406 took the number of tokens that way, and #7600
had to take it out again.

## Example

```python
tokens = accept_num.sum().item()      # waits
return logprobs[:tokens]
```

## Known limits

A tensor is taken for one on the host by its name (`_cpu`, `_host`, `_np`, `_list`), or where all
that gives it a value makes it there: in the function, in one that it calls, or in an attribute.
What a caller passes is not followed. Destructors, functions whose name says that they allocate or
free, and C++ files of weights and of loading are not on the path of a step. Which functions run at
every step is known from their names and files. Benchmarks and `main` are left out. All of it is for
the pedantic persona: of nine that were read on commits by chance, one was useful.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.benchmarks import is_benchmark
from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.calls.value_types import Scope
from checks.domain.hardware_reach import asks_for_new_name
from checks.domain.host_tensors import HostTensors
from checks.domain.host_waits import COPIES_TO_HOST
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.stmt import Assign, For, GuardedStmt, With

ID = "kernel.host-sync"

_STEP = re.compile(
    r"sampl|verif|propos|post_?process|pre_?process|execute|forward|logprob|logits|run$|_run"
    r"|predict|generate|accept|penalt|draft|propose|decode|^step|_step|save_output"
)
_ONCE = re.compile(
    r"init|load|warm|profil|capture|dummy|insert|debug|dump|check|clear|reset|prompt|register"
    r"|config|build_model|preempt|prefill|swap|export|weight|test|vision|image|mm_|_mm|vit|log_"
    r"|loop|async|thread"
)
_FILES = re.compile(
    r"sampl|spec_decode|propos|model_runner|post_process|pre_and_post|logprob|attention|worker"
)
_HOST = re.compile(
    r"(^|_)(cpu|host|np|numpy|list|ids?_list|lens?_list|json|msg|dict|config)(_|$)|pinned"
)
_HOST_MODULES = ("np.", "numpy.", "json.")
_HOST_TYPES = ("len", "list", "dict")
# What allocates or frees for others is called where something begins or ends.
_OWNS_MEMORY = re.compile(r"~|alloc|free|create|destroy|finali[sz]e|release|setup")
_LOADING_FILES = re.compile(r"weight|load|init|alloc|config")
_DEVICE_CALLS = frozenset(
    {"cudaMalloc", "cudaFree", "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaMemcpy"}
)


@dataclass(frozen=True, slots=True)
class TensorWait:
    """`tensor.how()`, which may make the host wait, and the conditions under which it does."""

    tensor: E.Expr
    how: str
    line: int
    guards: tuple[E.Expr, ...]


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if is_benchmark(changed.unit.path) or changed.head.name == "main":
            continue
        if not changed.python:
            yield from _device_calls(changed)
        elif _runs_every_step(changed):
            yield from _tensor_waits(changed, change)


def _runs_every_step(changed: ChangedFunction) -> bool:
    name = changed.head.name
    if not _FILES.search(changed.unit.path) or not _STEP.search(name):
        return False
    return _ONCE.search(name) is None


def _tensor_waits(changed: ChangedFunction, change: ChangeSet) -> Iterator[Finding]:
    """The first wait of a kind that the function did not have before."""
    known = {wait.how for wait in _waits(changed.base_statements)}
    on_host = _host_locals(changed)
    for wait in _waits(changed.statements):
        # A function that waited before has no overlap to lose.
        if wait.how in known or not changed.touched(wait.line):
            continue
        # What an option brings that the change adds is up to who turns it on.
        if asks_for_new_name(wait.guards, change):
            continue
        if isinstance(wait.tensor, E.Const) or _is_on_host(wait.tensor, on_host):
            continue
        scope = Scope(changed.head, changed.unit, wait.guards)
        if HostTensors.of_change(change).holds(wait.tensor, scope):
            continue
        yield _wait_finding(wait, changed)
        return


def _waits(statements: list[GuardedStmt]) -> Iterator[TensorWait]:
    for guarded in statements:
        if any(_is_other_hardware(guard) for guard in guarded.guards):
            continue
        for top in expressions_of(guarded.stmt):
            yield from _waits_in(top, guarded)


def _waits_in(top: E.Expr, guarded: GuardedStmt) -> Iterator[TensorWait]:
    """The outermost waits of an expression: of `x.cpu().numpy()`, the last."""
    # What runs through a comprehension is of a kind that is not known.
    running = _comprehension_variables(top)
    inner: set[int] = set()
    for e in E.walk(top):
        if not isinstance(e, E.Call) or not isinstance(e.func, E.Attr):
            continue
        if e.func.name not in COPIES_TO_HOST or e.args:
            continue
        tensor = e.func.base
        if id(e) not in inner and E.root(tensor) not in running:
            yield TensorWait(tensor, e.func.name, e.line or guarded.stmt.line, guarded.guards)
        inner.update(id(part) for part in E.walk(tensor))


def _comprehension_variables(top: E.Expr) -> set[str]:
    found: set[str] = set()
    for e in E.walk(top):
        if isinstance(e, E.Comprehension):
            for target, _, _ in e.clauses:
                found |= E.names(target)
    return found


def _is_other_hardware(guard: E.Expr) -> bool:
    """The `else` of `if platform.is_cuda()`: where there is no overlap to lose."""
    if not isinstance(guard, E.Unary) or not isinstance(guard.operand, E.Call):
        return False
    return E.callee(guard.operand) == "is_cuda"


def _host_locals(changed: ChangedFunction) -> set[str]:
    """Locals that are on the host: made there, or brought there before."""
    found: set[str] = set()
    for guarded in changed.statements:
        match guarded.stmt:
            case Assign(target=E.Name(id=name), value=value) if value is not None:
                if _makes_host_value(value) or E.names(value) & found:
                    found.add(name)
            case For(target=target, iterable=iterable) if target is not None:
                if iterable is not None and E.names(iterable) & found:
                    found |= E.names(target)
    return found


def _makes_host_value(value: E.Expr) -> bool:
    """Whether an expression calls numpy, json or a container, or waits for a tensor."""
    for e in E.walk(value):
        if not isinstance(e, E.Call):
            continue
        name = E.dotted(e.func) or E.callee(e)
        if name.startswith(_HOST_MODULES) or name in _HOST_TYPES or E.callee(e) in COPIES_TO_HOST:
            return True
    return False


def _is_on_host(tensor: E.Expr, on_host: set[str]) -> bool:
    """Whether a tensor is on the host by its name, or by where a local comes from."""
    if E.root(tensor) in on_host:
        return True
    for e in E.walk(tensor):
        match e:
            case E.Name(id=name) | E.Attr(name=name) | E.Const(value=str() as name):
                if _HOST.search(name) or name in on_host:
                    return True
    return False


def _wait_finding(wait: TensorWait, changed: ChangedFunction) -> Finding:
    tensor = source_of(wait.tensor)
    args = {"call": f"{tensor}.{wait.how}()", "function": changed.head.name}
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        # The others may be of an array that numpy made.
        confidence=Confidence.HIGH if wait.how == "item" else Confidence.MEDIUM,
        location=Location(changed.unit.path, wait.line),
        message=Message("waits", args),
        symbol=changed.head.qualname,
        subject=f"{tensor}.{wait.how}",
        pedantic=True,
    )


def _device_calls(changed: ChangedFunction) -> Iterator[Finding]:
    """The first allocation or wait that an op newly makes at every call."""
    name = changed.head.name.lower()
    file = changed.unit.path.rpartition("/")[2].lower()
    if _ONCE.search(name) or _OWNS_MEMORY.search(name) or _LOADING_FILES.search(file):
        return
    uncalled = _uncalled_lines(changed)
    for guarded in changed.statements:
        stmt = guarded.stmt
        if stmt.line in uncalled:
            continue
        # Under a condition it may be meant for the first call alone.
        if guarded.guards or not changed.touched(stmt.line, stmt.end_line):
            continue
        # A comment above it says that the wait is meant.
        if "synchron" in changed.unit.text(max(stmt.line - 1, 1)):
            continue
        for top in expressions_of(stmt):
            for e in E.walk(top):
                if isinstance(e, E.Call) and _is_new_device_call(E.callee(e), changed):
                    yield _device_finding(E.callee(e), stmt.line, changed)
                    return


def _uncalled_lines(changed: ChangedFunction) -> set[int]:
    """The lines of lambdas with a name that the function does not call at every run: some are there
    to print with."""
    called: set[str] = set()
    for guarded in changed.statements:
        if not guarded.guards and not isinstance(guarded.stmt, With):
            called |= {
                E.callee(e)
                for top in expressions_of(guarded.stmt)
                for e in E.walk(top)
                if isinstance(e, E.Call)
            }
    lines: set[int] = set()
    for guarded in changed.statements:
        match guarded.stmt:
            case With(kind="lambda", items=(E.Name(id=name),)) as body if name not in called:
                lines.update(range(body.line, body.end_line + 1))
            case _:
                pass
    return lines


def _is_new_device_call(name: str, changed: ChangedFunction) -> bool:
    if name not in _DEVICE_CALLS or name in changed.base_code:
        return False
    # To free what the function allocated already mends a leak.
    return name != "cudaFree" or "cudaMalloc" not in changed.base_code


def _device_finding(name: str, line: int, changed: ChangedFunction) -> Finding:
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(changed.unit.path, line),
        message=Message("device", {"call": name, "function": changed.head.name}),
        symbol=changed.head.qualname,
        subject=name,
        pedantic=True,
    )
