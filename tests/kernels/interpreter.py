"""Triton's interpreter without the work that it does again and again for nothing: the same in half
of the time.

For the pinned Triton (`requirements/interpreter.txt`): import it once ``TRITON_INTERPRET`` is set.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter


def make_quick() -> None:
    """Once a process, before the first launch."""
    _patch_once_a_launch()
    _list_builtins_once()
    _look_types_up()
    _make_shapes_once()
    # Every addition was done in 64 bits once more, and then compared, for an assertion that is only
    # made in debug.
    builder = interpreter.interpreter_builder
    builder.options = replace(builder.options, sanitize_overflow=builder.options.debug)


def _patch_once_a_launch() -> None:
    """The interpreter goes through ``triton.language`` again at every call of a device function,
    where the second time within a launch finds nothing left to patch."""
    patch, launch = interpreter._patch_lang, interpreter.GridExecutor.__call__
    patched: set[int] = set()
    launching = False

    def patch_once(fn: FunctionType) -> object:
        if launching and id(fn.__globals__) in patched:
            return None  # only the launch itself, which is the first, asks for what came of it
        patched.add(id(fn.__globals__))
        return patch(fn)

    def launch_anew(self: object, *args: object, **kwargs: object) -> None:
        nonlocal launching
        launching = True
        patched.clear()
        try:
            launch(self, *args, **kwargs)
        finally:
            launching = False

    interpreter._patch_lang, interpreter.GridExecutor.__call__ = patch_once, launch_anew


def _list_builtins_once() -> None:
    """What a launch patches, seen at the first one, and called without a detour."""
    semantic, listed = interpreter.interpreter_semantic, {}

    def called(member: Callable[..., object]) -> Callable[..., object]:
        function = getattr(
            member, "__wrapped__", member
        )  # within the check that it is called as here

        def call(*args: object, **kwargs: object) -> object:
            kwargs["_semantic"] = semantic
            return function(*args, **kwargs)

        return call

    def patch(pkg: object, builder: object, scope: interpreter._LangPatchScope) -> None:
        if pkg not in listed:
            members = inspect.getmembers(pkg, tl.core.is_builtin)
            listed[pkg] = [(name, called(member)) for name, member in members]
        for name, call in listed[pkg]:
            scope.set_attr(pkg, name, call)

    interpreter._patch_builtin = patch


def _look_types_up() -> None:
    """NumPy's type for Triton's, and the type that two become, out of tables instead of anew at
    every look."""
    semantic, make, known = interpreter.interpreter_semantic, interpreter._get_np_dtype, {}

    def look_up(type_: tl.dtype) -> np.dtype[Any]:
        scalar = type_.scalar
        found = known.get(scalar.name)
        if found is None:
            found = known[scalar.name] = make(scalar)
        return found

    interpreter._get_np_dtype, semantic.computation_type_impl = (
        look_up,
        cache(semantic.computation_type_impl),
    )


def _make_shapes_once() -> None:
    """A block's type and its tensor's shape: checked and wrapped once for each that there is, not
    for each tensor."""
    make_tensor, make_ir, blocks, irs, shapes = tl.tensor.__init__, tl.block_type.to_ir, {}, {}, {}

    def with_element(self: tl.block_type, scalar: tl.dtype) -> tl.block_type:
        key = (self.name, scalar.name)
        if key not in blocks:
            blocks[key] = tl.block_type(scalar, self.shape)
        return blocks[key]

    def to_ir(self: tl.block_type, builder: object) -> object:
        if self.name not in irs:
            irs[self.name] = make_ir(self, builder)
        return irs[self.name]

    def tensor(self: tl.tensor, handle: object, type: tl.dtype) -> None:
        found = shapes.get(type.name)
        if found is None:
            make_tensor(self, handle, type)
            shapes[type.name] = self.shape, self.numel
            return
        self.handle, self.type, self.dtype = handle, type, type.scalar
        self.shape, self.numel = found

    tl.block_type.with_element_ty, tl.block_type.to_ir, tl.tensor.__init__ = (
        with_element,
        to_ir,
        tensor,
    )
