"""Artifacts of GPU runs as strangers could make them: refused, or read without a step outside."""

from __future__ import annotations

import io
import json
import re
import stat
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from bot.chat import kernel_result
from bot.chat.artifact_archive import BadArchive, members
from bot.db.commands import GpuRun
from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown
from bot.reports.kernelrun import results_json as text_of
from checks.kernelrun.model import CaseStatus, Confinement, KernelCase, KernelRunResult

WORDS = Catalog("en", Markdown())
RUN = GpuRun(
    "0b9e0b0e-0000-5000-8000-000000000000", 5, 3, "a" * 40, "b" * 40, "gpu.yml", 60, 0.0, 1, {}, 0
)
TOLD = json.dumps({"base": RUN.base, "head": RUN.head})


def archive(*entries: tuple[Any, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as file:
        for name, data in entries:
            file.writestr(name, data)
    return made.getvalue()


def good(
    summary: tuple[Any, bytes], *more: tuple[Any, bytes], method: int = zipfile.ZIP_STORED
) -> bytes:
    """An archive with a summary and results that would do."""
    sides: list[tuple[Any, bytes]] = []
    for side in ("base", "head"):
        cases = (KernelCase("verify", "small", CaseStatus.OK),)
        run = KernelRunResult(
            {"specbot": "1"}, {"gpu": "H20"}, "h", Confinement("bwrap", True), cases
        )
        sides.append((f"under-base/{side}/results.json", text_of(run).encode()))
        sides.append((f"under-base/{side}/outputs.safetensors", struct.pack("<Q", 2) + b"{}"))
    return archive(summary, *sides, *more, method=method)


def told(**changes: Any) -> tuple[str, bytes]:
    """The summary, but for `changes`."""
    return "kernels.json", json.dumps(json.loads(TOLD) | changes).encode()


def test_results_as_they_should_be():
    found = kernel_result.judge_run(RUN, good(told()), WORDS, Path("none"))
    assert (found.conclusion, found.key) == ("success", "kernels-fine")


def info(name: str, mode: int) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    made.external_attr = mode << 16
    return made


def encrypted() -> bytes:
    data = bytearray(archive(("kernels.json", b"{}")))
    data[6] |= 1
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    return bytes(data)


def lying() -> bytes:
    """A member that says it is small and is not."""
    data = bytearray(archive(("kernels.json", b"0" * 3_000_000), method=zipfile.ZIP_DEFLATED))
    at = data.index(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 10)
    return bytes(data)


def twice() -> bytes:
    """Two names in the directory for one member: the trick of bombs without recursion."""
    data = archive(("kernels.json", b"{}"))
    at, end = data.index(b"PK\x01\x02"), data.index(b"PK\x05\x06")
    entry = data[at:end]
    tail = bytearray(data[end:])
    tail[8:12] = struct.pack("<HH", 2, 2)
    tail[12:16] = struct.pack("<I", 2 * len(entry))
    return data[:at] + entry + entry + bytes(tail)


BAD = {
    "nothing": b"",
    "no zip": b"<html>",
    "cut off": archive(("kernels.json", TOLD.encode()))[:-30],
    "no kernels.json": archive(("other.json", b"{}")),
    "no JSON": archive(("kernels.json", b"{")),
    "no object": archive(("kernels.json", b"[1]")),
    "deep JSON": archive(("kernels.json", b"[" * 200_000)),
    "deep objects": archive(("kernels.json", b'{"a":' * 100_000)),
    "no UTF-8": archive(("kernels.json", b'{"base": "\xff"}')),
    "a number too long": archive(("kernels.json", b'{"base": ' + b"9" * 5000 + b"}")),
    "another head": good(told(head="c" * 40)),
    "another base": good(told(base="c" * 40)),
    "base and head the other way": good(told(base=RUN.head, head=RUN.base)),
    "heads in a list": good(told(base=[RUN.base], head=[RUN.head])),
    "no results": archive(("kernels.json", TOLD.encode())),
    "edited is no list": good(told(edited=7)),
    "edited are no names": good(told(edited=[{}])),
    "a bomb": good(("kernels.json", TOLD.encode() + b" " * 5_000_000), method=zipfile.ZIP_DEFLATED),
    "a lying member": lying(),
    "a name twice": twice(),
    "too many members": good(told(), *((f"{n}.txt", b"") for n in range(300))),
    "a symbolic link": good((info("kernels.json", stat.S_IFLNK | 0o666), TOLD.encode())),
    "a device": good((info("kernels.json", stat.S_IFBLK | 0o666), TOLD.encode())),
    "a fifo": good((info("kernels.json", stat.S_IFIFO | 0o666), TOLD.encode())),
    "a socket": good((info("kernels.json", stat.S_IFSOCK | 0o666), TOLD.encode())),
    "encrypted": encrypted(),
    "results that are no JSON": archive(
        ("kernels.json", TOLD.encode()), ("under-base/base/results.json", b"x")
    ),
    "results that are deep": archive(
        ("kernels.json", TOLD.encode()), ("under-base/base/results.json", b"[" * 200_000)
    ),
    "an output that is none": archive(
        ("kernels.json", TOLD.encode()), ("under-base/base/outputs.safetensors", b"\xff" * 64)
    ),
}


@pytest.mark.hostile("archives")
@pytest.mark.parametrize("what", BAD)
def test_results_that_are_refused(what):
    found = kernel_result.judge_run(RUN, BAD[what], WORDS, Path("none"))
    assert (found.conclusion, found.text) == ("failure", "")


ELSEWHERE = [
    "../kernels.json",
    "/kernels.json",
    "a/../../kernels.json",
    "under-base/base/../../../x/results.json",
    "under-base\\base\\results.json",
    "..\\..\\kernels.json",
    "C:\\kernels.json",
    "under-base/base/results.json/",
    "./kernels.json",
    "kernels.json\n",
    "kernels.json ",
    "KERNELS.JSON",
    "under-head/other/results.json",
    "under-base/base/results.json\x00.txt",
    "under-base/base/__init__.py",
    ".git/hooks/post-checkout",
    "\u202ekernels.json",
]


@pytest.mark.hostile("archives")
@pytest.mark.parametrize("name", ELSEWHERE)
def test_names_that_lead_elsewhere_are_not_read(name):
    try:
        found = kernel_result.read_expected_files(RUN, archive((name, b"{}")))
    except BadArchive:
        return
    assert found == {} or set(found) == {"under-base/base/results.json"}


def test_members_are_limited_in_all():
    wanted = re.compile(r"[ab]")
    data = archive(("a", b"1" * 600), ("b", b"1" * 600))
    assert set(members(data, wanted, 1200)) == {"a", "b"}
    with pytest.raises(BadArchive, match="size"):
        members(data, wanted, 1199)
