"""The `git` executable, run so that nobody's configuration changes the answer."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import IO

from bot.errors import UserError

File = int | IO[bytes]
Process = subprocess.Popen[bytes]
PIPE = subprocess.PIPE

# `protocol.allow` keeps a partial clone from fetching file by file over the network.
_SETTINGS = (
    "core.quotePath=false",
    "core.attributesFile=" + os.devnull,
    "core.fsmonitor=false",
    "protocol.allow=never",
    "safe.directory=*",
)
_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT", "LD_LIBRARY_PATH")
# What git says where HEAD names a branch that has no commit.
_UNBORN = re.compile(r"(?:bad revision|Not a valid object name|ambiguous argument) '?HEAD\b")


def git_environment() -> dict[str, str]:
    """The environment of every git process: no GIT_* variable, no user or system configuration, no
    prompts."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return kept | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


class GitJob:
    """A git at work. It writes to a file, so that it does not wait for somebody to empty a full
    pipe."""

    def __init__(self, git: Git, *args: str) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - `output` or `close` closes it
        self._process = git.start(*args, stdin=subprocess.DEVNULL, stdout=self._file)

    def output(self) -> bytes:
        """What it printed, once it is done; the failures as for `Git.run`."""
        with self._file as file:
            Git.finish(self._process)
            file.seek(0)
            return file.read()

    def text(self) -> str:
        """What it printed, once it is done; empty where it exited with an error."""
        try:
            return self.output().decode("utf-8", "replace")
        except UserError:
            return ""

    def close(self) -> None:
        """End it, whether or not it is done."""
        with self._process:
            self._process.kill()
        self._file.close()


class Git:
    """One repository. Every method raises `UserError` where git is missing or the repository is not
    usable."""

    def __init__(self, directory: Path) -> None:
        if not directory.is_dir():
            raise UserError("no-directory", path=str(directory))
        self.directory = directory
        self._git_dir = self._find(directory)
        self._extra: dict[str, str] = {}

    @property
    def git_dir(self) -> Path:
        """The repository's own folder."""
        return Path(self._git_dir)

    def work_tree(self) -> Path | None:
        """The top of the files that are checked out, None for a bare repository."""
        command = [*_base(), "-C", str(self.directory), "rev-parse", "--show-toplevel"]
        result = subprocess.run(command, capture_output=True, env=git_environment(), check=False)
        if result.returncode:
            return None
        return Path(os.fsdecode(result.stdout.rstrip(b"\n")))

    def with_environment(self, variables: Mapping[str, str]) -> Git:
        """The same repository with more variables in git's environment."""
        other = copy(self)
        other._extra = {**self._extra, **variables}
        return other

    def with_objects(self, folder: Path) -> Git:
        """The same repository, where new objects go to `folder` and are found there."""
        own = os.fsdecode(self.run("rev-parse", "--git-path", "objects").strip())
        return self.with_environment(
            {
                "GIT_OBJECT_DIRECTORY": str(folder),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.git_dir / own),
            }
        )

    def _find(self, directory: Path) -> str:
        command = [*_base(), "-C", str(directory), "rev-parse", "--absolute-git-dir"]
        try:
            result = subprocess.run(
                command, capture_output=True, env=git_environment(), check=False
            )
        except FileNotFoundError as error:
            raise UserError("git-missing") from error
        if result.returncode:
            raise UserError("not-a-repository", path=str(directory))
        return os.fsdecode(result.stdout.rstrip(b"\n"))

    def start(self, *args: str, stdin: File = PIPE, stdout: File = PIPE) -> Process:
        """A running git, with pipes at its ends where no file is given."""
        try:
            return subprocess.Popen(
                [*_base(), *args],
                stdin=stdin,
                stdout=stdout,
                stderr=PIPE,
                cwd=self._git_dir,
                env=self._environment(),
            )
        except FileNotFoundError as error:
            raise UserError("git-missing") from error

    def run(self, *args: str, data: bytes = b"") -> bytes:
        """What git printed; raises `UserError` with git's own words where it failed."""
        return self.finish(self.start(*args), data)

    def attempt(self, *args: str) -> bytes | None:
        """What git printed, or None where it exited with an error."""
        process = self.start(*args)
        out, _ = process.communicate()
        return out if process.returncode == 0 else None

    @staticmethod
    def finish(process: Process, data: bytes | None = None) -> bytes:
        """Feed `data`, wait, and give the output (None where it goes to a file); the failures as
        for `run`."""
        out, err = process.communicate(data)
        if process.returncode:
            raise_git_error(err)
        return out

    def _environment(self) -> dict[str, str]:
        """The git directory stands in for the work tree and the index.

        Both may hold another revision than the ones asked for, and their .gitattributes would say
        which files are binary.
        """
        own = {
            "GIT_DIR": self._git_dir,
            "GIT_WORK_TREE": self._git_dir,
            "GIT_INDEX_FILE": os.path.join(self._git_dir, "specbot-reads-no-index"),
        }
        return git_environment() | own | self._extra


def raise_git_error(stderr: bytes) -> None:
    """Raise the `UserError` that git's error text amounts to."""
    text = stderr.decode("utf-8", "replace").strip()
    if "promisor" in text or "lazy" in text:
        raise UserError("partial-clone")
    if _UNBORN.search(text):
        raise UserError("no-commits")
    raise UserError("git-failed", detail=text.splitlines()[-1] if text else "")


def _base() -> list[str]:
    command = ["git", "--no-pager"]
    for setting in _SETTINGS:
        command += ["-c", setting]
    return command
