// cub: collectives of a warp, of a block and of the device.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

#include "cub/block.h"
#include "cub/device.h"
#include "cub/operators.h"
#include "cub/traits.h"
#include "cub/warp.h"
#include "cuda/std/limits"
