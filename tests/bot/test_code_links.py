"""Places in reports lead to the code, and nothing else does."""

from __future__ import annotations

from bot.reports.code_links import CodeLinks

WEB = "https://github.com/o/r"
LINKS = CodeLinks(WEB, "h" * 40, {"src/a.py", "b c.cu"}, "b" * 40, frozenset({"src/a.py:9"}))


def test_in_html_outside_blocks_of_code():
    text = "<p><code>src/a.py:3-5</code> <code>src/no.py:3</code></p><pre><code>src/a.py:3</code></pre>"
    linked = LINKS.in_html(text)
    assert f'<a href="{WEB}/blob/{"h" * 40}/src/a.py#L3-L5"><code>src/a.py:3-5</code></a>' in linked
    assert linked.count("<a ") == 1


def test_a_line_of_the_base_leads_to_the_base():
    assert f"{WEB}/blob/{'b' * 40}/src/a.py#L9" in LINKS.in_html("<code>src/a.py:9</code>")


def test_in_markdown_outside_fences_and_within_the_limit():
    text = "see `src/a.py:3`\n```\n`src/a.py:3`\n```\n"
    linked = LINKS.in_markdown(text, 1000)
    assert linked.startswith(f"see [`src/a.py:3`]({WEB}/blob/")
    assert linked.endswith("```\n`src/a.py:3`\n```\n")
    assert LINKS.in_markdown(text, 40) == text
