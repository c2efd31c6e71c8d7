// cuRAND's device interface: the generators Philox4x32-10 and XORWOW, bit for bit. Others are refused.
//
// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). The generator is a
// function of a 128-bit counter and a 64-bit key: the key is the seed, the upper half of the counter
// the subsequence, the lower half the position in units of four numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cuda_runtime.h"

struct curandStatePhilox4_32_10 {
  uint4 ctr;
  uint4 output;
  uint2 key;
  unsigned STATE;  // how many of `output` are used
  int boxmuller_flag;
  int boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

// Marsaglia's xorwow, the default generator.
struct curandStateXORWOW {
  unsigned d;
  unsigned v[5];
  int boxmuller_flag;
  int boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef curandStateXORWOW curandStateXORWOW_t;
typedef curandStateXORWOW curandState_t;
typedef curandStateXORWOW curandState;

// Other generators: any use of these is an error that names them.
struct curandStateMRG32k3a;
typedef curandStateMRG32k3a curandStateMRG32k3a_t;
struct curandStateMtgp32;
typedef curandStateMtgp32 curandStateMtgp32_t;

namespace emulator {

inline uint4 philox(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = static_cast<uint64_t>(0xD2511F53u) * counter.x;
    uint64_t second = static_cast<uint64_t>(0xCD9E8D57u) * counter.z;
    counter = {static_cast<unsigned>(second >> 32) ^ counter.y ^ key.x, static_cast<unsigned>(second),
               static_cast<unsigned>(first >> 32) ^ counter.w ^ key.y, static_cast<unsigned>(first)};
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return counter;
}

// Move the counter on by `n`, carrying into the subsequence.
inline void advance(uint4& counter, unsigned long long n) {
  uint64_t low = static_cast<uint64_t>(counter.y) << 32 | counter.x;
  uint64_t moved = low + n;
  counter.x = static_cast<unsigned>(moved);
  counter.y = static_cast<unsigned>(moved >> 32);
  if (moved < low && ++counter.z == 0) ++counter.w;
}

inline unsigned part(const uint4& v, unsigned index) {
  const unsigned parts[4] = {v.x, v.y, v.z, v.w};
  return parts[index];
}

// A number in (0, 1].
inline float to_uniform(unsigned x) { return x * 2.3283064e-10f + (2.3283064e-10f / 2.0f); }

// Of 32 bits (Philox), and of 64 (XORWOW).
inline double to_uniform_double(unsigned x) {
  return x * 2.3283064365386963e-10 + 2.3283064365386963e-10;
}
inline double to_uniform_double(unsigned x, unsigned y) {
  uint64_t z = static_cast<uint64_t>(x) ^ static_cast<uint64_t>(y) << (53 - 32);
  return z * 1.1102230246251565e-16 + 1.1102230246251565e-16 / 2.0;
}

inline float2 box_muller(unsigned x, unsigned y) {
  float u = x * 2.3283064e-10f + (2.3283064e-10f / 2);
  float v = y * (2.3283064e-10f * 6.2831855f) + (2.3283064e-10f * 6.2831855f / 2);
  float length = sqrtf(-2.0f * logf(u));
  return {length * sinf(v), length * cosf(v)};
}

}  // namespace emulator

inline void skipahead(unsigned long long n, curandStatePhilox4_32_10_t* state) {
  state->STATE += static_cast<unsigned>(n & 3);
  n /= 4;
  if (state->STATE > 3) {
    n += 1;
    state->STATE -= 4;
  }
  emulator::advance(state->ctr, n);
  state->output = emulator::philox(state->ctr, state->key);
}

inline void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t* state) {
  uint64_t high = (static_cast<uint64_t>(state->ctr.w) << 32 | state->ctr.z) + n;
  state->ctr.z = static_cast<unsigned>(high);
  state->ctr.w = static_cast<unsigned>(high >> 32);
  state->output = emulator::philox(state->ctr, state->key);
}

inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStatePhilox4_32_10_t* state) {
  *state = {};
  state->key = {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}

inline unsigned curand(curandStatePhilox4_32_10_t* state) {
  unsigned result = emulator::part(state->output, state->STATE++);
  if (state->STATE == 4) {
    emulator::advance(state->ctr, 1);
    state->output = emulator::philox(state->ctr, state->key);
    state->STATE = 0;
  }
  return result;
}

inline uint4 curand4(curandStatePhilox4_32_10_t* state) {
  uint4 before = state->output;
  emulator::advance(state->ctr, 1);
  state->output = emulator::philox(state->ctr, state->key);
  unsigned numbers[4];
  for (unsigned i = 0; i < 4; ++i) {
    unsigned index = state->STATE + i;
    numbers[i] = index < 4 ? emulator::part(before, index) : emulator::part(state->output, index - 4);
  }
  return {numbers[0], numbers[1], numbers[2], numbers[3]};
}

namespace emulator {

// One step of xorwow's shift register is linear over bits: 160 columns of 160 bits say it all, and
// squares of that matrix leap ahead.
struct ShiftRegister {
  unsigned v[5];
};
typedef std::vector<ShiftRegister> RegisterMatrix;

inline ShiftRegister shift(ShiftRegister r) {
  unsigned t = r.v[0] ^ (r.v[0] >> 2);
  unsigned last = (r.v[4] ^ (r.v[4] << 4)) ^ (t ^ (t << 1));
  return {{r.v[1], r.v[2], r.v[3], r.v[4], last}};
}

inline ShiftRegister image(const RegisterMatrix& matrix, const ShiftRegister& r) {
  ShiftRegister result{};
  for (unsigned bit = 0; bit < 160; ++bit) {
    if ((r.v[bit / 32] >> (bit % 32) & 1) == 0) continue;
    for (int word = 0; word < 5; ++word) result.v[word] ^= matrix[bit].v[word];
  }
  return result;
}

// The matrix of 2^`power` steps.
inline const RegisterMatrix& leap(unsigned power) {
  static std::vector<RegisterMatrix> leaps;
  while (leaps.size() <= power) {
    RegisterMatrix next(160);
    for (unsigned bit = 0; bit < 160; ++bit) {
      ShiftRegister unit{};
      unit.v[bit / 32] = 1u << (bit % 32);
      next[bit] = leaps.empty() ? shift(unit) : image(leaps.back(), image(leaps.back(), unit));
    }
    leaps.push_back(next);
  }
  return leaps[power];
}

// n * 2^`power` steps.
inline void leap_ahead(curandStateXORWOW_t* state, unsigned long long n, unsigned power) {
  ShiftRegister r;
  std::memcpy(r.v, state->v, sizeof r.v);
  for (unsigned bit = 0; n >> bit != 0; ++bit) {
    if (n >> bit & 1) r = image(leap(power + bit), r);
    if (bit == 63) break;
  }
  std::memcpy(state->v, r.v, sizeof r.v);
}

}  // namespace emulator

inline void skipahead(unsigned long long n, curandStateXORWOW_t* state) {
  emulator::leap_ahead(state, n, 0);
  state->d += static_cast<unsigned>(n) * 362437u;
}

// Subsequences begin 2^67 numbers apart; `d` has come round to the same value by then.
inline void skipahead_sequence(unsigned long long n, curandStateXORWOW_t* state) {
  emulator::leap_ahead(state, n, 67);
}

inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStateXORWOW_t* state) {
  *state = {};
  unsigned low = static_cast<unsigned>(seed) ^ 0xaad26b49u;
  unsigned high = static_cast<unsigned>(seed >> 32) ^ 0xf7dcefddu;
  unsigned t0 = 1099087573u * low;
  unsigned t1 = 2591861531u * high;
  state->d = 6615241u + t1 + t0;
  state->v[0] = 123456789u + t0;
  state->v[1] = 362436069u ^ t0;
  state->v[2] = 521288629u + t1;
  state->v[3] = 88675123u ^ t1;
  state->v[4] = 5783321u + t0;
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}

inline unsigned curand(curandStateXORWOW_t* state) {
  emulator::ShiftRegister r;
  std::memcpy(r.v, state->v, sizeof r.v);
  r = emulator::shift(r);
  std::memcpy(state->v, r.v, sizeof r.v);
  state->d += 362437u;
  return r.v[4] + state->d;
}

template <class State>
float curand_uniform(State* state) {
  return emulator::to_uniform(curand(state));
}
inline float4 curand_uniform4(curandStatePhilox4_32_10_t* state) {
  uint4 x = curand4(state);
  return {emulator::to_uniform(x.x), emulator::to_uniform(x.y), emulator::to_uniform(x.z),
          emulator::to_uniform(x.w)};
}
inline double curand_uniform_double(curandStatePhilox4_32_10_t* state) {
  return emulator::to_uniform_double(curand(state));
}
inline double curand_uniform_double(curandStateXORWOW_t* state) {
  unsigned x = curand(state);
  unsigned y = curand(state);
  return emulator::to_uniform_double(x, y);
}
inline float4 curand_normal4(curandStatePhilox4_32_10_t* state) {
  uint4 x = curand4(state);
  float2 first = emulator::box_muller(x.x, x.y);
  float2 second = emulator::box_muller(x.z, x.w);
  return {first.x, first.y, second.x, second.y};
}
template <class State>
float2 curand_normal2(State* state) {
  unsigned x = curand(state);
  unsigned y = curand(state);
  return emulator::box_muller(x, y);
}
template <class State>
float curand_normal(State* state) {
  if (state->boxmuller_flag != 1) {
    float2 pair = curand_normal2(state);
    state->boxmuller_extra = pair.y;
    state->boxmuller_flag = 1;
    return pair.x;
  }
  state->boxmuller_flag = 0;
  return state->boxmuller_extra;
}

// A log-normal number is made of a normal one when that is drawn: the second of a pair is kept so.
template <class State>
float2 curand_log_normal2(State* state, float mean, float deviation) {
  float2 pair = curand_normal2(state);
  return {expf(mean + deviation * pair.x), expf(mean + deviation * pair.y)};
}
inline float4 curand_log_normal4(curandStatePhilox4_32_10_t* state, float mean, float deviation) {
  float4 x = curand_normal4(state);
  return {expf(mean + deviation * x.x), expf(mean + deviation * x.y), expf(mean + deviation * x.z),
          expf(mean + deviation * x.w)};
}
template <class State>
float curand_log_normal(State* state, float mean, float deviation) {
  constexpr int kept = 2;
  if (state->boxmuller_flag != kept) {
    float2 pair = curand_log_normal2(state, mean, deviation);
    state->boxmuller_extra = pair.y;
    state->boxmuller_flag = kept;
    return pair.x;
  }
  state->boxmuller_flag = 0;
  return state->boxmuller_extra;
}

#define EMULATOR_NO_DISTRIBUTION(NAME)           \
  template <class Result = double, class State, class... Arguments> \
  EMULATOR_REFUSED("cuRAND: " #NAME) Result NAME(State*, Arguments...);
EMULATOR_NO_DISTRIBUTION(curand_normal_double)
EMULATOR_NO_DISTRIBUTION(curand_normal2_double)
EMULATOR_NO_DISTRIBUTION(curand_log_normal_double)
EMULATOR_NO_DISTRIBUTION(curand_log_normal2_double)
EMULATOR_NO_DISTRIBUTION(curand_poisson)
EMULATOR_NO_DISTRIBUTION(curand_poisson4)
EMULATOR_NO_DISTRIBUTION(curand_discrete)
#undef EMULATOR_NO_DISTRIBUTION
