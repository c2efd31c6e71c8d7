"""From a change to the sentences about it.

The modules of `checks.summary.changes` find what changed (`find_...`), those of this package say it
(`describe_...`). `claims_for` reads in the order in which the page needs the sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.change_facts import Facts
from checks.summary.changes.definition_replacements import replacements_of_functions
from checks.summary.changes.moves import find_moves
from checks.summary.changes.name_replacements import NameReplacement
from checks.summary.changes.names import last_part
from checks.summary.claims import (
    calls,
    function_bodies,
    functions,
    names,
    ops,
    paths,
    settings,
    statements,
    tests,
)
from checks.summary.model import Claim


def claims_for(
    change: ChangeSet, config: Config, facts: Facts, replacements: Sequence[NameReplacement]
) -> tuple[Claim, ...]:
    """Every claim about the change, those that explain most first.

    What one claim has said is handed to the later ones, so that they do not say it again.
    """
    exchanged = [(r.old, r.new) for r in replacements]
    splits = list(functions.describe_splits(change, config))
    split_names = _symbols_of(splits)
    definitions = [
        *splits,
        *_claims_on_definitions(change, config, facts, replacements, split_names),
    ]
    exchanged_names = {name for pair in exchanged for name in pair}
    explained = exchanged_names | split_names
    changed_names = {last_part(symbol) for symbol in _symbols_of(definitions)}
    states = list(statements.describe_state_changes(change, config))
    keys_explained = {r.new for r in replacements} | _last_words_of_gained_state(states)
    classes = list(names.describe_classes(change, config))
    class_names = _symbols_of(classes)
    claims = [
        *definitions,
        *calls.describe_call_changes(change, config, explained, changed_names),
        *calls.describe_first_calls(change, config),
        *statements.describe_conditions(change, config, exchanged),
        *statements.describe_new_exits(change, config),
        *statements.describe_dropped_cases(change, config, exchanged),
        *statements.describe_overrides(change, config, exchanged),
        *statements.describe_narrowings(change, config),
        *statements.describe_statement_changes(change, config, exchanged),
        *calls.describe_argument_changes(change, config, exchanged, changed_names),
        *calls.describe_repetition_changes(change, config),
        *states,
        *statements.describe_branches(change, config),
        *names.describe_table_keys(change, config, keys_explained),
        *classes,
        *names.describe_constants(facts, class_names),
        *paths.describe_renamed_files(change),
        *function_bodies.describe_layout_changes(change, config),
    ]
    symbols = _symbols_of(claims)
    return (
        *claims,
        *function_bodies.describe_other_bodies(facts, symbols, change, exchanged),
        *tests.describe_test_cases(change, config, symbols),
    )


def _claims_on_definitions(
    change: ChangeSet,
    config: Config,
    facts: Facts,
    replacements: Sequence[NameReplacement],
    split_names: set[str],
) -> list[Claim]:
    """What became of functions, ops, names and settings, but for the functions that were split."""
    carried = list(functions.describe_carried_code(change, config, split_names))
    carried_names = {str(claim.message.args["name"]) for claim in carried}
    with_known_code = split_names | {name.rsplit(".", 1)[-1] for name in carried_names}
    replaced_functions = replacements_of_functions(change, config, facts, replacements)
    old_names = {r.new: r.old for r in replacements}
    # Who imports what moved names another module, which goes without saying.
    moved = {
        (PurePosixPath(move.old).stem, PurePosixPath(move.new).stem)
        for move in find_moves(change, config)
    }
    exchanged = [r for r in replacements if (r.old, r.new) not in moved]
    return [
        *carried,
        *functions.describe_moves(change, config),
        *ops.describe_ops(change, facts, replacements),
        *ops.describe_bindings(change, config, old_names),
        *[names.describe_name_replacement(r) for r in exchanged],
        *[functions.describe_replacement(r) for r in replaced_functions],
        *settings.describe_settings(change, config),
        *functions.describe_definitions(change, config, facts, replaced_functions, with_known_code),
    ]


def _symbols_of(claims: Sequence[Claim]) -> set[str]:
    return {symbol for claim in claims for symbol in claim.symbols}


def _last_words_of_gained_state(states: Sequence[Claim]) -> set[str]:
    """The last names of the state that functions newly set: `k` of `shared["k"]`."""
    words = set()
    for claim in states:
        for name in claim.message.args["gained"]:
            words.add(re.findall(r"\w+", name)[-1])
    return words
