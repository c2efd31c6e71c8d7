"""What the pages show: pull requests as last seen, and every report that was made, as HTML in each language.

Bodies are written by `bot.reports.html`, which escapes all that is foreign, and are stored as they will be shown, so
that a page comes out of the database and not out of an analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields

import sqlalchemy as sa

from bot.db.engine import create, put, where

KINDS = ("analysis", "review", "ci", "kernels", "logprobs")
# What stands over the list of all reports, about all of them.
HISTORY = "history"
PER_PAGE = 50
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


@dataclass(frozen=True, slots=True)
class PullRow:
    """A pull request as last seen. `state`: open, closed, merged. `verdict`: block, discuss, pass, or empty. Times are
    seconds since 1970."""

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
    """A pull request with what its reports say of its head. `ci`: passed, failed, running, or empty. `waiting` for
    whom: author, reviewer, ci, or nobody (empty) where it is closed."""

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
    """A report to keep. `bodies`: HTML by language, from `bot.web.tab_html`. `verdict`: that of a review; how CI stands
    (passed, failed, running); whether kernels got worse (worse, fine, apart); or that of a logprob comparison.
    `took`: seconds from what caused the report until it was there."""

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
        values = {
            f.name: getattr(report, f.name) for f in fields(report) if f.name != "bodies"
        } | dict(report.bodies)
        key = {name: values.pop(name) for name in ("repository", "number", "kind", "head")}
        with self.engine.begin() as connection:
            put(connection, _REPORTS, key, values)

    def renew(
        self, repository: str, number: int, kind: str, head: str, bodies: Mapping[str, str]
    ) -> None:
        """Put other bodies in the place of those of a report that is kept, which stays what it was besides."""
        named = {"repository": repository, "number": number, "kind": kind, "head": head}
        with self.engine.begin() as connection:
            connection.execute(_REPORTS.update().where(where(_REPORTS, named)).values(dict(bodies)))

    def closed(self, repository: str, number: int, *, merged: bool) -> None:
        """Note that a pull request is no longer open."""
        values = {"state": "merged" if merged else "closed"}
        with self.engine.begin() as connection:
            connection.execute(_PULLS.update().where(_pull(repository, number)).values(values))

    def pull(self, repository: str, number: int) -> BoardRow | None:
        with self.engine.connect() as connection:
            row = connection.execute(_SHOWN.where(_pull(repository, number))).mappings().first()
        return BoardRow(**row) if row else None

    def entries(self, repository: str, number: int) -> tuple[ReportMeta, ...]:
        """Every report on a pull request, the newest first."""
        here = sa.and_(_REPORTS.c.repository == repository, _REPORTS.c.number == number)
        columns = [_REPORTS.c[f.name] for f in fields(ReportMeta)]
        with self.engine.connect() as connection:
            rows = connection.execute(
                sa.select(*columns).where(here).order_by(_REPORTS.c.at.desc(), _REPORTS.c.id.desc())
            )
            return tuple(ReportMeta(*row) for row in rows)

    def body(self, repository: str, number: int, entry: int, language: str) -> str | None:
        """The HTML of one report of this pull request."""
        here = sa.and_(
            _REPORTS.c.id == entry, _REPORTS.c.repository == repository, _REPORTS.c.number == number
        )
        with self.engine.connect() as connection:
            found: str | None = connection.execute(
                sa.select(_REPORTS.c[language]).where(here)
            ).scalar()
        return found

    def board(self, wanted: BoardQuery, private: Iterable[str] = ()) -> Board:
        """A page of the board: of public repositories, and of those in `private`. The last touched first."""
        where = [sa.or_(sa.not_(_PULLS.c.private), _PULLS.c.repository.in_(sorted(private)))]
        for column, value in (
            (_PULLS.c.state, wanted.state),
            (_PULLS.c.verdict, wanted.verdict),
            (_CI_VERDICT, wanted.ci),
            (_WAITING, wanted.waiting),
        ):
            if value:
                where.append(column == value)
        for word in wanted.search.split()[:8]:
            where.append(_holds(word))
        with self.engine.connect() as connection:
            total = connection.execute(
                sa.select(sa.func.count()).select_from(_WITH_CI).where(*where)
            ).scalar_one()
            pages = max(1, -(-total // PER_PAGE))
            page = min(max(wanted.page, 1), pages)
            order = (_PULLS.c.updated_at.desc(), _PULLS.c.repository, _PULLS.c.number.desc())
            rows = connection.execute(
                _SHOWN.where(*where).order_by(*order).limit(PER_PAGE).offset(PER_PAGE * (page - 1))
            )
            return Board(tuple(BoardRow(**row) for row in rows.mappings()), total, page, pages)

    def times(self) -> dict[str, list[float | None]]:
        """Of every report that was made, by kind: the seconds that it took, where they are known."""
        found: dict[str, list[float | None]] = {kind: [] for kind in KINDS}
        asked = sa.select(_REPORTS.c.kind, _REPORTS.c.took).where(_REPORTS.c.kind.in_(KINDS))
        with self.engine.connect() as connection:
            for kind, took in connection.execute(asked):
                found[kind].append(took)
        return found

    def verdicts(self) -> tuple[tuple[str, int], ...]:
        """How many reviews ended with each verdict."""
        asked = sa.select(_REPORTS.c.verdict, sa.func.count()).where(_REPORTS.c.kind == "review")
        with self.engine.connect() as connection:
            rows = connection.execute(
                asked.group_by(_REPORTS.c.verdict).order_by(_REPORTS.c.verdict)
            )
            return tuple((verdict, count) for verdict, count in rows if verdict)


def _pull(repository: str, number: int) -> sa.ColumnElement[bool]:
    return sa.and_(_PULLS.c.repository == repository, _PULLS.c.number == number)


def _holds(word: str) -> sa.ColumnElement[bool]:
    """Rows that hold a word of the search: `#12` and `12` are numbers too."""
    text = sa.or_(
        *(
            c.icontains(word, autoescape=True)
            for c in (_PULLS.c.title, _PULLS.c.author, _PULLS.c.repository)
        )
    )
    number = word.removeprefix("#")
    return (
        sa.or_(text, _PULLS.c.number == int(number))
        if number.isascii() and number.isdigit() and len(number) < 10
        else text
    )
