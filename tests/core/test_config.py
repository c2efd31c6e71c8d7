"""`.specbot.toml` over a profile, and what is refused in it."""

import pytest

from checks.core.config import load, matches
from checks.core.config_tables import ConfigError


def refused(text):
    with pytest.raises(ConfigError) as error:
        load(text)
    return error.value.problem, error.value.args_


def test_a_table_changes_only_the_keys_that_it_has():
    plain, config = load(None), load('[rules]\ndisable = ["kernel.barrier"]\n')
    assert config.rules.disable == ("kernel.barrier",)
    assert config.paths == plain.paths


def test_a_list_of_tables_is_read():
    config = load('[[hardware]]\nname = "xpu"\nmarks = ["xpu_ops"]\n')
    assert config.hardware_of("custom_ops/xpu_ops/a.cc") == "xpu"
    assert config.hardware_of("custom_ops/gpu_ops/a.cu") == ""


@pytest.mark.parametrize(
    ("text", "problem", "args"),
    [
        ("[rulez]\n", "unknown", {"key": "rulez", "nearest": "rules"}),
        ("[rules]\ndisabled = []\n", "unknown", {"key": "rules.disabled", "nearest": "disable"}),
        ('[[family]]\nfiles = ["a"]\n', "missing", {"key": "family.name"}),
        ("rules = 1\n", "type", {"key": "rules", "wanted": "table"}),
        ("[rules]\ndisable = 1\n", "type", {"key": "rules.disable", "wanted": "list"}),
        ("[rules]\ndisable = [1]\n", "type", {"key": "rules.disable", "wanted": "list of str"}),
        ("[title]\nmost_tags = true\n", "type", {"key": "title.most_tags", "wanted": "int"}),
        ("family = [1]\n", "type", {"key": "family", "wanted": "list of tables"}),
        ('profile = "vlm"\n', "profile", {"name": "vlm", "nearest": "vllm"}),
    ],
)
def test_what_is_refused_is_named(text, problem, args):
    assert refused(text) == (problem, args)


@pytest.mark.parametrize(
    ("path", "glob", "hit"),
    [
        ("tests/a/b.py", "tests/**", True),
        ("a/test_b.py", "**/test_*.py", True),
        ("test_b.py", "**/test_*.py", True),
        ("a/b.py", "*.py", False),
        ("ab.py", "a?.py", True),
    ],
)
def test_globs(path, glob, hit):
    assert matches(path, (glob,)) is hit
