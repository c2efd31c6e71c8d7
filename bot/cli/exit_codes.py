"""The edge of the process: every error ends here, as one sentence or as a report to send."""

from __future__ import annotations

import platform
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence

import bot
from bot.errors import UserError
from bot.files import give_up_standard_output
from bot.i18n.catalog import Catalog
from bot.redact import redact
from checks.core.finding import Finding, Severity

# Their log is kept; the temporary files of a container go with it.
_SERVICES = ("serve", "worker")
# What a report about our own mistake says the versions of.
_PACKAGES = ("jinja2", "tree-sitter", "tree-sitter-cuda", "tree-sitter-python", "bitwuzla")


def run_with_exit_code(run: Callable[[], int], arguments: Sequence[str], language: str) -> int:
    """`run`'s exit code; 2 with one sentence for a `UserError`, 130 for ^C, 3 with a report file
    for the rest."""
    words = Catalog(language)
    if sys.__stdout__ is None:
        _say(words("errors.error") + words("errors.closed-output"))
        return 2
    try:
        code = run()
        # Here, so that a reader who is gone is noticed while the error can be handled.
        sys.stdout.flush()
        return code
    except UserError as error:
        _say(words("errors.error") + words(f"errors.{error.key}", **error.args_))
        return 2
    except KeyboardInterrupt:
        _say(words("errors.interrupted"))
        return 130
    except BrokenPipeError:
        # Nobody reads any more (`specbot ... | head`).
        give_up_standard_output()
        return 0
    except Exception as error:  # the one broad handler of the process
        _report(error, arguments, words)
        return 3


def severity_exit_code(findings: Iterable[Finding], fail_on: str) -> int:
    """1 where a finding is at least as severe as `fail_on` says, else 0."""
    if fail_on == "never":
        return 0
    most_severe_first = list(Severity)
    limit = most_severe_first.index(Severity(fail_on))
    for finding in findings:
        if most_severe_first.index(finding.severity) <= limit:
            return 1
    return 0


def _say(sentence: str) -> None:
    sys.stderr.write(f"specbot: {sentence}\n")


def _report(error: Exception, arguments: Sequence[str], words: Catalog) -> None:
    text = redact(_describe(error, arguments))
    if arguments[:1] and arguments[0] in _SERVICES:
        _say(words("errors.bug-of-service"))
        sys.stderr.write(text)
        return
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            prefix="specbot-error-",
            suffix=".txt",
            delete=False,
            encoding="utf-8",
            errors="backslashreplace",
        ) as file:
            file.write(text)
    except OSError:
        _say(words("errors.bug-no-file"))
        sys.stderr.write(text)
    else:
        _say(words("errors.bug", path=file.name))


def _describe(error: Exception, arguments: Sequence[str]) -> str:
    # Here, because it takes as long to load as a small command, and errors of ours are rare.
    from importlib import metadata

    versions = [
        f"specbot {bot.__version__}",
        f"python {platform.python_version()}",
        platform.platform(),
    ]
    for name in _PACKAGES:
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"{name} -")
    lines = [*versions, "", "specbot " + " ".join(repr(a) for a in arguments), ""]
    return "\n".join(lines) + "".join(traceback.format_exception(error))
