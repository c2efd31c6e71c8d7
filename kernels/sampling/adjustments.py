"""What requests ask for besides temperature and limits: every argument once, with its shape, its
type and its meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .._validate import FLOAT32, INT32, INTS, LOGITS, Args, optional

COUNTS = (torch.uint8, torch.int16, torch.int32)
BITS = 32  # tokens of a mask's word


@dataclass(frozen=True, kw_only=True)
class Adjustments:
    """Changes of logits before the temperature, in the order in which they are made; what is left
    out changes nothing.

    Letters are sizes: R rows, V tokens of the vocabulary, Q requests whose settings lie ready, and
    the longest list of each kind. Lists are filled up with -1; an id beyond the vocabulary counts
    for nothing.
    """

    # The request whose settings hold for a row; -1, or Q and more: none. Default: row r's are r's.
    requests: torch.Tensor | None = optional("R", dtypes=INTS)

    # A grammar's mask, as xgrammar packs it: bit v % 32 of word v // 32 is set for allowed tokens.
    bitmask: torch.Tensor | None = optional("R", "_", dtypes=INT32)

    # Only these stay possible; a request without any has them all.
    allowed_ids: torch.Tensor | None = optional("Q", "A", dtypes=INTS)

    # Added to the logit. The ids of a request differ; of equal ones one counts.
    bias_ids: torch.Tensor | None = optional("Q", "N", dtypes=INTS)
    bias: torch.Tensor | None = optional("Q", "N", dtypes=FLOAT32)

    # Above 0; 1 is off. The logit of a token of the prompt or of the output is multiplied with its
    # inverse if it is positive, else with it.
    repetition_penalty: torch.Tensor | None = optional("Q", dtypes=FLOAT32)

    # Taken off once for each time that the request has generated the token; 0 is off.
    frequency_penalty: torch.Tensor | None = optional("Q", dtypes=FLOAT32)

    # Taken off once if it has.
    presence_penalty: torch.Tensor | None = optional("Q", dtypes=FLOAT32)

    # How often a request has generated each token, and (packed as ``bitmask``) whether its prompt
    # has it. Penalties see nothing of what is left out.
    output_counts: torch.Tensor | None = optional("Q", "V", dtypes=COUNTS)
    prompt_mask: torch.Tensor | None = optional("Q", "_", dtypes=INT32)

    # Sequences that must not be generated, the last token of each last, -1 before the first: the
    # last one becomes impossible where the others are the latest tokens of a row.
    bad_words: torch.Tensor | None = optional("Q", "W", "L", dtypes=INTS)

    # The latest tokens before each row (its own drafts among them), the last one last, -1 before
    # the first; at least L - 1.
    latest: torch.Tensor | None = optional("R", "H", dtypes=INTS)

    def check(self, logits: object) -> Args:
        """The sizes and the device; raises TypeError or ValueError, naming shape, dtype and device,
        for what does not fit.
        """
        args = Args("sampling.adjust_logits")
        args.tensor("logits", logits, ("R", "V"), LOGITS)
        if args.sizes["V"] < 1:
            raise args.fail("logits must have at least one column")
        args.fields(self)
        if self.requests is None:
            args.sizes.setdefault("Q", args.sizes["R"])
            if args.sizes["Q"] < args.sizes["R"]:
                raise args.fail("without requests there must be settings for every row")
        words = -(-args.sizes["V"] // BITS)
        for name in ("bitmask", "prompt_mask"):
            mask = getattr(self, name)
            if mask is not None and mask.shape[1] < words:
                raise args.fail(f"{name} must have at least {words} words a row")
        if (self.bias_ids is None) != (self.bias is None):
            raise args.fail("bias_ids and bias go together")
        if self.bad_words is not None:
            self._check_latest(args)
        return args

    def _check_latest(self, args: Args) -> None:
        longest = args.sizes["L"]
        if longest < 1:
            raise args.fail("bad_words must have room for a token")
        if longest > 1 and (self.latest is None or args.sizes["H"] < longest - 1):
            raise args.fail(f"bad_words of {longest} tokens need the latest {longest - 1}")
