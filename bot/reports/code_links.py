"""Places in reports (`path:line`) as links to the code at the commit that they are in."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any
from urllib.parse import quote

from bot.comment_text import utf16_length
from bot.i18n.templates import place
from bot.reports.report import Report
from checks.core.finding import Location, Side

_PLACE = r"(?P<path>[^\s`<>:&|\\]+):(?P<first>\d+)(?:-(?P<last>\d+))?"
_IN_HTML = re.compile(rf"(?P<pre><pre\b.*?</pre>)|<code>{_PLACE}</code>", re.DOTALL)
_IN_MARKDOWN = re.compile(rf"`{_PLACE}`")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")


@dataclass(frozen=True)
class CodeLinks:
    """Links for one change: `web` is the repository's address, `paths` are the files of the commit
    `head`. Places in `base_places` are lines of the commit `base`."""

    web: str
    head: str
    paths: Collection[str]
    base: str = ""
    base_places: frozenset[str] = frozenset()

    def in_html(self, text: str) -> str:
        """The HTML with every place outside blocks of code linked."""
        return _IN_HTML.sub(self._html_link, text)

    def in_markdown(self, text: str, limit: int) -> str:
        """The Markdown with every place outside fences linked; as it was where that is longer than
        `limit` UTF-16 units."""
        lines = []
        fence = ""
        for line in text.split("\n"):
            mark = _FENCE.match(line)
            if mark and (not fence or mark[1].startswith(fence)):
                fence = "" if fence else mark[1]
            elif not fence:
                line = _IN_MARKDOWN.sub(self._markdown_link, line)
            lines.append(line)
        linked = "\n".join(lines)
        return linked if utf16_length(linked) <= limit else text

    def _html_link(self, match: re.Match[str]) -> str:
        address = "" if match["pre"] else self._address(match)
        if not address:
            return match[0]
        return f'<a href="{address}">{match[0]}</a>'

    def _markdown_link(self, match: re.Match[str]) -> str:
        address = self._address(match)
        return f"[{match[0]}]({address})" if address else match[0]

    def _address(self, match: re.Match[str]) -> str:
        """Where the place is on GitHub; empty for what is no file of ours."""
        path, first, last = match["path"], match["first"], match["last"]
        text = f"{path}:{first}-{last}" if last else f"{path}:{first}"
        in_base = text in self.base_places
        if not self.web or (not in_base and path not in self.paths):
            return ""
        commit = self.base if in_base else self.head
        lines = f"#L{first}-L{last}" if last else f"#L{first}"
        return f"{self.web}/blob/{commit}/{quote(path)}{lines}"


def links_of(report: Report, web: str) -> CodeLinks:
    """The links of a review. A place that is a line of both commits is taken for the head's."""
    change = report.review.change
    base: set[str] = set()
    head: set[str] = set()
    for finding in report.review.findings:
        for location in _locations(finding):
            (base if location.side is Side.BASE else head).add(place(location))
    return CodeLinks(
        web=web,
        head=change.head_rev,
        paths=frozenset(change.head.paths()),
        base=change.base_rev,
        base_places=frozenset(base - head),
    )


def _locations(value: Any) -> Iterator[Location]:
    """Every place in a finding, in its evidence and in its messages' arguments."""
    if isinstance(value, Location):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from _locations(getattr(value, field.name))
    elif isinstance(value, dict):
        yield from _locations(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _locations(item)
