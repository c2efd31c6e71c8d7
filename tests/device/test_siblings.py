"""`specbot device compare` on an op and its copy for other hardware."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bot.configuration import load_configuration
from bot.device.actions import Request, run
from bot.git import Git, resolve
from bot.pipeline import open_change
from bot.reports.device import render
from checks.core.change import PullRequest
from kernels.emulator.library import HostTensor
from kernels.emulator.readings import RequestsDiffer, TakenByEach, TakenOnce
from tests.device import fixture_copies
from tests.device.fixture_copies import BY_TWO, GPU, SAME, STOPPED_AND_PAUSED, WITH_LAST, WRAPPER
from tests.device.fixture_repo import commit
from tests.device.test_command import needs_compiler, report_of, run_device

pytestmark = needs_compiler


def compare(cache: Path, folder: Path, *arguments: str) -> dict[str, Any]:
    return report_of(
        run_device(cache, "compare", "--repo", str(folder), "--format", "json", *arguments)
    )


def compare_sides(cache: Path, folder: Path, *, gpu: str = SAME, xpu: str = SAME) -> dict[str, Any]:
    """A change from two copies that agree."""
    fixture_copies.write_copies(folder)
    base = commit(folder, "base")
    fixture_copies.write_copies(folder, gpu, xpu)
    return compare(cache, folder, "--base", base, "--head", commit(folder, "head"))


def test_copies_that_part(cache: Path, tmp_path: Path) -> None:
    report = compare_sides(cache, tmp_path, gpu=BY_TWO)
    [finding] = report["findings"]
    assert (finding["rule"], finding["severity"]) == ("device.sibling", "bug")
    assert finding["location"]["path"] == GPU
    [evidence] = finding["evidence"]
    # The smaller of the two calls that differ, by the names of the op's parameters.
    inputs = dict(evidence["inputs"])
    assert inputs["lens"] == "int32[2] [0, 1]"
    assert inputs["step"] == "1"
    assert (evidence["expected"], evidence["got"]) == ("1", "2")
    assert "custom_ops/xpu_ops/src/ops/advance.cc" in finding["message"]["en"]
    [sibling] = report["siblings"]
    assert (sibling["agreed"], sibling["differed"]) == (2, 2)
    # The copy's own check refuses a step of 0: no input of any caller.
    assert sibling["left_out"] == ["refused: WRAPPER_ASSERT: (step) > (0)"]


def test_a_change_of_the_copy_alone(cache: Path, tmp_path: Path) -> None:
    report = compare_sides(cache, tmp_path, xpu=BY_TWO)
    [finding] = report["findings"]
    assert finding["rule"] == "device.sibling"
    assert finding["location"]["path"] == WRAPPER


def test_a_change_of_both(cache: Path, tmp_path: Path) -> None:
    report = compare_sides(cache, tmp_path, gpu=BY_TWO, xpu=BY_TWO)
    assert report["findings"] == []
    [sibling] = report["siblings"]
    assert sibling["compared"]
    assert sibling["varied"]["agrees"] > 0


def test_a_head_alone_is_asked(cache: Path, tmp_path: Path) -> None:
    fixture_copies.write_copies(tmp_path, gpu=BY_TWO)
    commit(tmp_path, "head")
    [finding] = compare(cache, tmp_path)["findings"]
    assert (finding["rule"], finding["severity"]) == ("device.sibling", "question")


def test_a_variation_of_what_tests_show(cache: Path, tmp_path: Path) -> None:
    report = compare_sides(cache, tmp_path, gpu=STOPPED_AND_PAUSED)
    [finding] = report["findings"]
    assert (finding["rule"], finding["severity"]) == ("device.sibling", "question")
    [evidence] = finding["evidence"]
    assert "True" in dict(evidence["inputs"])["stopped"]
    assert "True" in dict(evidence["inputs"])["paused"]


def test_a_parameter_of_one_side(cache: Path, tmp_path: Path) -> None:
    fixture_copies.write_copies(tmp_path, gpu=BY_TWO, extra="mask")
    commit(tmp_path, "head")
    report = compare(cache, tmp_path)
    assert report["findings"] == []
    [sibling] = report["siblings"]
    assert not sibling["compared"]
    assert sibling["left_out"] == ["one side alone takes mask"]


@pytest.mark.parametrize(("type_of_step", "is_one"), [("int", True), ("long", False)])
def test_a_function_that_stands_in_another_namespace(
    cache: Path, tmp_path: Path, type_of_step: str, *, is_one: bool
) -> None:
    fixture_copies.write_copies(tmp_path)
    wrapper = tmp_path / WRAPPER
    text = wrapper.read_text().replace("namespace example {", "namespace other {")
    head, call, body = text.partition("int advance(api")
    wrapper.write_text(head + call + body.replace("int step", f"{type_of_step} step", 1))
    commit(tmp_path, "head")
    [sibling] = compare(cache, tmp_path)["siblings"]
    assert sibling["compared"] == is_one
    told = "example::plugin::advance is defined nowhere: other::plugin::advance stands for it"
    assert (told in sibling["left_out"]) == is_one
    assert ("undefined symbol" in sibling["why"]) != is_one


@pytest.mark.parametrize(("step", "agrees"), [("step", True), ("2 * step", False)])
def test_what_is_another_each_time_is_left_out_and_the_rest_compared(
    cache: Path, tmp_path: Path, step: str, agrees: bool
) -> None:
    fixture_copies.write_copies(tmp_path, gpu=WITH_LAST.replace("STEP", step))
    commit(tmp_path, "head")
    report = compare(cache, tmp_path)
    [sibling] = report["siblings"]
    assert sibling["compared"]
    # Two calls step. In one all are paused, before and after; in the last nothing else is written.
    assert (sibling["agreed"], sibling["differed"]) == ((3, 0) if agrees else (1, 2))
    assert "paused is not the same each time" in sibling["left_out"]
    found = [f for f in report["findings"] if f["rule"] == "device.sibling"]
    assert bool(found) != agrees


def test_people_read_it(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    fixture_copies.write_copies(tmp_path)
    head = commit(tmp_path, "head")
    git, pull = Git(tmp_path), PullRequest(title="", body="")
    with open_change(git, resolve(git, head, head, merge_base=False), pull) as change:
        configuration = load_configuration(change.head, None, None)
        request = Request("compare", change, configuration, "command", alone=True)
        report = run(request, lambda _: None)
    for form in ("terminal", "markdown", "html"):
        text = render(report, form, "en")
        assert "Compared with the copies for other hardware" in text
        assert "4 agreed" in text


def test_a_history_behind_each_prompt(cache: Path, tmp_path: Path) -> None:
    fixture_copies.write_history(tmp_path / "same", "0")
    commit(tmp_path / "same", "head")
    [sibling] = compare(cache, tmp_path / "same")["siblings"]
    assert (sibling["agreed"], sibling["differed"]) == (1, 0)
    fixture_copies.write_history(tmp_path / "other", "1")
    commit(tmp_path / "other", "head")
    [finding] = compare(cache, tmp_path / "other")["findings"]
    [evidence] = finding["evidence"]
    assert (evidence["expected"], evidence["got"]) == ("7", "-1")


def test_an_op_without_calls_borrows_those_of_another(cache: Path, tmp_path: Path) -> None:
    fixture_copies.write_copies(tmp_path)
    fixture_copies.write_untested(tmp_path, gpu=BY_TWO)
    commit(tmp_path, "head")
    report = compare(cache, tmp_path)
    [finding] = report["findings"]
    # No test shows that callers give it these inputs.
    assert (finding["severity"], finding["evidence"][0]["op"]) == ("question", "go_on")
    assert {sibling["op"]: sibling["compared"] for sibling in report["siblings"]} == {
        "advance": True,
        "go_on": True,
    }


def test_another_form_of_a_tensor(cache: Path, tmp_path: Path) -> None:
    fixture_copies.write_copies(tmp_path, gpu=BY_TWO)
    fixture_copies.write_copy_test(tmp_path, dtype="int64")
    commit(tmp_path, "head")
    report = compare(cache, tmp_path)
    assert report["findings"] == []
    [sibling] = report["siblings"]
    forms = "int32[1], the other as int64[1]"
    assert f"one side takes lens as {forms}" in sibling["left_out"]


def test_what_one_side_takes_once(cache: Path, tmp_path: Path) -> None:
    fixture_copies.write_banned(tmp_path, "-8")
    commit(tmp_path, "head")
    report = compare(cache, tmp_path)
    [sibling] = report["siblings"]
    # A call of the copy, and the one of the op in which both requests have the same.
    assert (sibling["agreed"], sibling["differed"]) == (0, 2)
    assert sibling["left_out"] == ["one side takes bad once for all requests, which differ in it"]
    [finding] = report["findings"]
    [evidence] = finding["evidence"]
    assert (evidence["expected"], evidence["got"]) == ("-9.0", "-8.0")


def test_a_tensor_for_each_request_and_one_for_all() -> None:
    each = HostTensor(np.array([[5, 6, 0], [5, 6, 1]]), "int64")
    counts = HostTensor(np.array([2, 2], "int32"), "int32")
    once = TakenOnce("stop", 1, "stop_len", is_whole=True)
    translated = once.translate({"stop": each, "stop_len": counts})
    assert shown(translated["stop"]) == [5, 6]
    with pytest.raises(RequestsDiffer):
        TakenOnce("stop", 1, "stop_len").translate({"stop": each, "stop_len": counts})

    given = {"stop": translated["stop"], "lens": counts, "step": counts}
    back = TakenByEach("stop", 1, "stop_len", "int32").translate(given)
    assert shown(back["stop"]) == [[5, 6], [5, 6]]
    assert shown(back["stop_len"]) == [[2], [2]]


def shown(value: object) -> list[object]:
    assert isinstance(value, HostTensor)
    numbers: list[object] = value.array.tolist()
    return numbers
