"""HTML: a report's blocks as the body of a page, and the page around them in one self-contained
file.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bot.i18n.catalog import TEMPLATES, Catalog
from bot.i18n.escape import Html, visible
from bot.reports.blocks import Block, Code, Folded, Heading, Items, Picture, Table, Text
from bot.reports.highlight import code_lines

PAGES = TEMPLATES / "pages"
# Code spans of our own sentences. What is foreign has no backtick left, `Html` wrote it as an
# entity.
_SPAN = re.compile(r"`([^`]+)`")
_NOT_ANCHOR = re.compile(r"[^\w-]+")


def words_for(language: str) -> Catalog:
    """Words whose arguments are escaped for HTML."""
    return Catalog(language, Html())


def page(title: str, blocks: Iterable[Block], language: str) -> str:
    """One file to attach or send: no script, no reference to another file or host.

    `title` is not yet escaped.
    """
    environment = Environment(
        loader=FileSystemLoader(PAGES), autoescape=True, undefined=StrictUndefined
    )
    template = environment.get_template("document.html")
    return template.render(
        title=title, language=language, style=Markup(style()), body=Markup(body(blocks))
    )


@cache
def style() -> str:
    """The style sheet of every page."""
    return (PAGES / "style.css").read_text("utf-8")


def body(blocks: Iterable[Block]) -> str:
    """The blocks one after another, without a page around them."""
    return "\n".join(write(block) for block in blocks) + "\n"


def write(block: Block) -> str:
    """One block as HTML."""
    match block:
        case Heading(level, text, mark):
            kind = f' class="level-{html.escape(mark)}"' if mark else ""
            return f'<h{level} id="{anchor(text)}"{kind}>{_spans(text)}</h{level}>'
        case Text(text):
            return "\n".join(_paragraph(part) for part in text.split("\n\n") if part.strip())
        case Items(items, numbered):
            tag = "ol" if numbered else "ul"
            lines_of_list = "".join(f"<li>{_spans(_lines(item))}</li>" for item in items)
            return f"<{tag}>{lines_of_list}</{tag}>"
        case Table():
            table = _cards(block) if block.cards else _table(block)
            return f'<div class="wide" tabindex="0">{table}</div>'
        case Code():
            return _code(block)
        case Folded(title, blocks):
            return f"<details><summary>{_spans(title)}</summary>\n{body(blocks)}</details>"
        case Picture(svg, alt):
            # As an image of its own: what it styles and names stays in it, and no policy has to
            # allow inline styles.
            data = base64.b64encode(svg.encode()).decode()
            source = f"data:image/svg+xml;base64,{data}"
            image = f'<img alt="{html.escape(alt)}" src="{source}">'
            return f'<figure tabindex="0">{image}</figure>'


def anchor(text: str) -> str:
    """A fragment for a heading: its words without marks."""
    plain = html.unescape(re.sub(r"<[^>]*>", "", text))
    return html.escape(_NOT_ANCHOR.sub("-", plain).strip("-").lower() or "section")


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{_spans(cell)}</th>' for cell in table.header)
    rows = []
    for row in table.rows:
        cells = "".join(f"<td>{_spans(_lines(cell))}</td>" for cell in row)
        rows.append(f"<tr>{cells}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _cards(table: Table) -> str:
    """The table with what a phone needs to show each row as a card: the roles, which it loses with
    its layout, and the names of its columns."""
    head = []
    for cell in table.header:
        head.append(f'<th role="columnheader" scope="col">{_spans(cell)}</th>')
    rows = []
    for row in table.rows:
        cells = []
        for name, cell in zip(table.header, row, strict=True):
            label = html.escape(html.unescape(name))
            cells.append(f'<td role="cell" data-label="{label}">{_spans(_lines(cell))}</td>')
        rows.append(f'<tr role="row">{"".join(cells)}</tr>')
    thead = f'<thead role="rowgroup"><tr role="row">{"".join(head)}</tr></thead>'
    tbody = f'<tbody role="rowgroup">{"".join(rows)}</tbody>'
    return f'<table class="cards" role="table">{thead}{tbody}</table>'


def _paragraph(text: str) -> str:
    """A paragraph. `- ` at the start of lines makes a list."""
    parts: list[str] = []
    items: list[str] = []

    def end_list() -> None:
        if items:
            parts.append(f"<ul>{''.join(items)}</ul>")
            items.clear()

    for line in text.strip("\n").split("\n"):
        if line.startswith("- "):
            items.append(f"<li>{_spans(line[2:])}</li>")
        else:
            end_list()
            parts.append(_spans(line))
    end_list()
    if not any(_is_list(part) for part in parts):
        return f"<p>{'<br>'.join(parts)}</p>"
    return "".join(part if _is_list(part) else f"<p>{part}</p>" for part in parts)


def _is_list(part: str) -> bool:
    return part.startswith("<ul>")


def _spans(text: str) -> str:
    return _SPAN.sub(r"<code>\1</code>", text)


def _lines(text: str) -> str:
    return text.replace("\n", "<br>")


_DIFF = {"+": "ins", "-": "del", "@": "at"}


def _code(block: Code) -> str:
    """A block of code. A diff has its added and removed lines marked."""
    lines = [visible(line, keep="\t") for line in block.lines]
    if block.language != "diff":
        coloured = code_lines(lines, block.path)
        return f'<pre tabindex="0"><code>{chr(10).join(coloured)}</code></pre>'
    coloured = code_lines([line[1:] for line in lines], block.path)
    marked = []
    for index, (line, code) in enumerate(zip(lines, coloured, strict=True)):
        kind = _DIFF.get(line[:1], "same")
        marked.append(f'<span class="{kind}">{html.escape(line[:1]) or " "}{code}</span>')
        for note in block.notes_on(index):
            marked.append(f'<span class="beside">{_spans(note)}</span>')
    return f'<pre class="diff" tabindex="0"><code>{"".join(marked)}</code></pre>'
