"""What to do about a failure by its category, with what its own words name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from checks.ci import device_details, log_details
from checks.ci.attribution_input import AttributionInput
from checks.ci.code_owners import owned_files
from checks.ci.message_keys import Advice
from checks.ci.observed_failures import ObservedFailure
from checks.ci.report import Category, Suggestion
from checks.core.finding import Location, Message

_MOST_APPROVALS = 20
_MOST_FILES_NAMED = 4
# What is done at the place of the error.
_AT_ERROR = (Advice.FIX_BUILD, Advice.MISSING_FILE, Advice.RUN_LINTER, Advice.LOOK_AT_ERROR)
# How far from the error a line still tells of the same request, or of the very same answer.
_NEAR, _NEXT = 10, 2
_LIMITED = ("registry-limit",)
_REGISTRY = ("registry",)
_NO_RIGHT = ("cloud-refused", "credentials", "github-refused", "hub-refused")
_COMMUNICATION = (
    "collective",
    "collective-code",
    "collective-failed",
    "nccl-warning",
    "gloo",
    "gloo-peer",
)
_REFUSED = ("scheduler-refused",)
_NO_DEVICE = ("no-device", "no-gpu-on-runner")
_HELD = ("device-busy",)
_LEFT = ("workspace-left",)
_FROM_OUTSIDE = ("SIGKILL", "SIGTERM")
_OTHER_PROCESS = ("exception-of-another",)
_GIT = ("git", "git-merge", "submodule")
_REFERENCE = re.compile(
    r"(?i)pathspec|remote ref|not our ref|bad (?:object|revision)|unknown revision"
    r"|reference is not a tree|not found in upstream|not a valid (?:object|ref)|no such ref"
)
_CONFLICT = re.compile(
    r"(?i)conflict|merge|could not apply|patch failed|overwritten|failed to push"
)
_SIGN_OFF = re.compile(r"(?i)\bsign(?:ed)?[- ]?off|\bDCO\b")
_UNITTEST = re.compile(r"^(?P<name>test\w*) \((?P<module>[^)]{1,200})\)$")
# Of Python's: the others' tests are named otherwise.
_METHOD = re.compile(r"(?P<type>Test\w+|\w+Tests?)\.(?P<name>test_\w+)")
_LINT_COMMANDS = (
    (re.compile(r"(?i)would reformat|black"), "black ."),
    (re.compile(r"(?i)imports are incorrectly sorted|isort"), "isort ."),
    (re.compile(r"\.pyi?:\d+: error:"), "mypy"),
    (re.compile(r"\(report[A-Z]\w+\)"), "pyright"),
    (re.compile(r"clang-format|clang-formatted"), "clang-format -i"),
    (re.compile(r"clippy"), "cargo clippy --fix"),
    (re.compile(r"^Diff in "), "cargo fmt"),
    (re.compile(r"gofmt"), "gofmt -w"),
    (re.compile(r"(?i)>>> Lint for|Linter failed|^\s*Error \("), "lintrunner -a"),
    (re.compile(r"(?i)Code style issues|prettier"), "prettier --write"),
    (re.compile(r"\.{4,}Failed$|modified by this hook|hook id"), "pre-commit run --all-files"),
    (re.compile(r":\d+:\d+: \[?[A-Z]{1,5}\d{2,4}\b| --> "), "ruff check --fix"),
)


def category_advice(case: AttributionInput, at: Location | None) -> Iterator[Suggestion]:
    """Suggestions for the failure's category; `at` is the place of the error, if there is one."""
    advise = _BY_CATEGORY.get(case.observed.category)
    if advise is not None:
        for message in advise(case):
            yield Suggestion(message, at if message.key in _AT_ERROR else None)


def command_for(test: str) -> str:
    """The command that runs one test alone; empty where its framework is not known."""
    name = test.split("[")[0]
    unittest = _UNITTEST.match(test)
    if ".py" in test:
        return f"python -m pytest '{test}'"
    if unittest is not None:
        return f"python -m unittest {unittest['module']}"
    if name.startswith("Test") and "." not in name.split("/")[0]:
        return f"go test ./... -run '^{name.split('/')[0]}$'"
    if "::" in name:
        return f"cargo test {name}"
    method = _METHOD.fullmatch(name)
    if method is not None:
        return f"python -m pytest -k '{method['type']} and {method['name']}'"
    if re.fullmatch(r"[\w/]+\.[\w/]+", name):
        return f"--gtest_filter='{name}'"
    if re.fullmatch(r"[\w.+-]+", name):
        return f"ctest -R '^{name}$' --output-on-failure"
    return ""


def _text(observed: ObservedFailure) -> str:
    """The error first, then the key lines and what stands around them."""
    lines = "\n".join(line.text for line in observed.lines)
    return "\n".join((observed.error, lines, observed.text))


def _command(observed: ObservedFailure) -> str:
    """The command that runs the failed test alone, which the error may name."""
    test = observed.test or log_details.pytest_id(observed.error)
    if test:
        return command_for(test)
    in_thread = log_details.rust_test(observed.error)
    return f"cargo test {in_thread}" if in_thread else ""


def _error(observed: ObservedFailure) -> str:
    return log_details.whole(observed.error, observed.text)


def _near(observed: ObservedFailure, reach: int) -> list[str]:
    """The error, then the lines so near to it, the nearest first: others tell of other things."""
    lines = observed.text.split("\n")
    at = next((n for n, line in enumerate(lines) if observed.error in line), None)
    if at is None:
        return [observed.error, *lines[:reach]]
    by_distance = sorted(range(len(lines)), key=lambda n: abs(n - at))
    return [observed.error, *(lines[n] for n in by_distance if abs(n - at) <= reach)]


def _first(read: Callable[[str], str], parts: list[str]) -> str:
    """What the first of the lines names that names anything."""
    return next((found for found in map(read, parts) if found), "")


def _of_test(case: AttributionInput) -> Iterator[Message]:
    observed = case.observed
    missing = log_details.module(observed.error)
    if missing:
        yield Message(Advice.MISSING_MODULE, {"module": missing})
    absent = log_details.missing_file(observed.error)
    if absent:
        yield Message(Advice.MISSING_FILE, {"file": absent})
    command = _command(observed)
    if command:
        yield Message(Advice.RUN_TEST, {"command": command})
    elif observed.error and not absent:
        yield Message(Advice.LOOK_AT_ERROR, {"error": _error(observed)})


def _of_network(case: AttributionInput) -> Iterator[Message]:
    observed = case.observed
    near = _near(observed, _NEXT if observed.rule in _LIMITED else _NEAR)
    args = {"url": _first(log_details.url, near), "host": _first(log_details.host, near)}
    if observed.rule in _LIMITED:
        yield Message(Advice.RATE_LIMIT, args)
    elif observed.rule in _REGISTRY:
        yield Message(Advice.IMAGE, {"image": _first(log_details.image, near)})
    elif observed.rule in _NO_RIGHT or log_details.is_refused(observed.error):
        yield Message(Advice.NO_RIGHT, {"error": observed.error})
    elif log_details.is_twice(observed.error):
        yield Message(Advice.ARTIFACT_TWICE)
    elif observed.rule == "artifact":
        yield Message(Advice.ARTIFACT, {"artifact": _first(log_details.artifact, near)})
    elif log_details.is_checksum(observed.error):
        yield Message(Advice.CHECKSUM, {"url": args["url"]})
    elif log_details.is_certificate(observed.error):
        yield Message(Advice.CERTIFICATE, {"host": args["host"]})
    elif log_details.is_gone(observed.error):
        yield Message(Advice.ADDRESS, {"url": args["url"]})
    else:
        yield Message(Advice.NETWORK, args)


def _of_disk(case: AttributionInput) -> Iterator[Message]:
    observed = case.observed
    yield Message(
        Advice.DISK, {"path": log_details.disk_path(observed.error), "runner": case.job.runner}
    )


def _of_host_memory(case: AttributionInput) -> Iterator[Message]:
    yield Message(Advice.HOST_MEMORY, {"error": case.observed.error})


def _of_device_memory(case: AttributionInput) -> Iterator[Message]:
    yield Message(Advice.DEVICE_MEMORY, {"size": device_details.size(_text(case.observed))})


def _of_timeout(case: AttributionInput) -> Iterator[Message]:
    limit = log_details.limit(case.observed.error)
    yield Message(Advice.TIMEOUT, {"limit": limit, "command": _command(case.observed)})


def _of_hang(case: AttributionInput) -> Iterator[Message]:
    yield Message(Advice.HANG, {"limit": log_details.limit(case.observed.error)})


def _of_signal(case: AttributionInput) -> Iterator[Message]:
    observed = case.observed
    signal = log_details.signal("\n".join(_near(observed, _NEAR)))
    key = Advice.KILLED if signal in _FROM_OUTSIDE else Advice.SIGNAL
    yield Message(key, {"signal": signal, "command": _command(observed)})


def _of_device(case: AttributionInput) -> Iterator[Message]:
    observed = case.observed
    error, text = observed.error, _text(observed)
    if observed.rule in _COMMUNICATION:
        library = device_details.library(error, text)
        yield Message(
            Advice.COMMUNICATION, {"code": device_details.error_code(text), "library": library}
        )
        return
    command = _command(observed)
    if device_details.lacks_resources(error):
        asked, has = device_details.resources(text)
        yield Message(Advice.KERNEL_RESOURCES, {"asked": asked, "has": has})
        if command:
            yield Message(Advice.RUN_TEST, {"command": command})
        return
    if device_details.is_driver(error):
        yield Message(Advice.DRIVER, {"error": error})
        return
    if device_details.no_device(error):
        yield Message(Advice.NO_DEVICE, {"error": error, "runner": case.job.runner})
        return
    args = {
        "code": device_details.error_code(error) or device_details.device_code(text),
        "command": command,
        "setting": device_details.launch_setting(error, text),
    }
    yield Message(Advice.DEVICE, args)
    if case.job.runner and device_details.is_broken_card(error):
        yield Message(Advice.CHECK_RUNNER, {"runner": case.job.runner})


def _of_build(case: AttributionInput) -> Iterator[Message]:
    missing = log_details.missing_file(case.observed.error)
    if missing:
        yield Message(Advice.MISSING_FILE, {"file": missing})
    else:
        yield Message(Advice.FIX_BUILD, {"error": _error(case.observed)})


def _of_lint(case: AttributionInput) -> Iterator[Message]:
    observed = case.observed
    for shape, command in _LINT_COMMANDS:
        if shape.search(observed.error):
            yield Message(Advice.RUN_LINTER, {"command": command, "error": _error(observed)})
            return
    yield Message(Advice.LOOK_AT_ERROR, {"error": _error(observed)})


def _of_coverage(case: AttributionInput) -> Iterator[Message]:
    yield Message(Advice.ADD_TESTS, {"numbers": log_details.percentages(case.observed.error)})


def _of_approval(case: AttributionInput) -> Iterator[Message]:
    """Every approval that is missing, with those who may give it, and for which files.

    Where the log names nobody, the owners of the changed files may.
    """
    given: dict[log_details.Approval, None] = {}
    for text in case.observed.same_rule or (case.observed.error,):
        given |= dict.fromkeys(log_details.approvals(text))
    for approval in list(given)[:_MOST_APPROVALS]:
        files = _files_meant(approval.what, case)
        yield _approve_by(approval.people, approval.what, files)
    if given:
        return
    linker = case.linker
    change = linker.change if linker is not None else None
    groups = owned_files(change.base, (file.path for file in change.files)) if change else []
    for group in groups[:_MOST_APPROVALS]:
        yield _approve_by(group.owners, f"CODEOWNERS: {group.pattern}", group.files)
    if not groups:
        yield Message(Advice.APPROVE, {"name": case.job.name})


def _approve_by(people: tuple[str, ...], what: str, files: tuple[str, ...]) -> Message:
    args = {
        "people": list(people),
        "what": what,
        "files": list(files[:_MOST_FILES_NAMED]),
        "more": max(len(files) - _MOST_FILES_NAMED, 0),
    }
    return Message(Advice.APPROVE_BY, args)


def _files_meant(what: str, case: AttributionInput) -> tuple[str, ...]:
    """The changed files of the paths in `modifying [fastdeploy/spec_decode custom_ops]`."""
    if case.linker is None:
        return ()
    named = [word.strip(".,;:[]()`'\"") for word in what.split()]
    folders = [name.rstrip("/") for name in named if "/" in name]
    meant = []
    for path in sorted(case.linker.changed):
        if any(path == folder or path.startswith(f"{folder}/") for folder in folders):
            meant.append(path)
    return tuple(meant)


def _of_template(case: AttributionInput) -> Iterator[Message]:
    said = case.observed.error
    key = Advice.SIGN_OFF if _SIGN_OFF.search(said) else Advice.FILL_TEMPLATE
    yield Message(key, {"said": said})


def _of_dependency(case: AttributionInput) -> Iterator[Message]:
    text = _text(case.observed)
    package = log_details.package(text)
    if not package:
        yield Message(Advice.FIX_DEPENDENCY, {"error": _error(case.observed)})
        return
    args = {"package": package, "pinned": log_details.pinned_by(text)}
    yield Message(Advice.PACKAGE, args)


def _of_runner(case: AttributionInput) -> Iterator[Message]:
    observed = case.observed
    error = observed.error
    if observed.rule in _REFUSED:
        yield Message(Advice.SCHEDULER, {"error": error})
    elif device_details.is_driver(error):
        yield Message(Advice.DRIVER, {"error": error})
    elif observed.rule in _LEFT:
        yield Message(Advice.LEFT_FILES, {"error": error, "runner": case.job.runner})
    elif observed.rule in _NO_DEVICE or observed.rule in _HELD:
        key = Advice.NO_DEVICE if observed.rule in _NO_DEVICE else Advice.HELD
        yield Message(key, {"error": error, "runner": case.job.runner})
    elif case.job.runner:
        yield Message(Advice.CHECK_RUNNER, {"runner": case.job.runner})
    else:
        yield Message(Advice.RUNNER, {"error": error})


def _of_cancelled(case: AttributionInput) -> Iterator[Message]:
    yield Message(Advice.CANCELLED)


def _of_unknown(case: AttributionInput) -> Iterator[Message]:
    """By the error's kind, where it is of one that every program knows."""
    observed = case.observed
    error = observed.error
    missing, absent = log_details.module(error), log_details.missing_file(error)
    if missing:
        yield Message(Advice.MISSING_MODULE, {"module": missing})
    elif absent:
        yield Message(Advice.MISSING_FILE, {"file": absent})
    elif observed.rule in _OTHER_PROCESS:
        yield Message(Advice.OTHER_PROCESS, {"error": error})
    elif observed.rule in _GIT and _REFERENCE.search(error):
        yield Message(Advice.GIT_REFERENCE, {"error": error})
    elif observed.rule in _GIT and _CONFLICT.search(error):
        yield Message(Advice.GIT, {"error": error})
    elif "command not found" in error or "No such file" in error or "Permission denied" in error:
        yield Message(Advice.SCRIPT, {"error": error})
    elif observed.unusual:
        args: dict[str, object] = {
            "lines": list(observed.unusual),
            "compared": observed.compared,
            "logs": observed.earlier_logs,
            "seen": observed.in_earlier_logs,
        }
        yield Message(Advice.UNUSUAL, args)
    elif error and observed.rule not in _SAYS_NOTHING:
        yield Message(Advice.LOOK_AT_ERROR, {"error": _error(observed)})


_SAYS_NOTHING = ("", "exit")
_BY_CATEGORY: dict[Category, Callable[[AttributionInput], Iterator[Message]]] = {
    Category.TEST_FAILURE: _of_test,
    Category.COLLECTION_ERROR: _of_test,
    Category.BUILD_ERROR: _of_build,
    Category.DEVICE_ERROR: _of_device,
    Category.HOST_OOM: _of_host_memory,
    Category.DEVICE_OOM: _of_device_memory,
    Category.TIMEOUT: _of_timeout,
    Category.HANG: _of_hang,
    Category.SIGNAL: _of_signal,
    Category.NETWORK: _of_network,
    Category.DISK: _of_disk,
    Category.RUNNER_LOST: _of_runner,
    Category.RUNNER_UNHEALTHY: _of_runner,
    Category.DEPENDENCY: _of_dependency,
    Category.LINT: _of_lint,
    Category.COVERAGE_GATE: _of_coverage,
    Category.APPROVAL: _of_approval,
    Category.PR_TEMPLATE: _of_template,
    Category.CANCELLED: _of_cancelled,
    Category.UNKNOWN: _of_unknown,
}
