"""Every command, by hand: reading this list is knowing what can be asked for."""

from __future__ import annotations

from collections.abc import Mapping

from bot.chat.command import Command
from bot.chat.commands import (
    baseline,
    ci,
    explain,
    help,
    ignore,
    kernels,
    rerun,
    review,
    skip,
    why,
)

_ALL: tuple[Command, ...] = (
    review,
    ci,
    explain,
    why,
    rerun,
    kernels,
    baseline,
    skip,
    ignore,
    help,
)
COMMANDS: Mapping[str, Command] = {command.NAME: command for command in _ALL}
