// What a function that was compiled for AMD's GPUs needs on a CPU: a grid of programs, and what are instructions of
// those GPUs, in the precision of the C library.

#include <math.h>
#include <stdint.h>
#include <string.h>

static int program;

// From the last to the first: their order must not matter.
void run_grid(void (*function)(void **), void **pointers, int programs) {
    for (program = programs - 1; program >= 0; program--) function(pointers);
}

int amdgcn_workgroup_id_x(void) { return program; }
int amdgcn_workitem_id_x(void) { return 0; }
void amdgcn_s_barrier(void) {}
int amdgcn_readfirstlane_i32(int x) { return x; }

float amdgcn_rcp_f32(float x) { return 1 / x; }
double amdgcn_rcp_f64(double x) { return 1 / x; }
float amdgcn_rsq_f32(float x) { return 1 / sqrtf(x); }
double amdgcn_rsq_f64(double x) { return 1 / sqrt(x); }
float amdgcn_sqrt_f32(float x) { return sqrtf(x); }
float amdgcn_exp2_f32(float x) { return exp2f(x); }
float amdgcn_log_f32(float x) { return log2f(x); }

// The binary digits of 2 / pi behind the point, 64 in each word: as many as a number of eight bytes can ask for.
static const uint64_t two_over_pi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d,
};

// 53 digits of 2 / pi, from the part by which a large x is multiplied to learn its angle.
// V_TRIG_PREOP_F64 in "RDNA3 Instruction Set Architecture", AMD, 2023.
double amdgcn_trig_preop_f64(double x, int part) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff);
    int first = 53 * part + (exponent > 1077 ? exponent - 1077 : 0);
    int word = first / 64, offset = first % 64;
    uint64_t digits = two_over_pi[word] << offset;
    if (offset) digits |= two_over_pi[word + 1] >> (64 - offset);
    return ldexp((double)(digits >> 11), -53 - first + (exponent >= 1968 ? 128 : 0));
}

// LLVM calls this to round to two bytes with eight bits of exponent, to the nearest and ties to even. The result is in
// the lower half of the register in which a float is returned.
float __truncsfbf2(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t rounded = x != x ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    float result;
    memcpy(&result, &rounded, sizeof result);
    return result;
}
