// Paddle's context of an XPU: its library's context is always the CPU's.
#pragma once

#include "emulator/xpu.h"
#include "paddle/extension.h"

namespace xpu = baidu::xpu::api;

// The library's type for one of Paddle's.
template <class T> struct XPUTypeTrait { typedef T Type; };
template <> struct XPUTypeTrait<paddle::float16> { typedef float16 Type; };
template <> struct XPUTypeTrait<paddle::bfloat16> { typedef bfloat16 Type; };

namespace phi {

typedef GPUPlace XPUPlace;

class XPUContext : public DeviceContext {
 public:
  // One for the process, as Paddle has one for each device.
  baidu::xpu::api::Context* x_context() const {
    static baidu::xpu::api::Context context;
    return &context;
  }
};

namespace backends {
namespace xpu {
inline int GetXPUCurrentDeviceId() { return 0; }
}  // namespace xpu
}  // namespace backends

}  // namespace phi
