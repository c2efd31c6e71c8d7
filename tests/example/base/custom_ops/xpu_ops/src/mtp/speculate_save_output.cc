#include <cstdio>

#include "../../../gpu_ops/msg_key.h"
#include "speculate_msg.h"

#ifndef PD_BUILD_STATIC_OP
#define PD_BUILD_STATIC_OP(name) PD_BUILD_OP(static_op_##name)
#endif

// The plain message from an XPU worker; the engine does not know which one sent it.
void XPUSpecSendPlain(const paddle::Tensor& accept_tokens,
                      const paddle::Tensor& accept_num,
                      const paddle::Tensor& not_need_stop,
                      int64_t rank_id) {
  if (rank_id > 0) {
    return;
  }
  auto tokens_cpu = accept_tokens.copy_to(paddle::CPUPlace(), true);
  auto num_cpu = accept_num.copy_to(paddle::CPUPlace(), true);
  const int64_t* tokens = tokens_cpu.data<int64_t>();
  const int* counts = num_cpu.data<int>();
  const int stride = accept_tokens.shape()[1];
  const int bsz = accept_num.shape()[0];

  static struct plain_msg msg;
  static int queue = msgget(lantern_msg_key("./", lantern_queue_id()), IPC_CREAT | 0666);

  msg.mtype = 1;
  msg.mtext[0] = not_need_stop.data<bool>()[0] ? 1 : -1;
  msg.mtext[1] = bsz;
  for (int i = 0; i < bsz; i++) {
    msg.mtext[2 + i] = counts[i];
    for (int j = 0; j < counts[i]; j++) {
      msg.mtext[2 + MAX_BSZ + i * MAX_DRAFT_TOKENS + j] = static_cast<int>(tokens[i * stride + j]);
    }
  }
  if (msgsnd(queue, &msg, sizeof(msg) - sizeof(long), 0) == -1) {
    perror("msgsnd");
  }
}

PD_BUILD_STATIC_OP(xpu_spec_send_plain)
    .Inputs({"accept_tokens", "accept_num", "not_need_stop"})
    .Attrs({"rank_id: int64_t"})
    .SetKernelFn(PD_KERNEL(XPUSpecSendPlain));
