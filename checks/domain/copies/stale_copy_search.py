"""Looks through the siblings of a changed function for those that keep the old form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.words import as_bytes, word_regex
from checks.domain.calls.binding import find_misfit
from checks.domain.calls.targets import CallTargets
from checks.domain.copies.alterations import Alteration
from checks.domain.copies.exemptions import (
    adapted_line,
    is_none_when_off,
    is_refused,
    never_sets_keys,
    nothing_reads_added,
    nothing_reads_key,
    own_code_reads_removed,
)
from checks.domain.copies.prerequisites import calls_something_else, has_word, missing_names
from checks.domain.copies.stale_copy import StaleCopy, stale_copies_in
from checks.domain.hardware_reach import FieldReaders
from checks.domain.siblings import HardwareNames, counterparts
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile


@dataclass(frozen=True, slots=True)
class StaleCopySearch:
    """What the search needs to know of a change."""

    change: ChangeSet
    config: Config
    names: HardwareNames
    readers: FieldReaders

    @classmethod
    def of(cls, change: ChangeSet, config: Config) -> StaleCopySearch:
        readers = FieldReaders(change, config, CallTargets.of_change(change))
        return cls(change, config, HardwareNames.of(config), readers)

    def stale_copies(
        self, alteration: Alteration, unit: SourceFile, paths: list[str]
    ) -> Iterator[StaleCopy]:
        """The places in the sibling files `paths` that keep the old form and should not.

        `unit` is the changed file. What the new form needs and a sibling does not have counts as a
        feature that is not there, unless most siblings have it.
        """
        word = _word_of_old_form(alteration)
        most_have_it = self._most_pass_added(alteration, word, paths)
        for path in paths:
            source = self.change.head.read(path) or b""
            sibling = self.change.unit(path) if has_word(source, word) else None
            if sibling is None:
                continue
            if calls_something_else(alteration, unit, sibling):
                continue
            # What most siblings have is no feature of one hardware: the others should get it.
            if not most_have_it and self._lacks_feature(alteration, unit, sibling, source):
                continue
            for function in counterparts(alteration.function, unit, sibling, self.names):
                if most_have_it or not missing_names(alteration, function, sibling):
                    yield from self._copies_to_report(function, sibling, alteration)

    def _copies_to_report(
        self, function: Function, sibling: SourceFile, alteration: Alteration
    ) -> Iterator[StaleCopy]:
        for copy in stale_copies_in(function, sibling, alteration):
            if not self._raises_anyway(copy) and not self._is_exempt(copy):
                yield copy

    def _most_pass_added(self, alteration: Alteration, word: str, paths: list[str]) -> bool:
        """Whether most files that make this call pass the new keywords, after the change."""
        if alteration.kind != "call" or not alteration.added or is_none_when_off(alteration):
            return False
        passing, lacking = 1, 0  # the changed file itself passes them
        for path in paths:
            source = self.change.head.read(path) or b""
            if path == alteration.function.path or not has_word(source, word):
                continue
            if all(_passes_keyword(source, keyword) for keyword in alteration.added):
                passing += 1
            else:
                lacking += 1
        return passing > 1 and passing > lacking

    def _lacks_feature(
        self, alteration: Alteration, unit: SourceFile, sibling: SourceFile, source: bytes
    ) -> bool:
        """Whether the new form reads keys that the sibling never sets, or a field that this change
        brings and that the sibling's file knows nothing of.
        """
        if never_sets_keys(alteration, unit, sibling):
            return True
        form = alteration.new_expression()
        if form is None:
            return False
        attributes = sorted({e.name for e in E.walk(form) if isinstance(e, E.Attr)})
        for name in attributes:
            # A name of one word may stand anywhere in the base.
            if "_" not in name or has_word(source, name):
                continue
            if not self.change.base.contains(name):
                return True
        return False

    def _raises_anyway(self, copy: StaleCopy) -> bool:
        """Whether the call raises a TypeError now, which is what the rules about arguments say."""
        call = copy.effect.form
        if not isinstance(call, E.Call):
            return False
        target = self.readers.targets.of(call, copy.function, copy.unit)
        return target is not None and find_misfit(call, target.params) is not None

    def _is_exempt(self, copy: StaleCopy) -> bool:
        """Whether the sibling is right to keep the old form."""
        alteration = copy.alteration
        if adapted_line(alteration, copy.function, self.change):
            return True
        if is_refused(copy.effect, copy.function, copy.unit):
            return True
        hardware = self.config.hardware_of(copy.unit.path)
        if hardware and own_code_reads_removed(alteration, hardware, self.readers):
            return True
        if hardware and nothing_reads_key(copy.effect, hardware, self.change, self.config):
            return True
        call = copy.effect.form
        return isinstance(call, E.Call) and nothing_reads_added(
            alteration, call, copy.function, copy.unit, hardware, self.readers
        )


def _passes_keyword(source: bytes, keyword: str) -> bool:
    return re.search(as_bytes(rf"{word_regex(keyword)}=[^=]"), source) is not None


def _word_of_old_form(alteration: Alteration) -> str:
    """The longest word that every file with the old form has.

    Files without it need not be parsed.
    """
    old = alteration.old
    if isinstance(old.key, str) and old.key:
        return old.key
    form = alteration.old_expression() if isinstance(old.key, str) else old.key
    longest = ""
    if form is None:
        return "self"
    for e in E.walk(form):
        match e:
            case E.Name(id=word) | E.Attr(name=word) | E.Const(value=str() as word):
                if word.isidentifier() and len(word) > len(longest):
                    longest = word
            case _:
                pass
    return longest or "self"
