#pragma once
#include "emulator/xpu.h"
