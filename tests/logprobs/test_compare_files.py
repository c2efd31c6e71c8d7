"""`specbot logprobs diff`: two files in, a report and an exit code out."""

from __future__ import annotations

import gzip
import json
import os
import re
from dataclasses import replace

import numpy as np
import pytest

from bot.cli.main import main
from checks.logprobs.jsonl import write
from tests.logprobs.simulated import Logits, records, swap


@pytest.fixture(scope="module")
def logits():
    return Logits.random(np.random.default_rng(1), 70, 12, 30)


@pytest.fixture(scope="module")
def base(logits):
    return records(logits)


@pytest.fixture
def save(tmp_path):
    def made(name, found):
        path = tmp_path / name
        path.write_bytes(b"".join(write(r) for r in found))
        return path

    return made


def diff(*args):
    return main(["logprobs", "diff", *map(str, args)])


def verdict(capsysbinary, *args):
    code = diff(*args, "--format", "json")
    return code, json.loads(capsysbinary.readouterr().out)


def test_exit_codes(save, base, capsysbinary):
    path = save("base", base)
    assert verdict(capsysbinary, path, path)[0] == 0
    code, told = verdict(
        capsysbinary, path, save("head", [swap(r, ranks=r.ranks + 1) for r in base])
    )
    assert (code, told["verdict"], told["safe"]) == (1, "regression", False)


def test_one_request_that_differs_is_seen_among_equal_ones(save, base, capsysbinary):
    head = [swap(r, logprobs=r.logprobs - 1) if n == 40 else r for n, r in enumerate(base)]
    told = verdict(capsysbinary, save("base", base), save("head", head))[1]
    assert (told["verdict"], told["counts"]["pairs"], told["counts"]["requests-over"]) == (
        "regression",
        70,
        1,
    )
    assert told["examples"]["worst"][0]["request"] == "request-40"


def test_requests_in_another_order_give_the_same_report(save, base, logits, capsysbinary):
    head = records(logits.noisy(np.random.default_rng(3), 3))
    in_step = verdict(capsysbinary, save("base", base), save("head", head))
    order = np.random.default_rng(4).permutation(len(head))
    assert in_step[1]["verdict"] == "regression"
    assert (
        verdict(capsysbinary, save("base", base), save("head", [head[n] for n in order])) == in_step
    )


def test_a_bad_line_is_told_with_its_number(save, base, capsys):
    path = save("base", base)
    broken = path.with_name("broken")
    broken.write_bytes(path.read_bytes() + b"{}\n")
    assert diff(broken, broken) == 2
    assert "71" in capsys.readouterr().err


def test_requests_that_the_server_named_are_paired_by_their_prompts(save, base, capsysbinary):
    named = [swap(r, id=f"cmpl-{n * 7919 % 101}") for n, r in enumerate(base)]
    code, told = verdict(capsysbinary, save("base", base), save("head", named[::-1]))
    assert (code, told["verdict"], told["counts"]["pairs"]) == (0, "identical", 70)


def test_a_request_that_stands_there_twice_is_paired_in_order(save, base, capsysbinary):
    twice = [swap(r, id="same") for r in base[:3]]
    same_prompt = [swap(r, prompt_sha256=twice[0].prompt_sha256) for r in twice]
    mixed = [base[5], *same_prompt]
    code, told = verdict(capsysbinary, save("base", mixed), save("head", [*same_prompt, base[5]]))
    assert (code, told["verdict"], told["counts"]["pairs"]) == (0, "identical", 4)


def test_requests_on_one_side_alone_are_named(save, base, capsysbinary):
    paths = save("base", base), save("head", base[:30] + base[31:])
    code, told = verdict(capsysbinary, *paths)
    assert (code, told["verdict"]) == (1, "inconclusive")
    assert told["counts"]["only-base"] == 1
    assert diff(*paths, "--lang", "en", "--verbose") == 1
    assert b"`request-30`" in capsysbinary.readouterr().out


def test_a_second_run_of_base(save, base, logits, capsysbinary):
    rngs = map(np.random.default_rng, (5, 6))
    head, again = (records(logits.noisy(rng, 4)) for rng in rngs)
    paths = save("base", base), save("head", head)
    assert verdict(capsysbinary, *paths)[1]["verdict"] == "regression"
    code, told = verdict(capsysbinary, *paths, "--aa", save("again", again))
    assert (code, told["verdict"]) == (0, "within-noise")
    assert told["tolerance_ulps"] > 4


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("form", ["terminal", "markdown"])
def test_reports_for_people(save, base, logits, capsysbinary, language, form):
    head = records(logits.noisy(np.random.default_rng(3), 3))
    head[3] = swap(
        head[3],
        topk_ids=base[3].topk_ids,
        topk_logprobs=base[2].topk_logprobs,
        ranks=head[3].ranks + 2,
    )
    steps = [np.array([1, *([2] * 5), 1]) if n % 2 else r.accept_num for n, r in enumerate(base)]
    head = [
        swap(r, accept_num=a, origin=replace(r.origin, engine_version="2"))
        for r, a in zip(head, steps, strict=True)
    ]
    how = ("--lang", language, "--format", form, "--verbose")
    assert diff(save("base", base), save("head", head), *how) == 1
    out = capsysbinary.readouterr().out.decode()
    assert "regression" in out
    assert re.search(r"`request-\d+`", out)
    assert "{{" not in out and "Message" not in out and "None" not in out
    assert ("回归" in out) == (language == "zh")
    assert "2.0" not in out


def test_pictures_are_the_same_bytes_each_time(save, base, logits, tmp_path, capsysbinary):
    paths = save("base", base), save("head", records(logits.noisy(np.random.default_rng(3))))
    for folder in ("one", "two"):
        diff(*paths, "--pictures", tmp_path / folder, "--lang", "zh")
    for name in ("difference.svg", "acceptance.svg"):
        drawn = (tmp_path / "one" / name).read_bytes()
        assert drawn == (tmp_path / "two" / name).read_bytes()
        assert b"<svg" in drawn and not re.search(rb"20\d\d-\d\d-\d\d", drawn)
    assert "容差" in (tmp_path / "one" / "difference.svg").read_text()


def test_pictures_of_nothing(save, base, tmp_path, capsysbinary):
    other = [swap(r, origin=replace(r.origin, device="gpu-2")) for r in base]
    assert (
        diff(save("base", base), save("head", other), "--pictures", tmp_path / "p", "--lang", "en")
        == 1
    )
    assert "no data" in (tmp_path / "p" / "difference.svg").read_text()


BROKEN = {
    "cut off": lambda data: data[: len(data) - 100],
    "in utf-16": lambda data: data.decode().encode("utf-16"),
    "in latin-1": lambda data: data.replace(b"request-1", b"r\xe9quest"),
    "no json": lambda data: data.replace(b'"tokens":[', b'"tokens":[,', 1),
    "of another kind": lambda data: b'{"choices": []}\n',
    "with steps that do not add up": lambda data: data.replace(
        b'"accept_num":[1,', b'"accept_num":[2,', 1
    ),
    "with a number that is none": lambda data: re.sub(
        rb'"logprobs":\[[^,]*', b'"logprobs":["none"', data, count=1
    ),
    "with the NaN of Python": lambda data: re.sub(
        rb'"logprobs":\[[^,]*', b'"logprobs":[NaN', data, count=1
    ),
    "compressed": gzip.compress,
    "empty": lambda data: b"",
}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_file_that_is_no_record_is_told_in_one_sentence(save, base, capsys, how, language):
    path = save("base", base)
    broken = path.with_name("broken")
    broken.write_bytes(BROKEN[how](path.read_bytes()))
    code = diff(path, broken, "--lang", language)
    said = capsys.readouterr()
    assert code == 2 and not said.out
    assert said.err.count("\n") == 1
    assert "broken" in said.err


def test_what_is_no_file(tmp_path, save, base, capsys):
    path = save("base", base)
    os.mkfifo(tmp_path / "pipe")
    for name in ("none", ".", "pipe"):
        assert diff(path, tmp_path / name) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_nan_and_infinity_in_a_file(save, base, capsysbinary):
    odd = [
        swap(r, logprobs=np.where(np.arange(12) == 3, [np.nan, -np.inf, np.inf][n % 3], r.logprobs))
        for n, r in enumerate(base)
    ]
    path = save("odd", odd)
    assert verdict(capsysbinary, path, path)[1]["verdict"] == "identical"
    told = verdict(capsysbinary, save("base", base), path)[1]
    assert told["verdict"] == "regression"
    assert {"cause-nan", "cause-inf"} <= {c["key"] for c in told["causes"]}
    assert told["examples"]["worst"][0]["ulps"] == "inf"
    at_three = next(place for place in told["by_position"] if place["at"] == "3")
    assert (at_three["mean_ulps"], at_three["largest_ulps"]) == ("inf", "inf")
