#pragma once
#include "paddle/extension.h"
