"""What is a command in a comment, and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.authored_lines import authored_lines
from bot.chat.parser import LONGEST_LINE, MOST_COMMANDS, ParsedCommand, ParsedComment, parse_comment

NAMES = ("re-run", "review", "ci", "kernels", "baseline", "explain", "skip", "help")
NOTHING = ParsedComment()
HELP = ParsedComment((ParsedCommand("help"),))

COMMANDS = {
    "/help": ParsedCommand("help"),
    "/help \t": ParsedCommand("help"),
    "/re-run all-failed": ParsedCommand("re-run", "all-failed"),
    "/re-run \t unit / run_tests (3.11, cpu) ": ParsedCommand(
        "re-run", "unit / run_tests (3.11, cpu)"
    ),
    "/re-run `unit`": ParsedCommand("re-run", "`unit`"),
    "/skip kernel.host-sync 因为这里只在启动时执行": ParsedCommand(
        "skip", "kernel.host-sync 因为这里只在启动时执行"
    ),
    "/baseline accept": ParsedCommand("baseline", "accept"),
}


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command(line):
    assert parse_comment(line, NAMES) == ParsedComment((COMMANDS[line],))


ALIVE = [
    "Thanks!\n\n/help\n",
    "Thanks!\n/help",
    "/help\r\nThanks!",
    "text\r/help",
    "> quoted\n\n/help",
    "```\ncode\n```\n/help",
    "~~~~\n~~~\n/review\n~~~~\n/help",
    "``` `not a fence`\n/help",
    "`code` and ``more ` code``\n/help",
    "an `unpaired backtick\n/help",
    "<!-- a comment -->\n/help",
    "<!-- a\ncomment -->\n\n/help",
    "<details>\n<summary>More</summary>\n\n/help\n\n</details>",
    "<details>\n/help\n</details>",
    "<pre>\nx\n</pre>\n/help",
    "- a list\n\n/help",
]


@pytest.mark.parametrize("body", ALIVE)
def test_what_stands_around_does_not_matter(body):
    assert parse_comment(body, NAMES) == HELP


DEAD = {
    "in prose": "Please use /help here",
    "a substring": "/helpful",
    "a longer word": "/help-me",
    "capitals": "/Help",
    "two slashes": "//help",
    "a path": "/help/me",
    "a colon": "/help: please",
    "a blank first": " /help",
    "a tab first": "\t/help",
    "indented code": "text\n\n    /help",
    "another bot's": "/retest\n/cc @ada\n/lgtm",
    "a list": "- /help\n* /help\n1. /help",
    "a heading": "# /help",
    "a table": "| /help |",
    "quoted": "> /help",
    "quoted after blanks": "   > /help",
    "quoted twice": "> > /help",
    "continues a quotation": "> what about\n/help",
    "continues it further": "> what about\nthis\n/help",
    "a fence": "```\n/help\n```",
    "a fence of tildes": "~~~\n/help\n~~~",
    "a fence with a language": "```console\n/help\n```",
    "a fence that is not closed": "```\n/help",
    "a longer fence": "````\n```\n/help\n````",
    "the other fence inside": "```\n~~~\n/help\n```",
    "a fence in a list": "- ```\n/help\n  ```",
    "a fence in a quotation": "> ```\n/help\n> ```",
    "a fence that is indented": "    ```\n/help\n    ```",
    "a suggestion": "```suggestion\n/help\n```",
    "inline code": "`/help`",
    "inline code over lines": "`a\n/help\nb`",
    "inline code of two backticks": "``a ` b\n/help\n``",
    "a comment": "<!-- /help -->",
    "a comment over lines": "<!--\n/help\n-->",
    "a comment that is not closed": "<!--\n/help",
    "a comment within a line": "see <!-- this\n/help\n--> there",
    "a comment with a fence in it": "<!--\n```\n-->\n```\n/help\n```",
    "a fence with a comment in it": "```\n<!--\n/help\n-->\n```",
    "a pre": "<pre>\n/help\n</pre>",
    "a pre with attributes": '<PRE class="x">\n/help\n</PRE>',
    "a code element": "<code>\n/help\n</code>",
    "a blockquote": "<blockquote>\n\n/help\n\n</blockquote>",
    "a script": "<script>\n/help\n</script>",
    "a Cyrillic letter": "/h\u0435lp",
    "a full-width slash": "\uff0fhelp",
    "full-width letters": "/\uff48\uff45\uff4c\uff50",
    "a division slash": "\u2215help",
    "a fraction slash": "\u2044help",
    "a Greek letter in the name": "/rev\u03b9ew",
    "a Unicode hyphen": "/re\u2010run all-failed",
    "a soft hyphen": "/re\u00ad-run all-failed",
    "a minus": "/re\u2212run all-failed",
    "a zero-width space first": "\u200b/help",
    "a zero-width space within": "/he\u200blp",
    "a zero-width space after": "/help\u200b",
    "a zero-width joiner in an argument": "/re-run uni\u200dt",
    "a byte-order mark": "\ufeff/help",
    "a right-to-left override": "/re-run \u202etinu",
    "an isolate": "/re-run \u2066unit\u2069",
    "a no-break space": "/re-run\u00a0unit",
    "an ideographic space": "/re-run\u3000unit",
    "a Hangul filler": "/re-run unit\u3164",
    "a variation selector": "/re-run unit\ufe0f",
    "a tag character": "/re-run unit\U000e0041",
    "a braille blank": "/re-run unit\u2800",
    "a line separator": "text\u2028/help",
    "a paragraph separator": "text\u2029/help",
    "a form feed": "text\x0c/help",
    "a vertical tab": "text\x0b/help",
    "a next-line": "text\x85/help",
    "a file separator": "text\x1c/help",
    "a null": "/help\x00",
    "an escape": "/re-run \x1b[31munit",
    "a lone surrogate": "/re-run \ud800",
    "an entity": "&#47;help",
    "a backslash": "\\/help",
    "emphasis": "**/help**",
    "a link": "[/help](https://example.org)",
    "too long": "/re-run " + "x" * LONGEST_LINE,
    "nothing": "",
    "a slash": "/",
    "a slash and a blank": "/ help",
}


@pytest.mark.hostile("commands")
@pytest.mark.parametrize("what", DEAD)
def test_no_command(what):
    assert parse_comment(DEAD[what], NAMES) == NOTHING


def test_several_commands_in_order_each_once_and_not_without_end():
    body = "/review\n/re-run b\n/review\n/re-run a\n"
    assert parse_comment(body, NAMES).commands == (
        ParsedCommand("review"),
        ParsedCommand("re-run", "b"),
        ParsedCommand("re-run", "a"),
    )
    many = parse_comment("\n".join(f"/re-run job{n}" for n in range(MOST_COMMANDS + 3)), NAMES)
    assert [s.text for s in many.commands] == [f"job{n}" for n in range(MOST_COMMANDS)]
    assert many.left_out == 3


PIECES = st.sampled_from(
    [
        "/help",
        "/re-run x",
        "\n",
        "\n\n",
        "\r\n",
        "`",
        "```",
        "~~~",
        "> ",
        "<!--",
        "-->",
        "<pre>",
        "</pre>",
        "    ",
        "a",
    ]
)
BODIES = st.one_of(st.lists(PIECES, max_size=40).map("".join), st.text())
FENCES = st.sampled_from(["```", "````", "~~~", "~~~~~"])


@given(BODIES)
def test_every_text_is_read(body):
    found = parse_comment(body, NAMES)
    assert len(found.commands) <= MOST_COMMANDS
    for said in found.commands:
        assert any(line.split(" ")[0] == f"/{said.name}" for line in authored_lines(body))


@given(BODIES, FENCES)
def test_nothing_in_a_fence_is_a_command(body, fence):
    inside = body.replace(fence[0] * 3, "")
    assert parse_comment(f"{fence}\n{inside}\n{fence}\n", NAMES) == NOTHING


@given(BODIES)
def test_nothing_that_is_quoted_is_a_command(body):
    quoted = "\n".join("> " + line for line in body.replace("\r", "\n").split("\n"))
    assert parse_comment(quoted, NAMES) == NOTHING


@given(BODIES)
def test_nothing_in_an_html_comment_is_a_command(body):
    assert parse_comment(f"<!--\n{body.replace('--', '')}\n-->\n", NAMES) == NOTHING


@given(
    st.lists(st.sampled_from(["Thanks", "see a/b", "1. one", "**x**", ""]), max_size=6),
    st.sampled_from(NAMES),
)
def test_a_command_after_plain_words_is_one(before, name):
    assert parse_comment("\n".join([*before, f"/{name}"]), NAMES).commands == (ParsedCommand(name),)


@given(BODIES)
def test_words_below_change_nothing(body):
    """Words under a blank line hide nothing above them, and show nothing."""
    before = parse_comment(body, NAMES).commands
    assert parse_comment(f"{body}\n\nThanks", NAMES).commands == before
