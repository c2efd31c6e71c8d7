"""Every mistake gets one clear sentence and exit code 2, and strange repositories are reviewed all
the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checks.registry import RULES


def refused(result, *parts: str) -> None:
    assert result.code == 2, result
    assert result.out == ""
    assert result.err.count("\n") == 1 and result.err.startswith("specbot: error: ")
    for part in parts:
        assert part in result.err, result.err


def test_unknown_revision_names_the_near_ones(repo, specbot):
    repo.commit({"a.py": "x = 1\n"})
    repo.git("branch", "release/2.6")
    refused(
        specbot("review", "--repo", repo.path, "--base", "relase/2.6"),
        "`relase/2.6`",
        "`release/2.6`",
    )
    refused(
        specbot("review", "--repo", repo.path, "--base", "main", "--head", "deadbeef"), "`deadbeef`"
    )


@pytest.mark.hostile("names")
@pytest.mark.parametrize(
    "name", ["--upload-pack=touch x", "-x", "a\nb", "", "HEAD^", "a:b", "@{u}", "*"]
)
def test_a_strange_revision_is_only_unknown(repo, specbot, name):
    repo.commit({"a.py": "x = 1\n"})
    refused(specbot("review", "--repo", repo.path, f"--base={name}"))


def test_shallow_clone(repo, specbot, tmp_path):
    for n in range(3):
        repo.commit({"a.py": f"x = {n}\n"})
    clone = tmp_path / "clone"
    subprocess.run(
        ["git", "clone", "-q", "--depth=1", f"file://{repo.path}", clone],
        check=True,
        capture_output=True,
    )
    refused(specbot("review", "--repo", clone, "--base", "HEAD~1"), "shallow", "--unshallow")


def test_shallow_clone_without_the_merge_base(repo, specbot, tmp_path):
    repo.commit({"a.py": "x = 0\n"})
    repo.git("switch", "-q", "-c", "work")
    repo.commit({"b.py": "y = 0\n"})
    repo.git("switch", "-q", "main")
    repo.commit({"a.py": "x = 1\n"})
    clone = tmp_path / "clone"
    command = [
        "git",
        "clone",
        "-q",
        "--depth=1",
        "--no-single-branch",
        f"file://{repo.path}",
        clone,
    ]
    subprocess.run(command, check=True, capture_output=True)
    args = ("review", "--repo", clone, "--base", "origin/main", "--head", "origin/work")
    refused(specbot(*args), "shallow", "ancestor")
    assert specbot(*args, "--no-merge-base").code == 0


def test_unrelated_histories(repo, specbot):
    repo.commit({"a.py": "x = 1\n"})
    repo.git("switch", "-q", "--orphan", "other")
    repo.commit({"b.py": "y = 1\n"})
    args = ("review", "--repo", repo.path, "--base", "main", "--head", "other")
    refused(specbot(*args), "--no-merge-base")
    assert specbot(*args, "--no-merge-base").code == 0


def test_not_a_repository(specbot, tmp_path):
    refused(specbot("review", "--repo", tmp_path), "not a git repository")
    refused(specbot("review", "--repo", tmp_path / "none"), "no directory")


def test_no_commits(repo, specbot):
    refused(specbot("review", "--repo", repo.path), "no commits")


def test_no_default_branch(repo, specbot):
    repo.git("switch", "-q", "-c", "odd")
    repo.commit({"a.py": "x = 1\n"})
    refused(specbot("review", "--repo", repo.path), "--base")


def test_git_is_missing(repo, specbot, monkeypatch):
    repo.commit({"a.py": "x = 1\n"})
    monkeypatch.setenv("PATH", "/nowhere")
    refused(specbot("review", "--repo", repo.path), "git command was not found")


def test_partial_clone(repo, specbot, tmp_path):
    repo.commit({"a.py": "x = 1\n"})
    repo.commit({"a.py": "x = 2\n"})
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    command = ["git", "clone", "-q", "--bare", "--filter=blob:none", f"file://{repo.path}", clone]
    subprocess.run(command, check=True, capture_output=True)
    refused(
        specbot("review", "--repo", clone, "--base", "HEAD~1", "--head", "HEAD"), "partial clone"
    )


@pytest.mark.hostile("repositories")
@pytest.mark.parametrize(
    ("config", "parts"),
    [
        ("[title]\nrequire_tags = true\n", ("`title.require_tags`", "`require_tag`")),
        ("[titel]\n", ("`titel`", "`title`")),
        ("profile = 'fastdeply'\n", ("`fastdeply`", "`fastdeploy`")),
        ("[title]\nmost_tags = 'one'\n", ("`title.most_tags`", "`int`")),
        ("[title\n", ("not valid TOML",)),
        ("[rules]\ndisable = ['no.such-rule']\n", ("`no.such-rule`",)),
    ],
)
def test_configuration(repo, specbot, tmp_path, config, parts):
    repo.commit({".specbot.toml": config, "a.py": "x = 1\n"})
    refused(specbot("review", "--repo", repo.path, "--base", "main"), *parts)
    path = tmp_path / "c.toml"
    path.write_text(config)
    refused(specbot("config", "check", path), *parts)
    refused(specbot("review", "--repo", repo.path, "--base", "main", "--config", path), *parts)


DEEP = 20_000


def _each(line: bytes, count: int) -> bytes:
    """The line with each number up to `count`, and the number after it."""
    return b"".join(line % {b"n": n, b"m": n + 1} for n in range(count))


STRANGE_FILES: dict[str, dict[str, bytes]] = {
    "brackets in Python": {"a.py": b"x = " + b"(" * DEEP},
    "brackets in C++": {"a.cu": b"int x = " + b"(" * DEEP + b";"},
    "braces": {"a.cu": b"void f() " + b"{" * DEEP},
    "templates": {"a.cu": b"A<" * DEEP},
    "signs": {"a.py": b"x = " + b"-" * DEEP + b"1\n"},
    **{f"a sum of {n}": {"a.py": b"x = " + b"y + " * n + b"y\n"} for n in (90, 400, 1500, DEEP)},
    **{f"a chain of {n} calls": {"a.py": b"x = f" + b"()" * n} for n in (90, 400, 1500, DEEP)},
    **{
        f"an if of {n} ways": {"a.py": b"if a:\n  x = 1\n" + b"elif a:\n  x = 1\n" * n + b"y = x\n"}
        for n in (90, 400, 900)
    },
    "a deep test of an environment": {
        "a.py": b"import os\nx = " + b"-" * 500 + b"int(os.environ.get('A', 1))\n"
    },
    "a deep condition": {"a.py": b"if " + b"not " * 500 + b"a:\n  x = 1\ny = x\n"},
    "a long else if": {"a.cu": b"void f(int a) { if (a) {}" + b" else if (a) {}" * 5000 + b" }"},
    "indentation": {"a.py": b"".join(b" " * n + b"if a:\n" for n in range(99)) + b" " * 99 + b"x"},
    "functions in functions": {
        "a.py": b"".join(b" " * n + b"def f():\n" for n in range(80)) + b" " * 80 + b"pass"
    },
    "a tower of powers": {"a.py": b"K = 9 ** 9 ** 9 ** 9\n\ndef f(x):\n    return x[K]\n"},
    "a vast shift": {"a.py": b"K = 1 << (1 << 40)\n\ndef f(x):\n    return x[K]\n"},
    "a vast shift in C++": {
        "a.cu": b"#define K (1 << 999999999)\nint f(int *x) { return x[K]; }\n"
    },
    "a vast string": {"a.py": b"K = 'a' * 10 ** 12\n\ndef f(x):\n    return x[K]\n"},
    "a vast list": {"a.py": b"K = [0] * 10 ** 12\n\ndef f(x):\n    return x[len(K)]\n"},
    "a vast range": {"a.py": b"K = sum(range(10 ** 15))\n\ndef f(x):\n    return x[K]\n"},
    "products that double": {"a.py": b"K0 = 3\n" + _each(b"K%(m)d = K%(n)d * K%(n)d\n", 60)},
    "macros that double": {
        "a.cu": b"#define K0 3\n"
        + _each(b"#define K%(m)d (K%(n)d * K%(n)d)\n", 60)
        + b"int f(int *x) { return x[K60]; }\n"
    },
    "a constant of itself": {"a.py": b"K = J\nJ = K\n\ndef f(x):\n    return x[K]\n"},
    "a macro of itself": {"a.cu": b"#define K K + 1\nint f(int *x) { return x[K]; }\n"},
    "a file that includes itself": {"a.cu": b'#include "a.cu"\nint f() { return 1; }\n'},
    "files that include each other": {"a.h": b'#include "b.h"\n', "b.h": b'#include "a.h"\n'},
    "an import of itself": {"a.py": b"from a import x\n"},
    "imports in a ring": {"a.py": b"from b import x\n", "b.py": b"from a import x\n"},
    "a class of itself": {"a.py": b"class A(A):\n    pass\n"},
    "a function of itself": {"a.py": b"def f(x):\n    return f(f)(f(x))\n"},
    "a loop without an end": {
        "test_a.py": b"def test_a():\n    while True:\n        pass\n    assert False\n"
    },
    "a digit too many": {"a.py": b"K = " + b"9" * 10_000 + b"\n"},
    "a digit too many in C++": {"a.cu": b"int k = " + b"9" * 10_000 + b";\n"},
    "a vast float": {"a.py": b"K = int(1e308 * 10)\n"},
    "an unterminated string": {"a.py": b"x = '''\n"},
    "an unterminated comment": {"a.cu": b"/* " * 999},
    "an unterminated raw string": {"a.cu": b'auto x = R"(' * 99},
    "NUL in Python": {"a.py": b"x = 1\0\ndef f(y):\n    return y\n"},
    "NUL in C++": {"a.cu": b"int f(int x) {\0 return x; }\n"},
    "UTF-16": {"a.py": "def f(x):\n    return x\n".encode("utf-16")},
    "a byte order mark": {"a.py": b"\xef\xbb\xbfdef f(x):\n    return x\n"},
    "no UTF-8": {"a.py": b"# \xff\xfe\ndef f(x):\n    return '\xe9'\n"},
    "another encoding": {"a.py": b"# coding: utf-7\ndef f(x):\n    return +AGE-\n"},
    "an encoding that is none": {"a.py": b"# coding: no-such-thing\ndef f(x):\n    return x\n"},
    "line ends of an old Mac": {"a.py": b"def f(x):\r  return x\r" * 99},
    "form feeds": {"a.py": b"\x0c\x0b\x1c\x1d\x1e\x85def f(x):\n    return x\n"},
    "one long line": {"a.py": b"x = [" + b"1," * 30_000 + b"]\n"},
    "many empty lines": {"a.py": b"\n" * 300_000},
    "names in other scripts": {"a.py": "def \u202ef(\u200bx):\n    return x\n".encode()},
    "marks of a conflict": {"a.py": b"<<<<<<< a\nx = 1\n=======\nx = 2\n>>>>>>> b\n"},
    "a diff": {"a.py": b"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"},
    "attributes": {
        ".gitattributes": b"* filter=evil diff=evil text eol=crlf\n",
        "a.py": b"x = 1\n",
    },
    "a submodule's command": {
        ".gitmodules": b'[submodule "a"]\npath = -u\nurl = ext::sh -c touch% x\nupdate = !touch x\n'
    },
    "a mailmap": {".mailmap": b"<" * DEEP, "a.py": b"x = 1\n"},
    "a workflow": {".github/workflows/a.yml": b"a: &a [*a, *a]\n" * 99},
    "aliases that double": {
        ".github/workflows/a.yml": b"a0: &a0 [x, x]\n"
        + _each(b"a%(m)d: &a%(m)d [*a%(n)d, *a%(n)d]\n", 60)
    },
    "a deep table": {"pyproject.toml": b"a = " + b"[" * DEEP},
    "a deep object": {"a.json": b"[" * DEEP},
}


@pytest.mark.hostile("repositories")
@pytest.mark.parametrize("what", STRANGE_FILES)
def test_a_strange_file_is_reviewed(repo, specbot, what):
    """It comes and goes, and what stands beside it is read."""
    beside = {"beside.py": b"def g(y):\n    return y\n"}
    repo.commit({"x": "x\n"})
    repo.commit({**STRANGE_FILES[what], **beside})
    repo.commit({**dict.fromkeys(STRANGE_FILES[what]), **beside})
    for base, head in (("HEAD~2", "HEAD~1"), ("HEAD~1", "HEAD")):
        compared = ("--base", base, "--head", head, "--fail-on", "never", "--format", "json")
        result = specbot("review", "--repo", repo.path, *compared)
        assert result.code == 0, result.err
        unread = json.loads(result.out)["not_analysed"]
        assert "beside.py" not in [part["path"] for part in unread]
        assert "crashed" not in [part["reason"] for part in unread]


LINKS = [
    "/etc/passwd",
    "../../../etc/passwd",
    ".",
    "..",
    "/",
    "a.py",
    "/dev/zero",
    "/proc/self/mem",
]


@pytest.mark.hostile("repositories")
@pytest.mark.parametrize("name", ["a.py", ".specbot.toml", "tests", "csrc/a.cu"])
@pytest.mark.parametrize("target", LINKS)
def test_no_link_of_a_repository_is_followed(repo, specbot, name, target):
    repo.commit({"x": "x\n"})
    link = repo.path / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(target)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "a link")
    repo.git("commit", "-q", "--allow-empty", "-m", "nothing")
    for base in ("HEAD~2", "HEAD~1"):
        form = ("--fail-on", "never", "--format", "json")
        result = specbot("review", "--repo", repo.path, "--base", base, "--head", "HEAD", *form)
        assert result.code == 0, result.err
        assert "root:" not in result.out


def test_configuration_of_the_head_is_not_used(repo, specbot):
    repo.commit({"a.py": "x = 1\n"})
    repo.git("switch", "-q", "-c", "work")
    repo.commit({".specbot.toml": "[nonsense]\n"})
    result = specbot("review", "--repo", repo.path, "--base", "main")
    assert result.code == 0
    assert "edits `.specbot.toml`" in result.out


def test_config_check(repo, specbot, monkeypatch):
    repo.commit({"fastdeploy/a.py": "x = 1\n"})
    monkeypatch.chdir(repo.path)
    assert "`fastdeploy`" in specbot("config", "check").out
    (repo.path / ".specbot.toml").write_text("profile = 'vllm'\n")
    result = specbot("config", "check")
    assert (result.code, result.out) == (0, "`.specbot.toml` is valid, over the profile `vllm`.\n")
    refused(specbot("config", "check", "none.toml"), "none.toml", "No such file")


def test_files_that_cannot_be_read_or_written(repo, specbot, tmp_path):
    repo.commit({"a.py": "x = 1\n"})
    common = ("review", "--repo", repo.path, "--base", "main")
    refused(
        specbot(*common, "--title", "t", "--body-file", tmp_path / "none"), "none", "No such file"
    )
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    refused(specbot(*common, "--title", "t", "--body-file", tmp_path / "latin"), "UTF-8")
    refused(specbot(*common, "--body-file", tmp_path / "latin"), "--title")
    refused(specbot(*common, "-o", tmp_path / "none" / "x"), "cannot be written")
    refused(specbot(*common, "-o", tmp_path), "cannot be written")
    assert not list(tmp_path.glob(".*"))


def test_arguments(specbot):
    refused(specbot("review", "--format", "html"), "html")
    refused(specbot("review", "--bse", "x"), "--bse")
    refused(specbot(), "COMMAND")
    assert specbot("--version").out.startswith("specbot ")
    assert "--no-merge-base" in specbot("review", "--help").out


def test_the_help_is_in_one_language(specbot):
    """argparse's own words too, on every level."""
    for command in ((), ("review",), ("kernels",), ("kernels", "run")):
        chinese = specbot(*command, "--help", "--lang", "zh").out
        assert chinese.startswith("用法： specbot")
        assert "显示这段说明" in chinese
        assert not {"usage:", "options:", "positional arguments:"} & set(chinese.splitlines())
        assert specbot(*command, "--help", "--lang", "en").out.startswith("usage: specbot")


def test_rules(specbot):
    listed = specbot("rules", "--lang", "zh")
    assert listed.code == 0 and all(rule.ID in listed.out for rule in RULES)
    for rule in RULES:
        page = specbot("rules", rule.ID)
        assert page.code == 0 and page.out.startswith(f"{rule.ID}\n\n")
        for part in ("What it does", "Why it matters", "Example", "Known limits"):
            assert part in page.out, (rule.ID, part)
    in_chinese = specbot("rules", "protocol.unmasked-pack", "--lang", "zh").out
    assert "## 检查内容" in in_chinese and "What it does" not in in_chinese
    refused(specbot("rules", "protocol.unmasked-pak"), "`protocol.unmasked-pack`")
    refused(specbot("rules", "xyz"), "`xyz`")


def test_messages_in_chinese(repo, specbot):
    repo.commit({"a.py": "x = 1\n"})
    result = specbot("review", "--repo", repo.path, "--base", "nix", "--lang", "zh")
    assert result.err == "specbot: 错误：没有版本 `nix`。\n"


def test_an_error_of_ours_leaves_a_report(repo, specbot, only_rule, monkeypatch, tmp_path):
    repo.commit({"a.py": "x = 1\n"})

    class Broken:
        ID = "broken.rule"
        SUMMARY = ""

        def run(self, change, config):
            raise RuntimeError("with ghp_0123456789abcdef in it")

    only_rule(Broken())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = specbot("review", "--repo", repo.path, "--base", "main", "--title", "ghs_1_a.b-c")
    assert result.code == 3
    report = next(tmp_path.glob("specbot-error-*"))
    assert str(report) in result.err and result.err.count("\n") == 1
    text = report.read_text()
    assert "RuntimeError" in text and "python 3." in text and "'--base'" in text
    assert "ghp_" not in text and "ghs_" not in text


def test_the_service_tells_its_log(specbot, monkeypatch, tmp_path):
    """Its temporary folder goes with its container; the log stays."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("bot.cli.serve.load", lambda *_, **__: {}["ghs_1_a.b-c"])
    result = specbot("serve", "--lang", "en")
    assert result.code == 3 and not list(tmp_path.iterdir())
    assert "KeyError" in result.err and "python 3." in result.err
    assert "ghs_" not in result.err


def test_interrupt(repo, specbot, monkeypatch):
    repo.commit({"a.py": "x = 1\n"})
    monkeypatch.setattr(
        "bot.pipeline.review", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    assert specbot("review", "--repo", repo.path, "--base", "main").code == 130


def test_nobody_reads(repo):
    repo.commit({f"f{n}.py": f"x = {n}\n" for n in range(300)})
    repo.git("branch", "base")
    repo.commit({f"f{n}.py": f"y = {n}\n" for n in range(300)})
    root = Path(__file__).resolve().parents[2]
    command = [
        sys.executable,
        "-m",
        "bot",
        "review",
        "--repo",
        repo.path,
        "--base",
        "base",
        "--format",
        "json",
    ]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root)},
    ) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


@pytest.mark.parametrize("command", ["rules --lang en", "--version", "--help"])
@pytest.mark.parametrize(
    ("where", "said"),
    [(">/dev/full", "Standard output cannot be written: "), (">&-", "Standard output is closed, ")],
)
def test_nowhere_to_write(where, said, command):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no file that is always full")
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m bot {command} {where}"],
        cwd=root,
        # What is short stays in the buffer until Python's end.
        env={**os.environ, "LANG": "en_US.UTF-8", "LC_ALL": "", "PYTHONUNBUFFERED": ""},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"specbot: error: {said}") and done.stderr.count("\n") == 1


def test_no_git_directory_left_behind(repo, specbot):
    repo.commit({"a.py": "x = 1\n"})
    before = sorted(p.name for p in (repo.path / ".git").iterdir())
    specbot("review", "--repo", repo.path, "--base", "main")
    assert sorted(p.name for p in (repo.path / ".git").iterdir()) == before
    shutil.rmtree(repo.path)
