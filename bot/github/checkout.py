"""The bot's own clone of a repository: the commits of a pull request, and of their files those that
are needed."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.errors import UserError
from bot.files import folder_size
from bot.git import Git, Range, history_prefetch
from bot.git.command import git_environment
from bot.github.client import GitHubError
from bot.redact import redact

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# Seconds.
_TIMEOUT = 600
# Seconds. Six thousand commits take half a second, once.
_INDEXING = 60
# Seconds. A review or a run that began with a clone has ended by then.
_IN_USE = 24 * 3600.0
_MIB = 1 << 20
# The largest file that a fetch may write, in blocks of 512 bytes. Without the signal git says that
# the file is too large; with it, it would only be gone.
_LIMITED = 'trap \'\' XFSZ; ulimit -f "$1"; shift; exec git "$@"'
_TOO_LARGE = "File too large"
_LOCAL_SETTINGS = (
    "-c",
    "credential.helper=",
    "-c",
    "protocol.allow=never",
    "-c",
    "core.hooksPath=" + os.devnull,
)
# That the clone is partial is told to a git that fetches, and stands in no configuration: there git
# would look through all of it, for half a second, each time that it lacks a file.
_NETWORK_SETTINGS = (
    "-c",
    "protocol.https.allow=always",
    "-c",
    "protocol.http.allow=always",
    "-c",
    "remote.origin.promisor=true",
    "-c",
    "remote.origin.partialclonefilter=blob:none",
    # All of a fetch is in one file, whose size is limited.
    "-c",
    "fetch.unpackLimit=1",
)


class Checkouts:
    """Bare partial clones under `directory`, one a repository, kept from pull request to pull
    request."""

    def __init__(self, directory: Path, server: str, largest_mib: int = 2048) -> None:
        """No fetch may bring more than `largest_mib`."""
        self.directory = directory
        self._server = server.rstrip("/")
        self._largest_mib = largest_mib

    def _clone(self, repository: str) -> Path:
        return self.directory / hashlib.sha256(repository.encode()).hexdigest()[:32]

    def remove(self, repository: str) -> None:
        """Delete the clone of a repository, when nobody changes it."""
        clone = self._clone(repository)
        if clone.exists():
            with _locked(clone):
                shutil.rmtree(clone)

    def remove_unused(self, age: float, size: int) -> int:
        """Delete the clones, with all their refs, that were not used for `age` seconds, and of the
        rest those that were unused for longest, until they take no more than `size` bytes.

        Gives how many went. What was used within a day stays.
        """
        now, kept, removed = time.time(), 0, 0
        for used, clone in sorted(_last_uses(self.directory), reverse=True):
            kept += folder_size(clone)
            too_much = now - used > age or kept > size
            if too_much and now - used > _IN_USE:
                kept -= folder_size(clone)
                with _locked(clone):
                    shutil.rmtree(clone)
                removed += 1
        return removed

    def fetch(
        self, repository: str, token: str, target: str, head: str, *, with_past: bool = False
    ) -> tuple[Path, Range]:
        """Have the commit `head` and what the branch `target` is now; the base is where `head` left
        the branch.

        Of its files there is what base and head hold and, `with_past`, what else says who wrote the
        lines that go. A public repository needs no `token`: an empty one. Raises `GitHubError`
        where git fails, and `UserError` where it is more than may be brought.
        """
        if not _SHA.fullmatch(head):
            raise ValueError(head)
        clone = self._clone(repository)
        with _locked(clone):
            if not (clone / "HEAD").exists():
                _run(clone, None, "init", "-q", "--bare", ".")
            remote = f"{self._server}/{repository}.git"
            _run(clone, None, "config", "remote.origin.url", remote)
            branch = f"+refs/heads/{target}:refs/remotes/origin/{target}"
            options = ("-q", "--no-tags", "--filter=blob:none")
            largest = self._largest_mib
            _run(clone, token, "fetch", *options, "origin", branch, head, largest_mib=largest)
            _run(clone, None, "update-ref", f"refs/specbot/{head}", head)
            base = _merge_base(clone, f"refs/remotes/origin/{target}", head)
            _fetch_missing_blobs(clone, token, largest, "--no-walk", base, head)
        compared = Range(base, head)
        if with_past:
            paths = history_prefetch.files_with_history(Git(clone), compared)
            if paths:
                # Without the lock, so that no review waits for it: it brings no branch, and git has
                # nothing to lock.
                _fetch_missing_blobs(clone, token, largest, base, "--", *paths)
        return clone, compared

    def index(self, clone: Path) -> None:
        """Note for git which commits touched what, as far as that is new.

        Git looks into the past in half of the time then. It is done when nobody waits; a review
        that begins meanwhile does not wait either. Raises `GitHubError` where git fails.
        """
        graphs = clone / "objects" / "info" / "commit-graphs"
        options = ("--reachable", "--changed-paths", "--split")
        with _locked(clone, "specbot-index.lock"):
            # A lock that is left is of a git that was killed.
            (graphs / "commit-graph-chain.lock").unlink(missing_ok=True)
            _run(clone, None, "commit-graph", "write", *options, timeout=_INDEXING)


def _merge_base(clone: Path, target: str, head: str) -> str:
    return _run(clone, None, "merge-base", target, head).decode("ascii").strip()


def _fetch_missing_blobs(clone: Path, token: str, largest_mib: int, *commits: str) -> None:
    """Fetch the files of `commits`, as `git rev-list` takes them, that are not here, all at once.

    Reading them later needs no network.
    """
    options = ("--objects", "--no-object-names", "--missing=print")
    listed = Git(clone).run("--literal-pathspecs", "rev-list", *options, *commits)
    # Git marks what is missing with a `?`.
    missing = {line[1:] for line in listed.decode("ascii").split("\n") if line.startswith("?")}
    if not missing:
        return
    names = "".join(f"{oid}\n" for oid in sorted(missing)).encode("ascii")
    _run(
        clone,
        token,
        "-c",
        "fetch.negotiationAlgorithm=noop",
        "fetch",
        "-q",
        "--no-tags",
        "--no-write-fetch-head",
        "--recurse-submodules=no",
        "--filter=blob:none",
        "--stdin",
        "origin",
        data=names,
        largest_mib=largest_mib,
    )


def _run(
    clone: Path,
    token: str | None,
    *args: str,
    data: bytes = b"",
    timeout: int = _TIMEOUT,
    largest_mib: int = 0,
) -> bytes:
    """What git prints in `clone`, with the network only where a token, or an empty one, is given.

    Raises `GitHubError` where git fails or takes longer than `timeout` seconds, and `UserError`
    where it writes a file of more than `largest_mib`, if that is given.
    """
    settings, env = list(_LOCAL_SETTINGS), git_environment()
    if token is not None:
        settings += _NETWORK_SETTINGS
        if token:
            env |= _credentials(token)
    git = ["git"]
    if largest_mib:
        git = ["sh", "-c", _LIMITED, "sh", str(largest_mib * _MIB // 512)]
    try:
        result = subprocess.run(
            [*git, *settings, *args],
            cwd=clone,
            env=env,
            input=data,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise GitHubError(0, f"git {args[0]} took too long") from None
    if result.returncode:
        detail = result.stderr.decode("utf-8", "replace").strip()[-500:]
        if largest_mib and _TOO_LARGE in detail:
            _remove_halves(clone, largest_mib * _MIB)
            raise UserError("fetch-too-large", mib=largest_mib)
        raise GitHubError(0, "git: " + redact(detail))
    return result.stdout


def _remove_halves(clone: Path, size: int) -> None:
    """Delete what fetches left that were ended at that size; git itself keeps it for weeks."""
    for half in (clone / "objects" / "pack").glob("tmp_pack_*"):
        if half.stat().st_size >= size:
            half.unlink()


def _last_uses(directory: Path) -> Iterator[tuple[float, Path]]:
    """The clones with the times of their last use."""
    for lock in directory.glob("*/specbot.lock"):
        yield lock.stat().st_mtime, lock.parent


def _credentials(token: str) -> dict[str, str]:
    """The token for git, by the environment: anybody on the machine can read the arguments of a
    process."""
    basic = base64.b64encode(f"x-access-token:{token}".encode()).decode("ascii")
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "http.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
    }


@contextmanager
def _locked(clone: Path, name: str = "specbot.lock") -> Iterator[None]:
    """Only one process at a time changes a clone; git's own locks would make the second one fail
    instead of wait."""
    while True:
        clone.mkdir(parents=True, exist_ok=True)
        with open(clone / name, "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Whom this one waited for may have deleted the clone, and the file with it.
            if os.fstat(file.fileno()).st_nlink:
                os.utime(file.fileno())
                yield
                return
