"""What the analysis tells of a change between two small trees, in the words that a person reads."""

from __future__ import annotations

from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown
from checks.core.change import ChangeSet
from checks.core.config import Config, load
from checks.domain.change_facts import change_facts
from checks.review import review
from checks.summary import Analysis, analyse
from checks.summary.changes.name_replacements import find_name_replacements
from checks.summary.claims import claims_for
from checks.summary.model import ChangeHistory, Claim
from tests.rules.harness import change_of
from tests.rules.markdown import Case, Files


def sentences_about(
    base: dict[str, str], head: dict[str, str], was: dict[str, str] | None = None
) -> list[str]:
    """Every sentence about the change between two trees (path to text), in English; `was` has the
    old paths of files by their new ones."""
    change, config = _change_between(base, head, was)
    replacements = find_name_replacements(change, config)
    claims = claims_for(change, config, change_facts(change, config), replacements)
    return [sentence_of(claim) for claim in claims]


def analyse_trees(
    base: dict[str, str], head: dict[str, str], was: dict[str, str] | None = None
) -> Analysis:
    """The whole analysis of the change between two trees."""
    change, config = _change_between(base, head, was)
    return analyse(review(change, config), change_facts(change, config), ChangeHistory())


def sentence_of(claim: Claim, language: str = "en") -> str:
    return Catalog(language, Markdown())(f"analysis.{claim.message.key}", **claim.message.args)


def _change_between(
    base: dict[str, str], head: dict[str, str], was: dict[str, str] | None
) -> tuple[ChangeSet, Config]:
    change = change_of(Case("change", 1, Files(base, head, was or {})))
    return change, load(None, profile="fastdeploy")
