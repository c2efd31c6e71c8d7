"""What can go wrong: the review's findings, and defects in code that this change is the first to reach."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding, Location, Message, Severity, Side
from checks.domain.change_facts import Facts
from checks.domain.ops import Ops
from checks.lang.source import language
from checks.registry import RULES
from checks.review import Review
from checks.summary.call_changes import hardware, newly_called
from checks.summary.merge_identical import gathered
from checks.summary.model import Claim, Impact, Risk

_MOST_REACHED = 12
_CALLED_OTHERWISE = frozenset(
    {
        "parameter-replaced",
        "parameter-optional",
        "signature",
        "function-removed",
        "function-replaced",
        "function-renamed",
    }
)
# What the people who run an engine set: command-line options, environment variables.
_SETTINGS = {
    "impact-options": re.compile(r"""["'](--[a-z][\w-]+)["']"""),
    "impact-environment": re.compile(
        r"""(?:environ(?:\.get)?|getenv)[\[(]["']([A-Z][A-Z0-9_]+)["']"""
    ),
}


def risks(review: Review, reached: Iterable[Finding]) -> tuple[Risk, ...]:
    """Open findings of the review, and what is `reached` besides."""
    own = [f for f in review.findings if f.severity is not Severity.CONVENTION and not f.answered]
    known = {f.fingerprint for f in own}
    return (
        *map(Risk, own),
        *(Risk(f, reached=True) for f in reached if f.fingerprint not in known),
    )


def reached(change: ChangeSet, config: Config) -> tuple[Finding, ...]:
    """What the device rules say of code that the change newly calls: as if it had brought the files of those ops."""
    paths = [p for p in reached_files(change, config) if change.changed(p) is None]
    if not paths:
        return ()
    seen = change.as_if_added(paths)
    checks = [c for c in RULES if c.ID.startswith("kernel.") and c.ID not in config.rules.disable]
    found = [f for check in checks for f in check.run(seen, config)]
    return tuple(
        sorted(
            (f for f in found if not f.pedantic and f.location.path in paths),
            key=lambda f: f.sort_key,
        )
    )


def reached_files(change: ChangeSet, config: Config) -> tuple[str, ...]:
    """Device files behind the ops that the change calls for the first time in a file: the op's own function, and the
    definitions of what that calls under the same name (a wrapper, its kernel)."""
    ops = Ops.of(change)
    found: dict[str, None] = {}
    for name, caller in newly_called(change, config):
        kind = hardware(caller, config)
        for op in ops.named(name):
            path = op.function.path if op.function is not None else op.unit.path
            if not kind or config.hardware_of(path) in ("", kind):
                found |= dict.fromkeys(_behind(name, path, change, config))
    return tuple(p for p in list(found)[:_MOST_REACHED] if language(p) == "cpp")


def _behind(name: str, path: str, change: ChangeSet, config: Config) -> Iterator[str]:
    yield path
    kind = config.hardware_of(path)
    for other in change.head.paths_containing(name, "cpp"):
        if other != path and config.hardware_of(other) == kind and not config.is_test(other):
            unit = change.unit(other)
            if unit is not None and unit.named(name):
                yield other


def impacts(change: ChangeSet, facts: Facts, claims: Iterable[Claim]) -> tuple[Impact, ...]:
    """Who is touched, each with the fact that says so."""
    told = list(claims)
    made = [*_operators(change, facts)]
    settings = (c for c in told if c.message.key in ("setting-added", "setting-changed"))
    made += [Impact("operators", claim) for claim in gathered(settings)]
    made += [Impact("developers", claim) for claim in gathered(filter(_reaches_callers, told))]
    if facts.hardware:
        where = tuple(Location(f.path, 0) for f in facts.files if f.hardware)
        made.insert(
            0,
            Impact(
                "users", Claim(Message("impact-hardware", {"names": list(facts.hardware)}), where)
            ),
        )
    return tuple(made)


def _reaches_callers(claim: Claim) -> bool:
    """Whether other people's code has to call something differently: an op, a public Python function."""
    key, args = claim.message.key, claim.message.args
    if key in ("op-changed", "op-removed", "op-replaced", "binding-changed"):
        return True
    name = str(args.get("name", "")).rsplit(".", 1)[-1]
    python = language(str(args.get("path", ""))) == "python"
    return key in _CALLED_OTHERWISE and python and not name.startswith("_") and not _optional(claim)


def _optional(claim: Claim) -> bool:
    """Whether all that a function gained are parameters with a default, and it lost none."""
    gained, lost = (claim.message.args.get(k) for k in ("gained", "lost"))
    if claim.message.key == "parameter-optional":
        return not claim.message.args["moved"]
    return (
        claim.message.key == "signature"
        and isinstance(gained, list)
        and bool(gained)
        and not lost
        and all("=" in p for p in gained)
    )


def _operators(change: ChangeSet, facts: Facts) -> Iterator[Impact]:
    compiled = [f.path for f in facts.of_kind("source") if language(f.path) == "cpp"]
    if compiled:
        message = Message("impact-rebuild", {"count": len(compiled)})
        yield Impact("operators", Claim(message, tuple(Location(p, 0) for p in compiled)))
    for key, pattern in _SETTINGS.items():
        places: dict[str, Location] = {}
        for file in facts.of_kind("source"):
            places |= {n: p for n, p in _new(pattern, file.path, change) if n not in places}
        if places:
            yield Impact(
                "operators", Claim(Message(key, {"names": list(places)}), tuple(places.values()))
            )


def _new(pattern: re.Pattern[str], path: str, change: ChangeSet) -> Iterator[tuple[str, Location]]:
    """(name, place) of what `pattern` finds in added lines of a Python file and nowhere in the base's."""
    file = change.changed(path)
    unit = change.unit(path) if language(path) == "python" else None
    base = change.unit(file.base_path, Side.BASE) if file and file.base_path else None
    before = "\n".join(base.lines) if base else ""
    for line in sorted(file.head_lines()) if file and unit else ():
        for name in pattern.findall(unit.text(line) if unit else ""):
            if name not in before:
                yield name, Location(path, line)
