"""One kernel run, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown, Plain
from bot.i18n.templates import Escaped
from bot.kernels.results import say, text_of
from bot.reports.blocks import Block, Heading, Items, Table, Text
from bot.reports.markdown import join, write
from bot.reports.terminal import written
from checks.kernelrun.comparison import Pair
from checks.kernelrun.model import Case, Run, Status, Times
from checks.kernelrun.speed import MEASURES

WIDTH = 100


def render(run: Run, form: str, language: str) -> str:
    """The run as `terminal`, `markdown` or `json`; the last is what `results.json` holds."""
    if form == "json":
        return text_of(run)
    return as_text(blocks(run, words_for(form, language)), form)


def words_for(form: str, language: str) -> Catalog:
    """The words for a form of output."""
    return Catalog(language, Markdown() if form == "markdown" else Plain())


def as_text(parts: Iterable[Block], form: str) -> str:
    """Blocks as Markdown, or as plain text."""
    return join(write(b) for b in parts) if form == "markdown" else written(parts, WIDTH)


def blocks(run: Run, words: Catalog) -> Iterator[Block]:
    """What a person reads of one run."""
    yield Heading(2, words("kernelrun.run-title"))
    yield Items(facts(run, words))
    header = tuple(words(f"kernelrun.column-{c}") for c in ("case", "status", "error", "time"))
    yield Table(header, tuple(_row(case, words) for case in run.cases))
    told = tuple(
        words("kernelrun.detail", case=name(c), reason=reason(c, words))
        for c in run.cases
        if c.reason
    )
    if told:
        yield Heading(3, words("kernelrun.details"))
        yield Items(told)
    if run.device.get("interpreter"):
        yield Text(words("kernelrun.no-speed"))
    good, skipped = (sum(c.status is s for c in run.cases) for s in (Status.OK, Status.UNSUPPORTED))
    total = len(run.cases)
    yield Text(
        words(
            "kernelrun.run-total",
            total=total,
            good=good,
            skipped=skipped,
            bad=total - good - skipped,
        )
    )


def facts(run: Run, words: Catalog) -> tuple[str, ...]:
    """Where it ran, with what, and how it was held."""
    held = run.confinement
    network = "kernelrun.network-on" if held.tool == "none" else "kernelrun.network-off"
    files = "kernelrun.files-off" if held.files else "kernelrun.files-on"
    versions = ", ".join(f"{name} {version}" for name, version in sorted(run.versions.items()))
    said = {"tool": held.tool}
    return (
        words("kernelrun.on-device", device=device(run)),
        words("kernelrun.with-versions", versions=versions),
        words(network, **said if held.tool != "none" else {}),
        words(files, **said if held.files else {}),
    )


def device(run: Run) -> str:
    """The device key on one line, without what the versions say already."""
    shown = [
        f"{k} {v}" for k, v in run.device.items() if k not in run.versions and k != "interpreter"
    ]
    return ", ".join(shown) or "-"


def name(case: Case | Pair) -> str:
    """`op/case`."""
    return f"{case.op}/{case.name}"


def reason(case: Case, words: Catalog) -> Escaped:
    """Why a case is not ok, as finished text."""
    return Escaped(say(case.reason, words)) if case.reason is not None else Escaped("")


def _row(case: Case, words: Catalog) -> tuple[str, ...]:
    error = "" if case.max_error is None or not case.outputs else f"{case.max_error:.2g}"
    time = _time(case.times) if case.status is Status.OK else ""
    return (words.style.code(name(case)), words(f"kernelrun.status-{case.status}"), error, time)


def _time(times: Times | None) -> str:
    """Microseconds, of a real measurement alone."""
    if times is None or times.how not in MEASURES:
        return ""
    return f"{times.median * 1e6:.2f} us ({times.iqr * 1e6:.2f})"
