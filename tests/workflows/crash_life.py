"""Lives of a bot that cost little: a process that has imported everything forks one after the
other.

It reads a life a line from its standard input, JSON of `environment`, `log`, `strike`, `when` and
`watch`, writes the id of the process that lives it, and another line when that has died. With a
`strike` the life kills itself at that many steps' ends, before or after the step is written down.
With `watch`, a folder, it notes in `steps` there what it writes down, and kills itself at what the
file `strike` there names. At SIGUSR2 its clock jumps: the file `clock` says by how many seconds it
is wrong from then on.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import time_machine
from dbos._sys_db import SystemDatabase

from bot.cli.main import main
from bot.sandbox import client, forkserver
from tests.workflows import crash_sites


def _strike(number: int, when: str) -> None:
    """Have this process killed at the `number`th result that it writes down."""
    record, lock, left = SystemDatabase.record_operation_result, threading.Lock(), [number]

    def recorded(self: SystemDatabase, *args: Any, **named: Any) -> Any:
        with lock:
            left[0] -= 1
            due = left[0] == 0
        if due and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        made = record(self, *args, **named)
        if due:
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    SystemDatabase.record_operation_result = recorded  # type: ignore[method-assign]


def _watch(folder: Path) -> None:
    """The end of a workflow counts as a step too: its result is written down as those are."""
    record, end, lock = (
        SystemDatabase.record_operation_result,
        SystemDatabase.update_workflow_outcome,
        threading.Lock(),
    )

    def noted(database: SystemDatabase, workflow: str, name: str, place: tuple[str, int]) -> str:
        """When to die of it: before, after, or not at all."""
        found = database.get_workflow_status(workflow)
        kind = found["name"] if found else ""
        with lock:
            with (folder / "steps").open("a") as file:
                file.write(json.dumps([kind, name, *place]) + "\n")
            strike = folder / "strike"
            wanted = json.loads(strike.read_text()) if strike.exists() else None
            if wanted is None or wanted[:2] != [kind, name]:
                return ""
            strike.unlink()
        if wanted[2] == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        return str(wanted[2])

    def recorded(self: SystemDatabase, result: Any, **named: Any) -> Any:
        when = noted(self, result["workflow_uuid"], result["function_name"], crash_sites.caller())
        made = record(self, result, **named)
        if when:
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    def ended(self: SystemDatabase, workflow_id: str, *args: Any, **named: Any) -> Any:
        when = noted(self, workflow_id, crash_sites.END, ("", 0))
        made = end(self, workflow_id, *args, **named)
        if when:
            os.kill(os.getpid(), signal.SIGKILL)
        return made

    SystemDatabase.record_operation_result = recorded  # type: ignore[method-assign]
    SystemDatabase.update_workflow_outcome = ended  # type: ignore[method-assign]


def _set_clock_by(file: Path) -> None:
    """The clock is that of this process alone; how long a wait takes stays as it is."""
    wrong: list[time_machine.travel] = []

    def set_clock(*_: object) -> None:
        for travel in wrong:
            travel.stop()
        wrong.clear()
        seconds = float(file.read_text())
        if seconds:
            wrong.append(time_machine.travel(time.time() + seconds, tick=True))
            wrong[0].start()

    signal.signal(signal.SIGUSR2, set_clock)


def _end_with(parent: int) -> None:
    """Nobody is left over when the trial is cut off."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _near() -> None:
    """The process that children are forked from is forked too, instead of importing what is
    imported here."""
    ours, theirs = socket.socketpair()
    if not os.fork():
        ours.close()
        forkserver.ForkServer(theirs).serve()
        os._exit(0)
    theirs.close()
    client._start_fork_server = lambda: (None, ours)


def _live(parent: int, life: dict[str, Any]) -> None:
    os.environ.clear()
    os.environ.update(life["environment"])
    log = os.open(life["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream, target in ((0, os.open(os.devnull, os.O_RDONLY)), (1, log), (2, log)):
        os.dup2(target, stream)
    _near()
    _end_with(parent)
    _set_clock_by(Path(life["clock"]))
    if life["strike"]:
        _strike(life["strike"], life["when"])
    if life["watch"]:
        _watch(Path(life["watch"]))
    os._exit(main(["serve"]))


if __name__ == "__main__":
    here, trial = os.getpid(), os.getppid()
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            _live(here, json.loads(line))
        print(process, flush=True)
        while os.waitpid(process, os.WNOHANG) == (0, 0):
            if os.getppid() != trial:
                sys.exit(1)
            time.sleep(0.01)
        print("ended", flush=True)
