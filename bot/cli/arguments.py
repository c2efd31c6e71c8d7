"""The parser of a command line whose errors are the person's, told in one sentence."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, NoReturn

from bot.errors import UserError
from bot.files import write_output
from bot.i18n.catalog import Catalog
from checks.core.near_names import nearest_name

_WRONG_CHOICE = re.compile(r"(?:argument (\S+): )?invalid choice: '?([^',]+)'?")
_WRONG_VALUE = re.compile(r"argument (\S+): invalid \S+ value: '(.*)'")
_UNKNOWN = re.compile(r"unrecognized arguments: (\S+)")
# What argparse begins a help with.
_USAGE = "usage: "


class Parser(argparse.ArgumentParser):
    """Raises `UserError` where argparse ends the process, with the nearest name where one was
    mistyped."""

    _usage_word = _USAGE

    def error(self, message: str) -> NoReturn:
        wrong = _WRONG_CHOICE.search(message)
        if wrong:
            argument, wanted = wrong[1] or "", wrong[2]
            choices = [one for name in argument.split("/") for one in self.choices_of(name)]
            near = nearest_name(wanted, choices)
            option = argument if argument.startswith("-") else ""
            listed = [] if near else choices
            raise UserError("usage-choice", wanted=wanted, near=near, option=option, choices=listed)
        no_value = _WRONG_VALUE.search(message)
        if no_value:
            # "-j/--jobs": the long form.
            option = no_value[1].rpartition("/")[2]
            raise UserError("usage-value", wanted=no_value[2], option=option, command=self.prog)
        unknown = _UNKNOWN.search(message)
        if unknown:
            option = unknown[1].partition("=")[0]
            near = nearest_name(option, self.option_names())
            raise UserError("usage-option", wanted=option, near=near, command=self.prog)
        raise UserError("usage", detail=message, command=self.prog)

    def translate(self, words: Catalog) -> None:
        """Put argparse's own words into the language of `words`, of this parser and those below
        it."""
        self._usage_word = words("cli.usage")
        self._positionals.title = words("cli.positionals")
        self._optionals.title = words("cli.options")
        for action in self._actions:
            if isinstance(action, argparse._HelpAction):
                action.help = words("cli.help")
            if isinstance(action, argparse._VersionAction):
                action.help = words("cli.version")
        for below in self.subcommands().values():
            below.translate(words)

    def _print_message(self, message: str, file: Any = None) -> None:
        """As argparse does, but an output that cannot be written is told."""
        if file is sys.stdout:
            write_output(message, None)
        else:
            super()._print_message(message, file)

    def format_help(self) -> str:
        return super().format_help().replace(_USAGE, self._usage_word, 1)

    def format_usage(self) -> str:
        return super().format_usage().replace(_USAGE, self._usage_word, 1)

    def parse_command(self, words: list[str]) -> argparse.Namespace:
        """As `parse_args`, but of what is left over speaks the command that was chosen."""
        parsed, rest = self.parse_known_args(words)
        if rest:
            self.chosen(words).error(f"unrecognized arguments: {' '.join(rest)}")
        return parsed

    def chosen(self, words: list[str]) -> Parser:
        """The parser of the command and the action that `words` begin with."""
        parser = self
        for word in words:
            below = parser.subcommands().get(word)
            if below is not None:
                parser = below
        return parser

    def subcommands(self) -> dict[str, Parser]:
        """The parsers of the commands, or of a command's actions, by their names."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return dict(action.choices)
        return {}

    def option_names(self) -> list[str]:
        """The options, in their long forms where they have one."""
        names: list[str] = []
        for action in self._actions:
            long_forms = [name for name in action.option_strings if name.startswith("--")]
            names += long_forms or action.option_strings
        return names

    def choices_of(self, argument: str) -> list[str]:
        """What may stand behind an option, or in the place of a word; empty where that is free."""
        for action in self._actions:
            names = (*action.option_strings, action.metavar, action.dest)
            if argument in names and action.choices is not None:
                return [str(choice) for choice in action.choices]
        return []
