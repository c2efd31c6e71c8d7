"""What is not committed yet, as a commit that only this process sees.

Its objects go to a folder of their own, beside which git reads the repository's: nothing is written
into the repository, and its index stays as it is.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bot.errors import UserError
from bot.git.command import Git

# The same change gives the same commit, and so the same report.
_IDENTITY = {
    "GIT_AUTHOR_NAME": "specbot",
    "GIT_AUTHOR_EMAIL": "specbot@localhost",
    "GIT_AUTHOR_DATE": "@0 +0000",
    "GIT_COMMITTER_NAME": "specbot",
    "GIT_COMMITTER_EMAIL": "specbot@localhost",
    "GIT_COMMITTER_DATE": "@0 +0000",
}


@contextmanager
def uncommitted(git: Git, *, staged: bool) -> Iterator[tuple[Git, str]]:
    """The repository with one more commit on top of `HEAD`, and that commit's id, while this is
    open: what is `staged`, or the whole work tree without what git ignores.

    Raises `UserError` for a repository without a work tree or with an unfinished merge.
    """
    root = _work_tree(git)
    with tempfile.TemporaryDirectory(prefix="specbot-index-") as name:
        folder = Path(name)
        objects = folder / "objects"
        objects.mkdir()
        own_index = folder / "index"
        with suppress(FileNotFoundError):
            shutil.copyfile(_index(git, root), own_index)
        with_objects = git.with_objects(objects)
        writing = with_objects.with_environment(
            _IDENTITY | {"GIT_INDEX_FILE": str(own_index), "GIT_WORK_TREE": str(root)}
        )
        if not staged:
            writing.run("-C", str(root), "add", "--all", "--", ".")
        if writing.run("ls-files", "--unmerged"):
            raise UserError("unmerged")
        tree = writing.run("write-tree").decode("ascii").strip()
        message = "staged" if staged else "work tree"
        commit = writing.run("commit-tree", tree, "-p", "HEAD", "-m", message)
        yield with_objects, commit.decode("ascii").strip()


def has_uncommitted_changes(git: Git) -> bool:
    """Whether the work tree differs from `HEAD`; False where there is none, or no commit."""
    root = git.work_tree()
    if root is None:
        return False
    reading = git.with_environment(
        {"GIT_INDEX_FILE": str(git.git_dir / "index"), "GIT_WORK_TREE": str(root)}
    )
    changes = reading.attempt("-C", str(root), "status", "--porcelain", "--ignore-submodules=all")
    return bool(changes)


def _index(git: Git, root: Path) -> Path:
    """The index in use: in a hook of `git commit -a` or `git commit FILE` it is another file."""
    named = os.environ.get("GIT_INDEX_FILE")
    return git.git_dir / "index" if named is None else root / named


def _work_tree(git: Git) -> Path:
    root = git.work_tree()
    if root is None:
        raise UserError("no-work-tree", path=str(git.directory))
    return root
