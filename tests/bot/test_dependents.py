"""Who calls what a change touched: in JSON, in words and as a picture."""

from __future__ import annotations

import json

import pytest

from bot.reports.charts import arrows

RUNNER = """\
from engine.sampler import draw_sample, other_sample


class Runner:
    def step(self, logits):
        rows = self.rows
        return draw_sample(logits, rows), other_sample(logits)

    def load(self):
        return load_weights(self.path)
"""
PROPOSER = (
    "from engine.sampler import draw_sample\n\n\ndef propose(x):\n    return draw_sample(x, 1)\n"
)
SAMPLER = """\
def draw_sample(logits, rows):
    return logits[:rows]


def other_sample(logits):
    return logits[0]


def load_weights(path):
    return open(path)
"""
BASE = {
    "engine/sampler.py": SAMPLER,
    "engine/runner.py": RUNNER,
    "engine/proposer.py": PROPOSER,
    "engine/models.py": "def load_weights(path):\n    return path\n",
    "tests/test_sampler.py": "def test_it():\n    assert draw_sample([1], 1)\n",
}


@pytest.fixture
def changed(repo):
    repo.commit(BASE, "base")
    return repo


def analysed(specbot, repo, output: str) -> str:
    done = specbot(
        "analyze", "--repo", repo.path, "--base", "HEAD~", "--head", "HEAD", "--format", output
    )
    assert done.code == 0, done.err
    return done.out


def test_the_files_that_call_a_changed_function(specbot, changed):
    changed.commit({"engine/sampler.py": SAMPLER.replace("[:rows]", "[: rows + 1]")}, "one more")
    dependents = json.loads(analysed(specbot, changed, "json"))["dependents"]
    assert [(one["place"]["path"], one["place"]["start_line"]) for one in dependents] == [
        ("engine/proposer.py", 5),
        ("engine/runner.py", 7),
    ]
    assert {one["on"] for one in dependents} == {"engine/sampler.py"}
    assert [one["names"] for one in dependents] == [["draw_sample"], ["draw_sample"]]


def test_a_name_that_two_functions_have(specbot, changed):
    """Nobody can tell which of them is called."""
    changed.commit(
        {"engine/sampler.py": SAMPLER.replace("open(path)", "open(path, 'rb')")}, "bytes"
    )
    assert json.loads(analysed(specbot, changed, "json"))["dependents"] == []
    assert "Who calls" not in analysed(specbot, changed, "markdown")


def test_people_read_it(specbot, changed):
    text = SAMPLER.replace("[:rows]", "[: rows + 1]").replace("logits[0]", "logits[1]")
    changed.commit({"engine/sampler.py": text}, "one more")
    said = analysed(specbot, changed, "markdown")
    rows = [line for line in said.splitlines() if line.startswith("| `engine/sampler.py` |")]
    assert rows == [
        "| `engine/sampler.py` | `engine/runner.py:7` | `draw_sample`, `other_sample` |",
        "| `engine/sampler.py` | `engine/proposer.py:5` | `draw_sample` |",
    ]
    page = analysed(specbot, changed, "html")
    assert "Files on the left call functions on the right that changed" in page


def test_arrows_go_from_who_calls():
    drawn = arrows(["a.py", "b$x$.py"], ["c.py"], [(0, 0), (1, 0)])
    assert drawn == arrows(["a.py", "b$x$.py"], ["c.py"], [(0, 0), (1, 0)])
    assert all(name in drawn for name in ("a.py", "b$x$.py", "c.py"))
    alone = arrows(["a.py", "b$x$.py"], ["c.py"], [(0, 0)])
    assert len(alone) < len(drawn)
