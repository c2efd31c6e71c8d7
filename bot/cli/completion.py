"""`specbot completion bash|zsh|fish`: what a shell reads to complete the command line.

The scripts ask the program itself which words may follow, so that they never go out of date.
"""

from __future__ import annotations

import argparse

from bot.cli.arguments import Parser
from bot.files import write_output

# What the scripts ask, with the words of the line so far behind it: no command for people.
QUESTION = ["completion", "words"]
_SCRIPTS = {
    "bash": """_specbot() {
  local words
  words="$(specbot completion words "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)"
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _specbot specbot
""",
    "zsh": """#compdef specbot
_specbot() {
  local -a found
  found=(${(f)"$(specbot completion words ${words[2,CURRENT-1]} 2>/dev/null)"})
  compadd -- $found || _files
}
compdef _specbot specbot
""",
    "fish": """function __specbot_words
  specbot completion words (commandline -opc)[2..] 2>/dev/null
end
complete -c specbot -a '(__specbot_words)'
""",
}


def run(args: argparse.Namespace) -> int:
    """Print the script for the shell."""
    write_output(_SCRIPTS[args.shell], None)
    return 0


def answer(parser: Parser, given: list[str]) -> int:
    """Print the words that may follow those given."""
    write_output("".join(f"{word}\n" for word in next_words(parser, given)), None)
    return 0


def next_words(parser: Parser, given: list[str]) -> list[str]:
    """What may stand behind the words that are given: commands, choices of an option, or options
    that are not there yet."""
    chosen = parser.chosen(given)
    choices = chosen.choices_of(given[-1]) if given else []
    if choices:
        return choices
    options = [name for name in chosen.option_names() if name not in given]
    return [*chosen.subcommands(), *options]
