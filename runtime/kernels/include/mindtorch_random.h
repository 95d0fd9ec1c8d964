/* The state of a generator of random numbers, which the runtime owns and kernels draw from (`generator` in YAML).
 *
 * A kernel gets `mt_generator*` with its lock held by who calls it. A CPU's is mt19937 (Matsumoto and Nishimura, 1998), used
 * as PyTorch uses it; a device's is Philox 4x32-10 (Salmon et al., 2011): a seed, and how far into its sequence.
 */
#ifndef MINDTORCH_RANDOM_H
#define MINDTORCH_RANDOM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MT_STATE_WORDS = 624 };

typedef struct mt_generator {
  uint64_t seed;                    /* what the sequence started from */
  uint64_t offset;                  /* Philox: 32-bit numbers that every lane has drawn */
  uint32_t words[MT_STATE_WORDS];   /* mt19937, before tempering */
  int32_t left;                     /* words not yet drawn, and 1; at 1 the next draw makes new ones */
  uint32_t next;                    /* where the next one is */
  double normal;                    /* the second of two normally distributed numbers, kept for the next draw */
  float float_normal;               /* the same in float; carried for PyTorch, which has a place for it */
  uint8_t has_normal, has_float_normal;
  uint8_t is_philox;
} mt_generator;

#ifdef __cplusplus
}
#endif
#endif
