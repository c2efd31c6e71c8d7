"""What CI systems, containers, launchers and loggers print before a program's own line.

They stand in layers: GitHub's time stamp, BuildKit's step, the launcher's rank, the logger's level
and place. A line is peeled until no layer is left, so that a rule sees the program's words at the
start of the line.
"""

from __future__ import annotations

import re

# A line has about this many layers at most; a crafted one is not peeled for ever.
_MOST_LAYERS = 8

_STAMP = (
    r"\ufeff?\s{0,4}\[?(?:"
    # GitHub, Jenkins, Docker, syslog
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|\s?[+-]\d\d:?\d\d)?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?=\s|\])"  # Jenkins' Timestamper
    # the date of RFC 9110
    r"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT(?=\s)"
    r"|\d{1,2}:\d\d:\d\d [AP]M:?(?=\s)"  # Netlify
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s{1,2}\d{1,2} "
    r"\d\d:\d\d:\d\d(?:\.\d{1,9}:)?(?=\s)"
    r")\]?(?:\s?\|)?\s?"
)
_LAYER = re.compile(
    "|".join(
        (
            _STAMP,
            # GitLab's stream marks and Kubernetes' log files
            r"(?:0[0-9][OE][ +]|std(?:out|err) [FP] )",
            # Ray, vLLM: (EngineCore_0 pid=4), (RayWorkerWrapper pid=4, ip=10.0.0.1)
            r"\s{0,4}\((?:[\w:.\-]{1,60}(?: \w{1,20}=\S{1,40}){0,3} )?"
            r"pid=\d{1,9}(?:, ip=[\d.]{7,40})?\)\s?",
            # TeamCity: `W:\t [Step 1/1] `
            r"[EWFi]?\s?:?\s{0,3}\[Step \d{1,3}/\d{1,3}\]\s?",
            # Google Cloud Build: `Step #7 - "integration": `
            r"Step #\d{1,4}(?: - \"[^\"]{1,100}\")?:\s?",
            # torchrun, mpirun, pytest-xdist
            r"\[(?:default)?rank\d{1,5}\]:\s?|\[\d{1,5},\d{1,5}\]<std(?:err|out)>:\s?|\[\d{1,5}\]:\s?",
            r"\[gw\d{1,4}\] (?=\[|[A-Z])",
            # tools that wrap a build: VS Code, mock, rattler
            r"\[(?:build|std(?:out|err)|proc|shard\d{1,3}|test|worker\S{0,8}|docker)\] "
            r"|BUILD(?:STDERR|STDOUT):\s?|(?:\s{0,4}[│┃]\s?){1,4}(?=\S)",
            # docker compose, foreman, Buildkite's copies
            r"[a-zA-Z][\w.\-]{0,60}\s{1,30}\|\s{1,2}(?=\S)|\s{0,4}\|\s(?=\S)",
            # Kubernetes jobs, MPI operators: `llama-train-worker-1: `
            r"[a-z][a-z0-9]{0,30}(?:-[a-z0-9]{1,30}){1,8}-\d{1,4}:\s{1,2}(?=\S)",
            # BuildKit: `#55 12.3 `, `#55 ERROR: `, and its excerpt at the end (`0.512 E: ...`)
            r"#\d{1,4} (?:\d{1,6}\.\d{1,3} )?|\d{1,6}\.\d{2,4} (?=\S)|\d{3,6}\.\d (?=\s{0,40}\S)",
            # Spack's excerpt of a build's log, where it marks errors
            r"\s{1,4}>> \d{1,7}\s{2,8}(?=\S)",
            # vLLM's logger: `ERROR 05-06 18:35:46 [core.py:790] `
            r"(?:ERROR|CRITICAL|FATAL) \d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})? "
            r"\[?[\w./\-]{1,100}:\d{1,6}\]\s?",
            # glog: `[E324 13:00:25.428029551 pair.cc:574] `
            r"\[?[EF]\d{3,4} \d\d:\d\d:\d\d\.\d{1,9}\s{1,4}(?:\d{1,9} )?\S{1,200}:\d{1,6}\]\s?",
            # Python's logging: `- lmdeploy - ERROR - agent.py:489 - `, `ERROR    name:file.py:29 `
            r"-?\s?[\w.]{1,60} - (?:ERROR|CRITICAL) - (?:[\w./]{1,80}:\d{1,6} - )?",
            r"(?:ERROR|CRITICAL)\s{1,6}[\w.]{1,80}:[\w./\-]{1,80}:\d{1,6} ",
            # pipenv, before each line of the tool that failed: `[pipenv.exceptions.InstallError]: `
            r"\[\w{1,40}(?:\.\w{1,40}){1,4}(?:Error|Exception)\]: ",
        )
    )
)


def strip_prefixes(line: str) -> str:
    """`line` without what stands before the program's own words.

    The level of a logger goes only where it says error: what a program warned of stays a warning.
    """
    for _ in range(_MOST_LAYERS):
        layer = _LAYER.match(line)
        if layer is None or layer.end() == 0:
            break
        line = line[layer.end() :]
    return line
