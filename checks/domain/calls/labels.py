"""Whether what a call passes by position stands in the right places, told by the names of values.

`f(end, start)` for `def f(start, end)`: the arguments carry the names of the parameters, in another
order. One argument that is named as another parameter says nothing; two do. So do two that each
have a word of the other's parameter and none of their own: `f(down_scale, down_weights)` for
`def f(weight, scale)`. So does one that is named as a later parameter for which nothing is passed,
where another argument is named as its own: `f(rows, limit)` for `def f(rows, mask=None, limit=0)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from checks.core.words import name_parts
from checks.domain.calls.binding import arguments_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Param

# What is one function's output is the next one's input.
_DIRECTIONS = frozenset(
    {
        "input",
        "output",
        "source",
        "target",
        "src",
        "dst",
        "send",
        "recv",
        "prev",
        "next",
        "old",
        "new",
    }
)
# So many arguments must each be off by the same number of places.
_FEWEST_SHIFTED = 2


@dataclass(frozen=True, slots=True)
class Misplacement:
    """Arguments in the places of other parameters.

    `kind` is `swapped` (two arguments stand in each other's place), `shifted` (from one argument
    on, all stand too early or too late) or `early` (one stands in the place of a parameter before
    its own, for which nothing is passed). `argument` is the first that stands wrong, `parameter`
    where it stands; `left_out` is the parameter that nothing was passed for (too early).
    """

    kind: str
    argument: str
    parameter: str
    left_out: str
    line: int


def find_misplacement(call: E.Call, params: Sequence[Param]) -> Misplacement | None:
    """The first misplacement of the call, or None."""
    labels, names = positional_labels(call, params)
    values = arguments_of(call).values[: len(names)]
    wanted = [_place(label, names) for label in labels]
    return (
        _swap(labels, names, wanted, values)
        or _shift(labels, names, wanted, values)
        or _crossing(labels, names, values)
        or _half_named(labels, names, wanted, values)
        or _early(call, labels, names, values)
    )


def positional_labels(call: E.Call, params: Sequence[Param]) -> tuple[list[str], list[str]]:
    """The labels of the values that are passed by position, and the names of the parameters that
    may be."""
    names = names_by_position(params)
    return _labels(arguments_of(call).values[: len(names)], names), names


def names_by_position(params: Sequence[Param]) -> list[str]:
    """The names of the parameters that may be passed by position."""
    return [param.name for param in params if param.kind == "positional"]


def find_moved(
    call: E.Call, params: Sequence[Param], old: E.Call, old_params: Sequence[Param]
) -> Misplacement | None:
    """A value that stood for the parameter of its name in the call `old`, and stands for another
    one now, while its own gets nothing."""
    labels, names = positional_labels(call, params)
    old_labels, old_names = positional_labels(old, old_params)
    stood_right = {
        label for label, name in zip(old_labels, old_names, strict=False) if label == name
    }
    missing = _names_without_value(call, names)
    for number, label in enumerate(labels):
        if label in stood_right and label in missing and label != names[number]:
            line = arguments_of(call).values[number].line
            return Misplacement("early", label, names[number], names[number], line)
    return None


def _names_without_value(call: E.Call, names: list[str]) -> set[str]:
    """The parameters for which a call passes nothing; none where what it passes is not known."""
    given = arguments_of(call)
    if given.open_list or given.open_names:
        return set()
    return set(names[len(given.values) :]) - {name for name, _ in given.keywords}


def _labels(values: Sequence[E.Expr], names: list[str]) -> list[str]:
    """The names of the values; empty for one that several carry (`q.shape, k.shape`), and that of
    the parameter for one that stands there by its whole name (`buf.x` for `buf_x`)."""
    labels = [label_of(value) for value in values]
    told = [label if labels.count(label) == 1 else "" for label in labels]
    whole = [(E.dotted(value) or "").replace(".", "_") for value in values]
    return [
        name if path.endswith(name) else label
        for label, path, name in zip(told, whole, names, strict=False)
    ]


def left_out(call: E.Call, params: Sequence[Param], missing: Sequence[str]) -> list[str]:
    """The parameters that nothing is passed for, told by the names of the values behind them.

    Binding alone names the last ones: where `pod_ip` is left out in the middle, every value behind
    it moves up. `missing` is what binding says.
    """
    names = names_by_position(params)
    values = arguments_of(call).values
    for number, value in enumerate(values):
        place = _place(label_of(value), names)
        if place is not None and place - number == len(missing):
            return names[_first_moved(values, names, number) : place][: len(missing)]
    return list(missing)


def _first_moved(values: Sequence[E.Expr], names: list[str], number: int) -> int:
    """The place behind the last value before `number` that stands where its name says."""
    for earlier in range(number - 1, -1, -1):
        label = label_of(values[earlier])
        if label and (label == names[earlier] or label.endswith(names[earlier])):
            return earlier + 1
    return number


def label_of(value: E.Expr) -> str:
    """The name that a value carries: of a variable, an attribute (also by `getattr`), a key; empty
    for others."""
    match value:
        case E.Name(id=name) | E.Attr(name=name):
            return name.lstrip("_")
        case E.Index(indices=(E.Const(value=str() as key),)):
            return key
        case E.Call(func=E.Name(id="getattr"), args=(_, E.Const(value=str() as name), *_)):
            return name
        case _:
            return ""


def _place(label: str, names: list[str]) -> int | None:
    """The number of the parameter that is named as the value."""
    return names.index(label) if label and label in names else None


def _swap(
    labels: list[str], names: list[str], wanted: list[int | None], values: Sequence[E.Expr]
) -> Misplacement | None:
    for number, place in enumerate(wanted):
        if place is None or place <= number or place >= len(wanted):
            continue
        if wanted[place] == number:
            line = values[number].line
            return Misplacement("swapped", labels[number], names[number], labels[place], line)
    return None


def _crossing(labels: list[str], names: list[str], values: Sequence[E.Expr]) -> Misplacement | None:
    """Two arguments, each with a word that only the other's parameter has."""
    for first, second in combinations(range(len(labels)), 2):
        one, other = _words(names[first]), _words(names[second])
        passed, also_passed = _words(labels[first]), _words(labels[second])
        one, other = one - other, other - one
        crosses = bool(passed & other) and bool(also_passed & one)
        if crosses and not passed & one and not also_passed & other:
            line = values[first].line
            return Misplacement("swapped", labels[first], names[first], labels[second], line)
    return None


def _half_named(
    labels: list[str], names: list[str], wanted: list[int | None], values: Sequence[E.Expr]
) -> Misplacement | None:
    """Two arguments, one by the name of the other's parameter, and the other one by a word of the
    first one's, and none of its own."""
    for number, place in enumerate(wanted):
        if place is None or place == number or place >= len(labels):
            continue
        words = set(name_parts(labels[place]))
        if words & set(name_parts(names[number])) and not words & set(name_parts(names[place])):
            first, second = sorted((number, place))
            line = values[first].line
            return Misplacement("swapped", labels[first], names[first], labels[second], line)
    return None


def _early(
    call: E.Call, labels: list[str], names: list[str], values: Sequence[E.Expr]
) -> Misplacement | None:
    """The last argument, named as a later parameter for which nothing is passed, where another one
    is named as its own."""
    if not values or labels[-1] not in _names_without_value(call, names):
        return None
    label, own = labels[-1], names[len(values) - 1]
    follows_names = any(one == name for one, name in zip(labels, names, strict=False))
    if not follows_names or own in labels or _words(label) & _words(own):
        return None
    return Misplacement("early", label, own, own, values[-1].line)


def _words(name: str) -> set[str]:
    """The words of a name, in the singular; without those that each function sees its own way."""
    words = {word.removesuffix("s") if len(word) > 3 else word for word in name_parts(name)}
    return {word for word in words - _DIRECTIONS if len(word) > 2}


def _goes_one_way(distances: list[int]) -> bool:
    """Whether all arguments are off to one side, and the later ones no less: something stands in
    the middle of the parameters, or some things at several places."""
    sizes = [abs(distance) for distance in distances]
    return len({distance > 0 for distance in distances}) == 1 and sizes == sorted(sizes)


def _shift(
    labels: list[str], names: list[str], wanted: list[int | None], values: Sequence[E.Expr]
) -> Misplacement | None:
    """The first run of arguments that all stand too early, or all too late."""
    off = [place - number if place is not None else 0 for number, place in enumerate(wanted)]
    for number, distance in enumerate(off):
        if distance == 0:
            continue
        known = [d for d, place in zip(off, wanted, strict=True) if place is not None and d]
        if len(known) < _FEWEST_SHIFTED or not _goes_one_way(known):
            continue
        # After the shift has begun nothing stands right again.
        later = [d for d, place in zip(off, wanted, strict=True) if place is not None][number:]
        if 0 in later:
            continue
        left_out = names[_first_moved(values, names, number)] if distance > 0 else ""
        line = values[number].line
        return Misplacement("shifted", labels[number], names[number], left_out, line)
    return None
