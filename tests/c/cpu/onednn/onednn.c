/* A library with oneDNN's names, whose products are plain loops, on a processor that has all. What
 * may be different: OLD_VERSION; OTHER_THREADS, those of TBB; MARKED, each result is 1 more; SLOW,
 * the same, and its implementations are called ref; NO_PRODUCTS, it has no implementations;
 * FAILING, products with more than 64 rows or columns do not run. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BF16 = 2, F32 = 3, S32 = 4, S8 = 5 };
enum { OUT_OF_MEMORY = 1, INVALID = 2, UNIMPLEMENTED = 3 };
enum { A, B, C, SCRATCHPAD, PLACES, PAD_BYTES = 100, THREADS = 4 };

#if defined(MARKED) || defined(SLOW)
#define MARK 1
#else
#define MARK 0
#endif
#ifdef SLOW
#define NAME "ref:any"
#else
#define NAME "plain"
#endif

typedef struct desc {
  int64_t dims[2], strides[2];
  int dtype;
} desc;
typedef struct product {
  desc of[3];
} product;
typedef struct memory {
  void *data;
} memory;
typedef struct arg {
  int place;
  memory *memory;
} arg;
typedef struct version {
  int major, minor, patch;
  const char *hash;
  unsigned cpu_runtime, gpu_runtime;
} version;

/* OpenMP's number of threads is each thread's own. In the static block of such variables: the leak
 * sanitizer falls over those that come with dlopen. */
static _Thread_local int threads __attribute__((tls_model("initial-exec"))) = THREADS;
int omp_get_max_threads(void);
void omp_set_num_threads(int count);
int omp_get_max_threads(void) { return threads; }
void omp_set_num_threads(int count) { threads = count; }

#define FUNCTION(result, name, arguments) \
  result dnnl_##name arguments;           \
  result dnnl_##name arguments

FUNCTION(const version *, version, (void)) {
#ifdef OLD_VERSION
  static const version v = {2, 7, 0, "", 2, 0};
#elif defined(OTHER_THREADS)
  static const version v = {3, 2, 0, "", 4, 0};
#else
  static const version v = {3, 2, 0, "", 2, 0};
#endif
  return &v;
}

FUNCTION(int, get_effective_cpu_isa, (void)) { return 0x1fef; }

FUNCTION(int, engine_create, (void **engine, int kind, size_t index)) {
  static int one;
  *engine = &one;
  return kind == 1 && index == 0 ? 0 : INVALID;
}

FUNCTION(int, stream_create, (void **stream, void *engine, unsigned flags)) {
  *stream = engine;
  return flags == 1 ? 0 : INVALID;
}
FUNCTION(int, stream_wait, (void *stream)) { return stream == NULL ? INVALID : 0; }
FUNCTION(int, stream_destroy, (void *stream)) { return stream == NULL ? INVALID : 0; }

FUNCTION(int, memory_desc_create_with_strides,
         (desc * *out, int rank, const int64_t *dims, int dtype, const int64_t *strides)) {
  if (rank != 2)
    return INVALID;
  *out = malloc(sizeof **out);
  if (*out == NULL)
    return OUT_OF_MEMORY;
  **out = (desc){{dims[0], dims[1]}, {strides[0], strides[1]}, dtype};
  return 0;
}

static desc pad;
FUNCTION(size_t, memory_desc_get_size, (const desc *d)) { return d == &pad ? PAD_BYTES : 0; }
FUNCTION(int, memory_desc_destroy, (desc * d)) {
  free(d);
  return 0;
}

FUNCTION(int, memory_create, (memory * *out, const desc *d, void *engine, void *data)) {
  *out = d == NULL || engine == NULL ? NULL : malloc(sizeof **out);
  if (*out == NULL)
    return OUT_OF_MEMORY;
  (*out)->data = data;
  return 0;
}
FUNCTION(int, memory_destroy, (memory * m)) {
  free(m);
  return 0;
}

FUNCTION(int, primitive_attr_create, (int **attr)) {
  *attr = calloc(1, sizeof **attr);
  return *attr == NULL ? OUT_OF_MEMORY : 0;
}
FUNCTION(int, primitive_attr_set_scratchpad_mode, (int *attr, int mode)) {
  *attr = mode;
  return 0;
}
FUNCTION(int, primitive_attr_destroy, (int *attr)) {
  free(attr);
  return 0;
}

FUNCTION(int, matmul_primitive_desc_create,
         (product * *out, void *engine, const desc *a, const desc *b, const desc *bias,
          const desc *c, const int *attr)) {
#ifdef NO_PRODUCTS
  (void)out, (void)engine, (void)a, (void)b, (void)bias, (void)c, (void)attr;
  return UNIMPLEMENTED;
#else
  bool known = (a->dtype == BF16 && b->dtype == BF16 && (c->dtype == BF16 || c->dtype == F32)) ||
               (a->dtype == S8 && b->dtype == S8 && c->dtype == S32);
  if (engine == NULL || bias != NULL || *attr != 1 || threads != 1 || !known ||
      a->dims[0] != c->dims[0] || a->dims[1] != b->dims[0] || b->dims[1] != c->dims[1])
    return INVALID;
  *out = malloc(sizeof **out);
  if (*out == NULL)
    return OUT_OF_MEMORY;
  **out = (product){{*a, *b, *c}};
  return 0;
#endif
}

FUNCTION(int, primitive_desc_query, (const product *p, int what, int index, const char **out)) {
  *out = NAME;
  return p != NULL && what == 8 && index == 0 ? 0 : INVALID;
}
FUNCTION(const desc *, primitive_desc_query_md, (const product *p, int what, int index)) {
  return p != NULL && what == 136 && index == 0 ? &pad : NULL;
}
FUNCTION(int, primitive_desc_destroy, (product * p)) {
  free(p);
  return 0;
}
FUNCTION(int, primitive_create, (product * *out, const product *p)) {
  *out = malloc(sizeof **out);
  if (*out == NULL)
    return OUT_OF_MEMORY;
  **out = *p;
  return 0;
}
FUNCTION(int, primitive_destroy, (product * p)) {
  free(p);
  return 0;
}

static float load_bf16(const void *data, int64_t at) {
  uint32_t bits = (uint32_t)((const uint16_t *)data)[at] << 16;
  float value = 0;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void store(const desc *d, void *data, int64_t at, float sum, int32_t whole) {
  uint32_t bits = 0;
  memcpy(&bits, &sum, sizeof bits);
  if (d->dtype == S32)
    ((int32_t *)data)[at] = whole;
  else if (d->dtype == F32)
    ((float *)data)[at] = sum;
  else
    ((uint16_t *)data)[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void multiply(const product *p, const void *a, const void *b, void *c) {
  const desc *da = &p->of[A], *db = &p->of[B], *dc = &p->of[C];
  for (int64_t i = 0; i < dc->dims[0]; i++)
    for (int64_t j = 0; j < dc->dims[1]; j++) {
      float sum = MARK;
      int32_t whole = MARK;
      for (int64_t k = 0; k < da->dims[1]; k++) {
        int64_t x = i * da->strides[0] + k * da->strides[1];
        int64_t y = k * db->strides[0] + j * db->strides[1];
        if (dc->dtype == S32)
          whole += ((const int8_t *)a)[x] * ((const int8_t *)b)[y];
        else
          sum += load_bf16(a, x) * load_bf16(b, y);
      }
      store(dc, c, i * dc->strides[0] + j * dc->strides[1], sum, whole);
    }
}

FUNCTION(int, primitive_execute, (const product *p, void *stream, int count, const arg *args)) {
  static const int places[PLACES] = {1, 33, 17, 80};
  void *data[PLACES] = {NULL};
  for (int i = 0; i < count; i++)
    for (int place = 0; place < PLACES; place++)
      if (args[i].place == places[place])
        data[place] = args[i].memory->data;
  if (stream == NULL || threads != 1 || data[A] == NULL || data[B] == NULL || data[C] == NULL ||
      data[SCRATCHPAD] == NULL || (uintptr_t)data[SCRATCHPAD] % 64 != 0)
    return INVALID;
#ifdef FAILING
  if (p->of[C].dims[0] > 64 || p->of[C].dims[1] > 64)
    return OUT_OF_MEMORY;
#endif
  memset(data[SCRATCHPAD], 0x55, PAD_BYTES);
  multiply(p, data[A], data[B], data[C]);
  return 0;
}
