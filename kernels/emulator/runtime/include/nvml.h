// Declared for headers that include it; the emulated device has nothing to ask.
#pragma once
typedef int nvmlReturn_t;
