"""Reads of a name from a module of the tree: `ops.pad_rows`, where `ops` is imported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import changed_files, changed_functions
from checks.core.code import is_ready_for
from checks.core.config import Config
from checks.domain.calls.attributes import Attributes
from checks.domain.calls.exports import Exports, is_package, names_lost
from checks.domain.calls.known_objects import reads_of_others
from checks.domain.calls.types import Types
from checks.domain.keys import product_files
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile


@dataclass(frozen=True, slots=True)
class ModuleRead:
    """A read of `name` from the file `module`, on `line` of a function of `unit`."""

    name: str
    line: int
    module: SourceFile
    function: Function
    unit: SourceFile


def reads_of_lacking(change: ChangeSet, config: Config) -> Iterator[ModuleRead]:
    """The reads that fail since the change: those that it wrote, and those of what it took away."""
    exports, attributes = Exports.of_change(change), Attributes.of_change(change)
    for read in (*_new_reads(change, config), *_stale_reads(change, config)):
        if is_ready_for("AttributeError", read.unit.text_of(read.function)):
            continue
        # Any code may give a module a name: `ops.pad_rows = fast_pad_rows`.
        if exports.lacks(read.module, read.name) and not attributes.is_set_outside(read.name):
            yield read


def _new_reads(change: ChangeSet, config: Config) -> Iterator[ModuleRead]:
    for changed in changed_functions(change, config):
        if not changed.python:
            continue
        for read in _reads_in(changed.head, changed.unit, change):
            is_new = f".{read.name}" not in changed.base_text and changed.touched(read.line)
            if is_new and not is_package(read.module):
                yield read


def _stale_reads(change: ChangeSet, config: Config) -> Iterator[ModuleRead]:
    for unit, name in _names_gone(change, config):
        for path in product_files(name, change, config):
            for read in _reads_of(name, change.unit(path), change):
                if read.module.path == unit.path:
                    yield read


def _names_gone(change: ChangeSet, config: Config) -> Iterator[tuple[SourceFile, str]]:
    """The files of the change, and each name that one had at its top level and has no more."""
    for unit, base_unit in changed_files(change, config, "python"):
        if base_unit is not None:
            for name in sorted(names_lost(base_unit, unit)):
                yield unit, name


def _reads_of(name: str, unit: SourceFile | None, change: ChangeSet) -> Iterator[ModuleRead]:
    for function in unit.functions if unit is not None else ():
        if unit is not None and f".{name}" in unit.text_of(function):
            for read in _reads_in(function, unit, change):
                if read.name == name:
                    yield read


def _reads_in(function: Function, unit: SourceFile, change: ChangeSet) -> Iterator[ModuleRead]:
    types = Types.of_change(change)
    for read, line, scope in reads_of_others(function, unit):
        if isinstance(read.base, E.Name):
            module = types.module(read.base.id, line, scope)
            if module is not None and module.unit is not None:
                yield ModuleRead(read.name, line, module.unit, function, unit)
