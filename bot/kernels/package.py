"""A `kernels` package as bytes: the one installed with this program, or a revision's.

Written out anew for every process, so that code under test never meets a file that earlier code
under test could have touched.
"""

from __future__ import annotations

from pathlib import Path

import bot
from bot.errors import UserError
from bot.git import BlobStore, Git
from bot.git.tree import open_trees
from checks.kernelrun.trusted_files import PACKAGE, ops

Package = dict[str, bytes]
_FORBIDDEN = {"", ".", "..", ".git"}


def installed() -> Package:
    """The package beside `bot`: this checkout's, or the wheel's."""
    root = Path(bot.__file__).resolve().parent.parent
    found = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        if not path.is_symlink():
            found[path.relative_to(root).as_posix()] = path.read_bytes()
    return _usable(found, str(root))


def revisions(git: Git, base: str, head: str) -> tuple[Package, Package]:
    """The packages of two commits, read as git objects: no checkout, so no hook, filter or
    attribute of a hostile tree has a say. Links and submodules are left out.
    """
    packages = []
    with BlobStore(git) as blobs:
        for tree in open_trees(git, blobs, base, head):
            package = {}
            for path in tree.paths():
                is_module = path.startswith(f"{PACKAGE}/") and path.endswith(".py")
                if is_module and _harmless(path):
                    package[path] = tree.read(path) or b""
            packages.append(package)
    base_package, head_package = packages
    return _usable(base_package, base), head_package


def _harmless(path: str) -> bool:
    """Whether a tree's name stays within the folder that it is written to.

    Git itself makes no other one.
    """
    return "\\" not in path and not any(part.lower() in _FORBIDDEN for part in path.split("/"))


def runnable(package: Package) -> bool:
    """Whether it has cases, and a harness to run them."""
    return bool(ops(package)) and f"{PACKAGE}/run/__main__.py" in package


def _usable(package: Package, where: str) -> Package:
    if not runnable(package):
        raise UserError("kernels-no-harness", where=where)
    return package


def write(package: Package, folder: Path) -> None:
    """The package's files under `folder`.

    Raises `UserError` for names that no file system takes.
    """
    for name, data in package.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError as error:
            raise UserError("unwritable", path=name, reason=error.strerror) from error
