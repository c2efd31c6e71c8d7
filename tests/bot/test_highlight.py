"""Code in reports: its text stays what it is, its colours and remarks stand with its lines."""

from __future__ import annotations

import html as html_text
import re

from hypothesis import given
from hypothesis import strategies as st

from bot.reports import html, markdown, terminal
from bot.reports.blocks import Code
from bot.reports.highlight import code_lines

PATHS = st.sampled_from(["a.py", "a.cu", "a.hpp", "a.rs", "Makefile"])
PIECES = st.sampled_from(
    ["def f(x):", '"""', "'", "/*", "*/", "#", "<b>", "&amp;", "  ", "0x1f", 'R"(', "\\"]
)
LINES = st.lists(
    st.lists(PIECES | st.text(st.characters(categories=["L", "N", "P", "Zs"])), max_size=6).map(
        "".join
    )
)
NOTE = Code((" def f(x):", "+    return x  # same"), "diff", "a.py", ((1, "it says `nothing`"),))


def shown(line: str) -> str:
    """What a reader of the page sees."""
    return html_text.unescape(re.sub(r"<[^>]*>", "", line))


@given(LINES, PATHS)
def test_what_is_marked_reads_the_same(lines, path):
    assert [shown(line) for line in code_lines(lines, path)] == lines


def test_what_is_marked():
    (line,) = code_lines(["    return 'a<b'  # why"], "engine/a.py")
    assert line == (
        '    <span class="hl-keyword">return</span> <span class="hl-string">&#x27;</span>'
        '<span class="hl-string">a&lt;b</span><span class="hl-string">&#x27;</span>'
        '  <span class="hl-comment"># why</span>'
    )
    first, second = code_lines(["/* one", "two */ int x;"], "ops/a.cu")
    assert first == '<span class="hl-comment">/* one</span>'
    assert second.startswith('<span class="hl-comment">two */</span> <span class="hl-keyword">int')


def test_what_is_very_long_is_escaped_and_no_more():
    assert code_lines(["return <" + "x" * 20_000], "a.py") == ["return &lt;" + "x" * 20_000]


def test_a_remark_stands_with_its_line():
    page = html.write(NOTE)
    assert page.index("# same") < page.index('<span class="beside">it says <code>nothing</code>')
    assert page.count("beside") == 1
    written = markdown.write(NOTE)
    assert written.endswith("```\n- it says `nothing`")
    text = terminal.write_at_width([NOTE])
    assert text.index("# same") < text.index("^ it says")


def test_two_remarks_on_a_line_are_both_there():
    code = Code(("+x",), "diff", "a.py", ((0, "the first"), (0, "the second")))
    for text in (html.write(code), markdown.write(code), terminal.write_at_width([code])):
        assert text.index("the first") < text.index("the second")
