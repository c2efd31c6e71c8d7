"""One rank: its slots, and a step of them, without a host sync but for what the host asks to
read."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from kernels.accept import accept
from kernels.decode.model import Model
from kernels.decode.propose import Drafts, propose
from kernels.decode.settings import Request, Settings
from kernels.decode.slots import Guess, Slots
from kernels.logprobs import Logprobs, logprobs
from kernels.message import TARGET, copy_to_host, pack_message
from kernels.sampling import top_k_top_p_cut
from kernels.schedule import OutputSchedule, gather_next_token, output_schedule, update_status
from kernels.verify import Strategy, Verified, VerifyInputs, verify


@dataclass(frozen=True)
class Sent:
    """A step's answer, on its way to the host."""

    words: torch.Tensor  # int32, the message
    logz: torch.Tensor  # float32 [B * S], in the message's row order

    def wait(self) -> None:
        """Until both may be read."""
        if torch.cuda.is_available():
            torch.cuda.current_stream().synchronize()


class Worker:
    """The device side of the loop. Ranks of a TP group are workers with the same model and the same
    calls."""

    def __init__(self, model: Model, settings: Settings, rank: int = 0) -> None:
        self.model, self.settings, self.rank = model, settings, rank
        self.slots = Slots.empty(settings, model.device)
        self.cache = model.new_cache(settings.max_bsz, settings.max_model_len)
        self.end_tokens = torch.tensor(settings.end_tokens, dtype=torch.int64, device=model.device)
        self.guess: Guess | None = None
        self.drafts: Drafts | None = None
        self.truncated = [False] * settings.max_bsz  # which slots' requests have a top-k or top-p

    def admit(self, slot: int, request: Request) -> None:
        """Put a request into a slot that no longer runs. Its prompt is read by `read_prompt`."""
        s, prompt = self.slots, request.prompt
        s.token_ids_all[slot].zero_()
        s.token_ids_all[slot, : len(prompt)] = torch.tensor(prompt, device=self.model.device)
        for values, value in (
            (s.prompt_lens, len(prompt)),
            (s.step_idx, 0),
            (s.max_dec_len, request.max_tokens),
            (s.seeds, request.seed),
            (s.top_k, request.top_k),
            (s.temperature, request.temperature),
            (s.top_p, request.top_p),
            (s.seq_lens_decoder, 0),
            (s.stop_flags, False),
        ):
            values[slot] = value
        s.draft_tokens[slot] = -1
        self.truncated[slot] = request.top_k > 0 or request.top_p < 1.0

    def read_prompt(self, slot: int, tokens: int) -> None:
        """Let the next step read that many more tokens of the slot's prompt."""
        self.slots.seq_lens_encoder[slot] = tokens
        self.slots.seq_lens_this_time[slot] = tokens

    def launch(self, capacity: int) -> Sent | None:
        """One step over at most `capacity` input rows. Only rank 0 answers: the others would send
        it twice."""
        s = self.slots
        encoder = s.seq_lens_encoder.clone()  # `update_status` clears it, and `accept` comes after
        schedule = output_schedule(
            s.seq_lens_this_time, encoder, capacity=self.settings.max_bsz * self.settings.width
        )
        tokens, hidden = self._forward(schedule, capacity)
        out_hidden = gather_next_token(hidden, schedule)
        padding = schedule.batch_id_per_token_output < 0
        # NaN where nobody may look
        logits = self.model.head(out_hidden).masked_fill(padding[:, None], float("nan"))

        of_row = schedule.batch_id_per_token_output.clamp(min=0).long()
        cut = None
        if any(self.truncated):
            cut = top_k_top_p_cut(logits, s.temperature[of_row], s.top_k[of_row], s.top_p[of_row])
        verified = self._verify(schedule, logits, cut)
        _, running = update_status(
            verified.accept_tokens,
            verified.accept_num,
            s.step_idx,
            s.stop_flags,
            s.seq_lens_this_time,
            s.seq_lens_encoder,
            s.seq_lens_decoder,
            s.token_ids_all,
            s.prompt_lens,
            s.max_dec_len,
            self.end_tokens,
            s.draft_tokens,
            end_when_full=False,
        )
        self.guess = self._last_rows(schedule, tokens, out_hidden, verified.accept_num)
        if self.rank != 0:
            return None
        accepted = accept(
            verified.accept_tokens, verified.accept_num, schedule.cu_seqlens_q_output, encoder
        )
        scored = self._score(
            logits, accepted.token_ids, accepted.row_index, s.temperature[of_row], cut
        )
        message = pack_message(
            accepted.token_ids,
            torch.cat([accepted.token_ids[:, None], scored.topk_ids], dim=1),
            torch.cat([scored.logprob[:, None], scored.topk_logprobs], dim=1),
            scored.rank,
            verified.accept_num,
            accepted.cu_tokens,
            message_flag=TARGET,
            running=running,
            seq_lens_decoder=s.seq_lens_decoder,
            prompt_lens=s.prompt_lens,
        )
        logz = torch.empty(scored.logz.shape, pin_memory=scored.logz.is_cuda)
        return Sent(copy_to_host(message), logz.copy_(scored.logz, non_blocking=True))

    def propose(self) -> None:
        """Drafts for the next step."""
        self.drafts = propose(
            self.model, self.settings, self.slots, self.guess, truncate=any(self.truncated)
        )

    def _forward(
        self, schedule: OutputSchedule, capacity: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The packed input tokens [capacity] and their hidden states [capacity, D], NaN where there
        is no token."""
        s, slots = self.slots, self.settings.max_bsz
        row = torch.arange(capacity, device=self.model.device, dtype=torch.int32)
        slot = torch.searchsorted(schedule.cu_seqlens_q[1:], row, right=True)
        real = slot < slots
        inside = slot.clamp(max=slots - 1)
        column = (row - schedule.cu_seqlens_q[inside]).long()
        position = torch.where(real, s.seq_lens_decoder[inside] + column, 0)
        prompt = s.token_ids_all[inside, position.clamp(max=self.settings.max_model_len - 1)]
        drafted = s.draft_tokens[inside, column.clamp(max=self.settings.width - 1)]
        token = torch.where(s.seq_lens_encoder[inside] > 0, prompt, drafted)
        # a draft of -1 (a pad) is no token; it is refused by `verify`, whatever its row says
        token = torch.where(real, token, 0).clamp(min=0)
        hidden = self.model.forward(token, slot, position, self.cache)
        return token, hidden.masked_fill(~real[:, None], float("nan"))

    def _verify(
        self,
        schedule: OutputSchedule,
        logits: torch.Tensor,
        cut: tuple[torch.Tensor, torch.Tensor] | None,
    ) -> Verified:
        s = self.slots
        # inside a prompt there is nothing to draw yet
        unread = (s.seq_lens_encoder > 0) & (
            s.seq_lens_decoder + s.seq_lens_encoder < s.prompt_lens
        )
        strategy = self.settings.strategy
        drafts = self.drafts if strategy in (Strategy.REJECTION, Strategy.BLOCK) else None
        draft_cut = drafts.cut if drafts is not None else None
        inputs = VerifyInputs(
            strategy=strategy,
            step_input_ids=s.draft_tokens,
            seq_lens_this_time=s.seq_lens_this_time,
            cu_seqlens_q_output=schedule.cu_seqlens_q_output,
            step_idx=s.step_idx,
            max_dec_len=s.max_dec_len,
            end_tokens=self.end_tokens,
            target_logits=logits,
            draft_logits=drafts.logits if drafts is not None else None,
            temperature=s.temperature,
            seeds=s.seeds,
            target_cut_logit=cut[0] if cut else None,
            target_cut_id=cut[1] if cut else None,
            draft_cut_logit=draft_cut[0] if draft_cut else None,
            draft_cut_id=draft_cut[1] if draft_cut else None,
            seq_lens_encoder=s.seq_lens_encoder,
            stop_flags=s.stop_flags | unread,
        )
        return verify(inputs)

    def _last_rows(
        self,
        schedule: OutputSchedule,
        tokens: torch.Tensor,
        hidden: torch.Tensor,
        accept_num: torch.Tensor,
    ) -> Guess:
        """Of each slot, the output row that gave its last token; of one that gave none, any row."""
        last = schedule.cu_seqlens_q_output[:-1] + accept_num - 1
        last = last.clamp(0, hidden.shape[0] - 1).long()
        source = schedule.output_rows[last].clamp(min=0).long()
        return Guess(hidden[last], tokens[source])

    def _score(
        self,
        logits: torch.Tensor,  # [N, V]
        token_ids: torch.Tensor,  # [R]
        rows: torch.Tensor,  # [R], -1 for none
        temperature: torch.Tensor,  # [N]
        cut: tuple[torch.Tensor, torch.Tensor] | None,  # [N] each
    ) -> Logprobs:
        k = self.settings.logprobs
        if self.settings.mode == "raw":
            return logprobs(logits, token_ids, k, rows=rows)
        row = rows.clamp(min=0)
        cut_logit, cut_id = (None, None) if cut is None else (part[row] for part in cut)
        return logprobs(
            logits,
            token_ids,
            k,
            rows=rows,
            temperature=temperature[row],
            cut_logit=cut_logit,
            cut_id=cut_id,
        )
