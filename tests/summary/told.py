"""What the analysis tells of a change between two small trees, in the words that a person reads."""

from __future__ import annotations

from bot.style import Markdown
from bot.words import Words
from checks.analysis import Analysis, analyse
from checks.analysis.claims import claims
from checks.analysis.model import Claim, History
from checks.analysis.replaced import replacements
from checks.config import load
from checks.facts import facts
from checks.review import review
from tests.rules.harness import change_of
from tests.rules.markdown import Case, Files


def told(base: dict[str, str], head: dict[str, str]) -> list[str]:
    """Every sentence about the change, in English."""
    change, config = change_of(Case("told", 1, Files(base, head))), load(None, profile="fastdeploy")
    made = claims(change, config, facts(change, config), replacements(change, config))
    return [sentence(c) for c in made]


def analysed(base: dict[str, str], head: dict[str, str]) -> Analysis:
    """The whole analysis of the change."""
    change, config = change_of(Case("told", 1, Files(base, head))), load(None, profile="fastdeploy")
    return analyse(review(change, config), facts(change, config), History())


def sentence(claim: Claim, language: str = "en") -> str:
    return Words(language, Markdown())(f"analysis.{claim.message.key}", **claim.message.args)
