"""Every mistake gets one clear sentence and exit code 2, and strange repositories are reviewed all
the same."""

from __future__ import annotations

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
