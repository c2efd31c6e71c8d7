"""The store of baselines: moved on by `accept`, read from a folder or from git."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bot.cli.main import main
from bot.errors import UserError
from bot.logprobs.store import baseline_file, baselines, folder_of, open_store
from checks.logprobs.jsonl import read, write
from checks.logprobs.record import Key, Record, RecordOrigin, prompt_hash
from tests.logprobs.test_jsonl import equal

H200 = RecordOrigin("small", "raw", "H200", "engine", "1.0", "bfloat16")
AT = "2026-01-02T03:04:05+00:00"


def record(id: str = "a", origin: RecordOrigin = H200, last: float = -2.0) -> Record:
    table = np.array([[1, 2], [3, 4]])
    scores = np.array([[-0.5, -1.0], [-0.25, last]])
    return Record(
        id,
        table[:, 0].copy(),
        scores[:, 0].copy(),
        table,
        scores,
        prompt_hash("p"),
        "p",
        origin=origin,
    )


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTOR", "octocat")


@pytest.fixture
def specbot(capsys):
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["logprobs", *arguments, "--lang", "en"])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def accept(specbot):
    def run(
        *records: Record, why: str = "first", more: tuple[str, ...] = ()
    ) -> tuple[int, str, str]:
        Path("head.jsonl").write_bytes(b"".join(map(write, records)))
        return specbot("accept", "head.jsonl", "--store", "store", "--why", why, "--at", AT, *more)

    return run


def stored(key: Key) -> list[Record]:
    with baseline_file("store", key) as path, path.open("rb") as file:
        return list(read(file))


def test_a_baseline_moves_on_and_the_log_says_how(accept, specbot):
    assert accept(record())[0] == 0
    Path("verdict.json").write_text('{"verdict": "columns-only", "other": 1}')
    code, out, _ = accept(
        record(last=-3.0), why="another width", more=("--who", "me", "--verdict", "verdict.json")
    )
    assert code == 0 and "H200 · engine 1.0 · small · raw" in out
    (found,) = stored(H200.key)
    equal(found, record(last=-3.0))
    folder = Path("store") / folder_of(H200.key)
    first, second = map(json.loads, (folder / "log.jsonl").read_text().splitlines())
    assert (first["who"], first["why"], first["verdict"], first["old"]) == (
        "octocat",
        "first",
        None,
        None,
    )
    assert (second["who"], second["why"], second["accepted"]) == ("me", "another width", AT)
    assert second["verdict"]["verdict"] == "columns-only"
    assert second["old"] == first["new"] == hashlib.sha256(write(record())).hexdigest()
    assert {path.name for path in folder.iterdir()} == {"log.jsonl", f"{second['new']}.jsonl"}
    assert [path.name for path in Path("store").iterdir()] == [folder.name], (
        "nothing is left lying about"
    )
    listed = specbot("baselines", "--store", "store")[1]
    for part in (
        "H200 · engine 1.0 · small · raw",
        "1 request, 2 tokens, top 2",
        "me",
        "`columns-only`",
        "another width",
    ):
        assert part in listed


def test_the_same_records_again_are_no_move_in_either_form(accept, specbot):
    accept(record())
    log = (Path("store") / folder_of(H200.key) / "log.jsonl").read_bytes()
    assert "already" in accept(record(), why="again")[1]
    Path("plain.jsonl").write_bytes(write(record(), packed=False))
    assert "already" in specbot("accept", "plain.jsonl", "--store", "store", "--why", "lists")[1]
    assert (Path("store") / folder_of(H200.key) / "log.jsonl").read_bytes() == log
    assert len(stored(H200.key)) == 1


def test_keys_do_not_meet(accept):
    others = [
        replace(H200, **change)
        for change in ({"device": "H100"}, {"mode": "processed"}, {"model": "H200 small"})
    ]
    slash = replace(H200, model="../../etc/passwd")
    for number, origin in enumerate((H200, *others, slash)):
        assert accept(record(f"r{number}", origin))[0] == 0
    for number, origin in enumerate((H200, *others, slash)):
        assert [r.id for r in stored(origin.key)] == [f"r{number}"]
    assert all(folder.parent == Path("store") for folder in Path("store").iterdir())
    assert len(baselines(open_store("store"))) == 5


def test_a_key_that_is_not_there_names_the_nearest(accept):
    far = RecordOrigin("other", "processed", "H100", "engine2", "9")
    accept(record(origin=H200))
    accept(record(origin=replace(H200, engine_version="1.1")))
    accept(record(origin=far))
    with (
        pytest.raises(UserError) as caught,
        baseline_file("store", replace(H200, engine_version="1.2").key),
    ):
        pass
    assert caught.value.key == "baseline-none"
    assert [near.split(" · ")[1] for near in caught.value.args_["near"]] == [
        "engine 1.0",
        "engine 1.1",
        "engine2 9",
    ]


def test_an_interrupted_accept_leaves_the_old_baseline(accept):
    """The line of the log is what counts: records without one, and a torn line, are as if they had
    not come.
    """
    accept(record())
    folder = Path("store") / folder_of(H200.key)
    (folder / f"{'0' * 64}.jsonl").write_bytes(write(record(last=-9.0)))
    with (folder / "log.jsonl").open("ab") as log:
        log.write(b'{"key": {"device"')
    (found,) = stored(H200.key)
    equal(found, record())
    assert accept(record(last=-3.0), why="now")[0] == 0
    (found,) = stored(H200.key)
    equal(found, record(last=-3.0))
    assert len((folder / "log.jsonl").read_text().splitlines()) == 2


def test_a_revision_in_git_is_read_and_not_written(accept, specbot):
    accept(record())
    git = (
        "git",
        "-c",
        "user.name=S",
        "-c",
        "user.email=s@example.org",
        "-c",
        "commit.gpgsign=false",
    )
    for arguments in (("init", "-q"), ("add", "store"), ("commit", "-qm", "baseline")):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    accept(record(last=-3.0), why="later")
    with baseline_file("git:HEAD:store", H200.key) as path, path.open("rb") as file:
        equal(next(read(file)), record())
    assert "first" in specbot("baselines", "--store", "git:HEAD:store")[1]
    assert "later" in specbot("baselines", "--store", "store")[1]
    code, _, err = specbot("accept", "head.jsonl", "--store", "git:HEAD:store", "--why", "x")
    assert code == 2 and "cannot be written" in err
    for name, part in (
        ("git:HEAD", "git:REV:PATH"),
        ("git:nope:store", "`nope`"),
        ("git:HEAD:nope", "`git:HEAD:nope`"),
    ):
        code, _, err = specbot("baselines", "--store", name)
        assert code == 2 and part in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("records", "more", "part"),
    [
        ((), (), "no records"),
        ((record(), record()), (), "id `a`"),
        ((record(), record("b", replace(H200, device="H100"))), (), "H100"),
        ((record(),), ("--why", " "), "--why"),
        ((record(),), ("--verdict", "head.jsonl"), "`head.jsonl`"),
    ],
)
def test_what_is_no_baseline_is_refused_and_changes_nothing(accept, records, more, part):
    accept(record(last=-4.0))
    code, out, err = accept(*records, more=more)
    assert (code, out) == (2, "") and part in err and err.count("\n") == 1
    assert stored(H200.key)[0].topk_logprobs[1, 1] == -4.0
    assert len(list(Path("store").iterdir())) == 1


def test_somebody_has_to_say_so(accept, monkeypatch):
    for name in ("GITHUB_ACTOR", "USER", "LOGNAME"):
        monkeypatch.delenv(name, raising=False)
    code, _, err = accept(record())
    assert code == 2 and "--who" in err and not Path("store").exists()


def test_a_store_that_cannot_be_is_told(accept, specbot):
    Path("store").write_text("a file")
    code, _, err = accept(record())
    assert code == 2 and "cannot be written" in err
    code, _, err = specbot("baselines", "--store", "store")
    assert code == 2 and "`store`" in err


def test_a_log_of_another_hand_is_named(accept, specbot):
    accept(record())
    log = Path("store") / folder_of(H200.key) / "log.jsonl"
    for line in ("x\n", "{}\n", json.dumps({"new": "../../secret", "key": {}}) + "\n"):
        log.write_text(line)
        code, _, err = specbot("baselines", "--store", "store")
        assert code == 2 and "line 1" in err


def test_a_comparison_finds_its_base_under_the_key_of_head(accept, specbot):
    accept(record())
    Path("head.jsonl").write_bytes(write(record(last=-3.0)))
    code, out, _ = specbot("diff", "--store", "store", "head.jsonl", "--format", "json")
    by_file = specbot(
        "diff",
        str(Path("store") / baselines(open_store("store"))[0].file),
        "head.jsonl",
        "--format",
        "json",
    )
    assert (code, json.loads(out)["verdict"]) == (by_file[0], json.loads(by_file[1])["verdict"])
    Path("verdict.json").write_text(out)
    assert accept(record(last=-3.0), why="looked at", more=("--verdict", "verdict.json"))[0] == 0
    assert specbot("diff", "--store", "store", "head.jsonl")[0] == 0
    Path("other.jsonl").write_bytes(write(record(origin=replace(H200, device="H100"))))
    Path("empty.jsonl").write_bytes(b"")
    for arguments, part in (
        (("--store", "store", "other.jsonl"), "no baseline of H100 · engine 1.0"),
        (("--store", "store", "empty.jsonl"), "no records"),
        (("--store", "store", "head.jsonl", "head.jsonl"), "one of the two"),
        (("head.jsonl",), "one of the two"),
        (("--store", "nowhere", "head.jsonl"), "`nowhere`"),
    ):
        code, out, err = specbot("diff", *arguments)
        assert (code, out) == (2, "") and part in err and err.count("\n") == 1
