"""Which ops of a repository are compared with their copies for other hardware, by execution.

    python -m tests.device.copies --repo FastDeploy \\
      --paths 'custom_ops/gpu_ops/speculate_decoding/*' -o copies.json

prints each op with the inputs on which both sides agreed and differed, or why there were none. An
op counts where there was one input on which both gave a result.
"""

from __future__ import annotations

import sys
from typing import Any

from tests.device.arguments import make_parser, write_result
from tests.device.ops import report_of


def line_of(sibling: dict[str, Any]) -> str:
    """An op, and what came of it."""
    if sibling["compared"]:
        varied = sum(sibling["varied"].values())
        counts = f"{sibling['agreed']} agreed, {sibling['differed']} differed, {varied} varied"
        return f"{sibling['op']}: {counts}"
    why = sibling["why"] or "; ".join(sibling["left_out"]) or "no test calls it"
    return f"{sibling['op']}: not compared: {why[:200]}"


def main() -> int:
    """Print a line for each op, and the count."""
    parser = make_parser(__doc__)
    parser.add_argument("--paths", action="append", default=[])
    args = parser.parse_args()
    options = [f"--paths={path}" for path in args.paths]
    siblings = report_of(args.repo.resolve(), args.head, options, "compare")["siblings"]
    write_result({"siblings": siblings}, args.output)
    for sibling in siblings:
        sys.stdout.write(f"{line_of(sibling)}\n")
    ops = {sibling["op"] for sibling in siblings}
    compared = {sibling["op"] for sibling in siblings if sibling["compared"]}
    sys.stdout.write(f"{len(compared)} of {len(ops)} ops compared\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
