"""Who is affected by a change: users, operators, or developers whose code calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from checks.core.change import ChangeSet
from checks.core.finding import Location, Message
from checks.domain.change_facts import Facts
from checks.lang.source import language
from checks.summary.changes.sides import base_of
from checks.summary.merge_identical import merge_identical
from checks.summary.model import Claim, Impact

_OP_INTERFACE_KEYS = ("op-changed", "op-removed", "op-replaced", "binding-changed")
_FUNCTION_INTERFACE_KEYS = (
    "parameter-replaced",
    "parameter-optional",
    "signature",
    "function-removed",
    "function-replaced",
    "function-renamed",
)
_OPTION = re.compile(r"""["'](--[a-z][\w-]+)["']""")
_ENVIRONMENT = re.compile(r"""(?:environ(?:\.get)?|getenv)[\[(]["']([A-Z][A-Z0-9_]+)["']""")


def find_impacts(change: ChangeSet, facts: Facts, claims: Sequence[Claim]) -> tuple[Impact, ...]:
    """Who is affected, each with the fact that says so."""
    impacts = []
    if facts.hardware:
        places = tuple(Location(file.path, 0) for file in facts.files if file.hardware)
        message = Message("impact-hardware", {"names": list(facts.hardware)})
        impacts.append(Impact("users", Claim(message, places)))
    for claim in _operator_claims(change, facts):
        impacts.append(Impact("operators", claim))
    settings = [c for c in claims if c.message.key in ("setting-added", "setting-changed")]
    for claim in merge_identical(settings):
        impacts.append(Impact("operators", claim))
    interfaces = [c for c in claims if _changes_an_interface(c)]
    for claim in merge_identical(interfaces):
        impacts.append(Impact("developers", claim))
    return tuple(impacts)


def _operator_claims(change: ChangeSet, facts: Facts) -> Iterator[Claim]:
    """What the people who run the engine notice: a rebuild, new options, new variables."""
    compiled = [f.path for f in facts.of_kind("source") if language(f.path) == "cpp"]
    if compiled:
        message = Message("impact-rebuild", {"count": len(compiled)})
        yield Claim(message, tuple(Location(path, 0) for path in compiled))
    options = _new_names(_OPTION, change, facts)
    if options:
        yield Claim(Message("impact-options", {"names": list(options)}), tuple(options.values()))
    variables = _new_names(_ENVIRONMENT, change, facts)
    if variables:
        yield Claim(
            Message("impact-environment", {"names": list(variables)}), tuple(variables.values())
        )


def _new_names(pattern: re.Pattern[str], change: ChangeSet, facts: Facts) -> dict[str, Location]:
    """The names that `pattern` finds in added lines of Python and nowhere in the file's base.

    Each with the last line of the first file that has it.
    """
    places: dict[str, Location] = {}
    for fact in facts.of_kind("source"):
        file = change.changed(fact.path)
        if file is None or language(fact.path) != "python":
            continue
        unit = change.unit(fact.path)
        if unit is None:
            continue
        base = base_of(fact.path, change)
        before = "\n".join(base.lines) if base else ""
        in_file: dict[str, Location] = {}
        for line in sorted(file.head_lines()):
            for name in pattern.findall(unit.text(line)):
                if name not in before:
                    in_file[name] = Location(fact.path, line)
        for name, place in in_file.items():
            places.setdefault(name, place)
    return places


def _changes_an_interface(claim: Claim) -> bool:
    """Whether other people's code must change: it calls an op, or a public Python function."""
    key, args = claim.message.key, claim.message.args
    if key in _OP_INTERFACE_KEYS:
        return True
    if key not in _FUNCTION_INTERFACE_KEYS or language(str(args.get("path", ""))) != "python":
        return False
    name = str(args.get("name", "")).rsplit(".", 1)[-1]
    return not name.startswith("_") and not _old_calls_still_work(claim)


def _old_calls_still_work(claim: Claim) -> bool:
    """Whether the function gained parameters with a default only, and lost none."""
    args = claim.message.args
    if claim.message.key == "parameter-optional":
        return not args["moved"]
    if claim.message.key != "signature":
        return False
    gained, lost = args["gained"], args["lost"]
    if lost or not gained:
        return False
    return all("=" in parameter for parameter in gained)
