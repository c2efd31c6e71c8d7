"""``python -m kernels.decode.record -o FILE [--top-k 5] [--proposer mtp --drafts 3] ...``

Decodes random prompts with the small model and writes what came of each as a line of JSON: the
logprob record of SpecBot's comparator (``checks/logprobs/FORMAT.md``). The same arguments on the
same device write the same bytes.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from kernels.decode.engine import decode
from kernels.decode.model import Model, Shape
from kernels.decode.settings import PROPOSERS, Output, Request, Settings

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 2 for arguments that do not go together."""
    options = _parser().parse_args(arguments)
    torch.set_num_threads(
        1
    )  # threads that wait for each other cost more than these small matrices do
    try:
        lines = list(record(options))
    except ValueError as error:
        print(f"kernels.decode.record: {error}", file=sys.stderr)
        return 2
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    if options.out is None:
        sys.stdout.write(text)
    else:
        options.out.write_text(text, encoding="utf-8")
    return 0


def record(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One record a request, in order. ValueError for settings that do not go together."""
    model = Model(
        Shape(vocab=options.vocab),
        seed=options.model_seed,
        dtype=DTYPES[options.dtype],
        device=options.device,
    )
    settings = Settings(
        proposer=options.proposer,
        num_speculative_tokens=options.drafts,
        logprobs=options.top_k,
        mode=options.mode,
        max_bsz=options.slots,
        max_model_len=options.longest_prompt + options.max_tokens,
    )
    requests = _requests(options)
    origin = {
        "model": f"random-{options.vocab}-seed-{options.model_seed}",
        "mode": options.mode,
        "device": device_name(model.device),
        "engine": "kernels.decode",
        "engine_version": options.engine_version,
        "logits_dtype": options.dtype,
    }
    speculative = {"proposer": options.proposer, "num_speculative_tokens": options.drafts}
    for number, (request, output) in enumerate(
        zip(requests, decode(model, requests, settings), strict=True)
    ):
        said = {
            "version": 1,
            "id": f"request-{number}",
            "prompt": json.dumps(request.prompt, separators=(",", ":")),
        }
        yield said | {"origin": origin, "speculative": speculative} | _of(request, output)


def device_name(device: torch.device) -> str:
    """What two runs must share for their numbers to be equal bit for bit: the device and the
    library."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return f"{name}, torch {torch.__version__}"


def _of(request: Request, output: Output) -> dict[str, Any]:
    return {
        "sampling": {
            "max_tokens": request.max_tokens,
            "seed": request.seed,
            "temperature": request.temperature,
            "top_k": request.top_k,
            "top_p": request.top_p,
        },
        "tokens": output.tokens,
        "logprobs": _numbers(output.logprobs),
        "ranks": output.ranks,
        "accept_num": output.accept_num,
        "logz": _numbers(output.logz),
        "topk_ids": output.topk_ids,
        "topk_logprobs": [_numbers(row) for row in output.topk_logprobs],
        "finish_reason": output.finish_reason,
    }


def _numbers(values: list[float]) -> list[float | str]:
    """JSON has no number for what is not finite."""
    return [value if math.isfinite(value) else str(value) for value in values]


def _requests(options: argparse.Namespace) -> list[Request]:
    """Random prompts; every second one repeats itself, so that lookups find something."""
    generator = torch.Generator().manual_seed(options.seed)
    made = []
    for number in range(options.requests):
        length = int(
            torch.randint(
                min(4, options.longest_prompt), options.longest_prompt + 1, (), generator=generator
            )
        )
        ids = torch.randint(0, options.vocab, (length,), generator=generator).tolist()
        if number % 2:
            ids = (ids[: 1 + length // 3] * 4)[:length]
        made.append(
            Request(
                tuple(ids),
                options.max_tokens,
                temperature=options.temperature,
                top_k=options.sample_top_k,
                top_p=options.sample_top_p,
                seed=options.seed + number,
            )
        )
    return made


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kernels.decode.record", description="Logprob records of the decode loop."
    )
    add = parser.add_argument
    add("-o", "--out", type=Path, help="the file; standard output without it")
    add("--top-k", type=int, default=5, help="columns of the top-k table, 0 to 64")
    add(
        "--mode",
        choices=("raw", "processed"),
        default="raw",
        help="of which distribution the logprobs are",
    )
    add("--proposer", choices=PROPOSERS, default="mtp", help="who drafts")
    add("--drafts", type=int, default=3, help="draft tokens a step; 0 with --proposer none")
    add("--requests", type=int, default=16, help="number of prompts")
    add("--max-tokens", type=int, default=32, help="tokens of each answer")
    add("--longest-prompt", type=int, default=12, help="tokens of the longest prompt")
    add("--slots", type=int, default=4, help="requests that run together")
    add("--temperature", type=float, default=0.0, help="0 is greedy")
    add("--sample-top-k", type=int, default=0, help="draw from the best k alone; 0 draws from all")
    add(
        "--sample-top-p",
        type=float,
        default=1.0,
        help="draw from the best that make up this probability",
    )
    add("--seed", type=int, default=0, help="of prompts and draws")
    add("--model-seed", type=int, default=1, help="of the weights")
    add("--vocab", type=int, default=64, help="tokens that the model knows")
    add("--dtype", choices=tuple(DTYPES), default="float32", help="of the logits")
    add("--device", default="cpu", help="cpu, or cuda")
    add(
        "--engine-version", default="unknown", help="what stands in the records, such as a revision"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
