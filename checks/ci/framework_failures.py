"""Failed tests that frameworks other than pytest name in a log, by the rules that name tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO

from checks.ci.classify import Rule, rules
from checks.ci.log_ranges import LineRange, read_ranges
from checks.ci.pytest_sessions import SessionFailure
from checks.ci.report import LogLine
from checks.ci.running_tests import leaf_names
from checks.ci.test_forms import NAME, TestForm, compiled

Sightings = Mapping[str, Sequence[LogLine]]

_MOST = 400
# Lines below a list's heading in which its items stand, and lists that are read.
_LONGEST_LIST, _MOST_LISTS = 2_000, 20
# cargo tells why in a section of its own.
_OUTPUT = re.compile(r"^---- (?P<name>.{1,300}) stdout ----$")
_LONGEST_OUTPUT = 40
_OUTPUT_END = re.compile(r"^(?:---- |failures:|test result:)")
# What a failed test prints there: with `--show-output` those that passed have such a section too.
_OUTPUT_FAILED = re.compile(
    r"^\s{0,4}(?:thread '.{1,200}panicked at|Error: |note: test did not panic)"
)


@dataclass(frozen=True, slots=True)
class _Named:
    """A line that names a failed test, and how its framework tells of it."""

    line: LogLine
    form: TestForm


def framework_failures(stream: BinaryIO, sightings: Sightings) -> Iterator[SessionFailure]:
    """Each failed test once, with the lines that tell why.

    Lists that name tests again count where nothing else named one; of these the first kind.
    """
    outputs = _outputs(sightings)
    found = [*_of_lines(stream, sightings, outputs), *_of_lists(stream, sightings, listed=False)]
    if not found:
        found = list(_of_quiet_cargo(stream, outputs))
    yield from found or _of_lists(stream, sightings, listed=True)


def _of_lines(
    stream: BinaryIO, sightings: Sightings, outputs: Mapping[str, LogLine]
) -> Iterator[SessionFailure]:
    """The tests that lines of the run name, in the order of the log."""
    named = _named(sightings)
    leaves = leaf_names(named)[:_MOST]
    ranges = [_output_range(outputs[n]) if n in outputs else _range(named[n]) for n in leaves]
    for name, lines in zip(leaves, read_ranges(stream, ranges), strict=True):
        told = _up_to_end(lines) if name in outputs else _cut(lines, named[name])
        yield SessionFailure(name, _said(told, named[name].form), told, named[name].line)


def _naming_rules(listed: bool) -> Iterator[tuple[Rule, TestForm]]:
    """The rules that name tests, and those whose lists only name them again."""
    for rule in rules():
        if rule.form is not None and rule.form.listed is listed:
            yield rule, rule.form


def _named(sightings: Sightings) -> dict[str, _Named]:
    """The tests that lines of the run name, in the order of the log. A line names one."""
    by_line: dict[int, tuple[str, _Named]] = {}
    for rule, form in _naming_rules(listed=False):
        if form.items:
            continue
        for name, named in _of_rule(rule, form, sightings.get(rule.name, ())):
            by_line.setdefault(named.line.number, (name, named))
    by_name: dict[str, _Named] = {}
    for number in sorted(by_line):
        name, named = by_line[number]
        by_name.setdefault(name, named)
    return by_name


def _of_rule(rule: Rule, form: TestForm, lines: Iterable[LogLine]) -> Iterator[tuple[str, _Named]]:
    """The tests that a rule's lines name."""
    for line in lines:
        # An indented line may be another log's, quoted in this one.
        match = rule.pattern.match(line.text)
        if match is not None:
            yield match[NAME].strip(), _Named(line, form)


def _said(told: Sequence[LogLine], form: TestForm) -> str:
    """Why the test failed, in one line; empty where the framework has no form for that."""
    for shape in form.said:
        for line in reversed(told):
            match = shape.match(line.text)
            if match is not None:
                return match["said"]
    return ""


def _of_quiet_cargo(stream: BinaryIO, outputs: Mapping[str, LogLine]) -> Iterator[SessionFailure]:
    """The failed tests of `cargo test -q`, which names them nowhere but above their output."""
    names = list(outputs)[:_MOST]
    ranges = [_output_range(outputs[name]) for name in names]
    for name, lines in zip(names, read_ranges(stream, ranges), strict=True):
        told = _up_to_end(lines)
        if any(_OUTPUT_FAILED.match(line.text) for line in told):
            yield SessionFailure(name, "", told, outputs[name])


def _of_lists(stream: BinaryIO, sightings: Sightings, *, listed: bool) -> Iterator[SessionFailure]:
    """The tests that lists name: every list's, or, of those that name tests again, the first's."""
    for rule, form in _naming_rules(listed):
        lines = sightings.get(rule.name, ())
        if form.items:
            found = list(_of_headings(stream, lines[:_MOST_LISTS], form))
        elif listed:
            names = {name: named.line for name, named in _of_rule(rule, form, lines)}
            found = [SessionFailure(name, "", (), line) for name, line in names.items()]
        else:
            continue
        yield from found[:_MOST]
        if found and listed:
            return


def _of_headings(
    stream: BinaryIO, headings: Sequence[LogLine], form: TestForm
) -> Iterator[SessionFailure]:
    """The items of the lists below these headings, each name once."""
    given: set[str] = set()
    ranges = [LineRange(line.number, line.number + _LONGEST_LIST) for line in headings]
    for lines in read_ranges(stream, ranges):
        for item in _items(lines, form):
            if item.node not in given:
                given.add(item.node)
                yield item


def _items(lines: tuple[LogLine, ...], form: TestForm) -> Iterator[SessionFailure]:
    """The items of one list. The heading's own line may have the first."""
    starts = []
    end = len(lines)
    for index, line in enumerate(lines):
        if index and form.ends_at(line.text):
            end = index
            break
        if compiled(form.items).match(line.text):
            starts.append(index)
    for start, following in pairwise([*starts, end]):
        told = lines[start : min(following, start + 1 + form.after)]
        said = _said(told, form)
        yield SessionFailure(_name(told, form), said, told if form.tells else (), told[0])


def _name(told: Sequence[LogLine], form: TestForm) -> str:
    """An item's name, which may go on in the lines below it up to a colon."""
    first = compiled(form.items).match(told[0].text)
    assert first is not None
    names = [first[NAME].strip()]
    if not form.goes_on:
        return names[0]
    for line in told[1:]:
        more = compiled(form.goes_on).match(line.text)
        if names[-1].endswith(":") or more is None:
            break
        names.append(more[NAME].strip())
    return " ".join(names).removesuffix(":")


def _outputs(sightings: Sightings) -> dict[str, LogLine]:
    """The lines below which cargo prints each failed test's output."""
    headings = {}
    for line in sightings.get("test-output", ()):
        match = _OUTPUT.match(line.text)
        if match is not None:
            headings[match["name"]] = line
    return headings


def _output_range(heading: LogLine) -> LineRange:
    return LineRange(heading.number + 1, heading.number + _LONGEST_OUTPUT)


def _up_to_end(lines: tuple[LogLine, ...]) -> tuple[LogLine, ...]:
    for index, line in enumerate(lines):
        if _OUTPUT_END.match(line.text):
            return lines[:index]
    return lines


def _range(named: _Named) -> LineRange:
    number = named.line.number
    return LineRange(max(1, number - named.form.before), number + named.form.after)


def _cut(lines: tuple[LogLine, ...], named: _Named) -> tuple[LogLine, ...]:
    """The lines from the test's beginning to the next test's."""
    kept: list[LogLine] = []
    for line in lines:
        if line.number < named.line.number and named.form.begins_at(line.text):
            kept = []
        if line.number > named.line.number and named.form.ends_at(line.text):
            break
        kept.append(line)
    return tuple(kept)
