"""Reports: one typed view of a review, and a module for each format that writes it."""

from __future__ import annotations

from bot.reports import github, json_v1, markdown, rdjson, sarif, terminal
from bot.reports.report import Format, Report

__all__ = ["FORMATS", "Format", "Report", "format_named"]

_MODULES: dict[str, Format] = {
    "terminal": terminal,
    "markdown": markdown,
    "json": json_v1,
    "sarif": sarif,
    "rdjson": rdjson,
    "github": github,
}
FORMATS = tuple(_MODULES)


def format_named(name: str) -> Format:
    """The module of one of `FORMATS`."""
    return _MODULES[name]
