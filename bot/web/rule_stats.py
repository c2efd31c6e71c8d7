"""What became of findings, and so how often each rule was right: a finding that was acted on was
right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from bot.db.engine import create

OPEN, ACTED, ANSWERED, LEFT = "open", "acted", "answered", "left"
_TABLES = sa.MetaData()
_FINDINGS = sa.Table(
    "specbot_page_findings",
    _TABLES,
    sa.Column("repository", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("fingerprint", sa.String(64), primary_key=True),
    sa.Column("rule", sa.String(80), nullable=False),
    sa.Column("severity", sa.String(20), nullable=False),
    sa.Column("outcome", sa.String(10), nullable=False),
)


@dataclass(frozen=True, slots=True)
class RuleStats:
    """Findings of one rule: how many, and how many a later commit acted on, a person answered with
    a reason, or a merge left as they were.

    The rest is open, or was in pull requests that were closed.
    """

    rule: str
    found: int
    acted: int
    answered: int
    left: int

    @property
    def precision(self) -> float | None:
        """The share of those settled that were acted on; None where none is settled."""
        settled = self.acted + self.answered + self.left
        return self.acted / settled if settled else None


class FindingOutcomes:
    """The table, in the service's database."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        create(engine, _TABLES)

    def reviewed(self, repository: str, number: int, findings: Iterable[Mapping[str, Any]]) -> None:
        """Note what the review of a new head found, as `findings` of its JSON report; what it no
        longer finds was acted on."""
        now = {finding["fingerprint"]: finding for finding in findings}
        pull = _pull(repository, number)
        query = sa.select(_FINDINGS.c.fingerprint, _FINDINGS.c.outcome).where(pull)
        with self._engine.begin() as connection:
            known: dict[str, str] = {
                fingerprint: outcome for fingerprint, outcome in connection.execute(query)
            }
            for fingerprint, before in known.items():
                outcome = _new_outcome(before, now.get(fingerprint))
                if outcome != before:
                    row = sa.and_(pull, _FINDINGS.c.fingerprint == fingerprint)
                    connection.execute(_FINDINGS.update().where(row).values(outcome=outcome))
            for fingerprint, finding in now.items():
                if fingerprint in known:
                    continue
                values = {
                    "repository": repository,
                    "number": number,
                    "fingerprint": fingerprint,
                    "rule": finding["rule"],
                    "severity": finding["severity"],
                    "outcome": _outcome(finding),
                }
                connection.execute(_FINDINGS.insert().values(**values))

    def merged(self, repository: str, number: int) -> None:
        """Note that the pull request was merged with what is still open."""
        still_open = sa.and_(_pull(repository, number), _FINDINGS.c.outcome == OPEN)
        with self._engine.begin() as connection:
            connection.execute(_FINDINGS.update().where(still_open).values(outcome=LEFT))

    def by_rule(self) -> tuple[RuleStats, ...]:
        """Every rule that found something."""
        query = sa.select(_FINDINGS.c.rule, _FINDINGS.c.outcome, sa.func.count())
        query = query.group_by(_FINDINGS.c.rule, _FINDINGS.c.outcome)
        counts: dict[str, Counter[str]] = {}
        with self._engine.connect() as connection:
            for rule, outcome, count in connection.execute(query):
                counts.setdefault(rule, Counter())[outcome] = count
        stats = []
        for rule, outcomes in sorted(counts.items()):
            found = outcomes.total()
            stats.append(
                RuleStats(rule, found, outcomes[ACTED], outcomes[ANSWERED], outcomes[LEFT])
            )
        return tuple(stats)


def _pull(repository: str, number: int) -> sa.ColumnElement[bool]:
    return sa.and_(_FINDINGS.c.repository == repository, _FINDINGS.c.number == number)


def _new_outcome(before: str, finding: Mapping[str, Any] | None) -> str:
    """The outcome after a review that has `finding`, or None where it is found no more."""
    if finding is not None:
        return _outcome(finding)
    return ACTED if before == OPEN else before


def _outcome(finding: Mapping[str, Any]) -> str:
    return ANSWERED if finding["answered"] else OPEN
