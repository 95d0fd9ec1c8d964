/* What the allocator of NPU memory touches on every call: blocks, the heaps where they lie free, and a table of those in use.
 *
 * No Python objects, so nothing here runs other code: not even a garbage collection, which may free tensors. The GIL
 * guards it all. Its own memory is Python's, so that what tests do to that reaches it.
 */
#ifndef MINDTORCH_NPU_BLOCKS_H
#define MINDTORCH_NPU_BLOCKS_H

#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---------------------------------------------------------------- sizes
 * Eight to each power of two: at most an eighth is wasted, and sizes that differ little share blocks. A class is the number
 * of a size among all of them. */
enum { MT_SMALLEST_BLOCK = 512, MT_SMALLEST_BIT = 9, MT_BLOCK_CLASSES = 8 * (64 - MT_SMALLEST_BIT - 3) + 9 };

static inline int mt_block_class(size_t nbytes, size_t* size) {
  int shift = MT_SMALLEST_BIT, skipped = 0;
  if (nbytes > 8 * MT_SMALLEST_BLOCK) {
    shift = 63 - __builtin_clzll(nbytes - 1) - 3;
    skipped = 8 * (shift - MT_SMALLEST_BIT);
  }
  const size_t steps = (nbytes + ((size_t)1 << shift) - 1) >> shift; /* of more than 4 KiB: 9 to 16 */
  *size = steps << shift;
  return skipped + (int)steps;
}

/* ---------------------------------------------------------------- blocks and heaps */
typedef struct mt_block mt_block;
typedef struct mt_heap mt_heap;

/* Device memory. It belongs to its heap's stream and pool, and is reused in no other. */
struct mt_block {
  void* data;
  mt_heap* heap;
  mt_block* next; /* of one that is free, or put off */
  size_t nbytes;
  size_t serial; /* of the allocation that has it: a number that no other one gets */
  void** guests; /* other streams that used it since it was allocated */
  int guest_count, guest_room;
  int size_class;
};

struct mt_heap {
  mt_heap* next;
  void* stream;
  int index;       /* of the NPU */
  int pool;        /* 0: no private one */
  size_t reserved; /* bytes of the blocks that belong here, free or not */
  mt_block* free[MT_BLOCK_CLASSES];
};

/* The heap of a pool and a stream in a list that has those used last in front, where it is put; NULL: there is none. */
static inline mt_heap* mt_heap_find(mt_heap** heaps, int pool, int index, void* stream) {
  mt_heap **link = heaps, *heap;
  for (; (heap = *link) != NULL; link = &heap->next) {
    if (heap->stream != stream || heap->index != index || heap->pool != pool) continue;
    if (link != heaps) {
      *link = heap->next;
      heap->next = *heaps;
      *heaps = heap;
    }
    break;
  }
  return heap;
}

/* The same, and makes it where there is none; NULL: no memory for that. */
static inline mt_heap* mt_heap_get(mt_heap** heaps, int pool, int index, void* stream) {
  mt_heap* heap = mt_heap_find(heaps, pool, index, stream);
  if (heap != NULL || (heap = (mt_heap*)PyMem_Calloc(1, sizeof *heap)) == NULL) return heap;
  heap->pool = pool;
  heap->index = index;
  heap->stream = stream;
  heap->next = *heaps;
  return *heaps = heap;
}

static inline void mt_heap_drop(mt_heap** heaps, mt_heap* heap) {
  while (*heaps != heap) heaps = &(*heaps)->next;
  *heaps = heap->next;
  PyMem_Free(heap);
}

static inline mt_block* mt_block_take(mt_heap* heap, int size_class) {
  mt_block* block = heap->free[size_class];
  if (block != NULL) heap->free[size_class] = block->next;
  return block;
}

static inline void mt_block_give(mt_block* block) {
  mt_block** free = &block->heap->free[block->size_class];
  block->next = *free;
  *free = block;
}

/* A block over new memory; NULL: no room for what is to be known of it. */
static inline mt_block* mt_block_new(mt_heap* heap, void* data, size_t nbytes, int size_class) {
  mt_block* block = (mt_block*)PyMem_Calloc(1, sizeof *block);
  if (block == NULL) return NULL;
  block->data = data;
  block->heap = heap;
  block->nbytes = nbytes;
  block->size_class = size_class;
  heap->reserved += nbytes;
  return block;
}

/* Of one whose memory was given back, or is given up. */
static inline void mt_block_forget(mt_block* block) {
  block->heap->reserved -= block->nbytes;
  PyMem_Free(block->guests);
  PyMem_Free(block);
}

/* The blocks of one heap become those of another; of what is free, the newest of the first are the first to be reused. */
static inline void mt_heap_merge(mt_heap* from, mt_heap* into) {
  for (int i = 0; i < MT_BLOCK_CLASSES; ++i) {
    mt_block** end = &from->free[i];
    for (; *end != NULL; end = &(*end)->next) (*end)->heap = into;
    *end = into->free[i];
    into->free[i] = from->free[i];
    from->free[i] = NULL;
  }
  into->reserved += from->reserved;
  from->reserved = 0;
}

/* Bytes of the blocks that are free. */
static inline size_t mt_heap_free_bytes(const mt_heap* heap) {
  size_t sum = 0;
  for (int i = 0; i < MT_BLOCK_CLASSES; ++i)
    for (const mt_block* block = heap->free[i]; block != NULL; block = block->next) sum += block->nbytes;
  return sum;
}

/* Notes another stream that uses a block. One that does so again is the first to be looked at. 0, or -1: no memory. */
static inline int mt_block_visit(mt_block* block, void* stream) {
  int i = 0;
  while (i < block->guest_count && block->guests[i] != stream) ++i;
  if (i == block->guest_count) {
    if (i == block->guest_room) {
      const int room = i ? 2 * i : 4;
      void** guests = (void**)PyMem_Realloc(block->guests, room * sizeof(void*));
      if (guests == NULL) return -1;
      block->guests = guests;
      block->guest_room = room;
    }
    ++block->guest_count;
  }
  block->guests[i] = block->guests[0];
  block->guests[0] = stream;
  return 0;
}

/* ---------------------------------------------------------------- the table: the block that starts at an address
 * Slots by open addressing, at most half of them taken: a search ends at the first that is free. */
typedef struct mt_block_table {
  mt_block** slots;
  size_t mask;  /* one less than their number, a power of two */
  size_t count; /* of blocks */
  int shift;    /* from 64 bits to a slot's number */
} mt_block_table;

static inline size_t mt_table_home(const mt_block_table* table, const void* data) {
  return (size_t)(((uint64_t)(uintptr_t)data * UINT64_C(0x9E3779B97F4A7C15)) >> table->shift);
}

static inline mt_block** mt_table_slot(const mt_block_table* table, const void* data) {
  size_t at = mt_table_home(table, data);
  while (table->slots[at] != NULL && table->slots[at]->data != data) at = (at + 1) & table->mask;
  return &table->slots[at];
}

/* NULL: no block starts there. */
static inline mt_block* mt_table_find(const mt_block_table* table, const void* data) { return *mt_table_slot(table, data); }

/* Makes the table, or twice the room in it. 0, or -1: no memory. */
static int mt_table_grow(mt_block_table* table) {
  mt_block_table grown = {NULL, table->slots == NULL ? 63 : 2 * table->mask + 1, table->count,
                          table->slots == NULL ? 58 : table->shift - 1};
  grown.slots = (mt_block**)PyMem_Calloc(grown.mask + 1, sizeof *grown.slots);
  if (grown.slots == NULL) return -1;
  if (table->slots != NULL) {
    for (size_t at = 0; at <= table->mask; ++at)
      if (table->slots[at] != NULL) *mt_table_slot(&grown, table->slots[at]->data) = table->slots[at];
    PyMem_Free(table->slots);
  }
  *table = grown;
  return 0;
}

/* Puts a block in that is not there. 0, or -1: no memory. */
static inline int mt_table_put(mt_block_table* table, mt_block* block) {
  if (2 * (table->count + 1) > table->mask && mt_table_grow(table) < 0) return -1;
  *mt_table_slot(table, block->data) = block;
  ++table->count;
  return 0;
}

/* Takes out the block that starts at an address; NULL: none does. */
static inline mt_block* mt_table_take(mt_block_table* table, const void* data) {
  mt_block** slot = mt_table_slot(table, data);
  mt_block* taken = *slot;
  size_t hole, at;
  if (taken == NULL) return NULL;
  --table->count;
  hole = at = (size_t)(slot - table->slots);
  /* Those behind move up, where the way from their home leads over the hole: no search stops short of one. */
  while (table->slots[at = (at + 1) & table->mask] != NULL) {
    const size_t home = mt_table_home(table, table->slots[at]->data);
    if (((at - home) & table->mask) < ((at - hole) & table->mask)) continue;
    table->slots[hole] = table->slots[at];
    hole = at;
  }
  table->slots[hole] = NULL;
  return taken;
}

#endif
