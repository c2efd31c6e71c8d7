"""Launches of Triton kernels: `kernel[grid](...)` takes the parameters, and some options."""

from __future__ import annotations

import re
from dataclasses import replace

from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Param

_JIT = re.compile(r"(^|\.)jit\b")
_TUNED = re.compile(r"autotune|heuristics|\blibentry")


def is_kernel(function: Function) -> bool:
    """Whether Triton compiles the function, and nothing else stands before it."""
    if not all(_JIT.search(mark) or _TUNED.search(mark) for mark in function.marks):
        return False
    return any((_JIT.search(mark) and "triton" in mark) or mark == "jit" for mark in function.marks)


def launch_signature(function: Function, call: E.Call) -> Function:
    """The kernel with the parameters that a launch has to give it.

    Tuning gives the constants that it names. Options of the launch are written small, as
    `num_warps`, and differ between the hardware: any is taken.
    """
    given_elsewhere = [mark for mark in function.marks if _TUNED.search(mark)]
    params: list[Param] = []
    for param in function.params:
        is_tuned = bool(given_elsewhere) and param.name.isupper()
        # `{"BLOCK": 64}` gives a value; `key=["size"]` only asks for one.
        gives = re.compile(rf"[\"']{param.name}[\"']\s*:")
        is_named = any(gives.search(mark) for mark in given_elsewhere)
        if param.default is None and (is_tuned or is_named):
            param = replace(param, default=E.Const(None))
        params.append(param)
    names = {param.name for param in params}
    for keyword, _ in call.keywords:
        if keyword not in names and keyword != "**" and not keyword.isupper():
            params.append(Param(keyword, default=E.Const(None), kind="keyword"))
    marks = tuple([mark for mark in function.marks if "static" in mark])
    return Function(
        function.name,
        function.qualname,
        function.path,
        tuple(params),
        function.start_line,
        function.end_line,
        function.lower,
        marks=marks,
    )
