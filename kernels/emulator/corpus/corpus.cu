// Every kernel writes up to 4,096 bytes; `main` prints them in hexadecimal, a line a kernel.
// Compile for a GPU with: nvcc -std=c++17 -fmad=false -arch=sm_90 corpus.cu
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>
#include <curand_kernel.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cub/cub.cuh>
#include <cuda/atomic>

namespace cg = cooperative_groups;

constexpr int kBytes = 4096;

// The same numbers everywhere: a linear congruential generator of the index.
__host__ __device__ inline unsigned noise(unsigned i) {
  unsigned x = i * 2654435761u + 12345u;
  x ^= x >> 16;
  x *= 2246822519u;
  return x ^ (x >> 13);
}
__device__ inline float real(unsigned i) { return (int(noise(i) % 20001) - 10000) / 37.0f; }

#define TID (threadIdx.x + blockIdx.x * blockDim.x)

// ---- barriers and shared memory ----
__global__ void barrier_reverse(int* out) {
  __shared__ int values[128];
  values[threadIdx.x] = noise(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = values[127 - threadIdx.x];
}
__global__ void barrier_tree_sum(int* out) {
  __shared__ int values[256];
  values[threadIdx.x] = noise(threadIdx.x) & 0xffff;
  for (int step = 128; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) values[threadIdx.x] += values[threadIdx.x + step];
  }
  if (threadIdx.x == 0) out[0] = values[0];
}
__global__ void barrier_count(int* out) {
  out[threadIdx.x] = __syncthreads_count(noise(threadIdx.x) & 1);
}
__global__ void barrier_or(int* out) { out[threadIdx.x] = __syncthreads_or(threadIdx.x == 77); }
__global__ void barrier_and(int* out) { out[threadIdx.x] = __syncthreads_and(threadIdx.x != 77); }
__global__ void dynamic_shared(int* out) {
  extern __shared__ int memory[];
  memory[threadIdx.x ^ 5] = noise(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = memory[threadIdx.x];
}
__global__ void two_shared(int* out) {
  __shared__ int first[64], second[64];
  __shared__ struct { short a; char b[6]; } both;
  first[threadIdx.x] = threadIdx.x;
  second[threadIdx.x] = threadIdx.x * 3;
  if (threadIdx.x == 9) both.a = 41;
  __syncthreads();
  out[threadIdx.x] = first[63 - threadIdx.x] + second[(threadIdx.x * 7) % 64] + both.a;
}
__global__ void early_exit(int* out) {
  if (threadIdx.x >= 40) return;
  __syncthreads();
  out[threadIdx.x] = threadIdx.x * threadIdx.x;
}
__global__ void named_barrier(int* out) {
  __shared__ int value[2];
  int half = threadIdx.x / 64;
  if (threadIdx.x % 64 == 0) value[half] = half + 10;
  asm volatile("bar.sync %0, %1;" ::"r"(half + 1), "r"(64));
  out[threadIdx.x] = value[half];
}
__global__ void three_dimensions(int* out) {
  int linear = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  out[block * 24 + linear] = threadIdx.z * 10000 + threadIdx.y * 100 + threadIdx.x + block * 1000000;
}

// ---- warps ----
__global__ void shfl(int* out) { out[TID] = __shfl_sync(~0u, int(noise(TID)), (TID * 5) & 31); }
__global__ void shfl_width(int* out) { out[TID] = __shfl_sync(~0u, int(noise(TID)), TID & 3, 8); }
__global__ void shfl_up(int* out) { out[TID] = __shfl_up_sync(~0u, int(TID), 3); }
__global__ void shfl_up_width(int* out) { out[TID] = __shfl_up_sync(~0u, int(TID), 3, 16); }
__global__ void shfl_down(int* out) { out[TID] = __shfl_down_sync(~0u, int(TID), 5); }
__global__ void shfl_down_width(int* out) { out[TID] = __shfl_down_sync(~0u, int(TID), 5, 8); }
__global__ void shfl_xor(int* out) { out[TID] = __shfl_xor_sync(~0u, int(noise(TID)), 9); }
__global__ void shfl_xor_width(int* out) { out[TID] = __shfl_xor_sync(~0u, int(TID), 6, 4); }
__global__ void shfl_double(double* out) { out[TID] = __shfl_xor_sync(~0u, double(real(TID)), 1); }
__global__ void shfl_half_mask(int* out) {
  int value = -1;
  if (TID % 32 < 16) value = __shfl_down_sync(0xffffu, int(TID), 1, 16);
  out[TID] = value;
}
__global__ void shfl_sum(float* out) {
  float value = real(TID);
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  out[TID] = value;
}
__global__ void shfl_divergent(int* out) {
  int value = TID;
  if (TID & 1) {
    for (int i = 0; i < 3; ++i) value += __shfl_sync(0xaaaaaaaau, value, 1);
  } else {
    value += __shfl_sync(0x55555555u, value, 2);
  }
  out[TID] = value + __shfl_xor_sync(~0u, value, 1);
}
__global__ void ballot(unsigned* out) { out[TID] = __ballot_sync(~0u, noise(TID) & 1); }
__global__ void ballot_half(unsigned* out) {
  out[TID] = 0;
  if (TID % 32 >= 16) out[TID] = __ballot_sync(0xffff0000u, noise(TID) & 2);
}
__global__ void any_all(int* out) {
  out[TID] = __any_sync(~0u, TID == 40) * 2 + __all_sync(~0u, TID < 64);
}
__global__ void match_any(unsigned* out) { out[TID] = __match_any_sync(~0u, noise(TID) % 5); }
__global__ void match_all(unsigned* out) {
  int all;
  unsigned mask = __match_all_sync(~0u, TID / 32 == 1 ? 7u : TID % 2, &all);
  out[TID] = mask + all;
}
__global__ void reduce_sync(unsigned* out) {
  unsigned x = noise(TID);
  out[TID] = __reduce_add_sync(~0u, x) ^ __reduce_min_sync(~0u, x) ^ __reduce_max_sync(~0u, x) ^
             __reduce_and_sync(~0u, x | 3) ^ __reduce_or_sync(~0u, x & 0xff00) ^ __reduce_xor_sync(~0u, x);
}
__global__ void reduce_signed(int* out) {
  int x = int(noise(TID));
  out[TID] = __reduce_min_sync(~0u, x) ^ __reduce_max_sync(~0u, x) ^ __reduce_add_sync(~0u, x);
}
__global__ void syncwarp_exchange(int* out) {
  __shared__ int values[64];
  values[threadIdx.x] = threadIdx.x * 2;
  __syncwarp();
  out[threadIdx.x] = values[threadIdx.x ^ 31];
}
__global__ void active_mask(unsigned* out) {
  out[TID] = 0;
  if (TID % 4 == 1) out[TID] = __activemask();
}
__global__ void lane_id(unsigned* out) {
  unsigned lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  out[TID] = lane;
}

// ---- atomics ----
__global__ void atomic_add(int* out) { atomicAdd(&out[TID % 7], int(TID)); }
__global__ void atomic_add_wrap(unsigned* out) { atomicAdd(&out[0], noise(TID)); }
__global__ void atomic_sub(int* out) { atomicSub(&out[TID % 3], 5); }
__global__ void atomic_min_max(int* out) {
  atomicMin(&out[0], int(noise(TID)));
  atomicMax(&out[1], int(noise(TID)));
}
__global__ void atomic_logic(unsigned* out) {
  atomicOr(&out[0], 1u << (TID % 32));
  atomicAnd(&out[1], ~(1u << (TID % 5)));
  atomicXor(&out[2], noise(TID));
}
__global__ void atomic_cas(int* out) {
  int seen = out[0], old;
  do {
    old = seen;
    seen = atomicCAS(&out[0], old, old + 3);
  } while (seen != old);
}
__global__ void atomic_inc_dec(unsigned* out) {
  atomicInc(&out[0], 9);
  atomicDec(&out[1], 9);
}
__global__ void atomic_exch(int* out) {
  int old = atomicExch(&out[0], 1);
  atomicAdd(&out[1], old);
}
__global__ void atomic_64(unsigned long long* out) {
  atomicAdd(&out[0], 0x100000001ull);
  atomicMax(&out[1], (unsigned long long)noise(TID) << 20);
}
__global__ void atomic_float(float* out) { atomicAdd(&out[0], 0.25f); }
__global__ void atomic_histogram(int* out) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[noise(threadIdx.x) % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}

// ---- integers and bits ----
__global__ void bits(unsigned* out) {
  unsigned x = noise(TID) >> (TID % 31);
  out[TID] = __popc(x) + 100 * __clz(int(x)) + 10000 * __ffs(int(x)) + __brev(x);
}
__global__ void bits_64(unsigned long long* out) {
  unsigned long long x = ((unsigned long long)noise(TID) << 32 | noise(TID + 1)) >> (TID % 63);
  out[TID] = __popcll(x) + 100 * __clzll((long long)x) + 10000 * __ffsll((long long)x) + __brevll(x);
}
__global__ void byte_perm(unsigned* out) {
  out[TID] = __byte_perm(noise(TID), noise(TID + 9), noise(TID + 5) & 0xffff);
}
__global__ void funnel(unsigned* out) {
  out[TID] = __funnelshift_l(noise(TID), noise(TID + 1), TID) ^ __funnelshift_r(noise(TID), noise(TID + 1), TID);
}
__global__ void multiply_high(unsigned long long* out) {
  unsigned a = noise(TID), b = noise(TID + 7);
  unsigned long long wide = (unsigned long long)a << 32 | b;
  out[TID] = __umulhi(a, b) + (unsigned long long)(unsigned)__mulhi(int(a), int(b)) * 3 +
             __umul64hi(wide, wide) + (unsigned long long)__mul64hi((long long)wide, (long long)~wide) +
             (unsigned)__mul24(int(a), int(b)) + __umul24(a, b);
}
__global__ void dot4(int* out) {
  out[TID] = __dp4a(int(noise(TID)), int(noise(TID + 1)), 5) + int(__dp4a(noise(TID), noise(TID + 2), 7u));
}
__global__ void averages(int* out) {
  out[TID] = __hadd(int(noise(TID)), int(noise(TID + 1))) ^ __rhadd(int(noise(TID)), int(noise(TID + 1))) ^
             int(__sad(int(noise(TID)), int(noise(TID + 1)), 3u));
}
__global__ void min_max(int* out) {
  int a = int(noise(TID)), b = int(noise(TID + 1));
  unsigned c = noise(TID + 2);
  out[TID] = min(a, b) ^ max(a, b) ^ int(min(c, 7u)) ^ int(max(unsigned(a), c));
}

// ---- floats ----
__global__ void float_rounding(float* out) {
  float a = real(TID), b = real(TID + 100) + 0.001f;
  float* o = out + TID * 16;
  o[0] = __fadd_rn(a, b); o[1] = __fadd_rz(a, b); o[2] = __fadd_ru(a, b); o[3] = __fadd_rd(a, b);
  o[4] = __fmul_rn(a, b); o[5] = __fmul_rz(a, b); o[6] = __fmul_ru(a, b); o[7] = __fmul_rd(a, b);
  o[8] = __fmaf_rn(a, b, a); o[9] = __fdiv_rn(a, b); o[10] = __frcp_rn(b); o[11] = __fsqrt_rn(fabsf(a));
  o[12] = __fdiv_rz(a, b); o[13] = __fsqrt_ru(fabsf(a)); o[14] = __fsub_rd(a, b); o[15] = __fmaf_rz(a, b, b);
}
__global__ void float_to_integer(int* out) {
  float values[8] = {1.5f, -2.5f, 3.5f, 1e10f, -1e10f, 0.49999997f, -0.0f, 123456.789f};
  float x = TID < 8 ? values[TID] : real(TID);
  int* o = out + TID * 6;
  o[0] = __float2int_rn(x); o[1] = __float2int_rz(x); o[2] = __float2int_ru(x); o[3] = __float2int_rd(x);
  o[4] = int(__float2uint_rn(x)); o[5] = int(__float2ll_rn(x) & 0x7fffffff);
}
__global__ void float_bits(int* out) {
  out[TID] = __float_as_int(real(TID)) ^ int(__float_as_uint(__int_as_float(int(noise(TID) & 0x7f7fffff))));
}
__global__ void float_min_max(float* out) {
  float nan = __int_as_float(0x7fc00000);
  out[TID] = TID == 0 ? fminf(nan, 3.0f) : TID == 1 ? max(2.0f, nan) : fmaxf(real(TID), real(TID + 1)) - fminf(1.0f, real(TID));
}
__global__ void float_whole(float* out) {
  float x = real(TID);
  out[TID] = floorf(x) + ceilf(x) * 3.0f + truncf(x) * 7.0f + rintf(x) + roundf(x) * 0.5f + fmodf(x, 3.0f);
}
__global__ void saturate(float* out) { out[TID] = __saturatef(real(TID) / 100.0f); }
__global__ void double_rounding(double* out) {
  double a = real(TID) / 3.0, b = real(TID + 50) + 0.1;
  out[TID] = __dadd_ru(a, b) + __dmul_rd(a, b) + __ddiv_rn(a, b) + __fma_rn(a, b, a);
}
__global__ void integer_to_float(float* out) {
  out[TID] = __int2float_rn(int(noise(TID))) + __uint2float_rn(noise(TID + 1)) +
             __ll2float_rn((long long)noise(TID) << 20) + float(noise(TID + 3));
}

// ---- half and bfloat16 ----
__global__ void half_convert(unsigned short* out) {
  float tiny[6] = {1e-7f, 3e-8f, 65504.0f, 65519.9f, 65520.0f, -5.9604645e-08f};
  float x = TID < 6 ? tiny[TID] : __int_as_float(0x38000000 + int(noise(TID) % 0x10000000));
  out[TID * 4] = __half_as_ushort(__float2half_rn(x));
  out[TID * 4 + 1] = __half_as_ushort(__float2half_rz(x));
  out[TID * 4 + 2] = __half_as_ushort(__float2half_ru(x));
  out[TID * 4 + 3] = __half_as_ushort(__float2half_rd(x));
}
__global__ void half_to_float(float* out) {
  unsigned short b = (unsigned short)(noise(TID) & 0x7bff);
  out[TID] = __half2float(__ushort_as_half(TID < 32 ? (unsigned short)TID : b));
}
__global__ void half_arithmetic(unsigned short* out) {
  __half a = __float2half(real(TID) / 7), b = __float2half(real(TID + 77) / 13);
  out[TID * 5] = __half_as_ushort(__hadd_rn(a, b));
  out[TID * 5 + 1] = __half_as_ushort(__hsub_rn(a, b));
  out[TID * 5 + 2] = __half_as_ushort(__hmul_rn(a, b));
  out[TID * 5 + 3] = __half_as_ushort(__hneg(__habs(a)));
  out[TID * 5 + 4] = __half_as_ushort(__hmax(a, b));
}
__global__ void half_fma(unsigned short* out) {
  __half a = __ushort_as_half((unsigned short)(noise(TID) & 0x7bff));
  __half b = __ushort_as_half((unsigned short)(noise(TID + 1) & 0xbbff));
  __half c = __ushort_as_half((unsigned short)(noise(TID + 2) & 0xfbff));
  out[TID] = __half_as_ushort(__hfma(a, b, c));
}
__global__ void half_pairs(unsigned short* out) {
  __half2 a = __floats2half2_rn(real(TID) / 9, real(TID + 3) / 9), b = __float2half2_rn(1.5f);
  __half2 sum = __hfma2(a, b, a);
  out[TID * 2] = __half_as_ushort(__low2half(sum));
  out[TID * 2 + 1] = __half_as_ushort(__high2half(sum));
}
__global__ void half_compare(int* out) {
  __half a = __float2half(real(TID)), b = __float2half(real(TID + 1));
  out[TID] = __hlt(a, b) + 2 * __hgt(a, b) + 4 * __heq(a, a) + 8 * __hle(a, b) + 16 * __hisnan(a);
}
__global__ void bfloat_convert(unsigned short* out) {
  float x = TID == 0 ? 3.4e38f : TID == 1 ? 1e-40f : __int_as_float(int(noise(TID) & 0xfeffffff));
  out[TID * 2] = __bfloat16_as_ushort(__float2bfloat16_rn(x));
  out[TID * 2 + 1] = __bfloat16_as_ushort(__float2bfloat16_rz(x));
}
__global__ void bfloat_arithmetic(unsigned short* out) {
  __nv_bfloat16 a = __float2bfloat16(real(TID) / 7), b = __float2bfloat16(real(TID + 77) / 13);
  out[TID * 4] = __bfloat16_as_ushort(__hadd_rn(a, b));
  out[TID * 4 + 1] = __bfloat16_as_ushort(__hmul_rn(a, b));
  out[TID * 4 + 2] = __bfloat16_as_ushort(__hsub_rn(a, b));
  out[TID * 4 + 3] = __bfloat16_as_ushort(__hfma(a, b, a));
}

// ---- cooperative groups ----
__global__ void grid_sync(int* out) {
  cg::grid_group grid = cg::this_grid();
  out[TID] = TID;
  grid.sync();
  int other = out[(TID + 130) % 256];
  grid.sync();
  out[TID] = other * 2 + int(grid.size());
}
__global__ void tiles(int* out) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int value = tile.shfl_xor(int(TID), 3) + tile.shfl(int(TID), 2) * 100;
  out[TID] = value + int(tile.ballot(TID & 1)) + int(tile.thread_rank()) * 100000 + tile.any(TID == 12);
}
__global__ void tile_shifts(int* out) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  out[TID] = tile.shfl_down(int(TID), 4) * 1000 + tile.shfl_up(int(TID), 2) + int(tile.meta_group_rank());
}
__global__ void coalesced(int* out) {
  out[TID] = -1;
  if (TID % 3 == 0) {
    cg::coalesced_group group = cg::coalesced_threads();
    out[TID] = int(group.size()) * 100 + int(group.thread_rank()) + group.shfl(int(TID), 1) * 10000;
  }
}
__global__ void block_group(int* out) {
  cg::thread_block block = cg::this_thread_block();
  __shared__ int value;
  if (block.thread_rank() == 5) value = 42;
  block.sync();
  out[TID] = value + int(block.size()) + int(block.group_index().x);
}

// ---- cub ----
__global__ void cub_block_reduce(float* out) {
  typedef cub::BlockReduce<float, 128> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  float sum = Reduce(storage).Sum(real(threadIdx.x));
  if (threadIdx.x == 0) out[0] = sum;
}
__global__ void cub_block_reduce_valid(int* out) {
  typedef cub::BlockReduce<int, 96> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  int sum = Reduce(storage).Sum(int(noise(threadIdx.x) & 0xfff), 50);
  if (threadIdx.x == 0) out[0] = sum;
}
struct Largest {
  __host__ __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};
__global__ void cub_block_largest(int* out) {
  typedef cub::BlockReduce<int, 256> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  int most = Reduce(storage).Reduce(int(noise(threadIdx.x)), Largest());
  if (threadIdx.x == 0) out[0] = most;
}
__global__ void cub_block_scan(int* out) {
  typedef cub::BlockScan<int, 128> Scan;
  __shared__ typename Scan::TempStorage storage;
  int inclusive, exclusive, total;
  int value = noise(threadIdx.x) & 0xff;
  Scan(storage).InclusiveSum(value, inclusive);
  __syncthreads();
  Scan(storage).ExclusiveSum(value, exclusive, total);
  out[threadIdx.x] = inclusive * 3 + exclusive + total * 100000;
}
__global__ void cub_block_scan_items(int* out) {
  typedef cub::BlockScan<int, 64> Scan;
  __shared__ typename Scan::TempStorage storage;
  int items[3] = {int(threadIdx.x), 2, int(noise(threadIdx.x) & 7)}, sums[3];
  Scan(storage).ExclusiveSum(items, sums);
  for (int i = 0; i < 3; ++i) out[threadIdx.x * 3 + i] = sums[i];
}
__global__ void cub_warp_reduce(float* out) {
  typedef cub::WarpReduce<float> Reduce;
  __shared__ typename Reduce::TempStorage storage[2];
  float sum = Reduce(storage[threadIdx.x / 32]).Sum(real(threadIdx.x));
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = sum;
}
__global__ void cub_warp_scan(int* out) {
  typedef cub::WarpScan<int> Scan;
  __shared__ typename Scan::TempStorage storage[2];
  int sum;
  Scan(storage[threadIdx.x / 32]).InclusiveSum(int(threadIdx.x), sum);
  out[threadIdx.x] = sum;
}
__global__ void cub_radix_sort(int* out) {
  typedef cub::BlockRadixSort<int, 64, 2, int> Sort;
  __shared__ typename Sort::TempStorage storage;
  int keys[2], values[2];
  for (int i = 0; i < 2; ++i) {
    keys[i] = int(noise(threadIdx.x * 2 + i) % 50);
    values[i] = threadIdx.x * 2 + i;
  }
  Sort(storage).SortDescending(keys, values);
  for (int i = 0; i < 2; ++i) out[threadIdx.x * 2 + i] = keys[i] * 1000 + values[i];
}

// ---- cuRAND ----
__global__ void philox_bits(unsigned* out) {
  curandStatePhilox4_32_10_t state;
  curand_init(1234567890123ull, TID, TID * 3, &state);
  for (int i = 0; i < 7; ++i) out[TID * 7 + i] = curand(&state);
}
__global__ void philox_four(unsigned* out) {
  curandStatePhilox4_32_10_t state;
  curand_init(42, TID, TID, &state);
  uint4 a = curand4(&state), b = curand4(&state);
  unsigned* o = out + TID * 8;
  o[0] = a.x; o[1] = a.y; o[2] = a.z; o[3] = a.w; o[4] = b.x; o[5] = b.y; o[6] = b.z; o[7] = b.w;
}
__global__ void philox_uniform(float* out) {
  curandStatePhilox4_32_10_t state;
  curand_init(7, TID, 0, &state);
  out[TID * 2] = curand_uniform(&state);
  out[TID * 2 + 1] = curand_uniform4(&state).z;
}
__global__ void philox_double(double* out) {
  curandStatePhilox4_32_10_t state;
  curand_init(99, TID, 5, &state);
  out[TID] = curand_uniform_double(&state);
}
__global__ void philox_skip(unsigned* out) {
  curandStatePhilox4_32_10_t state;
  curand_init(3, 1ull << 40, (1ull << 33) + TID, &state);
  skipahead(0xffffffffull * 5, &state);
  out[TID] = curand(&state);
}
__global__ void xorwow_bits(unsigned* out) {
  curandState_t state;
  curand_init(20240229ull + TID, 0, TID * 11, &state);
  for (int i = 0; i < 5; ++i) out[TID * 5 + i] = curand(&state);
}
__global__ void xorwow_sequences(unsigned* out) {
  curandState_t state;
  curand_init(5, TID * 977 + 1, 13, &state);
  for (int i = 0; i < 3; ++i) out[TID * 3 + i] = curand(&state);
}
__global__ void xorwow_uniform(float* out) {
  curandState_t state;
  curand_init(11, TID, 0, &state);
  out[TID] = curand_uniform(&state);
}

// ---- memory ----
__constant__ int table[64];
__device__ int counter;
__global__ void constant_memory(int* out) { out[TID] = table[(TID * 11) % 64]; }
__global__ void device_variable(int* out) {
  int before = atomicAdd(&counter, 1);
  atomicAdd(&out[0], before);
}
__global__ void vector_types(int* out) {
  int4 a = make_int4(TID, 2, 3, 4);
  float2 b = make_float2(0.5f, float(TID));
  reinterpret_cast<int4*>(out)[TID] = make_int4(a.w, a.x, int(b.y * b.x), int(sizeof(int4) + alignof(float4)));
}
template <int N, class T>
__global__ void templates(T* out) {
  __shared__ T values[N];
  values[threadIdx.x % N] = T(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = values[(threadIdx.x + 1) % N] * T(N);
}

// ---- groups of threads: scans and reductions ----
__global__ void tile_scans(int* out) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int value = int(noise(TID) & 0xff);
  int* o = out + TID * 4;
  o[0] = cg::inclusive_scan(tile, value);
  o[1] = cg::exclusive_scan(tile, value);
  o[2] = cg::inclusive_scan(tile, value, cg::greater<int>());
  o[3] = cg::inclusive_scan(tile, value, cg::bit_xor<int>());
}
__global__ void tile_reduce(int* out) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int value = int(noise(TID));
  int* o = out + TID * 4;
  o[0] = cg::reduce(tile, value & 0xffff, cg::plus<int>());
  o[1] = cg::reduce(tile, value, cg::less<int>());
  o[2] = cg::reduce(tile, value, cg::bit_or<int>());
  o[3] = int(tile.meta_group_rank() * 100 + tile.meta_group_size());
}
__global__ void coalesced_scan(int* out) {
  if (noise(TID) & 1) {
    auto together = cg::coalesced_threads();
    out[TID] = cg::exclusive_scan(together, int(TID)) * 64 + int(together.thread_rank());
  }
}

// ---- 8-bit and 16-bit floats: the edges ----
__device__ inline float edge(unsigned i) {
  const unsigned patterns[12] = {0, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x43e00000u,
                                 0x43e80000u, 0x43f00000u, 0x47600000u, 0x47680000u, 0x47700000u, 1};
  if (i < 12) return __uint_as_float(patterns[i]);
  return __uint_as_float((0x30000000u + noise(i) % 0x18000000u) | (noise(i + 1) & 0x80000000u));
}
__global__ void fp8_from_float(unsigned char* out) {
  out[TID * 2] = __nv_cvt_float_to_fp8(edge(TID), __NV_SATFINITE, __NV_E4M3);
  out[TID * 2 + 1] = __nv_cvt_float_to_fp8(edge(TID), __NV_SATFINITE, __NV_E5M2);
}
__global__ void fp8_to_float(float* out) {
  __nv_fp8_e4m3 a;
  __nv_fp8_e5m2 b;
  a.__x = b.__x = (unsigned char)TID;
  bool number = (TID & 0x7f) < 0x7c;  // a NaN has no sign that all agree on
  out[TID * 2] = number ? float(a) : 0.0f;
  out[TID * 2 + 1] = number ? float(b) : 0.0f;
}
__global__ void fp8_pairs(unsigned short* out) {
  out[TID] = __nv_cvt_float2_to_fp8x2(make_float2(edge(TID), edge(TID + 100)), __NV_SATFINITE, __NV_E4M3);
}
__global__ void half_largest(unsigned short* out) {
  __half a = __float2half(edge(TID)), b = __float2half(edge(TID * 7 % 64));
  __half most = __hmax(a, b), least = __hmin(a, b);
  out[TID * 2] = __hisnan(most) ? 0x7fff : __half_as_ushort(most);
  out[TID * 2 + 1] = __hisnan(least) ? 0x7fff : __half_as_ushort(least);
}
__global__ void half_division(unsigned short* out) {
  out[TID] = __half_as_ushort(__hdiv(__float2half(real(TID) / 7), __float2half(real(TID + 5) / 11)));
}
__global__ void half_to_integer(int* out) {
  __half a = __float2half(real(TID) / 7);
  int* o = out + TID * 3;
  o[0] = __half2int_rn(a);
  o[1] = __half2int_rz(a);
  o[2] = int(__half_as_ushort(__int2half_rn(int(noise(TID) % 70000))));
}
__global__ void bfloat_pairs(unsigned short* out) {
  __nv_bfloat162 a = __floats2bfloat162_rn(real(TID) / 9, real(TID + 3) / 9);
  __nv_bfloat162 b = __float2bfloat162_rn(1.5f);
  __nv_bfloat162 sum = __hfma2(a, b, a), most = __hmax2(a, b);
  unsigned short* o = out + TID * 4;
  o[0] = __bfloat16_as_ushort(__low2bfloat16(sum));
  o[1] = __bfloat16_as_ushort(__high2bfloat16(sum));
  o[2] = __bfloat16_as_ushort(__low2bfloat16(most));
  o[3] = __bfloat16_as_ushort(__high2bfloat16(most));
}
__global__ void half_shuffle(unsigned short* out) {
  __half2 pair = __floats2half2_rn(real(TID), real(TID + 1));
  __half2 other = __shfl_xor_sync(~0u, pair, 3);
  out[TID * 2] = __half_as_ushort(__low2half(other));
  out[TID * 2 + 1] = __half_as_ushort(__shfl_down_sync(~0u, __high2half(pair), 1));
}

// ---- more of cub ----
__global__ void cub_block_prefix(int* out) {
  struct Running {
    int sum;
    __device__ int operator()(int total) { int before = sum; sum += total; return before; }
  };
  typedef cub::BlockScan<int, 64> Scan;
  __shared__ typename Scan::TempStorage storage;
  Running running{1000};
  for (int step = 0; step < 3; ++step) {
    int sum;
    Scan(storage).ExclusiveSum(int(noise(threadIdx.x + step * 64) & 15), sum, running);
    __syncthreads();
    out[threadIdx.x * 3 + step] = sum;
  }
}
__global__ void cub_block_most(int* out) {
  typedef cub::BlockScan<int, 96> Scan;
  __shared__ typename Scan::TempStorage storage;
  int most, total;
  Scan(storage).InclusiveScan(int(noise(threadIdx.x) & 0xfff), most, Largest(), total);
  out[threadIdx.x] = most + (threadIdx.x == 0 ? total * 65536 : 0);
}
__global__ void cub_block_load(int* out) {
  typedef cub::BlockLoad<int, 64, 3, cub::BLOCK_LOAD_WARP_TRANSPOSE> Load;
  typedef cub::BlockStore<int, 64, 3> Store;
  __shared__ typename Load::TempStorage loaded;
  __shared__ typename Store::TempStorage stored;
  int items[3];
  Load(loaded).Load(out, items, 150, -7);
  for (int i = 0; i < 3; ++i) items[i] = items[i] * 3 + int(threadIdx.x);
  __syncthreads();
  Store(stored).Store(out + 256, items, 170);
}
__global__ void cub_warp_parts(int* out) {
  typedef cub::WarpReduce<int, 8> Reduce;
  typedef cub::WarpScan<int, 16> Scan;
  __shared__ typename Reduce::TempStorage reduced[16];
  __shared__ typename Scan::TempStorage scanned[8];
  int value = int(noise(threadIdx.x) & 0xff), sum, before;
  int total = Reduce(reduced[threadIdx.x / 8]).Sum(value);
  Scan(scanned[threadIdx.x / 16]).InclusiveScan(value, sum, Largest());
  __syncwarp();
  Scan(scanned[threadIdx.x / 16]).ExclusiveSum(value, before);
  out[threadIdx.x] = (threadIdx.x % 8 == 0 ? total : 0) + sum * 4096 + before * 1048576;
}
__global__ void cub_radix_striped(int* out) {
  typedef cub::BlockRadixSort<float, 32, 4, int> Sort;
  __shared__ typename Sort::TempStorage storage;
  float keys[4];
  int values[4];
  for (int i = 0; i < 4; ++i) {
    keys[i] = float(int(noise(threadIdx.x * 4 + i) % 41) - 20);
    values[i] = threadIdx.x * 4 + i;
  }
  Sort(storage).SortBlockedToStriped(keys, values);
  for (int i = 0; i < 4; ++i) out[threadIdx.x + 32 * i] = int(keys[i]) * 1000 + values[i];
}
struct IsOdd {
  __host__ __device__ bool operator()(int x) const { return x & 1; }
};

// ---- more of cuRAND: what its logarithms give differs in the last bits ----
__global__ void normals(int* out) {
  curandStatePhilox4_32_10_t state;
  curand_init(17, TID, 2, &state);
  int* o = out + TID * 7;
  o[0] = int(rintf(curand_normal(&state) * 1000));
  float2 pair = curand_normal2(&state);
  o[1] = int(rintf(pair.x * 1000));
  o[2] = int(rintf(pair.y * 1000));
  o[3] = int(rintf(curand_normal(&state) * 1000));
  float4 four = curand_normal4(&state);
  o[4] = int(rintf(four.w * 1000));
  o[5] = int(rintf(curand_log_normal(&state, 0.5f, 0.25f) * 1000));
  o[6] = int(rintf(curand_log_normal(&state, 0.5f, 0.25f) * 1000));
}
__global__ void xorwow_normals(int* out) {
  curandState_t state;
  curand_init(23, TID, 0, &state);
  for (int i = 0; i < 3; ++i) out[TID * 3 + i] = int(rintf(curand_normal(&state) * 1000));
}

// ---- more of memory ----
__global__ void much_shared(int* out) {
  extern __shared__ int memory[];
  for (int i = threadIdx.x; i < 16384; i += blockDim.x) memory[i] = int(noise(i));
  __syncthreads();
  out[threadIdx.x] = memory[16383 - threadIdx.x * 13];
}
__global__ void copied_ahead(int* out) {
  __shared__ alignas(16) int values[256];
  const int* from = out + 512;
  __pipeline_memcpy_async(values + threadIdx.x * 4, from + threadIdx.x * 4, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = values[255 - threadIdx.x] + values[threadIdx.x];
}
__global__ void number(int* out) { out[TID] = int(noise(TID)); }
__global__ void atomics_of_scopes(int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> all(out[0]);
  all.fetch_add(int(TID), cuda::memory_order_relaxed);
  __shared__ cuda::atomic<int, cuda::thread_scope_block> most;
  if (threadIdx.x == 0) most.store(0);
  __syncthreads();
  most.fetch_max(int(noise(TID) & 0xffff));
  __syncthreads();
  if (threadIdx.x == 0) out[1 + blockIdx.x] = most.load();
}

static unsigned char* device_memory;

static void begin(int value) { cudaMemset(device_memory, value, kBytes); }

static void show(const char* name) {
  static unsigned char host[kBytes];
  cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) {
    std::printf("%s error %s\n", name, cudaGetErrorString(error));
    std::exit(1);
  }
  cudaMemcpy(host, device_memory, kBytes, cudaMemcpyDeviceToHost);
  int used = kBytes;
  while (used > 0 && host[used - 1] == 0) --used;
  std::printf("%s ", name);
  for (int i = 0; i < used; ++i) std::printf("%02x", host[i]);
  std::printf("\n");
}

#define RUN(NAME, T, GRID, BLOCK)                                   \
  begin(0);                                                         \
  NAME<<<GRID, BLOCK>>>(reinterpret_cast<T*>(device_memory));       \
  show(#NAME);

int main() {
  cudaMalloc(&device_memory, kBytes);
  RUN(barrier_reverse, int, 1, 128)
  RUN(barrier_tree_sum, int, 1, 256)
  RUN(barrier_count, int, 1, 100)
  RUN(barrier_or, int, 1, 128)
  RUN(barrier_and, int, 1, 128)
  begin(0);
  dynamic_shared<<<1, 64, 64 * sizeof(int)>>>(reinterpret_cast<int*>(device_memory));
  show("dynamic_shared");
  RUN(two_shared, int, 1, 64)
  RUN(early_exit, int, 1, 64)
  RUN(named_barrier, int, 1, 128)
  RUN(three_dimensions, int, dim3(2, 2, 2), dim3(4, 3, 2))
  RUN(shfl, int, 2, 64)
  RUN(shfl_width, int, 2, 64)
  RUN(shfl_up, int, 2, 64)
  RUN(shfl_up_width, int, 2, 64)
  RUN(shfl_down, int, 2, 64)
  RUN(shfl_down_width, int, 2, 64)
  RUN(shfl_xor, int, 2, 64)
  RUN(shfl_xor_width, int, 2, 64)
  RUN(shfl_double, double, 2, 64)
  RUN(shfl_half_mask, int, 2, 64)
  RUN(shfl_sum, float, 2, 64)
  RUN(shfl_divergent, int, 2, 64)
  RUN(ballot, unsigned, 2, 64)
  RUN(ballot_half, unsigned, 2, 64)
  RUN(any_all, int, 2, 64)
  RUN(match_any, unsigned, 2, 64)
  RUN(match_all, unsigned, 2, 64)
  RUN(reduce_sync, unsigned, 2, 64)
  RUN(reduce_signed, int, 2, 64)
  RUN(syncwarp_exchange, int, 1, 64)
  RUN(active_mask, unsigned, 2, 64)
  RUN(lane_id, unsigned, 2, 64)
  RUN(atomic_add, int, 4, 64)
  RUN(atomic_add_wrap, unsigned, 4, 64)
  RUN(atomic_sub, int, 4, 64)
  RUN(atomic_min_max, int, 4, 64)
  begin(255);
  atomic_logic<<<4, 64>>>(reinterpret_cast<unsigned*>(device_memory));
  show("atomic_logic");
  RUN(atomic_cas, int, 4, 64)
  RUN(atomic_inc_dec, unsigned, 4, 64)
  RUN(atomic_exch, int, 4, 64)
  RUN(atomic_64, unsigned long long, 4, 64)
  RUN(atomic_float, float, 4, 64)
  RUN(atomic_histogram, int, 1, 128)
  RUN(bits, unsigned, 2, 64)
  RUN(bits_64, unsigned long long, 2, 64)
  RUN(byte_perm, unsigned, 2, 64)
  RUN(funnel, unsigned, 2, 64)
  RUN(multiply_high, unsigned long long, 2, 64)
  RUN(dot4, int, 2, 64)
  RUN(averages, int, 2, 64)
  RUN(min_max, int, 2, 64)
  RUN(float_rounding, float, 1, 64)
  RUN(float_to_integer, int, 1, 128)
  RUN(float_bits, int, 2, 64)
  RUN(float_min_max, float, 2, 64)
  RUN(float_whole, float, 2, 64)
  RUN(saturate, float, 2, 64)
  RUN(double_rounding, double, 2, 64)
  RUN(integer_to_float, float, 2, 64)
  RUN(half_convert, unsigned short, 4, 64)
  RUN(half_to_float, float, 4, 64)
  RUN(half_arithmetic, unsigned short, 4, 64)
  RUN(half_fma, unsigned short, 16, 64)
  RUN(half_pairs, unsigned short, 4, 64)
  RUN(half_compare, int, 4, 64)
  RUN(bfloat_convert, unsigned short, 4, 64)
  RUN(bfloat_arithmetic, unsigned short, 4, 64)
  begin(0);
  void* arguments[] = {&device_memory};
  cudaLaunchCooperativeKernel((void*)grid_sync, dim3(4), dim3(64), arguments, 0, 0);
  show("grid_sync");
  RUN(tiles, int, 2, 64)
  RUN(tile_shifts, int, 2, 64)
  RUN(coalesced, int, 2, 64)
  RUN(block_group, int, 3, 64)
  RUN(cub_block_reduce, float, 1, 128)
  RUN(cub_block_reduce_valid, int, 1, 96)
  RUN(cub_block_largest, int, 1, 256)
  RUN(cub_block_scan, int, 1, 128)
  RUN(cub_block_scan_items, int, 1, 64)
  RUN(cub_warp_reduce, float, 1, 64)
  RUN(cub_warp_scan, int, 1, 64)
  RUN(cub_radix_sort, int, 1, 64)
  RUN(philox_bits, unsigned, 2, 64)
  RUN(philox_four, unsigned, 2, 64)
  RUN(philox_uniform, float, 2, 64)
  RUN(philox_double, double, 2, 64)
  RUN(philox_skip, unsigned, 2, 64)
  RUN(xorwow_bits, unsigned, 2, 64)
  RUN(xorwow_sequences, unsigned, 2, 64)
  RUN(xorwow_uniform, float, 2, 64)
  int host_table[64];
  for (int i = 0; i < 64; ++i) host_table[i] = int(noise(i));
  cudaMemcpyToSymbol(table, host_table, sizeof host_table);
  RUN(constant_memory, int, 2, 64)
  RUN(device_variable, int, 2, 64)
  RUN(vector_types, int, 2, 64)
  begin(0);
  templates<32, float><<<1, 64>>>(reinterpret_cast<float*>(device_memory));
  show("template_float");
  begin(0);
  templates<16, long long><<<1, 64>>>(reinterpret_cast<long long*>(device_memory));
  show("template_long");
  RUN(tile_scans, int, 2, 64)
  RUN(tile_reduce, int, 2, 64)
  RUN(coalesced_scan, int, 2, 64)
  RUN(fp8_from_float, unsigned char, 16, 64)
  RUN(fp8_to_float, float, 4, 64)
  RUN(fp8_pairs, unsigned short, 16, 64)
  RUN(half_largest, unsigned short, 1, 64)
  RUN(half_division, unsigned short, 16, 64)
  RUN(half_to_integer, int, 4, 64)
  RUN(bfloat_pairs, unsigned short, 4, 64)
  RUN(half_shuffle, unsigned short, 2, 64)
  RUN(cub_block_prefix, int, 1, 64)
  RUN(cub_block_most, int, 1, 96)
  begin(0);
  number<<<4, 64>>>(reinterpret_cast<int*>(device_memory));
  cub_block_load<<<1, 64>>>(reinterpret_cast<int*>(device_memory));
  show("cub_block_load");
  RUN(cub_warp_parts, int, 1, 128)
  RUN(cub_radix_striped, int, 1, 32)
  RUN(normals, int, 2, 64)
  RUN(xorwow_normals, int, 2, 64)
  cudaFuncSetAttribute(much_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  begin(0);
  much_shared<<<1, 256, 65536>>>(reinterpret_cast<int*>(device_memory));
  show("much_shared");
  begin(0);
  number<<<16, 64>>>(reinterpret_cast<int*>(device_memory));
  copied_ahead<<<1, 64>>>(reinterpret_cast<int*>(device_memory));
  show("copied_ahead");
  RUN(atomics_of_scopes, int, 4, 64)
  int* numbers = reinterpret_cast<int*>(device_memory);
  int* results = numbers + 256;
  int* chosen = numbers + 900;
  // The first call of each asks how much memory it needs.
#define WHOLE(NAME, CALL)                                        \
  begin(0);                                                      \
  number<<<4, 64>>>(numbers);                                    \
  {                                                              \
    void* room = nullptr;                                        \
    size_t bytes = 0;                                            \
    CALL;                                                        \
    cudaMalloc(&room, bytes + 1);                                \
    CALL;                                                        \
    show(NAME);                                                  \
    cudaFree(room);                                              \
  }
  WHOLE("device_select_if", cub::DeviceSelect::If(room, bytes, numbers, results, chosen, 200, IsOdd()))
  WHOLE("device_select_flagged", cub::DeviceSelect::Flagged(room, bytes, numbers, device_memory, results, chosen, 128))
  WHOLE("device_select_unique", cub::DeviceSelect::Unique(room, bytes, device_memory, device_memory + 1024, chosen, 900))
  WHOLE("device_inclusive_sum", cub::DeviceScan::InclusiveSum(room, bytes, numbers, results, 256))
  WHOLE("device_exclusive_sum", cub::DeviceScan::ExclusiveSum(room, bytes, device_memory, results, 256))
  WHOLE("device_scan_largest", cub::DeviceScan::InclusiveScan(room, bytes, numbers, results, Largest(), 256))
  WHOLE("device_reduce_sum", cub::DeviceReduce::Sum(room, bytes, numbers, results, 256))
  WHOLE("device_reduce_largest", cub::DeviceReduce::Reduce(room, bytes, numbers, results, 256, Largest(), 5))
  WHOLE("device_sort_pairs", cub::DeviceRadixSort::SortPairsDescending(room, bytes, numbers, results, numbers, results + 256, 256))
  return 0;
}
