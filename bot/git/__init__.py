"""Change sets from a local repository, through the `git` executable alone."""

from __future__ import annotations

from bot.git.blobs import BlobStore
from bot.git.command import Git
from bot.git.diff import read_diff, start_diff
from bot.git.revisions import Range, object_id, resolve
from bot.git.tree import GitTree, list_trees, open_trees, read_trees
from checks.core.change import ChangeSet, PullRequest
from checks.lang.source import language

__all__ = [
    "BlobStore",
    "Git",
    "GitTree",
    "Range",
    "change_set",
    "head_tree",
    "object_id",
    "resolve",
]


def change_set(git: Git, blobs: BlobStore, compared: Range, pull: PullRequest) -> ChangeSet:
    """The change from `compared.base` to `compared.head`; the trees read through `blobs` while it
    is open."""
    # All four gits begin before anything waits for one of them.
    listings = list_trees(git, compared.base, compared.head)
    listing, patch = start_diff(git, compared.base, compared.head)
    base, head = read_trees(blobs, listings)
    files = read_diff(listing, patch)
    if any(language(file.path) for file in files):
        # Rules will search the sources, so git begins to read them now.
        blobs.prefetch()
    return ChangeSet(base, head, files, pull, compared.base, compared.head)


def head_tree(git: Git, blobs: BlobStore) -> GitTree:
    """The tree of the current commit."""
    return open_trees(git, blobs, "HEAD", "HEAD")[1]
