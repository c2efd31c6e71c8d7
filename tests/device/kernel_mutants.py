"""Mistakes put into a repository's kernels: what its tests notice, and what `compare` finds besides.

    python -m tests.device.kernel_mutants --repo FastDeploy -o mutants.json \\
      --paths 'custom_ops/gpu_ops/speculate_decoding/*' --kernels 10 --each 12

takes the first sources that have tests, puts single mistakes into their device functions (evenly
from all that fit; `--first 5` takes others), and runs the tests on each. Those that no test notices
become commits of a clone, on which `specbot device compare` is run, under a title that promises that
nothing changes.
What is left is printed, for a person to say which are no mistakes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from bot.device.build import build_side
from bot.device.mutants import Mutant, judge, mutants_of
from bot.device.observations import cases_by_test
from bot.device.tests import TestPlan, run_files
from bot.device.workspace import Workspace, cache_folder, device_sources, write_tree
from bot.git import Git, resolve
from bot.pipeline import open_change
from bot.reports.device_run import PASSED, MutantResult, SideBuild, SourceBuild
from checks.core.change import ChangeSet, PullRequest
from kernels.emulator.rewrite.text import UnbalancedBracket, closing, mask
from tests.device.arguments import make_parser, write_result

ROOT = Path(__file__).resolve().parents[2]
_FUNCTION = re.compile(r"\b(?:__global__|__device__)\b[^;{}]*\{")
_TITLE = "Refactor, no functional change"
_LONGEST = 60.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """One mistake: `noticed` by the tests, found by rules of `compare`, or a survivor."""

    path: str
    line: int
    before: str
    after: str
    outcome: str
    rules: tuple[str, ...] = ()


def device_lines(text: str) -> list[int]:
    """The numbers (from 1) of the lines in the bodies of device functions."""
    code = mask(text)
    lines: set[int] = set()
    for match in _FUNCTION.finditer(code):
        try:
            end = closing(code, match.end() - 1)
        except UnbalancedBracket:
            continue
        first = code.count("\n", 0, match.end()) + 1
        lines |= set(range(first, code.count("\n", 0, end) + 2))
    return sorted(lines)


def chosen_mutants(change: ChangeSet, source: str, most: int, first: int) -> list[Mutant]:
    """At most `most` mistakes of a source, evenly from all that fit; another `first` chooses
    others."""
    text = (change.head.read(source) or b"").decode("utf-8", "replace").replace("\r\n", "\n")
    found = list(mutants_of(source, text, device_lines(text)))
    step = max(-(-len(found) // most), 1)
    return list(islice(found, first % step, None, step))[:most]


class Measurement:
    """One revision of a repository, built once."""

    def __init__(self, repo: Path, head: str, folder: Path) -> None:
        self._repo = repo
        self._head = head
        self._folder = folder
        self._clone = folder / "clone"

    def judge_all(
        self, change: ChangeSet, globs: Sequence[str], kernels: int, each: int, first: int
    ) -> Iterator[Judgement]:
        """Each mistake of the first `kernels` sources that have tests."""
        workspace = Workspace(self._folder / "work", cache_folder())
        write_tree(change.head, workspace.side("head"))
        head = build_side(workspace, "head", device_sources(change.head, globs))
        for source in islice(_with_tests(head), kernels):
            files = {f: ops for f, ops in head.tests.items() if set(ops) & set(source.ops)}
            plan = TestPlan(workspace, head, head, f"before-{Path(source.path).stem}")
            before = cases_by_test(run_files(plan, files, lambda _: None))
            passing = {test: case for test, case in before.items() if case.outcome == PASSED}
            mutants = chosen_mutants(change, source.path, each, first)
            sys.stderr.write(f"{source.path}: {len(mutants)}\n")
            # Some sources have their kernels in headers.
            if not mutants:
                continue
            results = judge(workspace, head, head, mutants, passing, _LONGEST)
            for mutant, result in zip(mutants, results, strict=True):
                yield self._judgement(mutant, result)

    def _judgement(self, mutant: Mutant, result: MutantResult) -> Judgement:
        rules: tuple[str, ...] = ()
        outcome = result.outcome
        if outcome == "unnoticed":
            rules = self._compare(mutant)
            outcome = "found" if rules else "survived"
        return Judgement(mutant.path, mutant.line, mutant.before, mutant.after, outcome, rules)

    def _compare(self, mutant: Mutant) -> tuple[str, ...]:
        """The rules that have a finding on a commit with the mistake."""
        if not self._clone.exists():
            _git(self._folder, "clone", "--shared", "--quiet", str(self._repo), "clone")
        _git(self._clone, "checkout", "--quiet", "--force", self._head)
        (self._clone / mutant.path).write_text(mutant.text, encoding="utf-8")
        author = ["-c", "user.name=mutant", "-c", "user.email=mutant@example.com"]
        _git(self._clone, *author, "commit", "--quiet", "--no-verify", "-am", "mutant")
        command = [sys.executable, "-m", "bot", "device", "compare", "--repo", str(self._clone)]
        command += ["--base", self._head, "--head", "HEAD", "--title", _TITLE]
        command += ["--format", "json", "--fail-on", "never", "--paths", mutant.path]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2000:])
        findings = json.loads(done.stdout)["findings"]
        return tuple(sorted({finding["rule"] for finding in findings}))


def _with_tests(head: SideBuild) -> Iterator[SourceBuild]:
    tested = {op for ops in head.tests.values() for op in ops}
    return (source for source in head.sources if source.library and set(source.ops) & tested)


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def show(judgements: Sequence[Judgement]) -> str:
    """The counts, and each survivor."""
    counts = Counter(judgement.outcome for judgement in judgements)
    built = len(judgements) - counts["not-built"]
    lines = [
        f"{len({j.path for j in judgements})} kernels, {built} mistakes that compile",
        f"noticed by the tests: {counts['noticed']}",
        f"found by compare besides: {counts['found']}",
    ]
    rules = Counter(rule for judgement in judgements for rule in judgement.rules)
    lines += [f"  {rule}: {count}" for rule, count in rules.most_common()]
    lines.append(f"survived: {counts['survived']}")
    for judgement in judgements:
        if judgement.outcome == "survived":
            lines.append(f"  {judgement.path}:{judgement.line}: {judgement.before}")
            lines.append(f"    -> {judgement.after}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the counts and survivors, and write all of it."""
    parser = make_parser(__doc__)
    parser.add_argument("--paths", action="append", default=[])
    parser.add_argument("--kernels", type=int, default=10)
    parser.add_argument("--each", type=int, default=12)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    git = Git(args.repo)
    compared = resolve(git, args.head, args.head, merge_base=False)
    judgements = []
    with (
        open_change(git, compared, PullRequest(title="", body="")) as change,
        tempfile.TemporaryDirectory(prefix="specbot-mutants-") as name,
    ):
        measurement = Measurement(args.repo.resolve(), compared.head, Path(name).resolve())
        for judgement in measurement.judge_all(
            change, args.paths, args.kernels, args.each, args.first
        ):
            judgements.append(judgement)
            data = {"head": compared.head, "mutants": [asdict(j) for j in judgements]}
            write_result(data, args.output)
    sys.stdout.write(show(judgements))
    return 0


if __name__ == "__main__":
    sys.exit(main())
