"""Which configuration a review runs under, and what is wrong with it in words."""

from __future__ import annotations

from bot.errors import UserError
from bot.files import read_text
from checks.core.config import FILE, Config, load
from checks.core.config_tables import ConfigError
from checks.core.near_names import nearest_name
from checks.core.rule_ids import GONE, ids_meant
from checks.core.tree import Tree
from checks.registry import RULES


def load_configuration(tree: Tree | None, file: str | None, profile: str | None) -> Config:
    """`file`, else the `.specbot.toml` of `tree`, over its profile. Raises `UserError`."""
    if file is not None:
        return parse_configuration(read_text(file), file, profile, tree)
    data = tree.read(FILE) if tree is not None else None
    if data is None:
        return parse_configuration(None, FILE, profile, tree)
    try:
        return parse_configuration(data.decode("utf-8-sig"), FILE, profile, tree)
    except UnicodeDecodeError as error:
        raise UserError("not-utf8", path=FILE) from error


def parse_configuration(
    text: str | None, where: str, profile: str | None, tree: Tree | None
) -> Config:
    """The configuration in `text`; `where` names it in an error."""
    try:
        config = load(text, profile=profile, tree=tree)
    except ConfigError as error:
        raise UserError(f"config-{error.problem}", where=where, **error.args_) from error
    known = [rule.ID for rule in RULES]
    for name in config.rules.disable:
        if name not in GONE and not ids_meant(name, known):
            raise UserError("config-rule", where=where, name=name, near=nearest_name(name, known))
    return config
