"""What a device's or its library's own words name: a code, a size, what makes its launches wait.

As in `log_details`, each function gives the empty string where the text names none.
"""

from __future__ import annotations

import re

_SIZE = re.compile(
    r"(?i)(?:tried to )?allocat(?:e|ing) (?P<size>\d{1,12}(?:\.\d{1,6})? ?(?:[KMGT]i?B|bytes))"
)
_CODE = re.compile(
    r"\b(?P<code>E[A-Z0-9]\d{4}|ERR\d{5}|hipError\w{2,60}|HSA_STATUS_\w{3,60}|cudaError\w{2,60}"
    r"|CU(?:BLAS|DNN|SPARSE|SOLVER)_STATUS_\w{3,60}|UR_RESULT_ERROR_\w{3,60}|nccl\w{3,40}Error"
    r"|XPU_ERROR_\w{2,40}|[Xx]id \(\S{1,40}\): \d{1,3}"
    r"|(?:(?<=error code:)|(?<=error code: )|(?<=error code is ))\d{6})\b"
)
_DRIVER = re.compile(
    r"(?i)driver version is insufficient|driver on your system is too old"
    r"|not supported (?:in|by) the installed .{0,20}driver|no kernel image|invalid device function"
    r"|unsupported toolchain|unsupported display driver|provided PTX was compiled"
    r"|hipErrorNoBinaryForGpu|hipErrorInvalidKernelFile|cudaErrorNoKernelImage"
    r"|forward compatibility"
)
_NO_DEVICE = re.compile(r"(?:hip|cuda)ErrorNoDevice\b|no \S{2,20}-capable device")
_RESOURCES = re.compile(
    r"out of resources?: .{1,40}?Required: (?P<asked>\d{1,12}).{1,40}?limit:? (?P<has>\d{1,12})"
    r"|uses too much shared data \((?P<bytes>\w{3,20}) bytes, (?P<max>\w{3,20}) max\)"
)
_LACKS_RESOURCES = re.compile(
    r"out of resources?: |too many resources requested for launch|uses too much shared data"
)
# What makes every launch of a kernel wait, by the words of the device's messages.
_LAUNCHES = (
    (
        re.compile(
            r"\b(?:ACL|aclnn\w{0,40}|NPU|CANN|[Aa]scend|ERR\d{5}|E[A-Z0-9]\d{4})\b"
            r"|error code ?(?:is |:)(?:107|207|507)\d{3}"
        ),
        "ASCEND_LAUNCH_BLOCKING=1",
    ),
    (
        re.compile(
            r"\b(?:HIP|ROCm|hip[A-Z]\w{2,40}|HSA_\w{2,40}|(?i:rocblas|hipblas|miopen)\w{0,40}"
            r"|(?:Memory access fault|HW Exception) by GPU)\b"
        ),
        "AMD_SERIALIZE_KERNEL=3",
    ),
    (re.compile(r"\b(?:MUSA|MACA|XPU|BKCL|SYCL|level_zero)\b|\b(?:UR|PI|ZE)_[A-Z]"), ""),
    (
        re.compile(r"(?i)\b(?:cuda|cublas|cudnn|cusparse|cusolver|curand|cufft)|illegal memory"),
        "CUDA_LAUNCH_BLOCKING=1",
    ),
)
_LIBRARIES = (
    (re.compile(r"(?i)gloo"), "gloo"),
    (re.compile(r"(?i)hccl|\bE[IJ]\d{4}\b"), "hccl"),
    (re.compile(r"\bMPI|mpi(?:run|exec)\b|\borte|PMIX"), "mpi"),
)
# The card itself failed, or was lost.
_BROKEN_CARD = re.compile(
    r"(?i)device_lost|device (?:is )?lost|\bxid\b|fallen off the bus|uncorrectable|\becc\b"
    r"|gpu reset|hw exception"
)


def size(text: str) -> str:
    """How much memory was asked for."""
    match = _SIZE.search(text)
    return match["size"] if match is not None else ""


def error_code(text: str) -> str:
    """A device's or library's own error code."""
    match = _CODE.search(text)
    return match["code"] if match is not None else ""


def device_code(text: str) -> str:
    """As `error_code`, of the device and not of what carries messages between devices."""
    for match in _CODE.finditer(text):
        if not match["code"].startswith("nccl"):
            return match["code"]
    return ""


def no_device(text: str) -> bool:
    """Whether no card was seen."""
    return _NO_DEVICE.search(text) is not None


def is_driver(text: str) -> bool:
    """Whether the card, its driver and what was built do not fit together."""
    return _DRIVER.search(text) is not None


def lacks_resources(text: str) -> bool:
    """Whether a kernel asks for more registers or shared memory than the card has."""
    return _LACKS_RESOURCES.search(text) is not None


def resources(text: str) -> tuple[str, str]:
    """How much a kernel asked for, and how much the card has."""
    match = _RESOURCES.search(text)
    if match is None:
        return "", ""
    return match["asked"] or match["bytes"], match["has"] or match["max"]


def launch_setting(error: str, text: str) -> str:
    """What makes every launch of a kernel wait on the device of the message."""
    for part in (error, text):
        for words, setting in _LAUNCHES:
            if words.search(part):
                return setting
    return ""


def library(error: str, text: str) -> str:
    """Which library the processes talk through."""
    for part in (error, text):
        for words, name in _LIBRARIES:
            if words.search(part):
                return name
        if "nccl" in part.lower():
            break
    return "nccl"


def is_broken_card(text: str) -> bool:
    """Whether the card itself failed or was lost."""
    return _BROKEN_CARD.search(text) is not None
