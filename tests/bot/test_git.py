"""Change sets from real repositories, held against what git itself says."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.git import BlobStore, Git, change_set, resolve
from checks.core.change import Hunk, PullRequest
from checks.core.tree import MemoryTree, OverlayTree
from checks.lang.source import language


@pytest.fixture
def compare(repo):
    """Change set of two revisions; its trees stay readable until the test ends."""
    opened = []

    def run(base="HEAD~1", head="HEAD", *, merge_base=True):
        git = Git(repo.path)
        blobs = BlobStore(git)
        opened.append(blobs)
        return change_set(
            git, blobs, resolve(git, base, head, merge_base=merge_base), PullRequest()
        )

    yield run
    for blobs in opened:
        blobs.close()


def test_every_kind_of_change(repo, compare):
    body = "".join(f"line {n}\n" for n in range(20))
    repo.commit(
        {"gone.py": "x\n", "old.py": body, "same.py": "a\nb\nc\n", "run.sh": "x\n", "bin": b"\0\1"}
    )
    os.symlink("same.py", repo.path / "link")
    repo.commit({"turned": "text\n"})
    (repo.path / "old.py").rename(repo.path / "new.py")
    (repo.path / "run.sh").chmod(0o755)
    (repo.path / "turned").unlink()
    os.symlink("run.sh", repo.path / "turned")
    repo.commit(
        {"gone.py": None, "bin": b"\0\2", "same.py": "a\nB\nc\nd", "new.py": body + "more\n"}
    )
    files = {f.path: f for f in compare().files}
    assert {p: f.status for p, f in files.items()} == {
        "bin": "M",
        "gone.py": "D",
        "new.py": "R",
        "run.sh": "M",
        "same.py": "M",
        "turned": "T",
    }
    assert files["gone.py"].hunks == (Hunk(1, 1, 1, 0),)
    assert files["new.py"].base_path == "old.py" and files["new.py"].hunks == (Hunk(21, 0, 21, 1),)
    assert files["same.py"].hunks == (Hunk(2, 1, 2, 1), Hunk(4, 0, 4, 1))
    assert files["bin"].binary and files["bin"].hunks == ()
    assert files["run.sh"].hunks == () and not files["run.sh"].binary
    assert files["turned"].mode == "symlink" and files["turned"].hunks == ()


def test_a_link_that_becomes_a_file(repo, compare):
    repo.commit({"a.py": "x\n"})
    os.symlink("a.py", repo.path / "b.py")
    repo.commit({})
    (repo.path / "b.py").unlink()
    repo.commit({"b.py": "one\ntwo\n"})
    (change,) = compare().files
    assert (change.status, change.mode, change.hunks) == ("T", "file", (Hunk(1, 0, 1, 2),))
    assert compare().base.read("b.py") is None


def test_submodules_and_links_have_no_content(repo, compare):
    first = repo.commit({"a.py": "x\n"})
    os.symlink("a.py", repo.path / "link.py")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{first},sub")
    repo.git("add", "link.py")
    repo.git("commit", "-q", "-m", "both")
    change = compare()
    assert {(f.path, f.mode, f.hunks) for f in change.files} == {
        ("link.py", "symlink", ()),
        ("sub", "submodule", ()),
    }
    assert change.head.paths() == ("a.py",)
    assert change.head.read("link.py") is None and change.head.read("sub") is None


NAMES = [
    b"with space.py",
    b'quo"te.py',
    b"new\nline.py",
    b"tab\t.py",
    b"\xe4\xb8\xad.py",
    b"\xff\xfe.py",
    b"-r",
    b"a/diff --git b",
    b"--output=x.py",
    b":(glob)**.py",
    b":!x",
    b":/x",
    b"@",
    b"@{u}",
    b"HEAD",
    b"HEAD:x",
    b"a..b",
    b"...",
    b"~",
    b"$(touch x).py",
    b"`touch x`.py",
    b"a;touch x.py",
    b"a|b",
    b"a&b",
    b"*?[a-z].py",
    b"{a,b}.py",
    b"back\\slash.py",
    b"\\\\host\\share",
    b"c:.py",
    b"con",
    b"%00",
    b"%s%n%x.py",
    b"{0.__class__}.py",
    b"{{ 7 * 7 }}.py",
    b"'; DROP TABLE x; --",
    b"\r.py",
    b"\x1b[31m.py",
    b"\x01\x7f.py",
    b"\xe2\x80\xaetxt.py",
    b"\xe2\x80\x8b.py",
    b"\xc3\xa9.py",
    b"e\xcc\x81.py",
    b"\xed\xa0\x80.py",
    b"\xf0\x9f\x99\x82.py",
    b"\xef\xbb\xbfbom.py",
    b" ",
    b" lead.py",
    b"trail .py ",
    b"dev/null",
    b"a/b/dev/null",
    b"etc/passwd",
    b"a" * 255,
    b"/".join([b"d" * 100] * 20),
    b"/".join([b"d"] * 300),
]


@pytest.mark.hostile("names")
@pytest.mark.parametrize("name", NAMES)
def test_names(repo, compare, name):
    repo.commit({"x": "x\n"})
    path = os.fsdecode(name)
    repo.commit({path: "one\n"})
    change = compare()
    assert [f.path for f in change.files] == [path]
    assert change.head.read(path) == b"one\n"
    repo.commit({path: "one\ntwo\n"})
    assert compare().files[0].hunks == (Hunk(2, 0, 2, 1),)


def test_hunk_lines_that_look_like_headers(repo, compare):
    tricky = "-- a/x\n++ b/x\n@@ -1 +1 @@\ndiff --git a/x b/x\nBinary files a and b differ\n\\ No newline"
    repo.commit({"a.txt": "keep\n", "b.txt": "keep\n"})
    repo.commit({"a.txt": "keep\n" + tricky, "b.txt": "keep\nmore\n"})
    first, second = compare().files
    assert first.hunks == (Hunk(2, 0, 2, 6),) and not first.binary
    assert second.hunks == (Hunk(2, 0, 2, 1),)
    repo.commit({"a.txt": "keep\n"})
    assert compare().files[0].hunks == (Hunk(2, 6, 2, 0),)


@pytest.mark.parametrize(
    "settings",
    [
        {"diff.noprefix": "true"},
        {"diff.mnemonicPrefix": "true"},
        {"diff.external": "false"},
        {"color.ui": "always", "color.diff": "always"},
        {"diff.renames": "false"},
        {"diff.algorithm": "patience", "diff.context": "9", "diff.interHunkContext": "9"},
        {"core.quotePath": "true", "diff.orderFile": "order"},
        {"core.abbrev": "5", "diff.suppressBlankEmpty": "true", "diff.ignoreSubmodules": "all"},
    ],
)
@pytest.mark.hostile("repositories")
def test_configuration_changes_nothing(repo, compare, settings, monkeypatch, tmp_path):
    repo.commit({"a.py": "".join(f"{n}\n" for n in range(30)), "中.py": "x\n"})
    (repo.path / "order").write_text("z*\n")
    (repo.path / "a.py").rename(repo.path / "z.py")
    repo.commit({"z.py": "".join(f"{n}\n" for n in range(30) if n != 7), "中.py": "y\n"})
    plain = compare().files
    assert [f.status for f in plain] == ["A", "R", "M"]
    for key, value in settings.items():
        repo.git("config", key, value)
    (tmp_path / "global").write_text(
        "".join(
            f"[{k.rpartition('.')[0]}]\n{k.rpartition('.')[2]} = {v}\n" for k, v in settings.items()
        )
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "global"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_DIFF_OPTS", "--unified=9")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    assert compare().files == plain


def test_attributes_and_text_conversion_change_nothing(repo, compare):
    repo.commit({"a.py": "x\n", "b.bin.py": "x\n"})
    repo.commit(
        {
            ".gitattributes": "*.py diff=shout -text\n*.bin.py binary\n",
            "a.py": "y\n",
            "b.bin.py": "y\n",
        }
    )
    repo.git("config", "diff.shout.textconv", "false")
    repo.git("config", "diff.shout.command", "false")
    assert [f.hunks for f in compare().files if f.path.endswith(".py")] == [(Hunk(1, 1, 1, 1),)] * 2


def test_merge_base_or_not(repo, compare):
    repo.commit({"a.py": "1\n"})
    repo.git("switch", "-q", "-c", "work")
    repo.commit({"b.py": "1\n"})
    repo.git("switch", "-q", "main")
    repo.commit({"a.py": "2\n"})
    assert [f.path for f in compare("main", "work").files] == ["b.py"]
    assert [f.path for f in compare("main", "work", merge_base=False).files] == ["a.py", "b.py"]
    assert compare("work~1", "work").files == compare("main", "work").files


def test_default_branch(repo, compare, tmp_path):
    repo.commit({"a.py": "1\n"})
    repo.git("switch", "-q", "-c", "work")
    repo.commit({"b.py": "1\n"})
    assert [f.path for f in compare(None, None).files] == ["b.py"]
    git = Git(repo.path)
    assert resolve(git, None, None, merge_base=True).target == "main"
    repo.git("update-ref", "refs/remotes/origin/release", "work")
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/release")
    assert resolve(git, None, None, merge_base=True).target == "release"
    assert compare(None, None).files == ()


def test_root_commit_against_the_empty_tree(repo, compare):
    repo.commit({"a.py": "1\n"})
    empty = repo.git("hash-object", "-t", "tree", "-w", "--stdin", data=b"")
    change = compare(empty, "HEAD")
    assert [(f.status, f.hunks) for f in change.files] == [("A", (Hunk(1, 0, 1, 1),))]
    assert change.base.paths() == ()


def test_bare_repository_worktree_subfolder_and_detached_head(repo, tmp_path, specbot):
    repo.commit({"sub/a.py": "1\n"})
    repo.commit({"sub/a.py": "2\n"})
    subprocess.run(["git", "clone", "-q", "--bare", repo.path, tmp_path / "bare"], check=True)
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "tree"), "HEAD")
    for place in (repo.path, repo.path / "sub", tmp_path / "bare", tmp_path / "tree"):
        result = specbot("review", "-v", "--repo", place, "--base", "HEAD~1", "--head", "HEAD")
        assert (result.code, "`sub/a.py`" in result.out) == (0, True), (place, result)


def test_search(repo, compare):
    repo.commit(
        {
            "a.py": "word = 1\nsword = 2\n",
            "b.cu": "int word;\n",
            "c.md": "word\n",
            "d.py": "blob tree\n",
        }
    )
    repo.commit(
        {"a.py": "x\nword\nword word\n", "copy.cu": "int word;\n", "big.py": b"word\n" * 500_000}
    )
    change = compare()
    assert [(h.path, h.line) for h in change.head.find("word")] == [
        ("a.py", 2),
        ("a.py", 3),
        ("b.cu", 1),
        ("copy.cu", 1),
    ]
    assert [(h.path, h.line) for h in change.base.find("word")] == [("a.py", 1), ("b.cu", 1)]
    assert [h.path for h in change.head.find("blob")] == ["d.py"]
    assert change.head.find("nowhere") == () and change.head.find("") == ()
    assert change.head.read("c.md") == b"word\n" and change.head.read("none") is None
    assert len(change.head.read("big.py")) == 2_500_000


FILES = st.dictionaries(
    st.sampled_from(["a.py", "b.cu", "c.py", "same.h", "d.md"]), st.text("xy_ \n", max_size=12)
)


@settings(
    deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    FILES,
    st.dictionaries(st.sampled_from(["b.cu", "c.py", "e.py"]), st.text("xy_ \n", max_size=12)),
)
def test_every_kind_of_search_finds_what_is_in_the_files(repo_at, tmp_path_factory, base, added):
    """In git, in memory and under a patch, by language or not, whether lines, paths or a yes is
    asked for."""
    repo = repo_at(tmp_path_factory.mktemp("searched"))
    repo.commit({"always.py": "x\n", **base})
    repo.commit({"always.py": "y\n", **added})
    git = Git(repo.path)
    with BlobStore(git) as blobs:
        change = change_set(
            git, blobs, resolve(git, "HEAD~1", "HEAD", merge_base=True), PullRequest()
        )
        sources = {p: change.head.read(p) or b"" for p in change.head.paths() if language(p)}
        for word in ("x", "y", "xy", "x_", "_"):
            for kind in ("", "python", "cpp"):
                lines = [
                    (path, number)
                    for path, data in sources.items()
                    for number, line in enumerate(data.decode().split("\n"), 1)
                    if kind in ("", language(path)) and re.search(rf"\b{word}\b", line)
                ]
                paths = list(dict.fromkeys(path for path, _ in lines))
                for tree in (change.head, MemoryTree(sources), OverlayTree(change.base, sources)):
                    assert [
                        (h.path, h.line) for h in tree.find(word, kind) if h.path in sources
                    ] == lines
                    assert [p for p in tree.paths_containing(word, kind) if p in sources] == paths
                assert (
                    change.head.contains(word)
                    == bool(change.head.find(word))
                    == MemoryTree(sources).contains(word)
                )


def test_the_work_of_a_diff_grows_with_its_lines(repo, specbot):
    def lines(size):
        """How many lines of Python a review of `size` changed lines runs."""
        for name in "ab":
            repo.commit({"a.py": "".join(f"{name}{n} = {n}\n" for n in range(size))})
        count = 0

        def trace(frame, event, argument):
            nonlocal count
            count += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            done = specbot(
                "review",
                "--repo",
                repo.path,
                "--base",
                "HEAD~1",
                "--head",
                "HEAD",
                "--format",
                "github",
            )
        finally:
            sys.settrace(before)
        assert done.code == 0 and f"+{size} −{size}" in done.out
        return count

    # Ten times the size; quadratic growth would be a hundred times.
    assert lines(3_000) < 15 * lines(300)


def test_odd_sources_are_reviewed_or_named(repo, specbot):
    repo.commit({"ok.py": "x = 1\n"})
    repo.commit(
        {
            "binary.py": b"\0\0\0",
            "latin.py": b"name = 'caf\xe9'\n",
            "huge.cu": b"int x;\n" * 800_000,
            "broken.py": "def f(:\n",
            "empty.py": "",
            "crlf.py": "x = 1\r\ny = 2\r\n",
        }
    )
    result = specbot("review", "--repo", repo.path, "--base", "HEAD~1", "--head", "HEAD")
    assert result.code == 0
    section = result.out.split("Not analysed")[1]
    assert (
        "`binary.py`: not a text file" in section
        and "`huge.cu`: more than the work of one" in section
    )
    assert "`broken.py`" in section and "ok.py" not in section


def test_output_file(repo, specbot, tmp_path):
    repo.commit({"a.py": "1\n"})
    target = tmp_path / "out.md"
    target.write_text("old")
    target.chmod(0o640)
    link = tmp_path / "link.md"
    link.symlink_to(target)
    result = specbot(
        "review", "--repo", repo.path, "--base", "main", "--format", "markdown", "-o", link
    )
    assert (result.code, result.out) == (0, "")
    assert target.read_text().startswith("## Summary") and link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.md", "out.md", "repo"]


def test_a_file_that_becomes_a_submodule(repo, compare):
    first = repo.commit({"lib": "x\n", "a.py": "x\n"})
    (repo.path / "lib").unlink()
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{first},lib")
    repo.git("commit", "-q", "-m", "submodule")
    assert [(f.status, f.mode, f.hunks) for f in compare().files] == [("T", "submodule", ())]
    assert [
        (f.status, f.mode, f.hunks) for f in compare("HEAD", "HEAD~1", merge_base=False).files
    ] == [("T", "file", (Hunk(1, 0, 1, 1),))]


def test_sha256_repository(repo_at, tmp_path, specbot):
    subprocess.run(
        ["git", "init", "-q", "-b", "main", "--object-format=sha256", tmp_path / "r"], check=True
    )
    repo = repo_at(tmp_path / "r")
    repo.commit({"a.py": "1\n"})
    head = repo.commit({"a.py": "2\n"})
    result = specbot("review", "--repo", repo.path, "--base", "HEAD~1", "--format", "json")
    assert (result.code, len(head), head in result.out) == (0, 64, True)


def test_a_tag_and_an_annotated_tag_as_revisions(repo, compare):
    repo.commit({"a.py": "1\n"})
    repo.git("tag", "-a", "v1", "-m", "one")
    repo.commit({"a.py": "2\n"})
    assert [f.path for f in compare("v1", "main").files] == ["a.py"]
