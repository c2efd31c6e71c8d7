"""Names that a change put in the place of others, told from lines that differ in names alone."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Location, Side
from checks.core.words import word_regex
from checks.lang.source import language
from checks.summary.changes.definitions import is_defined
from checks.summary.changes.sides import added_lines, removed_lines
from checks.summary.changes.token_diff import CodeToken, exchanged_tokens, tokens_by_line


@dataclass(frozen=True, slots=True)
class _Exchange:
    """`old` became `new` at `place`; `called`: an opening parenthesis follows it."""

    old: str
    new: str
    place: Location
    called: bool


@dataclass(frozen=True, slots=True)
class NameReplacement:
    """`new` stands at `places` (lines of the head) where `old` stood.

    `left` are the product files of the head that still contain `old`. `changed_left` are those of
    them that the change touches: elsewhere the same word may mean something else.
    """

    old: str
    new: str
    places: tuple[Location, ...]
    left: tuple[str, ...]
    changed_left: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(p.path for p in self.places))


def find_name_replacements(change: ChangeSet, config: Config) -> tuple[NameReplacement, ...]:
    """Every replaced name, the most frequent first."""
    exchanges: dict[tuple[str, str], list[_Exchange]] = defaultdict(list)
    for file in change.files:
        for exchange in _exchanges_in(file, change):
            exchanges[exchange.old, exchange.new].append(exchange)
    replacements = []
    for group in exchanges.values():
        replacement = _replacement_of(group, change, config)
        if replacement is not None:
            replacements.append(replacement)
    replacements.sort(key=lambda r: (-len(r.places), r.old, r.new))
    return tuple(replacements)


def _replacement_of(
    exchanges: list[_Exchange], change: ChangeSet, config: Config
) -> NameReplacement | None:
    """What the exchanges of one name for another are together, None where they are chance.

    A name that was exchanged in one place only counts where it is gone from the product. One that
    is always called (`empty(...)`) counts only where the product defines the new name.
    """
    old, new = exchanges[0].old, exchanges[0].new
    if all(config.is_test(e.place.path) for e in exchanges):
        return None
    once = len(exchanges) == 1
    # The changed files are at hand; whether the whole tree holds the name takes a search.
    if once and _stays_in_changed_files(old, change, config):
        return None
    if all(e.called for e in exchanges) and not is_defined(new, change, Side.HEAD, config):
        return None
    left = _product_files_with(old, change, config)
    if once and left:
        return None
    changed_left = tuple(path for path in left if change.changed(path) is not None)
    return NameReplacement(old, new, tuple(e.place for e in exchanges), left, changed_left)


def _stays_in_changed_files(name: str, change: ChangeSet, config: Config) -> bool:
    """Whether product code that was changed still holds `name`."""
    word = re.compile(rf"{word_regex(name)}\b")
    for file in change.files:
        path = file.head_path
        if not path or file.mode != "file" or config.is_test(path) or not language(path):
            continue
        unit = change.unit(path)
        if unit is not None and word.search("\n".join(unit.lines)):
            return True
    return False


def _product_files_with(name: str, change: ChangeSet, config: Config) -> tuple[str, ...]:
    paths = change.head.paths_containing(name)
    return tuple(p for p in paths if language(p) and not config.is_test(p))


def _exchanges_in(file: FileChange, change: ChangeSet) -> Iterator[_Exchange]:
    if not file.base_path or not file.head_path or file.mode != "file":
        return
    if not language(file.head_path):
        return
    base, head = change.unit(file.base_path, Side.BASE), change.unit(file.head_path)
    if base is None or head is None:
        return
    for hunk in file.hunks:
        old_lines = tokens_by_line(removed_lines(hunk, base.lines))
        new_lines = tokens_by_line(added_lines(hunk, head.lines))
        old, new = list(chain.from_iterable(old_lines)), list(chain.from_iterable(new_lines))
        for i, j in exchanged_tokens(old_lines, new_lines):
            if _is_replaced_name(old, new, i, j):
                place = Location(head.path, hunk.head_start + new[j].line)
                called = j + 1 < len(new) and new[j + 1].text == "("
                yield _Exchange(old[i].text, new[j].text, place, called)


def _is_replaced_name(old: list[CodeToken], new: list[CodeToken], i: int, j: int) -> bool:
    """Whether token `i` of the old lines is a name, and token `j` of the new ones replaced it."""
    if not old[i].is_name or not new[j].is_name:
        return False
    return not _is_assigned(new[j].text, old)


def _is_assigned(name: str, tokens: list[CodeToken]) -> bool:
    """Whether the tokens set `name`: where the old lines set it themselves, it replaced nothing."""
    return any(a.text == name and b.text == "=" for a, b in pairwise(tokens))
