"""The engine's end of the message queue: steps of the workers in, request outputs out."""

from __future__ import annotations

import logging

from lantern import host
from lantern.ops import gpu
from lantern.request import LogprobsLists, RequestOutput

log = logging.getLogger("lantern.output")

# The plain speculative message (custom_ops/gpu_ops/speculate_decoding/speculate_msg.h).
SPECULATE_MAX_BSZ = 256
# Every other message (speculate_logprob_msg.h, save_output_msg_with_topk.cc).
MAX_BSZ = 512
K = 20
MAX_DRAFT_TOKENS = 6

TARGET_FLAG = 3
DRAFT_FLAG = 4
PREEMPTED_TOKEN_ID = -9
RECOVERY_STOP = -3
NOTHING_RECEIVED = -2


class TokenProcessor:
    """Reads one message after another and hands the outputs to `sink`."""

    def __init__(self, cfg, tasks, sink):
        self.cfg = cfg
        self.tasks = tasks
        self.sink = sink
        self.speculative = cfg.speculative.method is not None
        self.use_logprobs = cfg.enable_logprob
        self.accept_num_per_request = {}
        self.preempted = []
        self.held_target_outputs = []
        self._allocate()

    def _allocate(self):
        if self.speculative and self.use_logprobs:
            rows = MAX_BSZ * MAX_DRAFT_TOKENS * (K + 1)
            self.output_tokens = host.full([rows + MAX_BSZ + 3, 1], 2, "int64")
            self.output_scores = host.full([rows, 1], 0.0, "float32")
            self.output_ranks = host.full([MAX_BSZ * MAX_DRAFT_TOKENS], 0, "int64")
        elif self.speculative:
            size = SPECULATE_MAX_BSZ * MAX_DRAFT_TOKENS + SPECULATE_MAX_BSZ + 2
            self.output_tokens = host.full([size], 2, "int64")
        elif self.use_logprobs:
            self.output_tokens = host.full([MAX_BSZ * (K + 1) + 2, 1], 2, "int64")
            self.output_scores = host.full([MAX_BSZ * (K + 1), 1], 0.0, "float32")
            self.output_ranks = host.full([MAX_BSZ], 0, "int64")
        else:
            self.output_tokens = host.full([MAX_BSZ + 2, 1], 2, "int64")

    def run_once(self):
        """Wait for one message. False when there was none."""
        self._receive()
        if int(self.output_tokens.numpy().ravel()[0]) == NOTHING_RECEIVED:
            return False
        self._handle_step_output()
        return True

    def _receive(self):
        if self.speculative and self.use_logprobs:
            gpu.spec_recv_topk(self.output_tokens, self.output_scores, self.output_ranks, K, True)
        elif self.speculative:
            gpu.spec_recv_plain(self.output_tokens, True)
        elif self.use_logprobs:
            gpu.recv_topk(self.output_tokens, self.output_scores, self.output_ranks, K, True)
        else:
            gpu.recv_plain(self.output_tokens, True)

    def _handle_step_output(self):
        tokens = self.output_tokens.numpy()
        scores = None
        ranks = None
        mtype = TARGET_FLAG
        if self.speculative:
            if self.use_logprobs:
                mtype = int(self.output_tokens[1, 0].item())
                batch = int(self.output_tokens[2, 0])
                accept_num = [int(row[0]) for row in tokens[3 : batch + 3]]
                tokens = tokens[
                    3 + MAX_BSZ : 3 + MAX_BSZ + batch * MAX_DRAFT_TOKENS * (K + 1)
                ].reshape([batch, MAX_DRAFT_TOKENS, K + 1])
                scores = (
                    self.output_scores[: batch * MAX_DRAFT_TOKENS * (K + 1)]
                    .numpy()
                    .reshape([batch, MAX_DRAFT_TOKENS, K + 1])
                )
                ranks = (
                    self.output_ranks[: batch * MAX_DRAFT_TOKENS]
                    .numpy()
                    .reshape([batch, MAX_DRAFT_TOKENS])
                )
                if mtype == DRAFT_FLAG:
                    drafts = self._draft_outputs(batch, accept_num, tokens, scores, ranks)
                    self._publish(drafts, mtype)
                    return
            else:
                batch = int(self.output_tokens[1])
                accept_num = [int(num) for num in tokens[2 : batch + 2]]
        elif self.use_logprobs:
            # Low 16 bits: batch size; high 16 bits: columns. Rows have no gaps between them.
            packed = int(self.output_tokens[1, 0])
            batch = packed & 0xFFFF
            actual_topk = (packed >> 16) & 0xFFFF
            tokens = tokens[2 : batch * actual_topk + 2].reshape([batch, actual_topk])
            scores = self.output_scores[: batch * actual_topk].numpy()
            scores = scores.reshape([batch, actual_topk])
            ranks = self.output_ranks[:batch].numpy()
        else:
            batch = int(self.output_tokens[1, 0])
            tokens = tokens[2 : batch + 2]

        outputs = []
        for i in range(batch):
            task = self.tasks[i]
            if task is None:
                continue
            result = RequestOutput(task.request_id)
            if self.speculative:
                count = accept_num[i]
                self._count_accepted(task.request_id, count)
                if count == PREEMPTED_TOKEN_ID:
                    log.info("preemption of %s is done on the worker", task.request_id)
                    self.preempted.append(task.request_id)
                    continue
                if count == RECOVERY_STOP:
                    log.info("recovery stop for %s", task.request_id)
                    result.finished = True
                    outputs.append(result)
                    continue
                if self.use_logprobs:
                    token_ids = tokens[i][:, 0].tolist()[:count]
                else:
                    first = 2 + SPECULATE_MAX_BSZ + i * MAX_DRAFT_TOKENS
                    token_ids = tokens[first : first + count].tolist()
            else:
                token_id = int(tokens[i, 0])
                if token_id < 0:
                    self.preempted.append(task.request_id)
                    continue
                token_ids = [token_id]
            if not token_ids:
                continue

            for position, token_id in enumerate(token_ids):
                result.token_ids.append(token_id)
                task.output_token_ids.append(token_id)
                if self.use_logprobs and self.speculative:
                    result.logprob = float(scores[i, position, 0])
                    row_ids = tokens[i, position, :].tolist()
                    row_scores = scores[i, position, :].tolist()
                    result.top_logprobs = _extend(
                        result.top_logprobs, row_ids, row_scores, int(ranks[i, position])
                    )
                elif self.use_logprobs:
                    result.logprob = float(scores[i, 0])
                    result.top_logprobs = _extend(
                        result.top_logprobs, tokens[i].tolist(), scores[i].tolist(), int(ranks[i])
                    )
                if token_id in task.eos_token_ids:
                    result.finished = True
                    break
            outputs.append(result)
        self._publish(outputs, mtype)

    def _draft_outputs(self, batch, accept_num, tokens, scores, ranks):
        """Draft logprobs belong to the target outputs that arrived just before them."""
        by_id = {output.request_id: output for output in self.held_target_outputs}
        outputs = []
        for i in range(batch):
            task = self.tasks[i]
            if task is None:
                continue
            output = by_id.get(task.request_id, RequestOutput(task.request_id))
            token_ids = tokens[i][:, 0].tolist()[: accept_num[i]]
            for position in range(len(token_ids)):
                output.draft_top_logprobs = _extend(
                    output.draft_top_logprobs,
                    tokens[i, position, :].tolist(),
                    scores[i, position, :].tolist(),
                    int(ranks[i, position]),
                )
            outputs.append(output)
        return outputs

    def _publish(self, outputs, mtype):
        if self.speculative and self.use_logprobs and mtype == TARGET_FLAG:
            self.held_target_outputs = outputs
            return
        self.held_target_outputs = []
        self.sink(outputs)

    def _count_accepted(self, request_id, count):
        if count > 0:
            total = self.accept_num_per_request.get(request_id, 0)
            self.accept_num_per_request[request_id] = total + count


def _extend(lists, row_ids, row_scores, rank):
    if lists is None:
        lists = LogprobsLists([], [], [])
    lists.logprob_token_ids.append(row_ids)
    lists.logprobs.append(row_scores)
    lists.sampled_token_ranks.append(rank)
    return lists
