"""What to do about a failure by its category, with what its own words name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from checks.ci import log_details
from checks.ci.attribution_input import AttributionInput
from checks.ci.code_owners import owned_files
from checks.ci.message_keys import Advice
from checks.ci.observed_failures import ObservedFailure
from checks.ci.report import Category, Suggestion
from checks.core.finding import Location, Message

_MOST_APPROVALS = 20
_MOST_FILES_NAMED = 4
# What is done at the place of the error.
_AT_ERROR = (Advice.FIX_BUILD, Advice.RUN_LINTER, Advice.LOOK_AT_ERROR)
_LIMITED = ("registry-limit",)
_REGISTRY = ("registry",)
_NO_RIGHT = ("cloud-refused", "credentials", "github-refused", "hub-refused")
_COMMUNICATION = ("collective", "collective-code", "collective-failed", "nccl-warning", "gloo")
_UNITTEST = re.compile(r"^(?P<name>test\w*) \((?P<module>[^)]{1,200})\)$")
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
    if re.fullmatch(r"[\w/]+\.[\w/]+", name):
        return f"--gtest_filter='{name}'"
    if re.fullmatch(r"[\w.+-]+", name):
        return f"ctest -R '^{name}$' --output-on-failure"
    return ""


def _text(observed: ObservedFailure) -> str:
    """The error first, then the key lines and what stands around them."""
    lines = "\n".join(line.text for line in observed.lines)
    return "\n".join((observed.error, lines, observed.text))


def _of_test(case: AttributionInput) -> Iterator[Message]:
    observed = case.observed
    missing = log_details.module(observed.error)
    if missing:
        yield Message(Advice.MISSING_MODULE, {"module": missing})
    command = command_for(observed.test) if observed.test else ""
    if command:
        yield Message(Advice.RUN_TEST, {"command": command})
    elif observed.error:
        yield Message(Advice.LOOK_AT_ERROR, {"error": observed.error})


def _of_network(case: AttributionInput) -> Iterator[Message]:
    observed = case.observed
    text = _text(observed)
    args = {"url": log_details.url(text), "host": log_details.host(text)}
    if observed.rule in _LIMITED:
        yield Message(Advice.RATE_LIMIT, args)
    elif observed.rule in _REGISTRY:
        yield Message(Advice.IMAGE, {"image": log_details.image(text)})
    elif observed.rule in _NO_RIGHT:
        yield Message(Advice.NO_RIGHT, {"error": observed.error})
    elif observed.rule == "artifact":
        yield Message(Advice.ARTIFACT, {"artifact": log_details.artifact(text)})
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
    yield Message(Advice.DEVICE_MEMORY, {"size": log_details.size(_text(case.observed))})


def _of_timeout(case: AttributionInput) -> Iterator[Message]:
    limit = log_details.limit(case.observed.error)
    yield Message(Advice.TIMEOUT, {"limit": limit, "command": command_for(case.observed.test)})


def _of_hang(case: AttributionInput) -> Iterator[Message]:
    yield Message(Advice.HANG, {"limit": log_details.limit(case.observed.error)})


def _of_signal(case: AttributionInput) -> Iterator[Message]:
    args = {"signal": log_details.signal(_text(case.observed))}
    yield Message(Advice.SIGNAL, {**args, "command": command_for(case.observed.test)})


def _of_device(case: AttributionInput) -> Iterator[Message]:
    observed = case.observed
    code = log_details.error_code(_text(observed))
    if observed.rule in _COMMUNICATION:
        yield Message(Advice.COMMUNICATION, {"code": code})
    else:
        yield Message(Advice.DEVICE, {"code": code, "command": command_for(observed.test)})


def _of_build(case: AttributionInput) -> Iterator[Message]:
    yield Message(Advice.FIX_BUILD, {"error": case.observed.error})


def _of_lint(case: AttributionInput) -> Iterator[Message]:
    observed = case.observed
    for shape, command in _LINT_COMMANDS:
        if shape.search(observed.error):
            yield Message(Advice.RUN_LINTER, {"command": command, "error": observed.error})
            return
    yield Message(Advice.LOOK_AT_ERROR, {"error": observed.error})


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
        "people": ", ".join(people),
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
    yield Message(Advice.FILL_TEMPLATE, {"said": case.observed.error})


def _of_dependency(case: AttributionInput) -> Iterator[Message]:
    text = _text(case.observed)
    package = log_details.package(text)
    if not package:
        yield Message(Advice.FIX_DEPENDENCY, {"error": case.observed.error})
        return
    args = {"package": package, "pinned": log_details.pinned_by(text)}
    yield Message(Advice.PACKAGE, args)


def _of_runner(case: AttributionInput) -> Iterator[Message]:
    if case.job.runner:
        yield Message(Advice.CHECK_RUNNER, {"runner": case.job.runner})
    else:
        yield Message(Advice.RUNNER, {"error": case.observed.error})


def _of_cancelled(case: AttributionInput) -> Iterator[Message]:
    yield Message(Advice.CANCELLED)


def _of_unknown(case: AttributionInput) -> Iterator[Message]:
    """By the error's kind, where it is of one that every program knows."""
    observed = case.observed
    error = observed.error
    missing = log_details.module(error)
    if missing:
        yield Message(Advice.MISSING_MODULE, {"module": missing})
    elif observed.rule in ("git", "git-merge", "submodule"):
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
        yield Message(Advice.LOOK_AT_ERROR, {"error": error})


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
