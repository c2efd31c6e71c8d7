"""`specbot logprobs record` against a real server process: every answer once, whatever dies in
between.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import socket
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest

from bot.cli.main import main
from checks.logprobs.jsonl import read
from checks.logprobs.record import Record, prompt_hash
from tests.logprobs.conftest import Process, command, environment, server
from tests.logprobs.test_jsonl import equal

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(autouse=True, scope="module")
def nothing_of_others() -> None:
    """What tests of other modules left open is closed before, and is no error of these."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


TEXTS = ("Hello", "abc abc abc", "What?", "the end")
OPTIONS = ("--max-tokens", "5", "--model", "small", "--lang", "en")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in environment().keys() ^ os.environ.keys():
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def recorded(vllm, tmp_path, capsys):
    """Run the command on texts or objects; gives its exit code, its records and what it said."""

    def run(name, prompts, *options, url=vllm.url):
        path = tmp_path / "prompts"
        path.write_text(
            "".join((p if isinstance(p, str) else json.dumps(p)) + "\n" for p in prompts)
        )
        output = tmp_path / name
        given = ["--endpoint", url, "--prompts", str(path), "-o", str(output), *OPTIONS, *options]
        code = main(["logprobs", "record", *given])
        out, err = capsys.readouterr()
        assert out == ""
        return code, records(output), err

    return run


def records(path: Path) -> list[Record]:
    with path.open("rb") as file:
        return list(read(file))


def refused(result, *parts: str) -> None:
    code, _, err = result
    assert code == 2
    assert err.count("\n") == 1 and err.startswith("specbot: error: ")
    for part in parts:
        assert part in err, err


def test_every_prompt_becomes_a_record(recorded):
    code, found, err = recorded(
        "a", TEXTS, "--top-logprobs", "4", "--seed", "7", "--engine", "vllm", "--mode", "raw"
    )
    assert code == 0 and "4 requests" in err
    assert [r.id for r in found] == ["line-1", "line-2", "line-3", "line-4"]
    for record, text in zip(found, TEXTS, strict=True):
        assert record.prompt == json.dumps(
            [{"content": text, "role": "user"}], separators=(",", ":")
        )
        assert record.prompt_sha256 == prompt_hash(record.prompt)
        assert (len(record), record.k, record.ids, record.finish_reason) == (
            5,
            4,
            "token",
            "length",
        )
        assert record.sampling == {
            "max_tokens": 5,
            "temperature": 0.0,
            "seed": 7,
            "top_logprobs": 4,
        }
        assert (record.origin.model, record.origin.engine, record.origin.mode) == (
            "small",
            "vllm",
            "raw",
        )
        # greedy: each token is the best of its place
        assert np.array_equal(record.tokens, record.topk_ids[:, 0])
        assert np.array_equal(record.logprobs, record.topk_logprobs[:, 0])


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_a_stream_says_what_the_whole_answer_says(recorded, api):
    whole = recorded("whole", TEXTS, "--api", api, "--engine", "vllm")[1]
    streamed = recorded("streamed", TEXTS, "--api", api, "--engine", "vllm", "--stream", "--steps")[
        1
    ]
    for one, other in zip(whole, streamed, strict=True):
        assert one.accept_num is None
        assert other.accept_num[0] == 1 and other.accept_num.sum() == 5, (
            "the prefill's step, then the others"
        )
        assert np.array_equal(one.tokens, other.tokens)
        assert np.array_equal(one.topk_ids, other.topk_ids)
        assert np.array_equal(one.topk_logprobs, other.topk_logprobs)


@pytest.mark.parametrize("engine", ["sglang", "fastdeploy", "unknown"])
def test_engines_name_their_tokens_in_their_own_ways(recorded, engine):
    """Same model, same prompts: the ids agree with vLLM's form wherever an engine gives any."""
    known = recorded("vllm", TEXTS[:2], "--engine", "vllm")[1]
    name = ("--model", "fastdeploy-small") if engine == "fastdeploy" else ()
    top = "0" if engine == "fastdeploy" else "5"
    found = recorded(engine, TEXTS[:2], "--engine", engine, "--top-logprobs", top, *name)[1]
    for one, other in zip(known, found, strict=True):
        assert np.array_equal(one.logprobs, other.logprobs)
        assert np.array_equal(one.tokens, other.tokens) == (engine != "unknown")
        assert other.ids == ("text" if engine == "unknown" else "token")
        if engine == "sglang":
            assert np.array_equal(one.topk_ids, other.topk_ids)


def test_prompts_may_have_ids_messages_and_token_ids(recorded):
    messages = [{"role": "user", "content": "Hello"}]
    chat = recorded("chat", [{"id": "m", "messages": messages}, {"id": 7, "prompt": "Hello"}])[1]
    assert [r.id for r in chat] == ["m", "7"]
    equal_but_id(*chat)
    by_id = recorded("ids", [{"prompt": [33, 4, 11]}, {"prompt": "Hel"}], "--api", "completions")[1]
    assert by_id[0].prompt == "[33,4,11]" and by_id[1].prompt == "Hel"
    assert np.array_equal(by_id[0].tokens, by_id[1].tokens)


def equal_but_id(one: Record, other: Record) -> None:
    assert np.array_equal(one.tokens, other.tokens) and one.prompt == other.prompt


def test_what_may_pass_is_asked_again(recorded):
    troubles = (
        "!500x2",
        "!429x1",
        "!503x1",
        "!dropx1",
        "!silentx1",
        "!errorx1",
        "!earlyx1",
        "!emptyx1",
    )
    prompts = ["Hello", *troubles]
    code, found, _ = recorded("a", prompts, "--stream")
    assert code == 0
    assert [r.id for r in found] == [f"line-{n}" for n in range(1, len(prompts) + 1)]
    # what was asked twice is there once, and says what it says without trouble
    again = recorded("b", prompts, "--stream")[1]
    for one, other in zip(found, again, strict=True):
        equal(one, other)


def test_a_slow_answer_is_given_up_and_asked_again(recorded):
    code, found, _ = recorded("a", ["!slowx1 a"], "--timeout", "3", "--retries", "4")
    assert code == 0 and len(found) == 1


def test_what_the_server_refuses_is_asked_once_and_the_others_are_kept(recorded, tmp_path):
    prompts = ["!400x1 bad", *TEXTS]
    result = recorded("a", prompts)
    refused(result, "1 of 5 requests", "`line-1`", "400", "asked for a 400")
    assert sorted(r.id for r in result[1]) == ["line-2", "line-3", "line-4", "line-5"]
    # the server lets it through the second time, so an automatic repetition would have got it
    code, found, err = recorded("a", prompts)
    assert code == 0 and "4 were recorded before" in err
    assert [r.id for r in found] == [f"line-{n}" for n in range(1, 6)]


def test_a_server_that_stays_broken_ends_the_recording(recorded):
    result = recorded("a", ["!500x99 a"], "--retries", "1")
    refused(result, "2 attempts", "500")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    refused(recorded("b", TEXTS, "--retries", "0", url=f"http://127.0.0.1:{port}"), "1 attempt:")


def test_another_command_does_not_write_into_the_same_file(recorded, tmp_path):
    first = recorded("a", TEXTS)[1]
    data = (tmp_path / "a").read_bytes()
    for options in (
        ["--seed", "3"],
        ["--temperature", "0.5"],
        ["--top-logprobs", "2"],
        ["--device", "x"],
    ):
        refused(recorded("a", TEXTS, *options), "another command", "`line-1`")
    refused(recorded("a", ["Hallo", *TEXTS[1:]]), "`prompt`")
    refused(recorded("a", TEXTS, "--stream", "--steps"), "`accept_num`")
    assert (tmp_path / "a").read_bytes() == data
    code, again, err = recorded("a", TEXTS)
    assert code == 0 and "4 were recorded before" in err and len(again) == len(first)


def test_a_file_that_is_no_recording_is_left_alone(recorded, tmp_path):
    path = tmp_path / "notes"
    for content in (b"my notes", b"my notes\n", b'{"version":2}\n'):
        path.write_bytes(content)
        with contextlib.suppress(ValueError):
            refused(recorded("notes", TEXTS))
        assert path.read_bytes() == content


def test_a_key_goes_out_and_is_written_nowhere(recorded, tmp_path, monkeypatch):
    locked = ("--model", "locked")
    monkeypatch.setenv("SPECBOT_API_KEY", "other-key")
    refused(recorded("a", TEXTS[:1], *locked), "401", "wrong key: Bearer ***")
    monkeypatch.setenv("SPECBOT_API_KEY", "s3cret\n")
    code, _, err = recorded("a", TEXTS[:1], *locked)
    assert code == 0 and "s3cret" not in err
    assert b"s3cret" not in (tmp_path / "a").read_bytes()
    monkeypatch.setenv("SPECBOT_API_KEY", "schlüssel")
    refused(recorded("b", TEXTS[:1]), "`SPECBOT_API_KEY`")


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--endpoint", "127.0.0.1:8000"), "http://host:port"),
        (("--endpoint", "http://user:word@127.0.0.1:1"), "SPECBOT_API_KEY"),
        (("--steps",), "`--stream`"),
        (("--engine", "sglang", "--stream"), "SGLang"),
        (("--prompts", "/nowhere"), "/nowhere"),
        (("--output", "/nowhere/out"), "/nowhere/out"),
        (("--concurrency", "0"), "--concurrency"),
        (("--temperature", "nan"), "--temperature"),
        (("--timeout", "0"), "--timeout"),
        (("--seed", str(2**63)), "--seed"),
        (("--top-p", "inf"), "--top-p"),
        (("--device", "\udcff"), "--device"),
    ],
)
def test_wrong_options_are_refused(recorded, tmp_path, options, part, capsys):
    prompts = tmp_path / "p"
    prompts.write_text("Hello\n")
    given = [
        "--endpoint",
        "http://127.0.0.1:1",
        "--prompts",
        str(prompts),
        "-o",
        str(tmp_path / "o"),
        *OPTIONS,
    ]
    assert main(["logprobs", "record", *given, *options]) == 2
    err = capsys.readouterr().err
    assert part in err and err.count("\n") == 1 and ":word" not in err


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no prompts"),
        ('{"id": 1}\n', "line 1"),
        ('{"prompt": "a"}\nx\n', "line 2"),
        ('{"id": "a", "prompt": "a"}\n{"id": "a", "prompt": "b"}\n', "`a`"),
        ('{"messages": []}\n{"prompt": [1]}\n', "line 2"),
    ],
)
def test_wrong_prompts_are_refused(tmp_path, text, part, capsys):
    (tmp_path / "p").write_text(text)
    given = [
        "--endpoint",
        "http://127.0.0.1:1",
        "--prompts",
        str(tmp_path / "p"),
        "-o",
        str(tmp_path / "o"),
        *OPTIONS,
    ]
    assert main(["logprobs", "record", *given]) == 2
    assert part in capsys.readouterr().err


def held_up(*names: str) -> list[str]:
    """Six prompts, of which those named wait for an answer without end the first time that they are
    asked.
    """
    return [f"{'!slowx1 ' if str(n) in names else ''}prompt {n} of {names}" for n in range(6)]


def test_killed_twice_it_records_each_request_once(vllm, recorded, tmp_path):
    """kill -9 with requests on their way and a torn last line, two times over: the same file as
    without all that.
    """
    prompts = held_up("2", "3", "4", "5")
    (tmp_path / "prompts").write_text("".join(p + "\n" for p in prompts))
    output = tmp_path / "killed"
    given = [
        "--endpoint",
        vllm.url,
        "--prompts",
        tmp_path / "prompts",
        "-o",
        output,
        *OPTIONS,
        "--concurrency",
        "2",
    ]
    troubles = troubled(vllm)
    for whole in (2, 4):
        with started(given, tmp_path) as process:
            await_lines(output, whole)
            until(lambda w=whole: troubled(vllm) - troubles == {2: 2, 4: 6}[w])
            process.send_signal(signal.SIGKILL)
        lines = output.read_bytes().splitlines(keepends=True)
        assert len(lines) == whole, (
            "the run went on where the last one stopped, and did not come to its end"
        )
        output.write_bytes(b"".join([*lines, lines[0][: len(lines[0]) // whole]]))
    assert main(["logprobs", "record", *map(str, given)]) == 0
    recorded("whole", prompts)
    assert output.read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_server_that_dies_is_followed_by_another(recorded, tmp_path):
    prompts = held_up("3", "4")
    (tmp_path / "prompts").write_text("".join(p + "\n" for p in prompts))
    output = tmp_path / "o"
    with server() as first:
        given = ["--endpoint", first.url, "--prompts", tmp_path / "prompts", "-o", output, *OPTIONS]
        with started([*given, "--concurrency", "2", "--retries", "1"], tmp_path) as process:
            await_lines(output, 3)
            first.process.kill()
            _, err = process.communicate(timeout=60)
    assert (
        process.returncode == 2 and b"did not answer in 2 attempts" in err and err.count(b"\n") == 1
    )
    assert len(records(output)) == 3
    # at another port, which is no other command; there, these wait again the first time
    code, found, err = recorded("o", prompts, "--timeout", "3", "--retries", "4")
    assert code == 0 and "3 were recorded before" in err
    assert [r.id for r in found] == [f"line-{n}" for n in range(1, 7)]


def test_ctrl_c_keeps_what_is_there_and_says_so(vllm, tmp_path):
    (tmp_path / "prompts").write_text("".join(p + "\n" for p in held_up("4", "5")))
    output = tmp_path / "o"
    given = [
        "--endpoint",
        vllm.url,
        "--prompts",
        tmp_path / "prompts",
        "-o",
        output,
        *OPTIONS,
        "--concurrency",
        "2",
    ]
    with started(given, tmp_path) as process:
        await_lines(output, 4)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"specbot: Interrupted.\n")
    assert len(records(output)) == 4


def test_two_processes_do_not_write_one_file(vllm, recorded, tmp_path):
    (tmp_path / "prompts").write_text("Hello\n!slowx1 two\n")
    output = tmp_path / "o"
    given = ["--endpoint", vllm.url, "--prompts", tmp_path / "prompts", "-o", output, *OPTIONS]
    with started(given, tmp_path):
        await_lines(output, 1)
        refused(recorded("o", ["Hello", "!slowx1 two"]), "Another process")


@contextlib.contextmanager
def started(arguments, folder):
    # What a shell starts in the background ignores Ctrl-C, and so would what is started from there.
    process = subprocess.Popen(
        command("record", *arguments),
        cwd=folder,
        env=environment(),
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def await_lines(path: Path, count: int) -> None:
    """Until the file is there with that many whole lines."""
    until(lambda: path.exists() and path.read_bytes().count(b"\n") >= count)


def troubled(running: Process) -> int:
    return httpx.get(f"{running.url}/troubled").json()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "the recording does not get on"
        time.sleep(0.01)
