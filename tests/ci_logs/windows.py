"""Windows of CI logs with the line that explains the failure marked in them.

A file holds many; each has a head, `---`, and the lines with `>>>` before those to quote:

    %%%% checkout-refused
    category: network
    cause: setup
    source: own
    step: Check out
    ---
    Fetching the repository
    >>>fatal: unable to access 'https://git.example/octo/engine/': Connection refused

`cause` is `pr`, `not-pr` (nothing in a repository can cause it), `setup` (nothing but a change of
the machine's set-up can) or `open` (the log alone cannot tell). `source` is `generated` or `own`,
`gpu: yes` a failure of a GPU or of speculative decoding, and `step` the step that failed, where it
matters. `also` is a second category that is right where two are, and `tests` are the failed tests
that the log names, with ` | ` between them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
MARK = ">>>"
_HEAD = "%%%% "


@dataclass(frozen=True)
class Window:
    name: str
    category: str
    cause: str
    source: str
    marked: tuple[str, ...]
    gpu: bool = False
    step: str = ""
    also: str = ""
    tests: tuple[str, ...] = ()

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that are right."""
        return (self.category, self.also) if self.also else (self.category,)

    @property
    def lines(self) -> tuple[str, ...]:
        """The log's lines as a tool would see them."""
        return tuple(line.removeprefix(MARK) for line in self.marked)

    @property
    def keys(self) -> tuple[int, ...]:
        """Numbers of the marked lines, from 1: the match must be one of them."""
        return tuple(n for n, line in enumerate(self.marked, 1) if line.startswith(MARK))


def read(path: Path) -> list[Window]:
    parts = path.read_bytes().decode("utf-8").split(_HEAD)
    return [_window(part) for part in parts[1:]]


def _window(text: str) -> Window:
    head, _, body = text.partition("\n---\n")
    name, *fields = head.split("\n")
    values = dict(line.split(": ", 1) for line in fields)
    lines = tuple(body.removesuffix("\n").split("\n"))
    gpu, step = values.get("gpu") == "yes", values.get("step", "")
    return Window(
        name,
        values["category"],
        values["cause"],
        values["source"],
        lines,
        gpu=gpu,
        step=step,
        also=values.get("also", ""),
        tests=tuple(values["tests"].split(" | ")) if "tests" in values else (),
    )


def write(path: Path, windows: Iterable[Window]) -> None:
    texts = []
    for w in windows:
        head = [
            f"{_HEAD}{w.name}",
            f"category: {w.category}",
            f"cause: {w.cause}",
            f"source: {w.source}",
        ]
        head += ["gpu: yes"] if w.gpu else []
        texts.append("\n".join([*head, "---", *w.marked]) + "\n")
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(texts), "utf-8", newline="\n")


# `later` was written after the first rules, which found 87.0 % of its key lines; the rules were
# then mended for it. `held-out` was written after that: 94.5 %, before two rules were mended for
# it. `fresh` was written after all of that: key line 83.6 %, category 80.6 %, before the rules were
# mended for it. `unseen` was written after that in turn: 93.2 % and 97.7 %, before the rules were
# mended for it. `last` was written after that, and no rule was changed for it.
# `kinds` has one window for each kind of message that rules of later date read; it was written with
# them.
SETS = ("dev", "later", "held-out", "fresh", "unseen", "last", "kinds")
_FILES = {
    "dev": ("dev-generated", "dev-own", "gpu-generated"),
    "later": ("later-generated", "later-gpu-generated", "later-own"),
    "held-out": ("held-out-generated", "held-out-own"),
    "fresh": ("fresh-generated", "fresh-own"),
    "unseen": ("unseen-generated", "unseen-own"),
    "last": ("last-generated", "last-own"),
    "kinds": ("kinds-own",),
}


def load(name: str) -> list[Window]:
    """The windows of one set, in the order of their files."""
    return [w for file in _FILES[name] for w in read(HERE / "windows" / f"{file}.txt")]
