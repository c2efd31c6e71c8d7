"""What became of findings, and so how often each rule was right: a rule whose findings are acted on is believed."""

from __future__ import annotations

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
    """Findings of one rule: how many, and how many a later commit acted on, a person answered with a reason, or a merge
    left as they were. The rest is open, or was in pull requests that were closed."""

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
        """Note what the review of a new head found, as `findings` of its JSON report; what it no longer finds was acted
        on."""
        now = {f["fingerprint"]: f for f in findings}
        here = _pull(repository, number)
        with self._engine.begin() as connection:
            known = connection.execute(
                sa.select(_FINDINGS.c.fingerprint, _FINDINGS.c.outcome).where(here)
            ).all()
            for name, outcome in known:
                told = _outcome(now[name]) if name in now else ACTED if outcome == OPEN else outcome
                if told != outcome:
                    one = sa.and_(here, _FINDINGS.c.fingerprint == name)
                    connection.execute(_FINDINGS.update().where(one).values(outcome=told))
            for name in now.keys() - {name for name, _ in known}:
                values = {key: now[name][key] for key in ("fingerprint", "rule", "severity")}
                key = {"repository": repository, "number": number}
                connection.execute(
                    _FINDINGS.insert().values(**key, **values, outcome=_outcome(now[name]))
                )

    def merged(self, repository: str, number: int) -> None:
        """Note that the pull request was merged with what is still open."""
        still = sa.and_(_pull(repository, number), _FINDINGS.c.outcome == OPEN)
        with self._engine.begin() as connection:
            connection.execute(_FINDINGS.update().where(still).values(outcome=LEFT))

    def by_rule(self) -> tuple[RuleStats, ...]:
        """Every rule that found something."""
        counts: dict[str, dict[str, int]] = {}
        counted = sa.select(_FINDINGS.c.rule, _FINDINGS.c.outcome, sa.func.count())
        with self._engine.connect() as connection:
            for rule, outcome, count in connection.execute(
                counted.group_by(_FINDINGS.c.rule, _FINDINGS.c.outcome)
            ):
                counts.setdefault(rule, {})[outcome] = count
        return tuple(
            RuleStats(rule, sum(c.values()), *(c.get(name, 0) for name in (ACTED, ANSWERED, LEFT)))
            for rule, c in sorted(counts.items())
        )


def _pull(repository: str, number: int) -> sa.ColumnElement[bool]:
    return sa.and_(_FINDINGS.c.repository == repository, _FINDINGS.c.number == number)


def _outcome(finding: Mapping[str, Any]) -> str:
    return ANSWERED if finding["answered"] else OPEN
