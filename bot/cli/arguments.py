"""The parser of a command line whose errors are the person's, told in one sentence."""

from __future__ import annotations

import argparse
from typing import NoReturn

from bot.errors import UserError


class Parser(argparse.ArgumentParser):
    """Raises `UserError` where argparse ends the process."""

    def error(self, message: str) -> NoReturn:
        raise UserError("usage", detail=message, command=self.prog)
