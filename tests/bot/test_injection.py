"""Nothing that a pull request says can become markup, a mention, a link, a terminal command or a
hidden character."""

from __future__ import annotations

import json
import re

import pytest

from bot.i18n.escape import Markdown, cell, fence, one_line
from bot.reports import FORMATS

ATTACKS = (
    "@everyone and @org/team",
    "fixes #12, GH-34 and owner/repo#56",
    "https://evil.example/x and www.evil.example",
    "<img src=x onerror=alert(1)><!-- hidden -->",
    "[click](http://evil.example) ![i](http://evil.example/i.png)",
    "`code` ``two`` ``` three",
    "a | b \\| c \\\\| d",
    "**bold** _it_ ~~gone~~ $math$",
    "# heading\n\n- list\n> quote\n---\n```suggestion\nevil\n```",
    "</details></summary>",
    "\x1b[31mred\x1b]0;title\x07\x9b1m\r\x08\x00",
    "left \u202e thgir \u2066 x \u200b y \ufeff",
    "&lt;b&gt; &amp; &#64;here",
    "{{ 7 * 7 }} {% raw %} {{ self.__class__ }}",
    "1. one",
    "- minus",
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_markdown_prose(attack):
    written = Markdown().prose(attack)
    assert "\n" not in written and "<" not in written and "|" not in written
    assert not re.search(r"@\w", written) and not re.search(r"(?<!&)#\d", written)
    assert not re.search(r"(?<!\\)[`*_\[\]~$]", written)
    assert not re.search(r"https?:|www\.", written)
    assert not re.match(r"[-+=]|\d+[.)]", written)
    assert all(c.isprintable() or c == "\u200b" for c in written)


@pytest.mark.parametrize("attack", ATTACKS)
def test_markdown_code(attack):
    written = Markdown().code(attack)
    ticks = re.match(r"`+", written).group()
    inner = written[len(ticks) : -len(ticks)]
    assert written.endswith(ticks) and ticks not in re.findall(r"`+", inner)
    assert "|" not in cell(written) or "|" not in attack
    assert written.isprintable()


@pytest.mark.parametrize("attack", ATTACKS)
def test_fence(attack):
    first, *inside, last = fence(attack.split("\n"), "text").split("\n")
    assert first == last + "text" and len(last) > max(
        [2, *(len(r) for r in re.findall("`+", "\n".join(inside)))]
    )
    assert all(line.isprintable() for line in inside)


def test_invisible_text_is_shown():
    assert one_line("a\u202eb\x1b[0m\x00\udcff") == "a\\u202eb\\x1b[0m\\x00\\xff"
    assert one_line("中文 é 👩\u200d💻") == "中文 é 👩\u200d💻"


@pytest.mark.hostile("names")
@pytest.mark.parametrize("attack", ATTACKS)
def test_whole_reports(repo, marker, specbot, tmp_path, attack):
    name = re.sub(r"[/\x00]", "", attack)[:60]
    repo.commit({"base.py": "x\n"})
    line = " ".join(attack.splitlines()).replace("\x00", "")
    repo.commit({name + ".py": f"UNMASKED {line}\nQUERY {line}\n"})
    body = tmp_path / "body.md"
    body.write_text(attack + "\n", "utf-8")
    title = ("NOTE " + attack).replace("\x00", "")
    common = (
        "review",
        "--repo",
        repo.path,
        "--base",
        "HEAD~1",
        "--title",
        title,
        "--body-file",
        body,
        "--format",
    )
    for form in FORMATS:
        result = specbot(*common, form)
        assert result.code == 1, result
        for text in texts(form, result.out):
            assert all(c.isprintable() or c in "\n\t\u200b\u200d" for c in text), text
            if form != "terminal":
                harmless(text)


def texts(form: str, out: str) -> list[str]:
    """The parts of an output that are shown to people as they are."""
    if form == "github":
        data = json.loads(out)
        return [data["body"], *(c["body"] for c in data["comments"])]
    if form in ("terminal", "markdown"):
        return [out]
    json.loads(out)
    return []


def harmless(text: str) -> None:
    outside = without_code(text)
    assert not re.search(r"@\w", outside), outside
    assert "<img" not in outside and "evil.example)" not in re.sub(r"\\.", "", outside)
    assert not re.search(r"https?:", outside)


def without_code(text: str) -> str:
    """Markdown with its fenced blocks and code spans taken out, by the rules of CommonMark."""
    kept, fenced = [], ""
    for line in text.split("\n"):
        run = re.match(r"`{3,}", line)
        if fenced:
            fenced = "" if line == fenced else fenced
        elif run:
            fenced = run.group()
        else:
            kept.append(re.sub(r"(?<![`\\])(`+)(?!`).*?(?<!`)\1(?!`)|<code>[^<]*</code>", "", line))
    assert not fenced
    return "\n".join(kept)


def test_a_suggestion_with_hidden_characters_is_no_suggestion(repo, marker, specbot):
    repo.commit({"a.py": "x\n"})
    repo.commit({"a.py": "UNMASKED \u202e\n"})
    result = specbot("review", "--repo", repo.path, "--base", "HEAD~1", "--format", "github")
    body = json.loads(result.out)["comments"][0]["body"]
    assert "```suggestion" not in body and "+MASKED \\u202e" in body


def test_a_suggestion_outlasts_the_backticks_in_it(repo, marker, specbot):
    repo.commit({"a.py": "x\n"})
    repo.commit({"a.py": 'UNMASKED = """```\n````\n"""\n'})
    result = specbot("review", "--repo", repo.path, "--base", "HEAD~1", "--format", "github")
    body = json.loads(result.out)["comments"][0]["body"]
    assert body.endswith('````suggestion\nMASKED = """```\n````\n')
