"""Looks through the copies of a changed function for those that keep the old form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.tree import word_regex
from checks.domain import siblings as S
from checks.domain.call_targets import misfit
from checks.domain.hardware_reach import Readers
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.rules.sync._effects import Alteration, Effect, effects
from checks.rules.sync._exemptions import adapted, may_be_none, never_set, still_read, unread
from checks.rules.sync._stale_copy import (
    Lag,
    forms,
    has_word,
    lacking,
    lags,
    method_differs,
    other_callee,
)


@dataclass(frozen=True, slots=True)
class Search:
    """What the search for lags needs to know of a change."""

    change: ChangeSet
    config: Config
    names: S.Names
    readers: Readers

    def lags(self, alteration: Alteration, unit: SourceFile, paths: list[str]) -> Iterator[Lag]:
        word, most = _word(alteration), self._most_have(alteration, paths)
        for path in paths:
            data = self.change.head.read(path) or b""
            if not has_word(data, word) or (sibling := self.change.unit(path)) is None:
                continue
            if method_differs(alteration, sibling) or other_callee(alteration, unit, sibling):
                continue
            if not most and (
                never_set(alteration, unit, sibling) or self._new_field(alteration, data)
            ):
                continue
            for function in S.counterparts(alteration.function, unit, sibling, self.names):
                if most or not lacking(alteration, function, sibling, data):
                    found = lags(alteration, function, sibling, self.effects(function, sibling))
                    yield from (
                        lag
                        for lag in found
                        if not self._cannot_fit(lag) and not self._needless(lag)
                    )

    def _new_field(self, alteration: Alteration, data: bytes) -> bool:
        """Whether the new form reads a field that the change brings and of which the sibling's file knows nothing."""
        read = {e.name for f in forms(alteration.new) for e in E.walk(f) if isinstance(e, E.Attr)}
        return any(
            "_" in n and not has_word(data, n) and not self.change.base.contains(n)
            for n in sorted(read)
        )

    def effects(self, function: Function, unit: SourceFile) -> list[Effect]:
        return self.change.memo(
            (Search, function.path, function.start_line), lambda: effects(function, unit)
        )

    def _needless(self, lag: Lag) -> bool:
        """Whether this change adapted the sibling in another way, or its hardware reads nothing of what came, or still
        reads what went."""
        if adapted(lag.alteration, lag.function, self.change):
            return True
        call, hardware = lag.effect.form, self.config.hardware_of(lag.unit.path)
        if hardware and still_read(lag.alteration, hardware, self.readers):
            return True
        at = lag.function, lag.unit
        return isinstance(call, E.Call) and unread(lag.alteration, call, hardware, self.readers, at)

    def _cannot_fit(self, lag: Lag) -> bool:
        """Whether the call raises a TypeError now, which is what `sync.signature` says."""
        if not isinstance(lag.effect.form, E.Call):
            return False
        target = self.readers.targets.of(lag.effect.form, lag.function, lag.unit)
        return target is not None and misfit(lag.effect.form, target) is not None

    def _most_have(self, alteration: Alteration, paths: list[str]) -> bool:
        """Whether, after the change, more of the files that make this call pass the new keywords than do not."""
        if alteration.kind != "call" or not alteration.gained or may_be_none(alteration):
            return False
        word, others = _word(alteration), (p for p in paths if p != alteration.function.path)
        callers = [
            d for d in (self.change.head.read(p) or b"" for p in others) if has_word(d, word)
        ]
        having = sum(
            all(re.search(rf"{word_regex(k)}=[^=]".encode(), d) for k in alteration.gained)
            for d in callers
        )
        return having > 0 and 1 + having > len(callers) - having


def _word(alteration: Alteration) -> str:
    """A word that every file with the old form has."""
    key = alteration.old.key
    if isinstance(key, str) and key:
        return key
    form = alteration.old.form if isinstance(key, str) else key
    names = (
        [p for p in E.walk(form) if isinstance(p, E.Name | E.Attr | E.Const)]
        if not isinstance(form, tuple)
        else []
    )
    words = [
        p.value if isinstance(p, E.Const) else p.name if isinstance(p, E.Attr) else p.id
        for p in names
    ]
    return max(
        (w for w in words if isinstance(w, str) and w.isidentifier()), key=len, default="self"
    )
