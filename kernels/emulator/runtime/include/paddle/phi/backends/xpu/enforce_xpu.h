#pragma once
#include "paddle/emulator/xpu_context.h"
