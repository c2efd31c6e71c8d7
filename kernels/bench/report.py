"""The results as a table and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PEERS = ("torch eager", "torch.compile", "flashinfer", "vllm")
WORST = "worst input us"


def table(results: dict[str, Any]) -> str:
    """Markdown; without the columns that no row has anything for."""
    device = results["device"]
    versions = f"torch {device['torch']}, triton {device['triton']}, CUDA {device['cuda']}"
    versions += "".join(f", {name} {number}" for name, number in results.get("peers", {}).items())
    bandwidth = f"copy bandwidth {results['copy_bandwidth_tb_s']:.2f} TB/s in the same run"
    cells = [_cells(row) for row in results["workloads"]]
    rare = [name for name in (WORST, *PEERS[2:]) if not any(row.get(name) for row in cells)]
    columns = [name for name in COLUMNS if name not in rare]
    lines = [
        f"{device['gpu']}, {versions}; {bandwidth}; medians over cold inputs",
        "",
        "| " + " | ".join(columns) + " |",
        "|---" * len(columns) + "|",
    ]
    for row in cells:
        lines.append("| " + " | ".join(row.get(name, "") for name in columns) + " |")
    return "\n".join(lines) + "\n" + _host_table(results.get("host", []))


def _host_table(rows: list[dict[str, Any]]) -> str:
    """What a call costs the host; nothing where it was not measured."""
    if not rows:
        return ""
    lines = ["", "| a call that does not wait for the GPU | host us | at most us | reached |"]
    lines.append("|---" * 4 + "|")
    for row in rows:
        at_most = f"{row['at_most_us']:.0f}" if "at_most_us" in row else ""
        reached = {True: "yes", False: "no"}.get(row.get("reached"), "")
        lines.append(f"| {row['name']} | {row['host_us']:.1f} | {at_most} | {reached} |")
    return "\n".join(lines) + "\n"


COLUMNS = (
    "work (bf16 logits, V=151,936)", "floor us", "graph us", WORST, "eager us", "x floor",
    "at most us", "reached", *PEERS,
)  # fmt: skip


def _cells(row: dict[str, Any]) -> dict[str, str]:
    """What stands in each column."""
    if "refused" in row:
        return {COLUMNS[0]: row["name"], COLUMNS[1]: f"refused: {row['refused']}"}
    cells = {
        COLUMNS[0]: row["name"],
        "floor us": f"{row['floor_us']:.1f}",
        "graph us": f"{row['graph_us']:.1f}",
        WORST: _worst(row),
        "eager us": f"{row['eager_us']:.1f}",
        "x floor": f"{row['times_floor']:.2f}",
        "at most us": f"{row['at_most_us']:.1f}" if "at_most_us" in row else "",
        "reached": {True: "yes", False: "no"}.get(row.get("reached"), ""),
    }
    for name, peer in row["peers"].items():
        cells[name] = f"{peer:.0f} us ({peer / row['graph_us']:.1f} x)"
        others = [numbers[name] for numbers in row.get("others", {}).values() if name in numbers]
        if others:
            cells[name] += f", worst {max(others):.0f}"
    return cells


def _worst(row: dict[str, Any]) -> str:
    """The slowest of the other kinds of inputs, and which it is."""
    others = row.get("others")
    if not others:
        return ""
    kind = max(others, key=lambda name: others[name]["ours"])
    return f"{others[kind]['ours']:.1f} ({kind})"


def tests_table(results: dict[str, Any], examples: int) -> str:
    """What the gate saw, in Markdown."""
    lines = [
        f"{results['device']['gpu']}, {examples:,} cases a property",
        "",
        "| op | passed | failed | skipped |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {t['op']} | {t['passed']} | {t['failed']} | {t['skipped']} |" for t in results["tests"]
    ]
    return "\n".join(lines) + "\n"


def plot_worst(results: dict[str, Any], path: Path) -> bool:
    """Writes the picture of typical and worst inputs, ours and the first peer's that has both.

    False without matplotlib, or without such a row.
    """
    rows = [row for row in results["workloads"] if row.get("others")][::-1]
    if not rows:
        return False
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(11, 0.42 * len(rows) + 1.6))
    places = range(len(rows))
    peer = next((name for name in PEERS if any(name in row["peers"] for row in rows)), None)
    for name, colour, shift in (("ours", "#3b6ea5", -0.15), (peer, "#b5533c", 0.15)):
        if name is None:
            continue
        for place, row in zip(places, rows, strict=True):
            typical = row["graph_us"] if name == "ours" else row["peers"].get(name)
            others = [numbers[name] for numbers in row["others"].values() if name in numbers]
            if typical is None or not others:
                continue
            at = place + shift
            axis.plot([min(typical, *others), max(typical, *others)], [at, at], color=colour)
            axis.plot([typical], [at], "o", color=colour, markersize=4)
        axis.plot([], [], "o-", color=colour, label=name, markersize=4)
    floors = [row["floor_us"] for row in rows]
    axis.plot(floors, list(places), "|", color="black", label="memory floor")
    axis.set_yticks(list(places), [row["name"] for row in rows])
    axis.set_xscale("log")
    axis.set_xlabel("us, from the best to the worst kind of input; the dot is the random one")
    axis.legend(loc="best")
    figure.suptitle(results["device"]["gpu"])
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return True


def plot(results: dict[str, Any], path: Path) -> bool:
    """Writes the picture: fraction of the floor reached, and times faster than torch.

    False without matplotlib.
    """
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in results["workloads"] if "refused" not in row][::-1]
    names = [row["name"] for row in rows]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(15, 0.42 * len(rows) + 1.6), sharey=True)
    left.barh(names, [row["floor_us"] / row["graph_us"] for row in rows], color="#3b6ea5")
    left.set_xlim(0, 1.05)
    left.axvline(1, color="black", linewidth=0.8)
    left.set_xlabel("fraction of the memory floor (CUDA graph)")
    for peer, colour, shift in (
        ("torch eager", "#b5533c", 0.2),
        ("torch.compile", "#d9a441", -0.2),
    ):
        values = [row["peers"].get(peer, 0) / row["graph_us"] for row in rows]
        at = [place + shift for place in range(len(rows))]
        right.barh(at, values, height=0.4, color=colour, label=peer)
    right.axvline(1, color="black", linewidth=0.8)
    right.set_xlabel("times faster than")
    right.set_xscale("symlog", linthresh=1)
    right.legend(loc="lower right")
    device = results["device"]
    figure.suptitle(f"{device['gpu']}, copy {results['copy_bandwidth_tb_s']:.2f} TB/s")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return True
