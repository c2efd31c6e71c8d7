"""Reports: one typed view of a review, and a module for each format that writes it."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from bot.formats import FORMATS, MODULES
from bot.reports.report import Format, Report

__all__ = ["FORMATS", "Format", "Report", "format_named"]


def format_named(name: str) -> Format:
    """The module of one of `FORMATS`; the others are not loaded."""
    return cast(Format, import_module(f".{MODULES[name]}", __name__))
