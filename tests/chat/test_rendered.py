"""No command runs that a reader of the comment does not see: GitHub's own Markdown decides."""

from __future__ import annotations

import random
import time
from html.parser import HTMLParser

import pytest

from bot.chat.parser import parse_comment

cmarkgfm = pytest.importorskip("cmarkgfm")
cmark = pytest.importorskip("cmarkgfm.cmark")

# GitHub keeps HTML, which it cleans, and shows each line of a comment as a line.
_OPTIONS = cmark.Options.CMARK_OPT_UNSAFE | cmark.Options.CMARK_OPT_HARDBREAKS
_COMMENTS = 5_000
_HIDING = frozenset(
    [
        "pre",
        "code",
        "blockquote",
        "script",
        "style",
        "template",
        "textarea",
        "samp",
        "kbd",
        "tt",
        "xmp",
        "title",
    ]
)
_COMMAND = "/help me"
# Lines that begin or end something in which a command is not one, or that look as if.
_LINES = f"""\
{_COMMAND}
{_COMMAND}
{_COMMAND}
{_COMMAND}
text
a **b
**
[a](/u "t
")
[a](/u 't
')
![alt
](x)
[x
](/u)
[l
]: /u
[f]: /u "t
[f]:
[^1]:
"
'
<?php
?>
<![CDATA[
]]>
<!X
>
<!--
-->
<!---->
<!-->
<pre>
</pre>
<pre><pre></pre>
<code>
</code>
<kbd>
</kbd>
<a title="
<img alt="
<a href=
">
<div
<div title='
'>
</div>
<div>
<b>
</a>
<x
a <b
x < y
<https://a.b
<script>
</script>
<style>
</style>
<textarea>
</textarea>
<blockquote>
</blockquote>
<details>
</details>
<ul><li>
```
~~~
`
``
> q
- x
- ```
  y
1. a
| a |
|---|
# h
===
---
    code
\\
&lt;pre&gt;
""".split("\n")


class _Reader(HTMLParser):
    """The text outside of what hides it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = ""
        self._within: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag in _HIDING:
            self._within.append(tag)

    def handle_endtag(self, tag):
        if tag in self._within:
            del self._within[self._within.index(tag) :]

    def handle_data(self, data):
        if not self._within:
            self.seen += data


def seen(body: str) -> str:
    reader = _Reader()
    reader.feed(cmarkgfm.github_flavored_markdown_to_html(body, _OPTIONS))
    reader.close()
    return reader.seen


def is_run(body: str) -> bool:
    return bool(parse_comment(body, {"help"}).commands)


def test_what_nobody_sees_is_not_run():
    chance = random.Random(7)
    comments = ["\n".join(chance.choices(_LINES, k=chance.randint(2, 8))) for _ in range(_COMMENTS)]
    hidden = [body for body in comments if is_run(body) and _COMMAND not in seen(body)]
    assert hidden == []
    # Of the comments of people: here every other line is a trap.
    assert sum(map(is_run, comments)) > _COMMENTS // 10


@pytest.mark.parametrize(
    "body",
    [
        f"I had [a look](https://a.b/c).\n{_COMMAND}",
        f"x <y, and (see [1]):\n\n{_COMMAND}",
        f"- [ ] one\n- [x] two\n\n{_COMMAND}\n\nThanks!",
        f"<details>\n<summary>log</summary>\n\n```\nx\n```\n\n</details>\n\n{_COMMAND}",
        f'<img src="a.png" alt="it\'s">\n\n{_COMMAND}',
        f"<!-- a note -->\n{_COMMAND}",
        f"[f]: https://a.b\n\n{_COMMAND}",
        f"`a[0]`: wrong\n{_COMMAND}",
    ],
)
def test_what_people_write_is_run(body):
    assert is_run(body) and _COMMAND in seen(body)


@pytest.mark.parametrize("pieces", [("[\n", "]\n"), ("<pre>\n", "</pre>\n"), ("<a '\n", "'\n")])
def test_the_longest_comment_is_read_at_once(pieces):
    begin, end = pieces
    count = 65_000 // len(begin + end)
    begun = time.process_time()
    is_run(begin * count + end * count + _COMMAND)
    assert time.process_time() - begun < 2
