"""Packages of kernels out of git: hostile trees give no file outside the folder, no link, and no
crash."""

from __future__ import annotations

import pytest

from bot.errors import UserError
from bot.git import Git
from bot.kernels import package

HARNESS = {"kernels/cases/a.py": "CASES = ()\n", "kernels/run/__main__.py": ""}


def tree(repo, *entries):
    """A tree of (mode, name, object id) entries, which git itself would refuse to make."""
    raw = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(oid) for mode, name, oid in entries)
    return repo.git("hash-object", "-t", "tree", "--literally", "-w", "--stdin", data=raw)


def blob(repo, text):
    return repo.git("hash-object", "-w", "--stdin", data=text.encode())


def commit_of(repo, kernels):
    root = tree(repo, ("40000", "kernels", kernels))
    return repo.git("commit-tree", root, "-m", "hostile")


def test_links_submodules_and_escapes_are_left_out(repo, tmp_path):
    base = repo.commit(HARNESS)
    code, target = blob(repo, "x = 1\n"), blob(repo, "/etc/passwd")
    inner = tree(repo, ("100644", "own.py", code))
    outside = tree(repo, ("100644", "out.py", code))
    kernels = tree(
        repo, ("40000", "..", outside), ("40000", ".git", outside), ("40000", "a", inner), ("160000", "b.py", base),
        ("120000", "c.py", target), ("100644", "d.py", code), ("100644", "e\\f.py", code), ("100644", "g.txt", code),
    )  # fmt: skip
    _, head = package.revisions(Git(repo.path), base, commit_of(repo, kernels))
    assert set(head) == {"kernels/a/own.py", "kernels/d.py"}
    package.write(head, tmp_path / "to")
    assert sorted(p.name for p in (tmp_path / "to").rglob("*")) == [
        "a",
        "d.py",
        "kernels",
        "own.py",
    ]


@pytest.mark.parametrize("name", ["x" * 300 + ".py", "twice.py"])
def test_names_that_no_file_system_takes(repo, tmp_path, name):
    base = repo.commit(HARNESS)
    code = blob(repo, "x = 1\n")
    entries = [("100644", name, code)]
    if name == "twice.py":
        entries.append(("40000", name, tree(repo, ("100644", "in.py", code))))
    _, head = package.revisions(Git(repo.path), base, commit_of(repo, tree(repo, *entries)))
    with pytest.raises(UserError):
        package.write(head, tmp_path)


def test_a_base_without_a_harness(repo):
    base = repo.commit({"kernels/a/__init__.py": ""})
    with pytest.raises(UserError):
        package.revisions(Git(repo.path), base, base)


def test_the_installed_package_can_run():
    files = package.installed()
    assert package.runnable(files)
    assert not any("__pycache__" in path for path in files)
