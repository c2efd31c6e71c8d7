"""What the analysis tells of a change between two small trees, in the words that a person reads."""

from __future__ import annotations

from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown
from checks.core.config import load
from checks.domain.change_facts import change_facts
from checks.review import review
from checks.summary import Analysis, analyse
from checks.summary.claims import claims
from checks.summary.model import Claim, History
from checks.summary.replacements import replacements
from tests.rules.harness import change_of
from tests.rules.markdown import Case, Files


def told(base: dict[str, str], head: dict[str, str]) -> list[str]:
    """Every sentence about the change, in English."""
    change, config = change_of(Case("told", 1, Files(base, head))), load(None, profile="fastdeploy")
    made = claims(change, config, change_facts(change, config), replacements(change, config))
    return [sentence(c) for c in made]


def analysed(base: dict[str, str], head: dict[str, str]) -> Analysis:
    """The whole analysis of the change."""
    change, config = change_of(Case("told", 1, Files(base, head))), load(None, profile="fastdeploy")
    return analyse(review(change, config), change_facts(change, config), History())


def sentence(claim: Claim, language: str = "en") -> str:
    return Catalog(language, Markdown())(f"analysis.{claim.message.key}", **claim.message.args)
