"""What the pages show: pull requests as last seen, and every report that was made, as HTML in each
language.

Bodies are written by `bot.reports.html`, which escapes all that is foreign. They are stored as they
will be shown, so that a page comes out of the database and not out of an analysis.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields

import sqlalchemy as sa

from bot.db.engine import create, put, where

KINDS = ("analysis", "review", "ci", "kernels", "device", "logprobs")
# The kind of the report that stands over the list of all reports, and is about all of them.
HISTORY = "history"
PER_PAGE = 50
# Of a search.
_MOST_WORDS = 8
# In digits: what is longer fits no column of numbers.
_LONGEST_NUMBER = 10
_TABLES = sa.MetaData()
_PULLS = sa.Table(
    "specbot_page_pulls",
    _TABLES,
    sa.Column("repository", sa.String(200), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("author", sa.String(100), nullable=False),
    sa.Column("private", sa.Boolean, nullable=False),
    sa.Column("state", sa.String(10), nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
    sa.Column("verdict", sa.String(10), nullable=False),
    sa.Column("bugs", sa.Integer, nullable=False),
    sa.Column("suggestions", sa.Integer, nullable=False),
    sa.Column("questions", sa.Integer, nullable=False),
    sa.Column("opened_at", sa.Float, nullable=False),
    sa.Column("updated_at", sa.Float, nullable=False, index=True),
)
_REPORTS = sa.Table(
    "specbot_page_reports",
    _TABLES,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("repository", sa.String(200), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("verdict", sa.String(20), nullable=False),
    *(sa.Column(name, sa.Integer, nullable=False) for name in ("bugs", "suggestions", "questions")),
    sa.Column("took", sa.Float),
    sa.Column("zh", sa.Text, nullable=False),
    sa.Column("en", sa.Text, nullable=False),
    sa.UniqueConstraint("repository", "number", "kind", "head"),
)
# What CI said of the very head that is shown: a report on an earlier one says nothing about it.
_WITH_CI = _PULLS.outerjoin(
    _REPORTS,
    sa.and_(
        _REPORTS.c.repository == _PULLS.c.repository,
        _REPORTS.c.number == _PULLS.c.number,
        _REPORTS.c.kind == "ci",
        _REPORTS.c.head == _PULLS.c.head,
    ),
)
_CI_VERDICT = sa.func.coalesce(_REPORTS.c.verdict, "")
_WAITING = sa.case(
    (_PULLS.c.state != "open", ""),
    (sa.or_(_PULLS.c.verdict == "block", _CI_VERDICT == "failed"), "author"),
    (_CI_VERDICT == "running", "ci"),
    else_="reviewer",
)
_SHOWN = sa.select(_PULLS, _CI_VERDICT.label("ci"), _WAITING.label("waiting")).select_from(_WITH_CI)


def page_address(public_url: str, repository: str, number: int) -> str:
    """The address of a pull request's page, empty where the settings have no `public_url`."""
    return f"{public_url}/pr/{repository}/{number}" if public_url else ""


@dataclass(frozen=True, slots=True)
class PullRow:
    """A pull request as last seen.

    `state`: open, closed, merged. `verdict`: block, discuss, pass, or empty. Times are seconds
    since 1970.
    """

    repository: str
    number: int
    title: str
    author: str
    private: bool
    state: str
    head: str
    opened_at: float
    updated_at: float
    verdict: str = ""
    bugs: int = 0
    suggestions: int = 0
    questions: int = 0


@dataclass(frozen=True, slots=True)
class BoardRow(PullRow):
    """A pull request with what its reports say of its head.

    `ci`: passed, failed, running, or empty. `waiting` for whom: author, reviewer, ci, or nobody
    (empty) where it is closed.
    """

    ci: str = ""
    waiting: str = ""


@dataclass(frozen=True, slots=True)
class ReportMeta:
    """A report without its body."""

    id: int
    kind: str
    head: str
    at: float
    verdict: str
    bugs: int
    suggestions: int
    questions: int


@dataclass(frozen=True, slots=True)
class PageReport:
    """A report to keep.

    `bodies`: HTML by language, from `bot.web.tab_html`. `verdict`: that of a review; how CI stands
    (passed, failed, running); whether kernels got worse (worse, fine, apart); what device code
    showed (found, asked, fine, unjudged); or that of a logprob comparison. `took`: seconds from
    what caused the report until it was there.
    """

    repository: str
    number: int
    kind: str
    head: str
    at: float
    bodies: Mapping[str, str]
    verdict: str = ""
    bugs: int = 0
    suggestions: int = 0
    questions: int = 0
    took: float | None = None


@dataclass(frozen=True, slots=True)
class BoardQuery:
    """What the board is asked for; empty means any."""

    search: str = ""
    state: str = "open"
    verdict: str = ""
    ci: str = ""
    waiting: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True)
class Board:
    """Page `page` of `pages`; `total` counts what was asked for."""

    pulls: tuple[BoardRow, ...]
    total: int
    page: int
    pages: int


class PageStore:
    """The tables of the pages, in the service's database."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        create(engine, _TABLES)

    def keep_pull(self, pull: PullRow) -> None:
        """Store a pull request, or what is new about it."""
        values = asdict(pull)
        key = {name: values.pop(name) for name in ("repository", "number")}
        with self.engine.begin() as connection:
            put(connection, _PULLS, key, values)

    def keep_report(self, report: PageReport) -> None:
        """Store a report; the same kind for the same head again takes its place."""
        key = {
            "repository": report.repository,
            "number": report.number,
            "kind": report.kind,
            "head": report.head,
        }
        values = {
            "at": report.at,
            "verdict": report.verdict,
            "bugs": report.bugs,
            "suggestions": report.suggestions,
            "questions": report.questions,
            "took": report.took,
        }
        with self.engine.begin() as connection:
            put(connection, _REPORTS, key, values | dict(report.bodies))

    def renew(
        self, repository: str, number: int, kind: str, head: str, bodies: Mapping[str, str]
    ) -> None:
        """Put other bodies in the place of those of a report that is kept; the rest stays as it
        was."""
        key = {"repository": repository, "number": number, "kind": kind, "head": head}
        with self.engine.begin() as connection:
            connection.execute(_REPORTS.update().where(where(_REPORTS, key)).values(dict(bodies)))

    def closed(self, repository: str, number: int, *, merged: bool) -> None:
        """Note that a pull request is no longer open."""
        values = {"state": "merged" if merged else "closed"}
        with self.engine.begin() as connection:
            connection.execute(_PULLS.update().where(_pull(repository, number)).values(values))

    def set_private(self, repository: str, *, private: bool = True) -> None:
        """Show the repository's pull requests to those alone whom GitHub lets read it; to everybody
        again where it is not `private`."""
        of_repository = _PULLS.c.repository == repository
        with self.engine.begin() as connection:
            connection.execute(_PULLS.update().where(of_repository).values(private=private))

    def repositories_of(self, account: str) -> list[str]:
        """The repositories of an account that pull requests are kept of."""
        query = sa.select(_PULLS.c.repository).distinct()
        query = query.where(_PULLS.c.repository.startswith(f"{account}/", autoescape=True))
        with self.engine.connect() as connection:
            return list(connection.execute(query).scalars())

    def public_repositories(self) -> list[str]:
        """The repositories that were public when they were last seen."""
        query = sa.select(_PULLS.c.repository).distinct().where(sa.not_(_PULLS.c.private))
        with self.engine.connect() as connection:
            return list(connection.execute(query).scalars())

    def pull(self, repository: str, number: int) -> BoardRow | None:
        """The pull request as the board shows it, None where it was never seen."""
        with self.engine.connect() as connection:
            row = connection.execute(_SHOWN.where(_pull(repository, number))).mappings().first()
        return BoardRow(**row) if row else None

    def entries(self, repository: str, number: int) -> tuple[ReportMeta, ...]:
        """Every report on a pull request, the newest first."""
        columns = [_REPORTS.c[field.name] for field in fields(ReportMeta)]
        of_pull = where(_REPORTS, {"repository": repository, "number": number})
        query = sa.select(*columns).where(of_pull)
        query = query.order_by(_REPORTS.c.at.desc(), _REPORTS.c.id.desc())
        with self.engine.connect() as connection:
            return tuple(ReportMeta(*row) for row in connection.execute(query))

    def body(self, repository: str, number: int, entry: int, language: str) -> str | None:
        """The HTML of one report of this pull request."""
        key = {"id": entry, "repository": repository, "number": number}
        query = sa.select(_REPORTS.c[language]).where(where(_REPORTS, key))
        with self.engine.connect() as connection:
            body: str | None = connection.execute(query).scalar()
        return body

    def board(self, query: BoardQuery, private: Iterable[str] = ()) -> Board:
        """A page of the board: of public repositories, and of those in `private`. The last touched
        first."""
        conditions = _conditions(query, private)
        counted = sa.select(sa.func.count()).select_from(_WITH_CI).where(*conditions)
        order = (_PULLS.c.updated_at.desc(), _PULLS.c.repository, _PULLS.c.number.desc())
        shown = _SHOWN.where(*conditions).order_by(*order).limit(PER_PAGE)
        with self.engine.connect() as connection:
            total = connection.execute(counted).scalar_one()
            pages = max(1, math.ceil(total / PER_PAGE))
            page = min(max(query.page, 1), pages)
            rows = connection.execute(shown.offset(PER_PAGE * (page - 1))).mappings()
            return Board(tuple(BoardRow(**row) for row in rows), total, page, pages)

    def reviewed_since(self, at: float) -> tuple[PullRow, ...]:
        """The pull requests, private ones too, of which a review was made after `at` (seconds since
        1970)."""
        reviewed = sa.select(_REPORTS.c.id).where(
            _REPORTS.c.repository == _PULLS.c.repository,
            _REPORTS.c.number == _PULLS.c.number,
            _REPORTS.c.kind == "review",
            _REPORTS.c.at > at,
        )
        query = sa.select(_PULLS).where(reviewed.exists())
        query = query.order_by(_PULLS.c.repository, _PULLS.c.number)
        with self.engine.connect() as connection:
            return tuple(PullRow(**row) for row in connection.execute(query).mappings())

    def times(self) -> dict[str, list[float | None]]:
        """Of every report that was made, by kind: the seconds that it took, where they are
        known."""
        times: dict[str, list[float | None]] = {kind: [] for kind in KINDS}
        query = sa.select(_REPORTS.c.kind, _REPORTS.c.took).where(_REPORTS.c.kind.in_(KINDS))
        with self.engine.connect() as connection:
            for kind, took in connection.execute(query):
                times[kind].append(took)
        return times

    def verdicts(self) -> tuple[tuple[str, int], ...]:
        """How many reviews ended with each verdict."""
        verdict = _REPORTS.c.verdict
        query = sa.select(verdict, sa.func.count()).where(_REPORTS.c.kind == "review")
        query = query.group_by(verdict).order_by(verdict)
        with self.engine.connect() as connection:
            return tuple((name, count) for name, count in connection.execute(query) if name)


def _pull(repository: str, number: int) -> sa.ColumnElement[bool]:
    return where(_PULLS, {"repository": repository, "number": number})


def _conditions(query: BoardQuery, private: Iterable[str]) -> list[sa.ColumnElement[bool]]:
    """What the rows of the board must meet."""
    is_public = sa.not_(_PULLS.c.private)
    conditions = [sa.or_(is_public, _PULLS.c.repository.in_(sorted(private)))]
    columns = (
        (_PULLS.c.state, query.state),
        (_PULLS.c.verdict, query.verdict),
        (_CI_VERDICT, query.ci),
        (_WAITING, query.waiting),
    )
    for column, value in columns:
        if value:
            conditions.append(column == value)
    for word in query.search.split()[:_MOST_WORDS]:
        conditions.append(_holds(word))
    return conditions


def _holds(word: str) -> sa.ColumnElement[bool]:
    """Rows that hold a word of the search: `#12` and `12` are numbers too."""
    columns = (_PULLS.c.title, _PULLS.c.author, _PULLS.c.repository)
    conditions: list[sa.ColumnElement[bool]] = [
        column.icontains(word, autoescape=True) for column in columns
    ]
    number = word.removeprefix("#")
    if number.isascii() and number.isdigit() and len(number) < _LONGEST_NUMBER:
        conditions.append(_PULLS.c.number == int(number))
    return sa.or_(*conditions)
