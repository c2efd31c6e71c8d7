// cub: collectives of a warp, of a block and of the device.
#pragma once

#include "cub/block.h"
#include "cub/device.h"
#include "cub/operators.h"
#include "cub/warp.h"
