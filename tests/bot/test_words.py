"""How a rule's sentences are found and filled."""

from __future__ import annotations

import pytest

import bot.i18n.catalog
from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown
from checks.core.finding import Location, Message


@pytest.fixture(autouse=True)
def rule_words(monkeypatch, tmp_path):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "fam.toml").write_text(
        '[message.shared]\nzh = "家"\nen = "family"\n[message.own]\nzh = "家"\nen = "family"\n'
    )
    (tmp_path / "rules" / "fam.rule.toml").write_text(
        '[summary]\nzh = "总"\nen = "sum"\n'
        '[message.own]\nzh = "自"\nen = "own"\n'
        '[message.full]\nzh = "{{ xs | codes }}；{{ n | hex }}；{{ at }}"\n'
        "en = \"{{ xs | codes }}; {{ n | hex }}; {{ at }}; {{ inner }}; {{ n }} {{ n | plural('bit', 'bits') }}\"\n"
        '[detail.full]\nzh = "多"\nen = """\none\n\ntwo\n"""\n'
    )
    monkeypatch.setattr(bot.i18n.catalog, "TEMPLATES", tmp_path)


def test_the_rules_own_words_win_over_its_familys():
    say = Catalog("en")
    assert [say.message("fam.rule", Message(k)) for k in ("own", "shared")] == ["own", "family"]
    assert say.message("fam.other", Message("own")) == "family"
    assert say.summary("fam.rule") == "sum" and say.summary("fam.other") == "fam.other"


def test_arguments():
    args = {"xs": ["a|b", "`c`"], "n": 31, "at": Location("p.py", 3, 5), "inner": Message("own")}
    written = Catalog("en", Markdown()).message("fam.rule", Message("full", args))
    assert written == "`a|b`, `` `c` ``; `0x1f`; p.py:3-5; own; 31 bits"
    assert Catalog("en").detail("fam.rule", Message("full", args)) == "one\n\ntwo"
    assert Catalog("en").advice("fam.rule", Message("full", args)) == ""


def test_a_missing_sentence_or_argument_does_not_lose_the_finding():
    say = Catalog("zh", Markdown())
    assert say.message("fam.rule", Message("none", {"x": "<b>"})) == "`fam.rule/none: x=<b>`"
    assert say.message("fam.rule", Message("full", {"xs": []})) == "`fam.rule/full: xs=[]`"
