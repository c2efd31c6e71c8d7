"""A process that draws: it reads the plotting library, which takes half a second, while this one reviews."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from bot.reports.charts import Draw, Series, stacked_bars
from bot.spread import two_cores


@contextmanager
def drawer() -> Iterator[Draw]:
    """`stacked_bars` of one picture, done by a forked child. Open it early, before there are other threads.

    A picture that does not come back is drawn here, so that an error is raised here. Nothing is forked where there are
    other threads, or one core alone.
    """
    if not two_cores() or threading.active_count() > 1:
        yield stacked_bars
        return
    asked, asks = os.pipe()
    answered, answers = os.pipe()
    child = os.fork()
    if not child:
        os.close(asks)  # else it would never see that nobody asks any more
        _draw(asked, answers)
    os.close(asked)
    os.close(answers)

    def drawn(labels: list[str], series: Series, most: float) -> str:
        try:
            os.write(asks, pickle.dumps((labels, series, most)))
            with open(answered, "rb", closefd=False) as back:
                made: str = pickle.load(back)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            return stacked_bars(labels, series, most)
        return made

    try:
        yield drawn
    finally:
        os.close(asks)
        os.close(answered)
        os.kill(child, signal.SIGKILL)  # where nobody asked, it may still be reading the library
        os.waitpid(child, 0)


def _draw(asked: int, answers: int) -> NoReturn:
    """The child. It ends without a word whatever happens: what is missing is drawn by the parent."""
    try:
        gc.disable()
        import matplotlib.artist

        # Help for who types at a prompt: to write it takes a fifth of the time in which the library is read.
        matplotlib.artist.kwdoc = lambda artist: ""
        import matplotlib.backends.backend_svg
        import matplotlib.figure

        with open(asked, "rb") as way:
            picture = pickle.load(way)
        with open(answers, "wb") as back:
            pickle.dump(stacked_bars(*picture), back)
    finally:
        os._exit(0)
