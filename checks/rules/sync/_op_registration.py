"""Whether an op's registration fits the function behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
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
    Side,
)
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Op, Param, SourceFile
from checks.lang.ir.stmt import Return, guarded_statements
from checks.lang.source import language

_JOINED = re.compile(r'"(?P<left>[^"\\\n]*)"(?P<between>\s+)"(?P<right>[^"\\\n]*)"')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_NAME = re.compile(r"[A-Za-z_]\w*(@\w+)?(\s*:\s*[\w:<>\s]+)?")
_SAME_TYPE = {"int32_t": "int", "longlong": "int64_t", "unsignedint": "uint32_t"}
_KNOWN = frozenset(
    {"Tensor", "optional", "vector", "bool", "int", "float", "double", "string", "size_t"}
    | {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)


def registrations(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """Every registration that the change wrote, or whose function it changed, and that does not fit."""
    for file in change.files:
        if (
            not file.head_path
            or language(file.head_path) != "cpp"
            or config.is_test(file.head_path)
        ):
            continue
        unit = change.unit(file.head_path)
        for op in unit.ops if unit is not None else ():
            function = kernel_of(op, unit) if unit is not None else None
            if unit is not None and function is not None and _touched(op, function, unit, change):
                yield from _check(op, function, unit, change, rule)


def kernel_of(op: Op, unit: SourceFile) -> Function | None:
    """The function that `op` calls, where this file has one of that name."""
    found = unit.named(op.kernel.rsplit("::", 1)[-1]) if op.kernel else []
    return found[0] if len(found) == 1 else None


def _touched(op: Op, function: Function, unit: SourceFile, change: ChangeSet) -> bool:
    spans = ((op.line, op.end_line), (function.start_line, function.end_line))
    return any(change.touches(unit.path, *span) for span in spans)


def _check(
    op: Op, function: Function, unit: SourceFile, change: ChangeSet, rule: str
) -> Iterator[Finding]:
    joined = list(_joined(op, unit, change))
    if joined:
        for line, names in joined:
            yield _lost_comma(op, function, unit, line, names, rule)
        return
    wrong = next(_misfits(op, function), None)
    if wrong is not None and not _before(op, unit, change, wrong):
        key, args, severity = wrong
        place = Location(unit.path, function.start_line)
        yield Finding(
            rule=rule,
            severity=severity,
            confidence=Confidence.HIGH if severity is Severity.BUG else Confidence.MEDIUM,
            location=Location(unit.path, op.line, op.end_line),
            message=Message(key, {"name": op.name, "function": function.name, "at": place, **args}),
            symbol=op.name,
            subject=f"{key} {op.name}",
            evidence=(
                Definition(function.name, place, ", ".join(p.name for p in function.params)),
            ),
        )


def _joined(op: Op, unit: SourceFile, change: ChangeSet) -> Iterator[tuple[int, tuple[str, str]]]:
    """(line, both names) where two names stand next to one another without a comma, on lines of the change."""
    text = _COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), unit.text(op.line, op.end_line))
    for match in _JOINED.finditer(text):
        line = op.line + text.count("\n", 0, match.start())
        end = op.line + text.count("\n", 0, match.end())
        names = (match["left"], match["right"])
        if all(_NAME.fullmatch(n) for n in names) and change.touches(unit.path, line, end):
            yield line, names


def _lost_comma(
    op: Op, function: Function, unit: SourceFile, line: int, names: tuple[str, str], rule: str
) -> Finding:
    given, wanted = len(op.inputs) + len(op.attrs), len(function.params)
    text = unit.lines[line - 1].rstrip("\r")
    fixed = text.replace(f'"{names[0]}"', f'"{names[0]}",', 1)
    args = {"name": op.name, "left": names[0], "right": names[1], "given": given, "wanted": wanted}
    place = Location(unit.path, function.start_line)
    return Finding(
        rule=rule,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(unit.path, line),
        message=Message("joined", {**args, "function": function.name, "at": place}),
        symbol=op.name,
        subject=" ".join(names),
        evidence=(Definition(function.name, place, ", ".join(p.name for p in function.params)),),
        fix=Fix((Edit(unit.path, line, line, (fixed,)),)),
    )


Wrong = tuple[str, dict[str, object], Severity]


def _misfits(op: Op, function: Function) -> Iterator[Wrong]:
    """What does not fit, the worst first."""
    if not function.clean or any(not name for name in (*op.inputs, *op.attrs)):
        return
    given, wanted = len(op.inputs) + len(op.attrs), len(function.params)
    if not op.inputs and not op.attrs:
        return
    if given != wanted:
        yield "count", {"given": given, "wanted": wanted}, Severity.BUG
        return
    tensors = [p for p in function.params if _tensor(p)]
    others = [p for p in function.params if not _tensor(p)]
    if len(tensors) == len(op.inputs):
        yield from _attributes(op, others)
        yield from _order(op, tensors, others)
    yield from _results(op, function)


def _tensor(param: Param) -> bool:
    return "Tensor" in param.type


def _attributes(op: Op, others: list[Param]) -> Iterator[Wrong]:
    for attr, param in zip(op.attrs, others, strict=True):
        name, _, kind = attr.partition(":")
        if differ(kind, param.type):
            args: dict[str, object] = {
                "argument": name.strip(),
                "given": kind.strip(),
                "wanted": param.type.strip(),
            }
            yield "attribute", args, Severity.BUG


def _order(op: Op, tensors: list[Param], others: list[Param]) -> Iterator[Wrong]:
    """Two names that changed places between the registration and the function."""
    for names, params in (
        (op.inputs, tensors),
        (tuple(a.partition(":")[0].strip() for a in op.attrs), others),
    ):
        own = [p.name for p in params]
        for left, right in zip(names, own, strict=True):
            if left != right and left in own and right in names:
                yield "order", {"argument": left, "wanted": right}, Severity.SUGGESTION
                return


def _results(op: Op, function: Function) -> Iterator[Wrong]:
    inputs, outputs = set(op.inputs), set(op.outputs)
    for source, target in op.inplace:
        if source and target and (source not in inputs or target not in outputs):
            yield "inplace", {"given": source, "wanted": target}, Severity.BUG
    returned = [
        g.stmt.value for g in guarded_statements(function.body) if isinstance(g.stmt, Return)
    ]
    sizes = {len(v.items) for v in returned if isinstance(v, E.Sequence)} - {0}
    vectors = "vector" in function.returns and "vector<vector" not in re.sub(
        r"\s|std::", "", function.returns
    )
    if vectors and len(sizes) == 1 and op.outputs:
        size = sizes.pop()
        if size not in (len(op.outputs), len(op.outputs) - len(op.inplace)):
            yield "results", {"given": size, "wanted": len(op.outputs)}, Severity.BUG


def differ(left: str, right: str) -> bool:
    """Whether two types are certainly not the same; types that are not known may be."""
    one, two = plain_type(left), plain_type(right)
    return one != two and all(set(re.findall(r"\w+", t)) <= _KNOWN for t in (one, two))


def plain_type(text: str) -> str:
    """A C++ type without `const`, references and namespaces, one name for each type."""
    bare = re.sub(r"\bconst\b|\b\w+::|[&\s]", "", text)
    return re.sub(r"\w+", lambda m: _SAME_TYPE.get(m[0], m[0]), bare)


def _before(op: Op, unit: SourceFile, change: ChangeSet, wrong: Wrong) -> bool:
    """Whether the registration did not fit in the same way before the change."""
    file = change.changed(unit.path)
    old = change.unit(file.base_path, Side.BASE) if file is not None and file.base_path else None
    for other in old.ops if old is not None else ():
        function = kernel_of(other, old) if old is not None else None
        if other.name == op.name and function is not None:
            return any(w[0] == wrong[0] for w in _misfits(other, function))
    return False
