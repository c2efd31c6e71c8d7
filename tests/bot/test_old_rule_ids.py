"""A rule that was renamed answers to its old id, wherever a person may have written it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bot.chat.commands import skip
from bot.chat.permissions import Permission
from bot.configuration import parse_configuration
from bot.errors import UserError
from checks.core import rule_ids
from checks.registry import RULES

OLD = "protocol.old-name"
TODAY = (RULES[0].ID, RULES[1].ID)


@pytest.fixture(autouse=True)
def former(monkeypatch):
    """The first two rules were one."""
    monkeypatch.setattr(rule_ids, "FORMER", dict.fromkeys(TODAY, OLD))


@pytest.mark.parametrize(("language", "words"), [("en", "is now called"), ("zh", "现在叫")])
def test_the_list_of_rules_says_what_it_is_called_now(specbot, language, words):
    done = specbot("rules", OLD, "--lang", language)
    assert (done.code, done.err) == (0, "")
    assert words in done.out
    assert all(f"`{name}`" in done.out for name in (OLD, *TODAY))


def test_a_rule_that_never_was_is_unknown(specbot):
    done = specbot("rules", f"{OLD}er")
    assert done.code == 2 and f"{OLD}er" in done.err


def test_the_list_of_rules_says_of_one_that_is_gone_that_it_is(specbot):
    gone = sorted(rule_ids.GONE)[0]
    done = specbot("rules", gone)
    assert done.code == 2 and f"The rule `{gone}` is gone" in done.err


def test_a_configuration_may_disable_it():
    text = f'[rules]\ndisable = ["{OLD}"]\n'
    assert list(parse_configuration(text, "here", None, None).rules.disable) == [OLD]
    with pytest.raises(UserError):
        parse_configuration(text.replace("old", "odd"), "here", None, None)


def test_a_review_leaves_out_the_rules_of_today_and_says_so(repo, specbot):
    repo.commit({".specbot.toml": f'[rules]\ndisable = ["{OLD}"]\n', "a.py": "x = 1\n"})
    repo.commit({"a.py": "x = 2\n"})
    done = specbot("review", "--repo", repo.path, "--base", "HEAD~1", "--format", "markdown")
    assert f"`{OLD}`" in done.out and all(f"`{name}`" in done.out for name in TODAY)


def test_a_rule_that_is_gone_may_stand_in_a_configuration(repo, specbot):
    gone = sorted(rule_ids.GONE)[0]
    assert gone not in {rule.ID for rule in RULES}
    repo.commit({".specbot.toml": f'[rules]\ndisable = ["{gone}"]\n', "a.py": "x = 1\n"})
    repo.commit({"a.py": "x = 2\n"})
    done = specbot("review", "--repo", repo.path, "--base", "HEAD~1", "--format", "markdown")
    assert done.code == 0 and f"The rule `{gone}` is gone" in done.out


def test_a_comment_may_skip_it():
    stored = []
    job = SimpleNamespace(key="pull", login="ada")
    task = SimpleNamespace(
        command=SimpleNamespace(text=f"`{OLD}` it is noisy"),
        number=0,
        job=job,
        context=SimpleNamespace(records=SimpleNamespace(skip=lambda *row: stored.append(row))),
        step=lambda name, act: act(),
        pull=dict,
        require=lambda permission: stored.append(permission),
        words=lambda key, **args: args["rule"],
    )
    assert skip.run(task) == OLD
    assert stored == [Permission.WRITE, ("pull", OLD, "ada", "it is noisy")]
