"""`specbot device` on a small repository: what it says of good, wrong and hostile ops."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bot.device.promise import promises_same_results
from checks.core.change import PullRequest
from tests.device import fixture_repo

ROOT = Path(__file__).resolve().parents[2]
needs_compiler = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")),
    reason="neither g++ nor clang++ is on this machine to compile device code with",
)


Once = Callable[[str, Callable[[], Any]], Any]


def run_device(
    cache: Path, action: str, *arguments: str, path: str | None = None
) -> subprocess.CompletedProcess[str]:
    """The command, which keeps what it compiles in `cache`."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache)}
    if path is not None:
        environment["PATH"] = path
    command = [sys.executable, "-m", "bot", "device", action, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def report_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The JSON that it printed."""
    assert done.returncode in (0, 1), done.stderr
    data: dict[str, Any] = json.loads(done.stdout)
    return data


@pytest.fixture(scope="session")
def repo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """The repository, its base and its head."""
    folder = tmp_path_factory.mktemp("repo")
    fixture_repo.write_ops(folder, 0)
    base = fixture_repo.commit(folder, "base")
    fixture_repo.write_ops(folder, 1)
    return folder, base, fixture_repo.commit(folder, "head")


@pytest.fixture(scope="session")
def compared(cache: Path, once: Once, repo: tuple[Path, str, str]) -> dict[str, Any]:
    """What `compare` says of the repository."""
    folder, base, head = repo
    arguments = ("--repo", str(folder), "--base", base, "--head", head, "--format", "json")
    return once("compared", lambda: report_of(run_device(cache, "compare", *arguments)))


def rules_by_file(report: dict[str, Any]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for finding in report["findings"]:
        name = Path(finding["location"]["path"]).stem
        found.setdefault(name, set()).add(finding["rule"])
    return found


@needs_compiler
def test_head_alone(cache: Path, repo: tuple[Path, str, str]) -> None:
    folder, base, _ = repo
    arguments = ("--repo", str(folder), "--head", base, "--format", "json")
    report = report_of(run_device(cache, "test", *arguments))
    assert len(report["sources"]["compiled"]) == len(fixture_repo.BODIES)
    assert report["sources"]["refused"] == []
    counts = {name: report["tests"][name] for name in ("passed", "failed", "not_run")}
    assert counts == {"passed": len(fixture_repo.BODIES), "failed": 0, "not_run": 0}
    assert {case["outcome"] for case in report["tests"]["cases"]} == {"passed"}
    assert report["findings"] == []
    again = report_of(run_device(cache, "test", *arguments))
    assert again["sources"]["compiled_now"] == []


@needs_compiler
def test_each_bug_of_the_head_is_found(compared: dict[str, Any]) -> None:
    found = rules_by_file(compared)
    assert found["add_one"] == {"device.test-fails"}
    assert "device.race" in found["mirror"] or "device.test-fails" in found["mirror"]
    assert "device.sanitizer" in found["past_end"]
    assert "device.barrier" in found["two_barriers"]
    assert "keep" not in found


@needs_compiler
def test_what_each_op_was_compared_with(compared: dict[str, Any]) -> None:
    inputs: dict[str, int] = {}
    for comparison in compared["comparisons"]:
        assert 0 <= comparison["differed"] <= comparison["inputs"]
        against = comparison["against"]
        inputs[against] = inputs.get(against, 0) + comparison["inputs"]
    assert set(inputs) == {"tests", "schedules", "sanitizers", "base"}
    assert all(inputs.values())


@pytest.mark.parametrize(
    ("title", "body", "is_promised"),
    [
        ("Refactor neighbours", "", True),
        ("Count equal neighbours", "", False),
        ("Count equal neighbours", "No functional change", True),
        ("Refactor and fix neighbours", "", False),
    ],
)
def test_what_a_title_promises(title: str, body: str, *, is_promised: bool) -> None:
    assert promises_same_results(PullRequest(title, body)) == is_promised


@needs_compiler
@pytest.mark.parametrize("title", ["Refactor neighbours", "Count equal neighbours"])
def test_what_only_a_varied_input_shows(cache: Path, tmp_path: Path, title: str) -> None:
    fixture_repo.write_ops(tmp_path, 0, ["neighbours"])
    base = fixture_repo.commit(tmp_path, "base")
    fixture_repo.write_ops(tmp_path, 1, ["neighbours"])
    head = fixture_repo.commit(tmp_path, "head")
    sides = ("--base", base, "--head", head, "--title", title)
    report = report_of(
        run_device(cache, "compare", "--repo", str(tmp_path), *sides, "--format", "json")
    )
    varied = [item for item in report["comparisons"] if item["against"] == "base-varied"]
    if title != "Refactor neighbours":
        assert report["findings"] == []
        assert varied == []
        return
    [finding] = report["findings"]
    assert finding["rule"] == "device.changed-result"
    assert finding["severity"] == "question"
    assert finding["message"]["en"].endswith("Does a caller give such a one?")
    [[name, shown]] = finding["evidence"][0]["inputs"]
    assert name == "values"
    numbers = shown.partition("[8] ")[2].strip("[]").split(", ")
    assert numbers[1] == numbers[2]
    assert varied[0]["differed"] == 1
    assert varied[0]["inputs"] > 1


@needs_compiler
def test_what_only_a_sanitizer_sees_of_a_varied_input(cache: Path, tmp_path: Path) -> None:
    fixture_repo.write_ops(tmp_path, 0, ["beside"])
    base = fixture_repo.commit(tmp_path, "base")
    fixture_repo.write_ops(tmp_path, 1, ["beside"])
    head = fixture_repo.commit(tmp_path, "head")
    sides = ("--repo", str(tmp_path), "--head", head, "--title", "Refactor", "--format", "json")
    report = report_of(run_device(cache, "compare", "--base", base, *sides))
    [finding] = report["findings"]
    assert (finding["rule"], finding["severity"]) == ("device.sanitizer", "question")
    assert "stack-buffer-overflow in beside_kernel" in finding["message"]["en"]
    assert finding["location"]["path"].endswith("beside.cu")
    [[_, shown]] = finding["evidence"][0]["inputs"]
    numbers = shown.partition("[8] ")[2].strip("[]").split(", ")
    assert numbers[1] == numbers[2]
    # What the base reads too is not the change's.
    [source] = tmp_path.rglob("beside.cu")
    source.write_text(source.read_text() + "// one more line\n")
    sides = (*sides[:3], fixture_repo.commit(tmp_path, "more"), *sides[4:])
    report = report_of(run_device(cache, "compare", "--base", head, *sides))
    assert report["findings"] == []
    [watched] = [c for c in report["comparisons"] if c["against"] == "sanitizers-varied"]
    assert watched["inputs"] > 1


@needs_compiler
def test_a_limit_in_the_environment(cache: Path, tmp_path: Path) -> None:
    fixture_repo.write_ops(tmp_path, 0, ["add_one"])
    fixture_repo.read_limit(tmp_path, "add_one", "std::stoi(most)")
    base = fixture_repo.commit(tmp_path, "base")
    fixture_repo.write_ops(tmp_path, 0, ["add_one"])
    fixture_repo.read_limit(tmp_path, "add_one", "std::stoi(most) + 1")
    head = fixture_repo.commit(tmp_path, "head")
    sides = ("--base", base, "--head", head, "--title", "Refactor add_one", "--format", "json")
    report = report_of(run_device(cache, "compare", "--repo", str(tmp_path), *sides))
    [finding] = report["findings"]
    assert (finding["rule"], finding["severity"]) == ("device.changed-result", "question")
    shown = dict(finding["evidence"][0]["inputs"])
    assert 0 <= int(shown["MOST_VALUES"]) < 8


@needs_compiler
def test_a_type_that_no_test_has(cache: Path, tmp_path: Path) -> None:
    fixture_repo.write_halves(tmp_path, "2")
    base = fixture_repo.commit(tmp_path, "base")
    fixture_repo.write_halves(tmp_path, "(sizeof(T) / 2 * 2 - (sizeof(T) == 4 ? 2 : 1))")
    head = fixture_repo.commit(tmp_path, "head")
    sides = ("--base", base, "--head", head, "--title", "Refactor halve", "--format", "json")
    report = report_of(run_device(cache, "compare", "--repo", str(tmp_path), *sides))
    [finding] = report["findings"]
    assert (finding["rule"], finding["severity"]) == ("device.changed-result", "question")
    shown = dict(finding["evidence"][0]["inputs"])
    assert shown["values"].startswith("float16[4]")
    assert shown["factors"].startswith("float32[4]")


@needs_compiler
def test_a_refusal_has_its_name(compared: dict[str, Any]) -> None:
    [refused] = compared["sources"]["refused"]
    assert refused["path"].endswith("tensor_core.cu")
    assert "PTX: wgmma.fence" in refused["why"]
    [case] = [case for case in compared["tests"]["cases"] if "test_tensor_core" in case["test"]]
    assert case["outcome"] == "not_run"
    assert "wgmma" in case["why"]


@needs_compiler
def test_a_finding_can_be_shown_again(compared: dict[str, Any], cache: Path) -> None:
    [finding] = [f for f in compared["findings"] if f["location"]["path"].endswith("add_one.cu")]
    [evidence] = finding["evidence"]
    assert evidence["type"] == "Execution"
    assert evidence["op"] == "add_one"
    assert finding["message"]["en"].startswith("`tests/test_add_one.py::")
    assert "--paths custom_ops/gpu_ops/deep/add_one.cu" in evidence["command"]


@needs_compiler
def test_a_test_that_the_change_takes_away(cache: Path, tmp_path: Path) -> None:
    fixture_repo.write_ops(tmp_path, 0, ["add_one"])
    base = fixture_repo.commit(tmp_path, "base")
    fixture_repo.write_ops(tmp_path, 1, ["add_one"])
    test = tmp_path / "tests/test_add_one.py"
    test.write_text(test.read_text().replace("def test_", "def no_longer_test_"))
    head = fixture_repo.commit(tmp_path, "head")
    arguments = ("--repo", str(tmp_path), "--base", base, "--head", head, "--format", "json")
    report = report_of(run_device(cache, "test", *arguments))
    [finding] = report["findings"]
    assert (finding["rule"], finding["severity"]) == ("device.test-fails", "question")


@needs_compiler
def test_what_the_emulator_does_not_have(cache: Path, tmp_path: Path) -> None:
    fixture_repo.write_ops(tmp_path, 0, ["keep"])
    base = fixture_repo.commit(tmp_path, "base")
    fixture_repo.set_strides(tmp_path, "keep")
    head = fixture_repo.commit(tmp_path, "head")
    sides = ("--repo", str(tmp_path), "--base", base, "--head", head, "--title", "Refactor keep")
    report = report_of(run_device(cache, "compare", *sides, "--format", "json"))
    assert report["sources"]["refused"] == []
    [case] = [case for case in report["tests"]["cases"] if "test_keep" in case["test"]]
    assert case["outcome"] == "not_run"
    assert case["why"] == "MissingPart: strides that leave a tensor's own memory"
    # Nor do the recorded calls say that its results are others.
    assert report["findings"] == []
    # Not even where the sanitizers watch, under which an error of C++ ended the process once.
    [watched] = [item for item in report["comparisons"] if item["against"] == "sanitizers"]
    assert (watched["inputs"], watched["differed"]) == (0, 0)


@needs_compiler
def test_a_test_that_catches_what_is_not_emulated(cache: Path, tmp_path: Path) -> None:
    fixture_repo.write_ops(tmp_path, 0, ["add_one"])
    fixture_repo.set_strides(tmp_path, "add_one")
    fixture_repo.catch_errors(tmp_path, "add_one")
    head = fixture_repo.commit(tmp_path, "head")
    sides = ("--repo", str(tmp_path), "--head", head, "--format", "json")
    [case] = report_of(run_device(cache, "test", *sides))["tests"]["cases"]
    assert case["outcome"] == "not_run"
    assert case["why"] == "NotEmulated: strides that leave a tensor's own memory"


@needs_compiler
@pytest.mark.parametrize("is_test_adapted", [True, False])
def test_an_op_that_takes_other_arguments(
    cache: Path, tmp_path: Path, *, is_test_adapted: bool
) -> None:
    fixture_repo.write_ops(tmp_path, 0, ["keep"])
    base = fixture_repo.commit(tmp_path, "base")
    fixture_repo.take_size(tmp_path, "keep", is_test_adapted=is_test_adapted)
    head = fixture_repo.commit(tmp_path, "head")
    sides = ("--repo", str(tmp_path), "--base", base, "--head", head, "--title", "Refactor keep")
    report = report_of(run_device(cache, "compare", *sides, "--format", "json"))
    told = [(finding["rule"], finding["severity"]) for finding in report["findings"]]
    # Its results are not what changed.
    assert told == ([] if is_test_adapted else [("device.test-fails", "bug")])


@needs_compiler
def test_a_form_for_people(cache: Path, repo: tuple[Path, str, str]) -> None:
    folder, base, head = repo
    arguments = ("--repo", str(folder), "--base", base, "--head", head, "--format", "markdown")
    done = run_device(cache, "test", *arguments, "--paths", "*/add_one.cu")
    assert done.returncode == 1, done.stderr
    assert "device.test-fails" in done.stdout
    assert "1 of 1 source compiled" in done.stdout


@needs_compiler
def test_unreached_lines_and_mistakes_in_changed_ones(cache: Path, tmp_path: Path) -> None:
    fixture_repo.write_ops(tmp_path, 0, ["keep"])
    base = fixture_repo.commit(tmp_path, "base")
    source = tmp_path / fixture_repo.OPS / "deep" / "keep.cu"
    # The test has 8 values, so that it cannot tell these bounds from others.
    unreached = "  if (n > 100) {\n    values[0] = n;\n  }\n"
    text = source.read_text().replace("{\n  if", "{\n" + unreached + "  if", 1)
    source.write_text(text.replace("threadIdx.x < n)", "threadIdx.x < n && n != 7)"))
    head = fixture_repo.commit(tmp_path, "head")
    arguments = ("--repo", str(tmp_path), "--base", base, "--head", head, "--format", "json")
    report = report_of(run_device(cache, "cover", *arguments, "--fail-on", "never"))
    [finding] = report["findings"]
    assert finding["rule"] == "device.untested-line"
    lines = source.read_text().splitlines()
    number = lines.index("    values[0] = n;") + 1
    assert finding["location"]["start_line"] == number
    [coverage] = report["coverage"]
    assert coverage["missed"] == [number]
    mutants = report["mutants"]
    assert mutants["not_built"] == 0
    changes = {(mutant["before"], mutant["after"]) for mutant in mutants["unnoticed"]}
    [line] = [row.strip() for row in lines if "n != 7" in row]
    assert changes >= {(line, line.replace("<", "<=")), (line, line.replace("&&", "||"))}
    assert all(mutant["path"].endswith("keep.cu") for mutant in mutants["unnoticed"])


@pytest.fixture(scope="session")
def hostile(
    tmp_path_factory: pytest.TempPathFactory, cache: Path, of_this_run: Path, once: Once
) -> dict[str, Any]:
    """What `test` says of ops that mean harm."""

    def ask() -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("hostile")
        fixture_repo.write_hostile(folder, fork_name(of_this_run))
        fixture_repo.commit(folder, "hostile")
        arguments = ("--repo", str(folder), "--format", "json", "--timeout", "40")
        return report_of(run_device(cache, "test", *arguments))

    return once("hostile", ask)


def fork_name(of_this_run: Path) -> str:
    """What the forked processes are called, as long as the kernel keeps it: no other run's are."""
    return f"fork-{zlib.crc32(str(of_this_run).encode()):x}"


@needs_compiler
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("reads_passwd", "includes a file outside of the tree: /etc/passwd"),
        ("reads_spliced", "includes a file outside of the tree: /etc/hostname"),
        ("reads_by_macro", "#include of a macro is refused"),
        ("endless_templates", "template instantiation depth"),
    ],
)
def test_a_hostile_source_is_refused(hostile: dict[str, Any], name: str, why: str) -> None:
    [refused] = [r for r in hostile["sources"]["refused"] if Path(r["path"]).stem == name]
    assert why in refused["why"]
    assert "root:" not in json.dumps(hostile)
    [case] = [c for c in hostile["tests"]["cases"] if f"test_{name}.py" in c["test"]]
    assert case["outcome"] == "not_run"


@needs_compiler
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("leaves_at_start", "the process ended with code 0 before its tests were done"),
        ("hangs", "took more than 40 s"),
        ("crashes", "the process was ended by signal 11"),
    ],
)
def test_a_hostile_op_fails_alone(hostile: dict[str, Any], name: str, why: str) -> None:
    [case] = [c for c in hostile["tests"]["cases"] if f"test_{name}.py" in c["test"]]
    assert (case["outcome"], case["why"]) == ("failed", why)
    others = [c for c in hostile["tests"]["cases"] if "test_add_one.py" in c["test"]]
    assert [c["outcome"] for c in others] == ["passed"]


@needs_compiler
def test_a_fork_bomb_ends_with_its_op(hostile: dict[str, Any], of_this_run: Path) -> None:
    [case] = [c for c in hostile["tests"]["cases"] if "test_forks.py" in c["test"]]
    # What the parent did is right: its children are nobody's result, and nobody's burden.
    assert case["outcome"] == "passed"
    left, name = [], fork_name(of_this_run)
    for path in Path("/proc").glob("[0-9]*/comm"):
        with suppress(OSError):
            left += [path.parent.name] if path.read_text().strip() == name else []
    assert left == []


def test_no_compiler(tmp_path: Path, repo: tuple[Path, str, str]) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("git", "unshare", "sh"):
        found = shutil.which(name)
        if found is not None:
            (tools / name).symlink_to(found)
    folder, _, head = repo
    done = run_device(tmp_path, "test", "--repo", str(folder), "--head", head, path=str(tools))
    assert done.returncode == 2
    assert "neither g++ nor clang++" in done.stderr


def test_no_sources(tmp_path: Path, repo: tuple[Path, str, str]) -> None:
    folder, _, head = repo
    arguments = ("--repo", str(folder), "--head", head, "--paths", "nothing/*")
    done = run_device(tmp_path, "test", *arguments)
    assert done.returncode == 2
    assert "no device source" in done.stderr


def test_what_there_is_nothing_to_run_for(cache: Path, repo: tuple[Path, str, str]) -> None:
    folder, _, head = repo

    def refusal(*arguments: str) -> str:
        done = run_device(cache, "test", "--repo", str(folder), *arguments)
        assert done.returncode == 2
        return done.stderr

    assert "There is no revision" in refusal("--head", "")
    assert "the change touches no device source" in refusal("--base", head, "--head", head)
    assert "matches nothing.cu" in refusal("--paths", "nothing.cu").replace("`", "")
