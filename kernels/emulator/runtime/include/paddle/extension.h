// A stand-in for Paddle's extension interface: tensors are host memory, ops go to the op table.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "paddle/emulator/tensor.h"
#include "paddle/emulator/errors.h"
#include "paddle/emulator/dispatch.h"
#include "paddle/emulator/registration.h"
