"""A library of each source of a repository, on all cores."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Lock

from kernels.emulator.compiler import (
    RUNTIME,
    Build,
    Workshop,
    build_library,
    build_object,
    link_module,
)
from kernels.emulator.discovery import hardware_of
from kernels.emulator.extensions import Extension, bind_by_given_name
from kernels.emulator.includes import SourceRefused, collect
from kernels.emulator.registrations import Bindings
from kernels.emulator.triton_kernels import kernels_of, op_name

# What the builds of modules define where there is CUDA, by custom.
_EXTENSION_SWITCHES = ("WITH_CUDA",)


def build_all(
    workshop: Workshop,
    root: Path,
    sources: list[str],
    tick: Callable[[Build], None],
    tick_of_member: Callable[[Build], None] = lambda _: None,
) -> list[Build]:
    """A library of each source (paths relative to `root`), on all cores; before that, the members
    of modules."""
    names = Bindings.of(root)
    objects = Objects(workshop, root, names)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for member in pool.map(objects.of, names.members_of(sources)):
            tick_of_member(member)
        builds = []
        for build in pool.map(lambda source: _build(objects, source), sources):
            tick(build)
            builds.append(build)
    return builds


def build_texts(
    workshop: Workshop,
    root: Path,
    source: str,
    texts: list[str],
    tick: Callable[[int, Build], None],
) -> None:
    """A library of each text in the place of one source, on all cores."""
    names = Bindings.of(root)
    objects = Objects(workshop, root, names)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(objects.of, names.members_of([source])))
        builds = pool.map(lambda text: _build(objects, source, text), texts)
        for number, build in enumerate(builds):
            tick(number, build)


class Objects:
    """The compiled files of a repository's modules: each is compiled once, and linked to all."""

    def __init__(self, workshop: Workshop, root: Path, names: Bindings) -> None:
        self.workshop = workshop
        self.root = root
        self.names = names
        # A module is linked once, though several of its sources ask for it at the same time.
        self.linking = Lock()
        self._known: dict[str, Build] = {}

    def of(self, path: str) -> Build:
        """The object of a file."""
        if path not in self._known:
            self._known[path] = self.compile(path)
        return self._known[path]

    def compile(self, path: str, text: str | None = None) -> Build:
        """The object of a file; `text` stands for it where it is given."""
        try:
            files = collect(self.root, path, RUNTIME / "include", text)
            files.texts[path] = bind_by_given_name(files.texts[path])
            files.switches = [*self.names.switches, *_EXTENSION_SWITCHES]
            return build_object(self.workshop, files)
        except SourceRefused as error:
            return Build(path, refusal=str(error))


def _build(objects: Objects, source: str, text: str | None = None) -> Build:
    """The library of a source; `text` stands for it where it is given."""
    workshop, root, names = objects.workshop, objects.root, objects.names
    if source.endswith(".py"):
        return _interpreted(root, source)
    extension = names.extension_of(source)
    if extension is not None:
        return _build_extension(objects, extension, source, text)
    try:
        files = collect(root, source, RUNTIME / "include", text)
        files.texts[source] += names.text_for(source, files.texts[source])
        if hardware_of(source) != "xpu":
            files.switches = names.switches
        build = build_library(workshop, files)
    except SourceRefused as error:
        return Build(source, refusal=str(error), ops=_ops_of_refused(root, source, names))
    return replace(build, ops=names.ops_of(source, files.texts[source]))


def _build_extension(
    objects: Objects, extension: Extension, source: str, text: str | None
) -> Build:
    """The module that a source is a part of, linked as its own build does: all in one library."""
    members = [objects.of(path) for path in extension.members if path != source]
    own = objects.of(source) if text is None else objects.compile(source, text)
    members.insert(extension.members.index(source), own)
    ops = objects.names.ops_of(source, "")
    unbuilt = Build(source, ops=ops, modules=(*extension.modules, extension.binding))
    for member in members:
        if member.library is None:
            where = "" if member.source == source else f"{member.source}: "
            return replace(unbuilt, refusal=where + member.refusal)
    try:
        with objects.linking:
            key, library = link_module(objects.workshop, members)
    except OSError as error:
        return replace(unbuilt, refusal=f"not linked: {error.strerror}")
    return replace(unbuilt, key=key, library=library, compiled_now=own.compiled_now)


def _interpreted(root: Path, source: str) -> Build:
    """A file with Triton kernels: what is needed is Triton."""
    kernels = kernels_of((root / source).read_text("utf-8", "replace"))
    ops = tuple(op_name(source, kernel) for kernel in kernels)
    for package in ("torch", "triton"):
        if importlib.util.find_spec(package) is None:
            return Build(source, refusal=f"needs {package}, which is not installed here", ops=ops)
    return Build(source, ops=ops, interpreted=True)


def _ops_of_refused(root: Path, source: str, names: Bindings) -> tuple[str, ...]:
    try:
        return names.ops_of(source, (root / source).read_text("utf-8", "replace"))
    except OSError:
        return ()
