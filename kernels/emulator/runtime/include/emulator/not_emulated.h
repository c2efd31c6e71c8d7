// What is not emulated, by its name: a use is an error that says so.
#pragma once

#include "emulator/launch.h"

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

#define EMULATOR_NOT_HERE(NAME, WHY)                        \
  template <class Result = float, class... Arguments>       \
  EMULATOR_REFUSED(WHY) Result NAME(Arguments&&...);
EMULATOR_NOT_HERE(tex1D, "textures")
EMULATOR_NOT_HERE(tex1Dfetch, "textures")
EMULATOR_NOT_HERE(tex2D, "textures")
EMULATOR_NOT_HERE(tex2DLayered, "textures")
EMULATOR_NOT_HERE(tex3D, "textures")
EMULATOR_NOT_HERE(surf2Dread, "surfaces")
EMULATOR_NOT_HERE(surf2Dwrite, "surfaces")
#undef EMULATOR_NOT_HERE
// The address as PTX has it, which is of use in PTX alone.
EMULATOR_REFUSED("PTX: addresses of shared memory") size_t __cvta_generic_to_shared(const void*);
