/* Calls a C function whose signature is only known at run time, without libffi.
 *
 * Both calling conventions below assign arguments to registers by class alone: the first integers and pointers to
 * integer registers, the first floating-point values to vector registers, the rest, in order, to 8-byte words on the
 * stack. So one call that fills every register serves every signature: a callee does not look at the registers and
 * stack words it has no parameters for. Smaller integers are extended to 64 bits, a float or half lies in the low bits
 * of its register.
 */
#ifndef MINDTORCH_TRAMPOLINE_H
#define MINDTORCH_TRAMPOLINE_H

#include <stdint.h>

#if defined(__x86_64__) && !defined(_WIN32) && !defined(__ILP32__)
#define MT_INT_REGISTERS 6 /* System V x86-64 psABI, 3.2.3 */
#elif defined(__aarch64__) && defined(__linux__)
#define MT_INT_REGISTERS 8 /* AAPCS64, 6.8.2; Apple packs stack arguments more tightly */
#else
#error "kernel launch is written for the C calling conventions of Linux on x86-64 and AArch64"
#endif
#define MT_FLOAT_REGISTERS 8
#define MT_STACK_WORDS 64

/* Arguments by place. Laid out as one array of words: integer registers, then floating-point ones, then the stack. */
typedef struct mt_frame {
  uint64_t ints[MT_INT_REGISTERS];
  double floats[MT_FLOAT_REGISTERS];
  uint64_t stack[MT_STACK_WORDS];
} mt_frame;

#define MT_T2 uint64_t, uint64_t
#define MT_T4 MT_T2, MT_T2
#define MT_T16 MT_T4, MT_T4, MT_T4, MT_T4
#define MT_TFLOATS double, double, double, double, double, double, double, double
#define MT_W4(i) f->stack[i], f->stack[i + 1], f->stack[i + 2], f->stack[i + 3]
#define MT_W16(i) MT_W4(i), MT_W4(i + 4), MT_W4(i + 8), MT_W4(i + 12)
#define MT_FLOATS \
  f->floats[0], f->floats[1], f->floats[2], f->floats[3], f->floats[4], f->floats[5], f->floats[6], f->floats[7]
#if MT_INT_REGISTERS == 6
#define MT_TINTS MT_T4, MT_T2
#define MT_INTS f->ints[0], f->ints[1], f->ints[2], f->ints[3], f->ints[4], f->ints[5]
#else
#define MT_TINTS MT_T4, MT_T4
#define MT_INTS f->ints[0], f->ints[1], f->ints[2], f->ints[3], f->ints[4], f->ints[5], f->ints[6], f->ints[7]
#endif

static int32_t mt_invoke_with_stack(void* fn, const mt_frame* f, int words) {
  if (words <= 4) return ((int32_t (*)(MT_TINTS, MT_TFLOATS, MT_T4))fn)(MT_INTS, MT_FLOATS, MT_W4(0));
  if (words <= 16) return ((int32_t (*)(MT_TINTS, MT_TFLOATS, MT_T16))fn)(MT_INTS, MT_FLOATS, MT_W16(0));
  return ((int32_t (*)(MT_TINTS, MT_TFLOATS, MT_T16, MT_T16, MT_T16, MT_T16))fn)(MT_INTS, MT_FLOATS, MT_W16(0), MT_W16(16),
                                                                            MT_W16(32), MT_W16(48));
}

/* `floats` and `words`: how many floating-point registers and stack words the arguments take. */
__attribute__((always_inline)) static inline int32_t mt_invoke(void* fn, const mt_frame* f, int floats, int words) {
  if (words != 0) return mt_invoke_with_stack(fn, f, words);
  if (floats == 0) return ((int32_t (*)(MT_TINTS))fn)(MT_INTS);
  return ((int32_t (*)(MT_TINTS, MT_TFLOATS))fn)(MT_INTS, MT_FLOATS);
}

#endif
