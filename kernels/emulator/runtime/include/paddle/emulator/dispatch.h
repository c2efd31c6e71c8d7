// The macros that choose a type by a tensor's.
#pragma once

#include "paddle/emulator/errors.h"
#include "paddle/emulator/tensor.h"

#define PD_PRIVATE_CASE_TYPE(NAME, ENUM, T, ...) \
  case ENUM: { using data_t = T; __VA_ARGS__(); break; }
#define EMULATOR_DISPATCH(TYPE, NAME, CASES)                                                        \
  [&] {                                                                                             \
    switch (TYPE) {                                                                                 \
      CASES                                                                                         \
      default: ::emulator::fail_check(NAME, " is not written for this type");                       \
    }                                                                                               \
  }()
#define EMULATOR_CASE(ENUM, T, ...) case ::paddle::DataType::ENUM: { using data_t [[maybe_unused]] = T; __VA_ARGS__(); break; }
#define EMULATOR_FLOATS(...) EMULATOR_CASE(FLOAT32, float, __VA_ARGS__) EMULATOR_CASE(FLOAT64, double, __VA_ARGS__)
#define EMULATOR_HALFS(...) EMULATOR_CASE(FLOAT16, ::paddle::float16, __VA_ARGS__) EMULATOR_CASE(BFLOAT16, ::paddle::bfloat16, __VA_ARGS__)
#define EMULATOR_INTEGERS(...) EMULATOR_CASE(INT32, int32_t, __VA_ARGS__) EMULATOR_CASE(INT64, int64_t, __VA_ARGS__) \
  EMULATOR_CASE(INT8, int8_t, __VA_ARGS__) EMULATOR_CASE(UINT8, uint8_t, __VA_ARGS__) EMULATOR_CASE(INT16, int16_t, __VA_ARGS__)
#define PD_DISPATCH_FLOATING_TYPES(TYPE, NAME, ...) EMULATOR_DISPATCH(TYPE, NAME, EMULATOR_FLOATS(__VA_ARGS__))
#define PD_DISPATCH_FLOATING_AND_HALF_TYPES(TYPE, NAME, ...) \
  EMULATOR_DISPATCH(TYPE, NAME, EMULATOR_FLOATS(__VA_ARGS__) EMULATOR_HALFS(__VA_ARGS__))
#define PD_DISPATCH_INTEGRAL_TYPES(TYPE, NAME, ...) EMULATOR_DISPATCH(TYPE, NAME, EMULATOR_INTEGERS(__VA_ARGS__))
#define PD_DISPATCH_FLOATING_AND_INTEGRAL_TYPES(TYPE, NAME, ...) \
  EMULATOR_DISPATCH(TYPE, NAME, EMULATOR_FLOATS(__VA_ARGS__) EMULATOR_INTEGERS(__VA_ARGS__))
