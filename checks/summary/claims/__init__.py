"""The true sentences about a change, from its facts: what was split, moved, renamed, replaced, added, removed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.change_facts import Facts
from checks.summary import successors
from checks.summary.claims import functions, named, ops, settings, statements, tests
from checks.summary.claims.claim_locations import plain
from checks.summary.model import Claim
from checks.summary.replacements import Replacement


def claims(
    change: ChangeSet, config: Config, facts: Facts, replaced: Sequence[Replacement]
) -> tuple[Claim, ...]:
    """Every claim, the ones that explain most first."""
    split = [*functions.splits(change, config)]
    parts = {name for c in split for name in c.symbols}
    carried = [*functions.carried(change, config, parts)]
    made = parts | {str(c.message.args["name"]).rsplit(".", 1)[-1] for c in carried}
    pairs = [(r.old, r.new) for r in replaced]
    exchanged = {n for pair in pairs for n in pair}
    successive = successors.functions(change, config, facts, replaced)
    classes = [*named.classes(change, config)]
    remade = [
        *split,
        *carried,
        *functions.moves(change, config),
        *ops.ops(change, facts, replaced),
        *ops.bindings(change, config, {r.new: r.old for r in replaced}),
        *map(named.replacement, replaced),
        *map(functions.successor, successive),
        *settings.settings(change, config),
        *functions.remade(change, config, facts, successive, made),
    ]
    state = [*statements.state(change, config)]
    about = {plain(s) for c in remade for s in c.symbols}
    found = [
        *remade,
        *statements.calls(change, config, exchanged | parts, about),
        *functions.first_calls(change, config),
        *statements.conditions(change, config, pairs),
        *statements.exits(change, config),
        *statements.dropped(change, config, pairs),
        *statements.overrides(change, config, pairs),
        *statements.narrowed(change, config),
        *statements.written(change, config, pairs),
        *statements.passed(change, config, pairs, about),
        *statements.repeated(change, config),
        *state,
        *statements.branches(change, config),
        *named.keys(change, config, {r.new for r in replaced} | _set_newly(state)),
        *classes,
        *named.constants(facts, {str(c.message.args["name"]) for c in classes}),
        *functions.laid_out(change, config),
    ]
    told = {s for c in found for s in c.symbols}
    return (
        *found,
        *functions.others(facts, told, change, pairs),
        *tests.cases(change, config, told),
    )


def _set_newly(state: Sequence[Claim]) -> set[str]:
    """The last names of what functions newly set: `k` of `shared["k"]`."""
    return {re.findall(r"\w+", name)[-1] for c in state for name in c.message.args["gained"]}
