"""How the parts of a CI report are said: names, durations, sentences, and how much of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bot.i18n.catalog import Catalog
from bot.i18n.templates import place
from checks.ci.model import Job, Status
from checks.ci.report import Failure, Suggestion
from checks.core.finding import Location, Message


@dataclass(frozen=True, slots=True)
class Level:
    """How much of a report is written: rows of a table, failures of a task, lines of a log, pieces of evidence, and
    whether there are the details of optional tasks, the coverage, and the past of what failed."""

    rows: int
    failures: int
    lines: int
    evidence: int
    optional: bool
    coverage: bool = True
    past: bool = True


# From everything to as little as still helps.
LEVELS = (
    Level(rows=200, failures=30, lines=10, evidence=8, optional=True),
    Level(rows=100, failures=20, lines=10, evidence=6, optional=False),
    Level(rows=60, failures=10, lines=5, evidence=3, optional=False, past=False),
    Level(rows=30, failures=5, lines=2, evidence=1, optional=False, coverage=False, past=False),
    Level(rows=15, failures=2, lines=0, evidence=0, optional=False, coverage=False, past=False),
)
_LONGEST = 300
_MOST_PLACES = 8


def root(failure: Failure, words: Catalog) -> str:
    """The root-cause sentence."""
    return message(failure.root, words)


def message(said: Message, words: Catalog, places: Sequence[str] = ()) -> str:
    """A sentence of the analysis; long values from a log are cut."""
    args = {
        name: cut(value, _LONGEST) if isinstance(value, str) else value
        for name, value in said.args.items()
    }
    if said.key.startswith("advice-"):
        args["places"] = list(places)
    if said.key == "note-no-change":
        args["option"] = "--repo, --base, --head"
    return words(f"ci.{said.key}", **args)


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def advice(suggestions: Iterable[Suggestion], words: Catalog) -> tuple[str, ...]:
    """What to do, each thing once with all its places."""
    found: dict[str, tuple[Message, list[Location]]] = {}
    for one in suggestions:
        _, places = found.setdefault(message(one.message, words), (one.message, []))
        if one.location is not None and one.location not in places:
            places.append(one.location)
    return tuple(
        message(said, words, _places(places[:_MOST_PLACES])) for said, places in found.values()
    )


def _places(locations: Sequence[Location]) -> list[str]:
    """`file:38/65-67` of each file."""
    lines: dict[str, list[str]] = {}
    for one in sorted(locations, key=lambda at: at.start_line):
        lines.setdefault(one.path, []).append(place(one).removeprefix(f"{one.path}:"))
    return [path if own == [path] else f"{path}:{'/'.join(own)}" for path, own in lines.items()]


def state(job: Job, words: Catalog) -> str:
    """The state with its sign."""
    if job.status is Status.COMPLETED:
        return words(f"ci.state-{job.conclusion}")
    return words(f"ci.state-{job.status}")


def name(job: Job) -> str:
    """What people know a task by: its workflow before its own name, where that is not in it."""
    prefix = f"{job.workflow} / "
    return job.name if not job.workflow or job.name.startswith(prefix) else prefix + job.name


def duration(seconds: int | None, words: Catalog) -> str:
    if seconds is None:
        return ""
    if seconds >= 3600:
        return words("ci.hours", hours=seconds // 3600, minutes=seconds % 3600 // 60)
    if seconds >= 60:
        return words("ci.minutes", minutes=seconds // 60, seconds=seconds % 60)
    return words("ci.seconds", seconds=seconds)


def links(job: Job, words: Catalog) -> str:
    """Where to read the log."""
    if job.log_url:
        return words.style.link(words("ci.link-log"), job.log_url)
    return words.style.link(words("ci.link-job"), job.url) if job.url else ""


def again(job: Job, words: Catalog) -> str:
    """Where to run it again, and how often it was."""
    said = [words.style.link(words("ci.link-rerun"), job.rerun_url)] if job.rerun_url else []
    if job.reruns:
        said.append(words("ci.reruns", attempt=job.attempt))
    return words("report.comma").join(said)
