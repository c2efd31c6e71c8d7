"""The one sentence that says what a change makes different: its two or three weightiest claims."""

from __future__ import annotations

from collections.abc import Sequence

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Message
from checks.domain.change_facts import Facts
from checks.lang.source import language
from checks.summary.changes.name_replacements import find_name_replacements
from checks.summary.claims import claims_for
from checks.summary.merge_identical import merge_identical
from checks.summary.model import Claim

_MOST_CLAIMS = 3
# Message keys of claims: what code does differently before what it is called. Names that were
# exchanged, and functions that are new or gone, say least about what happens at run time.
_ORDER = (
    "split",
    "extracted",
    "op-added",
    "op-removed",
    "op-replaced",
    "op-changed",
    "assigned",
    "unpacked",
    "condition",
    "condition-part",
    "setting-changed",
    "override",
    "rewrite-part",
    "rewrite-value",
    "rewrite-condition",
    "branches",
    "narrowed",
    "exit",
    "returned",
    "set-local",
    "rewrite-set",
    "rewrite-branch",
    "rewrite-loop",
    "loop",
    "dropped",
    "first-calls",
    "carried",
    "moved",
    "files-moved",
    "class-added",
    "classes-added",
    "setting-added",
    "function-replaced",
    "function-removed",
    "function-added",
    "functions-added",
    "functions-removed",
    "signature",
    "parameter-replaced",
    "parameter-optional",
    "replaced",
    "calls",
    "state",
    "keys",
    "passed",
    "repeated",
    "rewrite-new",
    "line",
    "entries",
    "constant-changed",
    "constant-added",
    "file-renamed",
    "tests-added",
)
_RANK = {key: rank for rank, key in enumerate(_ORDER)}


def find_headline(change: ChangeSet, config: Config, facts: Facts) -> tuple[Message, ...]:
    """The parts of the sentence, as messages of `templates/words/analysis.toml`; none where
    nothing can be said of the code."""
    replacements = find_name_replacements(change, config)
    claims = claims_for(change, config, facts, replacements)
    return tuple(claim.message for claim in headline_claims(claims))


def headline_claims(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """At most three claims that say most, each of functions that the ones before are not about.

    After the first, what shares a message field with it goes before the rest: who writes a word
    and who reads it belong into one sentence.
    """
    known = [claim for claim in claims if _says_something(claim)]
    left = list(merge_identical(sorted(known, key=_weight)))
    chosen: list[Claim] = []
    while left and len(chosen) < _MOST_CLAIMS:
        fields = {symbol for claim in chosen for symbol in _fields(claim)}
        linked = [claim for claim in left if fields.intersection(_fields(claim))]
        best = (linked or left)[0]
        chosen.append(best)
        covered = {name for claim in chosen for name in _functions(claim)}
        left = [claim for claim in left if covered.isdisjoint(_functions(claim))]
    return tuple(chosen)


def _says_something(claim: Claim) -> bool:
    """Whether the claim can open a report: that a value is another one now says nothing."""
    key, args = claim.message.key, claim.message.args
    return key in _RANK and (key != "assigned" or bool(args["new"]))


def _weight(claim: Claim) -> int:
    """The rank of the claim's key. In a kernel a local variable is often an offset, and matters as
    much as a condition."""
    key = claim.message.key
    in_kernel = any(language(place.path) == "cpp" for place in claim.places)
    return _RANK["condition"] if key == "set-local" and in_kernel else _RANK[key]


def _fields(claim: Claim) -> list[str]:
    """The message fields (`meta[1]`) that the claim is about."""
    return [symbol for symbol in claim.symbols if "[" in symbol]


def _functions(claim: Claim) -> list[str]:
    """The functions and other names that the claim is about."""
    return [symbol for symbol in claim.symbols if "[" not in symbol]
