"""The files of a revision on the disk: those that a change leaves as they are, stand there once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot.device.workspace import write_tree
from checks.core.tree import MemoryTree

HEAD = MemoryTree({"a/kept.cu": "same", "a/changed.py": "after", "notes.md": "no source"})
BASE = MemoryTree({"a/kept.cu": "same", "a/changed.py": "before", "gone.h": "before"})


def test_what_a_change_leaves_is_one_file_of_two_names(tmp_path: Path) -> None:
    head, base = tmp_path / "head", tmp_path / "base"
    write_tree(BASE, base, write_tree(HEAD, head))
    assert (base / "a/kept.cu").samefile(head / "a/kept.cu")
    assert (base / "a/changed.py").read_text() == "before"
    assert (base / "gone.h").read_text() == "before"
    assert (head / "a/changed.py").read_text() == "after"
    assert not (head / "notes.md").exists()


def test_a_file_system_without_links_gets_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    head, base = tmp_path / "head", tmp_path / "base"
    write_tree(BASE, base, write_tree(HEAD, head))
    assert (base / "a/kept.cu").read_text() == "same"
    assert not (base / "a/kept.cu").samefile(head / "a/kept.cu")


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    hostile = {"../out.py": "x", "a/../../out.py": "x", "a\\b.py": "x", ".git/hooks.py": "x"}
    tree = MemoryTree({**hostile, "own.py": "y"})
    base = tmp_path / "base"
    write_tree(tree, base, write_tree(tree, tmp_path / "head"))
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.py")}
    assert written == {"head/own.py", "base/own.py"}
