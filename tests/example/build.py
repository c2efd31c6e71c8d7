"""Builds the bundled example: a real git repository with the branches `base` and `head`.

    python -m tests.example.build DIR [--variant first-push]

The tree in `base/` is an engine of our own, `lantern`. A variant is a pull request against it:
patches, a title and a body. Author and dates are fixed, so the commit ids are the same everywhere.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
VARIANTS = tuple(sorted(path.parent.name for path in HERE.glob("variants/*/pr.toml")))
DEFAULT = "first-push"

_GIT = ("git", "-c", "core.autocrlf=false", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=")
_WHO = {"NAME": "Lantern Author", "EMAIL": "author@lantern.example"}


@dataclass(frozen=True)
class Example:
    """A built pull request: `base` and `head` are commit ids in `repo`."""

    repo: Path
    base: str
    head: str
    title: str
    body: str
    target_branch: str


def build(repo: Path, variant: str = DEFAULT) -> Example:
    """Make the repository of `variant` in `repo`; an earlier build there is replaced."""
    folder = HERE / "variants" / variant
    pull_request = tomllib.loads((folder / "pr.toml").read_text("utf-8"))
    _empty(repo)
    _git(repo, "init", "--quiet", "--object-format=sha1", "--initial-branch=main")
    base = _commit(repo, pull_request["base"], "Lantern 1.4", "2026-05-01T00:00:00Z")
    _git(repo, "branch", "base")
    _git(repo, "checkout", "--quiet", "-b", "head")
    title = (folder / "title.txt").read_text("utf-8").strip()
    head = _commit(repo, pull_request["head"], title, "2026-05-02T00:00:00Z")
    return Example(
        repo,
        base,
        head,
        title,
        (folder / "body.md").read_text("utf-8"),
        pull_request["target_branch"],
    )


def _empty(repo: Path) -> None:
    if repo.exists() and any(repo.iterdir()):
        if not (repo / ".git").is_dir() or not (repo / "lantern").is_dir():
            raise SystemExit(f"{repo} is not empty and not an earlier build of the example")
        shutil.rmtree(repo)
    repo.mkdir(parents=True, exist_ok=True)


def _commit(repo: Path, patches: list[str], message: str, date: str) -> str:
    """Commit the tree of `base/` with `patches` applied, and nothing else."""
    for path in repo.iterdir():
        if path.name == ".git":
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc", ".pytest_cache")
    shutil.copytree(
        HERE / "base", repo, dirs_exist_ok=True, ignore=ignore, copy_function=shutil.copyfile
    )
    for name in patches:
        _git(repo, "apply", "--whitespace=nowarn", str(HERE / "variants" / name))
    _git(repo, "add", "--all", "--force")
    _git(repo, "commit", "--quiet", "--allow-empty", "--message", message, date=date)
    return _git(repo, "rev-parse", "HEAD").strip()


def _git(repo: Path, *args: str, date: str = "") -> str:
    # No setting of the person's own may change an id, and no GIT_DIR of a hook the repository.
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{role}_{key}": value for key, value in _WHO.items()}
        env |= {f"GIT_{role}_DATE": date} if date else {}
    done = subprocess.run(
        [*_GIT, *args], cwd=repo, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"git {args[0]}: {done.stderr.strip()}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.example.build", description=__doc__)
    parser.add_argument("dir", type=Path, help="where the repository goes")
    parser.add_argument("--variant", choices=VARIANTS, default=DEFAULT)
    args = parser.parse_args()
    example = build(args.dir, args.variant)
    print(f"{args.variant} in {args.dir}: base {example.base[:12]}, head {example.head[:12]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
