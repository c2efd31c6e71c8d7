"""What a review says of bugs that are put into real trees at random places.

    python -m tests.seeded --repo DIR --draw N --seed S [--commit REV] [--operator dropped] -o FILE

draws commits by chance, half of them of speculative decoding as long as there are any. Two of three
become an *incomplete change*: the commit without one hunk that shares an altered name with another.
Of the rest, the tree gets a single mistake (`operators.py`), half of the time where speculative
decoding is. A bug counts as found where the review says something, conventions apart, that it does
not say of the whole commit; as near, where that is within three lines of the bug or speaks of a name
that it is about.
`--commit` takes one commit's tree for all. Many of the bugs cannot be told from what was meant: read
a part of the misses before the share is called one.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from bot.configuration import load_configuration
from bot.git import BlobStore, Git, change_set, resolve
from bot.git.fixes import HistoryFilter, logged_commits
from bot.i18n.catalog import Catalog
from checks.core.change import ChangeSet, PullRequest
from checks.core.config import Config
from checks.core.finding import Finding, Severity
from checks.evaluation.fixes import product_files
from checks.evaluation.intervals import wilson_interval
from checks.lang.source import language
from checks.review import review
from tests.seeded.drops import incomplete
from tests.seeded.operators import CPP, PYTHON, Source, mistakes
from tests.seeded.seed import SPECULATIVE, Seed, with_file

_MOST_FILES = 40
_NEAR = 3


def main() -> int:
    """Draw, review, count."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.seeded", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--repo", required=True, metavar="DIR")
    parser.add_argument("--draw", type=int, default=100, metavar="N")
    parser.add_argument("--seed", required=True)
    parser.add_argument("--commit", default="", metavar="REV")
    parser.add_argument("--since", default="")
    parser.add_argument("--operator", default="", help="`dropped`, or the name of a mistake")
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for row in _draw(args):
        rows.append(row)
        found = ", ".join(row["found"]) or "-"
        print(
            f"{len(rows)} {row['operator']} {row['commit'][:9]} {row['path']}: {found}", flush=True
        )
        result = {"repository": Path(args.repo).name, "seed": args.seed, **summary(rows)}
        args.output.write_text(json.dumps({**result, "bugs": rows}, indent=1) + "\n", "utf-8")
    print(json.dumps(summary(rows), indent=1))
    return 0


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """How many of the bugs were found, of all and by operator."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["operator"]].append(row)
    counts = {name: _counted(group) for name, group in sorted(groups.items())}
    return {"all": _counted(rows), "by_operator": counts}


def _counted(rows: list[dict[str, Any]]) -> dict[str, Any]:
    near = sum(1 for row in rows if row["near"])
    low, high = wilson_interval(near, len(rows))
    found = sum(1 for row in rows if row["found"])
    rules = Counter(rule for row in rows for rule in row["near"])
    interval = [round(low, 3), round(high, 3)]
    return {
        "bugs": len(rows),
        "near": near,
        "interval": interval,
        "found": found,
        "rules": dict(rules),
    }


def _draw(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    git = Git(Path(args.repo))
    chance = random.Random(f"{args.seed} {args.operator}")
    made = 0
    for commit in _commits(git, args, chance):
        if made == args.draw:
            return
        with BlobStore(git) as blobs:
            compared = resolve(git, f"{commit}^", commit, merge_base=False)
            change = change_set(git, blobs, compared, PullRequest())
            config = load_configuration(change.base, None, None)
            seed = _seed(change, config, chance, args.operator)
            if seed is not None:
                made += 1
                yield {"commit": commit[:10], **_judged(seed, config)}


def _commits(git: Git, args: argparse.Namespace, chance: random.Random) -> Iterator[str]:
    """Commits of the product, those of speculative decoding and others in turn."""
    if args.commit:
        yield from [args.commit] * (args.draw * 3)
        return
    with BlobStore(git) as blobs:
        head = resolve(git, "HEAD^", "HEAD", merge_base=False)
        config = load_configuration(change_set(git, blobs, head, PullRequest()).head, None, None)
    speculative: list[str] = []
    others: list[str] = []
    for commit in logged_commits(git, HistoryFilter((), args.since, "")):
        files = product_files(commit.files, config)
        if 0 < len(files) <= _MOST_FILES:
            is_near = any(SPECULATIVE.search(path) for path in files)
            (speculative if is_near else others).append(commit.id)
    for commits in (speculative, others):
        commits.sort()
        chance.shuffle(commits)
    # A repository that has few of them goes on with the others.
    for pair in zip_longest(speculative, others):
        yield from filter(None, pair)


def _seed(change: ChangeSet, config: Config, chance: random.Random, operator: str) -> Seed | None:
    if operator == "dropped" or (not operator and chance.random() < 2 / 3):
        return incomplete(change, config, chance)
    return _mistaken(change, config, chance, operator)


def _mistaken(
    change: ChangeSet, config: Config, chance: random.Random, operator: str
) -> Seed | None:
    """The tree of the commit with one mistake."""
    tree = change.head
    paths = [path for path in product_files(tree.paths(), config) if language(path)]
    if chance.random() < 0.5:
        paths = [path for path in paths if SPECULATIVE.search(path)] or paths
    chance.shuffle(paths)
    name = operator or chance.choice([*PYTHON, *CPP])
    for path in paths[:_MOST_FILES]:
        text = (tree.read(path) or b"").decode("utf-8", "replace")
        try:
            found = mistakes(Source(path, text, tree), name)
        except (SyntaxError, RecursionError):
            continue
        if found:
            mistake = chance.choice(found)
            seeded = with_file(ChangeSet(tree, tree, ()), path, mistake.text)
            return Seed(name, seeded, path, mistake.line, mistake.detail, mistake.words)
    return None


def _judged(seed: Seed, config: Config) -> dict[str, Any]:
    findings = _findings(seed.change, config)
    if findings and seed.whole is not None:
        said = {_claim(finding) for finding in _findings(seed.whole, config)}
        findings = [finding for finding in findings if _claim(finding) not in said]
    words = Catalog("en")
    near = [finding for finding in findings if _is_near(finding, seed, words)]
    return {
        "operator": seed.operator,
        "path": seed.path,
        "line": seed.line,
        "detail": seed.detail[:200],
        "found": [f"{finding.rule} {finding.severity.value}" for finding in findings],
        "near": [finding.rule for finding in near],
        "places": [f"{f.location.path}:{f.location.start_line}" for f in findings],
    }


def _findings(change: ChangeSet, config: Config) -> list[Finding]:
    found = review(change, config).findings
    return [finding for finding in found if finding.severity is not Severity.CONVENTION]


def _claim(finding: Finding) -> tuple[str, str, str]:
    return finding.rule, finding.location.path, finding.fingerprint


def _is_near(finding: Finding, seed: Seed, words: Catalog) -> bool:
    place = finding.location
    is_beside = place.start_line - _NEAR <= seed.line <= place.end_line + _NEAR
    if place.path == seed.path and is_beside:
        return True
    text = words.message(finding.rule, finding.message)
    return any(word in text for word in seed.words)


if __name__ == "__main__":
    sys.exit(main())
