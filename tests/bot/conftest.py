"""Real git repositories in `tmp_path`, and the command run on them as a person would."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import bot.configuration
import bot.i18n.catalog
import bot.pipeline
import checks.registry
import checks.review
from bot.cli.main import main
from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Counterexample,
    CounterexampleRow,
    Definition,
    DerivationStep,
    Edit,
    Finding,
    Fix,
    KernelRun,
    Location,
    Message,
    PastFailure,
    PredictedFailure,
    Related,
    Severity,
    Sibling,
)

_WHO = (
    "-c",
    "user.name=Someone",
    "-c",
    "user.email=someone@example.org",
    "-c",
    "commit.gpgsign=false",
)


class Repo:
    """A git repository; `commit` writes files (None deletes one) and gives the commit's id."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *args: str, data: bytes | None = None) -> str:
        env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *_WHO, *args],
            cwd=self.path,
            env=env,
            input=data,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def commit(self, files: dict[str, str | bytes | None], message: str = "change") -> str:
        for name, content in files.items():
            path = self.path / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Specbot = Callable[..., Result]


@pytest.fixture(scope="session")
def repo_at() -> type[Repo]:
    """Makes a repository in a given folder."""
    return Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


@pytest.fixture
def specbot(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Specbot:
    """Runs the command; English unless an argument says otherwise."""
    for name in ("LC_ALL", "LC_MESSAGES", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "en_US.UTF-8")

    def run(*args: object) -> Result:
        capfdbinary.readouterr()
        try:
            code = main([str(a) for a in args])
        except SystemExit as stop:  # argparse's --help and --version
            code = int(stop.code or 0)
        done = capfdbinary.readouterr()
        return Result(code, done.out.decode(), done.err.decode())

    return run


class Marker:
    """A rule for tests: every head line of a source or test file that holds `UNMASKED` is a bug
    with every kind of evidence and a fix, `QUERY` a question, `ANSWER` an answered one, and `NOTE`
    in a title a convention."""

    ID = "marker.line"
    SUMMARY = "a marked line"

    def run(self, change: ChangeSet, config: Config) -> Iterator[Finding]:
        for file in change.files:
            data = (
                change.head.read(file.head_path) if file.head_path and file.mode == "file" else None
            )
            for number, line in enumerate((data or b"").decode("utf-8", "replace").split("\n"), 1):
                if "UNMASKED" in line:
                    yield self._bug(file.path, number, line)
                if "QUERY" in line:
                    yield _finding(Severity.QUESTION, file.path, number, line)
                if "ANSWER" in line:
                    yield replace(
                        _finding(Severity.QUESTION, file.path, number, line), answered=True
                    )
        if "NOTE" in change.pull.title:
            args = {"title": "[Tag] better", "body": f"## Motivation\n{change.pull.body}\n"}
            yield Finding(
                self.ID,
                Severity.CONVENTION,
                Confidence.HIGH,
                Location("", 0),
                Message("title", args),
            )

    def _bug(self, path: str, number: int, line: str) -> Finding:
        place = Location(path, number)
        rows = (CounterexampleRow("flag", 256, 0), CounterexampleRow("count", 20, 21))
        evidence = (
            Counterexample(rows, packed=0x1500, expression=line.strip()),
            PredictedFailure(
                "tests/a.py::test", place, "x >> 8", "0", "IndexError: list", place, ("x = 4",)
            ),
            Sibling(place, "save", "xpu", Message("sibling", {"code": line}), "other = 1"),
            Definition("K", place, "20", line),
            KernelRun("ngram", "ms", 1.0, 2.5, 0.1),
            PastFailure("main", line),
            DerivationStep(place, line, Message("step")),
        )
        fixed = line.replace("UNMASKED", "MASKED")
        return Finding(
            self.ID,
            Severity.BUG,
            Confidence.HIGH,
            place,
            Message("marked", {"code": line, "prose": line}),
            symbol="f",
            subject=f"{number}{line}",
            evidence=evidence,
            fix=Fix((Edit(path, number, number, (fixed,)),)),
            related=(Related(place, Message("sibling", {"code": line})),),
        )


def _finding(severity: Severity, path: str, number: int, line: str) -> Finding:
    message = Message("marked", {"code": line, "prose": line})
    return Finding(
        "marker.line",
        severity,
        Confidence.LOW,
        Location(path, number),
        message,
        subject=f"{number}{line}",
    )


_WORDS = {
    "summary": {"zh": "有标记的行", "en": "a marked line"},
    "message.marked": {
        "zh": "标记 {{ code | code }}：{{ prose }}",
        "en": "Marked {{ code | code }}: {{ prose }}",
    },
    "message.sibling": {"zh": "同样 {{ code | code }}", "en": "The same {{ code | code }}"},
    "message.step": {"zh": "于是", "en": "so it is"},
    "message.title": {"zh": "标题不合约定", "en": "The title breaks a convention"},
    "detail.marked": {"zh": "原因。\n\n- 一\n- 二", "en": "Because.\n\n- one\n- two"},
    "advice.marked": {"zh": "请修改。", "en": "Change it."},
}


# Every module that a review reads the list of rules from. They are imported here: one that was
# first imported while a test has other rules in the registry would keep those.
_USERS_OF_RULES = (checks.registry, checks.review, bot.configuration, bot.pipeline)


@pytest.fixture
def only_rule(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    """Makes reviews use one rule alone."""

    def use(rule: object) -> None:
        for module in _USERS_OF_RULES:
            monkeypatch.setattr(module, "RULES", (rule,))

    return use


@pytest.fixture
def marker(monkeypatch: pytest.MonkeyPatch, only_rule: Callable[[object], None]) -> None:
    """Reviews use the `Marker` rule alone."""
    only_rule(Marker())
    known = bot.i18n.catalog._rule_sentence

    def rule_sentence(rule: str, name: str) -> object:
        return _WORDS.get(name) if rule == Marker.ID else known(rule, name)

    monkeypatch.setattr("bot.i18n.catalog._rule_sentence", rule_sentence)
