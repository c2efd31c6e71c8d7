"""Files that a person hands over: `specbot logprobs convert`, and one clear sentence for each that
is no use.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from bot.cli.main import main
from checks.logprobs.jsonl import parse, read, write
from tests.logprobs.conftest import ROOT
from tests.logprobs.test_convert import chat, entry
from tests.logprobs.test_jsonl import equal, line


@pytest.fixture
def convert(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(data: bytes, *options: str, lang: str = "en") -> tuple[int, str, str]:
        Path("in").write_bytes(data)
        code = main(["logprobs", "convert", "in", "--lang", lang, *options])
        return code, *capsys.readouterr()

    return run


def test_an_answer_becomes_a_record_with_what_was_said_about_it(convert):
    said = {
        "model": "m",
        "mode": "raw",
        "device": "d",
        "engine": "e",
        "engine-version": "1",
        "logits-dtype": "bfloat16",
    }
    options = [part for name, value in said.items() for part in (f"--{name}", value)]
    code, out, err = convert(
        json.dumps(chat([entry("a", -1.0)])).encode(), *options, "--prompt", "Hi", "--id", "x"
    )
    assert (code, err) == (0, "")
    record = parse(out.encode())
    assert {name.replace("-", "_"): value for name, value in said.items()} == {
        name: getattr(record.origin, name) for name in record.origin.__dataclass_fields__
    }
    assert (record.id, record.prompt) == ("x-0", "Hi")


def test_records_go_between_their_two_forms_and_stay_the_same(convert):
    lists = line(topk_ids=[[1, 2], [3]], topk_logprobs=[[-0.5, "-inf"], ["nan"]]) * 2
    code, packed, _ = convert(lists)
    assert code == 0 and '"topk_ids":{"i4":"' in packed
    code, plain, _ = convert(packed.encode(), "--plain", "-o", "out")
    assert (code, plain) == (0, "")
    assert (
        '"topk_ids":[[1,2],[3]],"topk_logprobs":[[-0.5,"-inf"],["nan"]]' in Path("out").read_text()
    )
    for one, other in zip(
        read(lists.splitlines()), read(Path("out").read_bytes().splitlines()), strict=True
    ):
        equal(one, other)
        assert write(one) == write(other)


WRONG = [
    (line() + line()[:-5], "ends in the middle of line 2"),
    (line() + b"\xff\n", "line 2: byte 1 is not UTF-8"),
    (line().decode().encode("utf-16"), "UTF-8"),
    (b"\xff\xfe\x00", "UTF-8"),
    (line() + b"[]\n", "line 2 is not a JSON object"),
    (line() + b"{]\n", "line 2 is not JSON"),
    (line(version=7), "version 1"),
    (line() + line(tokens=...), "`tokens`"),
    (line(logprob=1), "`logprob`"),
    (line(logprobs=[1]), "1 entry"),
    (line(accept_num=[5]), "add up to the 2 tokens"),
    (line(topk_logprobs=[[-1.0], []]), "rows and columns"),
    (line(topk_ids=[[-(2**31)], [1]]), "absent cells"),
    (line(topk_ids=3), "one row a token"),
    (line(ranks=["1", "2"]), "64-bit integers"),
    (line(logz=["low", 1]), '`"-inf"`'),
    (line(logz={"f4": "0"}), '`{"f4": "HEX"}`'),
    (line(prompt_sha256="x"), "SHA-256"),
    (line(origin={"host": "x"}), "`logits_dtype`"),
    (line(sampling=[]), "numbers, strings and booleans"),
    (line(texts={"x": "y"}), "token ids to their texts"),
    (line(id=1), "must be a string"),
    (line(ids="x"), "`token`, `text`"),
    (b"hello\n", "line 1 is not JSON"),
    (b"{}", "no logprobs"),
    (json.dumps({"choices": []}).encode(), "no answer of chat or completions"),
    (json.dumps({"error": {"message": "too long"}}).encode(), "too long"),
    (b'data: {"choices": []}\n\n', "cut off"),
    (b"data: 1\n\n", "no JSON object"),
    (json.dumps(chat([{"token": "", "logprob": 0}])).encode(), "neither an id nor a text"),
    (json.dumps({"tokens": ["a"], "token_logprobs": []}).encode(), "different numbers"),
]


@pytest.mark.parametrize(("data", "part"), WRONG, ids=range(len(WRONG)))
def test_each_mistake_gets_one_sentence_and_leaves_the_output_alone(convert, data, part):
    Path("out").write_text("before")
    code, out, err = convert(data, "-o", "out")
    assert (code, out) == (2, "") and part in err, err
    assert err.startswith("specbot: error: `in`") and err.count("\n") == 1
    assert Path("out").read_text() == "before"
    code, _, zh = convert(data, lang="zh")
    assert code == 2 and zh.count("\n") == 1 and re.search("[\u4e00-\u9fff]", zh)


def test_a_file_that_is_not_there(convert, capsys):
    for name in ("nothing", "."):
        assert main(["logprobs", "convert", name, "--lang", "en"]) == 2
        assert capsys.readouterr().err.startswith(f"specbot: error: `{name}` cannot be read")


def test_every_reason_has_its_sentence_and_every_sentence_its_reason():
    """The keys are raised in `checks/`, where there are no words, and the words stand in
    `errors.toml`.
    """
    source = "".join(
        path.read_text("utf-8") for path in sorted((ROOT / "checks/logprobs").glob("*.py"))
    )
    said = tomllib.loads((ROOT / "templates/words/errors.toml").read_text("utf-8"))
    for prefix, errors in (("record-", "RecordError|FieldError"), ("response-", "ResponseError")):
        raised = set(re.findall(rf'(?:{errors})\(\s*"([a-z0-9-]+)"', source))
        assert raised == {key.removeprefix(prefix) for key in said if key.startswith(prefix)}
