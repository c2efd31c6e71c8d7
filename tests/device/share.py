"""What share of a repository's device sources the emulator compiles, and why it refuses the rest.

    python -m tests.device.share --repo FastDeploy --under custom_ops/gpu_ops -o share.json

A source that uses tensor cores or inline PTX (`beyond`) is counted apart, by its own text or by the
libraries that its headers include, or because the emulator refused it by that name.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from bot.device.build import build_side
from bot.device.workspace import Workspace, cache_folder, device_sources, write_tree
from bot.git import Git, resolve
from bot.pipeline import open_change
from bot.reports.device_run import SideBuild, SourceBuild
from checks.core.change import PullRequest
from kernels.emulator.compiler import RUNTIME
from kernels.emulator.includes import SourceRefused, collect
from kernels.emulator.rewrite.text import mask
from tests.device.arguments import make_parser, write_result

_WORDS = re.compile(r"\b(?:wmma|nvcuda|wgmma|mma|cutlass|cute|__asm__|asm)\b|\bmma_")
_LIBRARIES = re.compile(r"#\s*include\s*[<\"](?:cutlass|cute|mma)\b")
_PTX = "not emulated: PTX"
_PLACE = re.compile(r"^\S+:\d+: ")


def is_beyond(root: Path, source: SourceBuild) -> bool:
    """Whether a source uses tensor cores or PTX.

    By its own text, by the library for them that a file includes which it includes itself, or by
    the refusal. A header that is not used does not count: nearly all have some PTX.
    """
    text = (root / source.path).read_text("utf-8", "replace")
    if _WORDS.search(mask(text)) or source.refusal.startswith(_PTX):
        return True
    try:
        paths = list(collect(root, source.path, RUNTIME / "include").texts)
    except SourceRefused:
        paths = [source.path]
    return any(_LIBRARIES.search((root / path).read_text("utf-8", "replace")) for path in paths)


def reason(refusal: str) -> str:
    """A refusal without its place, so that equal causes count together."""
    return _PLACE.sub("", refusal)[:160]


def measure(repo: Path, head: str, folders: list[str]) -> dict[str, Any]:
    """Build every device source below `folders` of a revision."""
    compared = resolve(Git(repo), head, head, merge_base=False)
    with (
        open_change(Git(repo), compared, PullRequest(title="", body="")) as change,
        tempfile.TemporaryDirectory(prefix="specbot-share-") as name,
    ):
        workspace = Workspace(Path(name).resolve(), cache_folder())
        write_tree(change.head, workspace.side("head"))
        build = build_side(workspace, "head", device_sources(change.head, folders))
        workspace.prune()
        return summary(compared.head, build)


def summary(head: str, build: SideBuild) -> dict[str, Any]:
    """The counts, and each refused source with its reason."""
    counts: Counter[str] = Counter()
    refused = []
    for source in build.sources:
        beyond = is_beyond(build.root, source)
        for kind in ("all", "beyond" if beyond else "plain"):
            counts[kind] += 1
            counts[f"{kind}_compiled"] += bool(source.library)
        if not source.library:
            refused.append({"path": source.path, "beyond": beyond, "why": source.refusal})
    return {"head": head, "counts": dict(counts), "refused": refused}


def show(result: dict[str, Any]) -> str:
    """The counts and the reasons by their number, for a terminal."""
    counts = result["counts"]
    lines = [result["head"]]
    for kind in ("plain", "beyond", "all"):
        total, compiled = counts.get(kind, 0), counts.get(f"{kind}_compiled", 0)
        lines.append(f"{kind}: {compiled} of {total} compile ({compiled / max(total, 1):.1%})")
    reasons = Counter(reason(item["why"]) for item in result["refused"] if not item["beyond"])
    lines += [f"{count:4}  {why}" for why, count in reasons.most_common()]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the counts, and write all of it where that is asked."""
    parser = make_parser(__doc__)
    parser.add_argument("--under", action="append", default=[])
    args = parser.parse_args()
    result = measure(args.repo, args.head, args.under)
    write_result(result, args.output)
    sys.stdout.write(show(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
