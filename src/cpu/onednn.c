#include "cpu/onednn.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "cpu/open.h"

/* ---- oneDNN's interface, version 3: facts of its ABI ---- */

typedef void *tt_cpu_dnnl;
typedef struct tt_cpu_dnnl_version {
  int major, minor, patch;
  const char *hash;
  unsigned cpu_runtime, gpu_runtime;
} tt_cpu_dnnl_version;
typedef struct tt_cpu_dnnl_arg {
  int place;
  tt_cpu_dnnl memory;
} tt_cpu_dnnl_arg;

enum { VERSION = 3, RUNTIME_SEQUENTIAL = 1, RUNTIME_OPENMP = 2 };
enum { ENGINE_CPU = 1, STREAM_IN_ORDER = 1, SCRATCHPAD_OURS = 1 };
enum { PLACE_A = 1, PLACE_C = 17, PLACE_B = 33, PLACE_SCRATCHPAD = 80 };
enum { QUERY_NAME = 8, QUERY_SCRATCHPAD = 136 };
/* Bits of an instruction set; a set has those of all that it contains. */
enum { ISA_VNNI = 0x67, ISA_BF16 = 0xe7 };

static const int dtype_numbers[TT_DTYPE_COUNT] = {
    [TT_BF16] = 2, [TT_F32] = 3, [TT_S32] = 4, [TT_S8] = 5};

/* ---- what it is given ---- */

/* Dtypes, the instruction set from which on it is faster than our own kernels, and the least of
 * each size. Below VNNI its sums of int8 are cut to 16 bits on the way, and wrong; below AVX-512 it
 * has no bf16. Measured on a Zen 4, 2 threads: bf16 256^3 416 Gflop/s, 2048^3 405, where f32, to
 * which our own kernels widen, ends at 234; int8 1024^3 825, where ours end at 470; with fewer rows
 * than 32 its lead is gone. */
static const struct {
  tt_dtype in, out;
  int isa;
  int64_t least;
} processors[] = {
    {TT_BF16, TT_BF16, ISA_BF16, 32},
    {TT_BF16, TT_F32, ISA_BF16, 32},
    {TT_S8, TT_S32, ISA_VNNI, 32},
};

/* ---- the library ---- */

static struct {
  pthread_once_t once;
  bool found;
  int isa;
  bool exact; /* sums of int8 are */
  char named[TT_CPU_PATH_SIZE];
  char why[200]; /* what was wrong with the one that was named */
  tt_cpu_dnnl engine;
  int (*max_threads)(void); /* OpenMP's, of the calling thread; NULL: the library has no threads */
  void (*set_threads)(int);
#define X(name, result, arguments) result(*name) arguments;
#include "cpu/onednn.def"
#undef X
} library = {.once = PTHREAD_ONCE_INIT};

static const struct {
  const char *name;
  size_t field;
} functions[] = {
#define X(name, result, arguments) {"dnnl_" #name, offsetof(__typeof__(library), name)},
#include "cpu/onednn.def"
#undef X
    {"omp_get_max_threads", offsetof(__typeof__(library), max_threads)},
    {"omp_set_num_threads", offsetof(__typeof__(library), set_threads)},
};

static void find_function(void *handle, size_t i) {
  void *address = dlsym(handle, functions[i].name);
  memcpy((char *)&library + functions[i].field, &address, sizeof address);
}

static bool refuse(const char *why) {
  snprintf(library.why, sizeof library.why, "%s", why);
  return false;
}

/* The version is looked at first: another one has other functions. */
static bool accept(void *handle, const char *path) {
  (void)path;
  find_function(handle, 0);
  const tt_cpu_dnnl_version *version = library.version == NULL ? NULL : library.version();
  if (version == NULL)
    return refuse("it is not oneDNN: it has no dnnl_version");
  if (version->major != VERSION) {
    snprintf(library.why, sizeof library.why, "it is oneDNN %d.%d, and 3 is wanted", version->major,
             version->minor);
    return false;
  }
  for (size_t i = 0; i < TT_COUNT(functions); i++)
    find_function(handle, i);
#define X(name, result, arguments) \
  if (library.name == NULL)        \
    return refuse("it has no dnnl_" #name);
#include "cpu/onednn.def"
#undef X
  if (version->cpu_runtime == RUNTIME_SEQUENTIAL)
    library.max_threads = NULL;
  else if (version->cpu_runtime != RUNTIME_OPENMP || library.max_threads == NULL ||
           library.set_threads == NULL)
    return refuse("its threads are not those of OpenMP");
  return library.engine_create(&library.engine, ENGINE_CPU, 0) == 0 ||
         refuse("it makes no engine for the processor");
}

/* OpenMP's threads of this thread, which may be the caller's own, are set for the time of a call.
 */
static int hold_threads(void) {
  int before = library.max_threads == NULL ? 1 : library.max_threads();
  if (before != 1)
    library.set_threads(1);
  return before;
}

static void free_threads(int before) {
  if (before != 1)
    library.set_threads(before);
}

/* ---- products ---- */

struct tt_cpu_dnnl_product {
  atomic_int references;
  tt_cpu_dnnl_form form;
  tt_cpu_dnnl a, b, c, desc, primitive; /* primitive: NULL where there is none that is fast */
  int64_t scratch;
};

void tt_cpu_dnnl_product_release(tt_cpu_dnnl_product *p) {
  if (p == NULL || atomic_fetch_sub(&p->references, 1) != 1)
    return;
  if (p->primitive != NULL)
    library.primitive_destroy(p->primitive);
  if (p->desc != NULL)
    library.primitive_desc_destroy(p->desc);
  tt_cpu_dnnl descs[] = {p->a, p->b, p->c};
  for (size_t i = 0; i < TT_COUNT(descs); i++)
    if (descs[i] != NULL)
      library.memory_desc_destroy(descs[i]);
  free(p);
}

static bool describe(tt_cpu_dnnl *desc, int64_t rows, int64_t columns, int64_t row, int64_t column,
                     tt_dtype dtype) {
  int64_t dims[] = {rows, columns}, strides[] = {row, column};
  return library.memory_desc_create_with_strides(desc, 2, dims, dtype_numbers[dtype], strides) == 0;
}

/* Implementations whose name begins so are loops without vectors. */
static bool is_fast(tt_cpu_dnnl desc) {
  const char *name = NULL;
  return library.primitive_desc_query(desc, QUERY_NAME, 0, (void *)&name) == 0 && name != NULL &&
         strncmp(name, "ref", 3) != 0;
}

static bool make_primitive(tt_cpu_dnnl_product *p) {
  const tt_cpu_dnnl_form *f = &p->form;
  tt_cpu_dnnl attr = NULL;
  bool done = describe(&p->a, f->m, f->k, f->a_m, f->a_k, f->in) &&
              describe(&p->b, f->k, f->n, f->b_k, f->b_n, f->in) &&
              describe(&p->c, f->m, f->n, f->c_m, 1, f->out) &&
              library.primitive_attr_create(&attr) == 0 &&
              library.primitive_attr_set_scratchpad_mode(attr, SCRATCHPAD_OURS) == 0 &&
              library.matmul_primitive_desc_create(&p->desc, library.engine, p->a, p->b, NULL, p->c,
                                                   attr) == 0 &&
              is_fast(p->desc) && library.primitive_create(&p->primitive, p->desc) == 0;
  if (attr != NULL)
    library.primitive_attr_destroy(attr);
  if (!done)
    return false;
  tt_cpu_dnnl pad = library.primitive_desc_query_md(p->desc, QUERY_SCRATCHPAD, 0);
  p->scratch = pad == NULL ? 0 : (int64_t)library.memory_desc_get_size(pad);
  return true;
}

static tt_cpu_dnnl_product *make_product(const tt_cpu_dnnl_form *form) {
  tt_cpu_dnnl_product *p = calloc(1, sizeof *p);
  if (p == NULL)
    return NULL;
  p->references = 1;
  p->form = *form;
  int threads = hold_threads();
  if (!make_primitive(p))
    p->primitive = NULL;
  free_threads(threads);
  return p;
}

int64_t tt_cpu_dnnl_scratch(const tt_cpu_dnnl_product *product) { return product->scratch; }

int tt_cpu_dnnl_run(const tt_cpu_dnnl_product *p, const void *a, const void *b, void *c,
                    void *scratch) {
  struct {
    int place;
    tt_cpu_dnnl desc;
    const void *data;
  } parts[] = {
      {PLACE_A, p->a, a},
      {PLACE_B, p->b, b},
      {PLACE_C, p->c, c},
      {PLACE_SCRATCHPAD, library.primitive_desc_query_md(p->desc, QUERY_SCRATCHPAD, 0), scratch}};
  tt_cpu_dnnl_arg args[TT_COUNT(parts)];
  tt_cpu_dnnl stream = NULL;
  int status = 0, count = 0, wanted = p->scratch > 0 ? 4 : 3, threads = hold_threads();
  for (; status == 0 && count < wanted; count += status == 0) {
    args[count] = (tt_cpu_dnnl_arg){parts[count].place, NULL};
    status = library.memory_create(&args[count].memory, parts[count].desc, library.engine,
                                   (void *)(uintptr_t)parts[count].data);
  }
  if (status == 0)
    status = library.stream_create(&stream, library.engine, STREAM_IN_ORDER);
  if (status == 0)
    status = library.primitive_execute(p->primitive, stream, count, args);
  if (stream != NULL) {
    int waited = library.stream_wait(stream);
    status = status != 0 ? status : waited;
    library.stream_destroy(stream);
  }
  while (count-- > 0)
    library.memory_destroy(args[count].memory);
  free_threads(threads);
  return status;
}

/* ---- finding it ---- */

/* Sums of int8 whose parts would not fit into 16 bits: instruction sets differ in how they add them
 * up, and a wrong sum must not come from there. */
static bool sums_exactly(void) {
  enum { M = 32, K = 64 };
  static const int8_t values[][2] = {{127, 127}, {-128, 127}, {127, -128}, {-128, -128}};
  tt_cpu_dnnl_form form = {M, M, K, K, 1, M, 1, M, TT_S8, TT_S32};
  tt_cpu_dnnl_product *p = make_product(&form);
  int8_t *in = malloc(2 * M * K);
  int32_t *out = malloc(M * M * sizeof *out);
  void *scratch = p == NULL ? NULL : aligned_alloc(64, (size_t)(p->scratch / 64 + 1) * 64);
  bool exact = p != NULL && p->primitive != NULL && in != NULL && out != NULL && scratch != NULL;
  for (size_t v = 0; v < TT_COUNT(values) && exact; v++) {
    memset(in, values[v][0], M * K);
    memset(in + M * K, values[v][1], M * K);
    exact = tt_cpu_dnnl_run(p, in, in + M * K, out, scratch) == 0;
    for (int i = 0; i < M * M && exact; i++)
      exact = out[i] == K * values[v][0] * values[v][1];
  }
  free(scratch);
  free(out);
  free(in);
  tt_cpu_dnnl_product_release(p);
  return exact;
}

static void open_library(void) {
  refuse("no such file, or no library");
  library.found = tt_cpu_library_open(TT_CPU_ONEDNN, accept, library.named);
  library.isa = library.found ? library.get_effective_cpu_isa() : 0;
  library.exact = library.found && (library.isa & ISA_VNNI) == ISA_VNNI && sums_exactly();
}

static tt_error *open_once(void) {
  pthread_once(&library.once, open_library);
  if (library.found || library.named[0] == '\0' || strcmp(library.named, "off") == 0)
    return NULL;
  return tt_error_new(TT_INVALID_ARGUMENT,
                      "oneDNN cannot be used from %s: %s; %s=off does without it", library.named,
                      library.why, tt_cpu_library_variable(TT_CPU_ONEDNN));
}

tt_error *tt_cpu_dnnl_wins(const tt_cpu_dnnl_form *form, bool *out_wins) {
  int64_t least = form->m < form->n ? form->m : form->n;
  least = least < form->k ? least : form->k;
  *out_wins = false;
  for (size_t i = 0; i < TT_COUNT(processors); i++)
    if (processors[i].in == form->in && processors[i].out == form->out &&
        least >= processors[i].least) {
      TT_RETURN_IF_ERROR(open_once());
      *out_wins = (library.isa & processors[i].isa) == processors[i].isa &&
                  (library.exact || form->in != TT_S8);
    }
  return NULL;
}

/* ---- those that are kept ---- */

/* Making one takes 0.1 ms and more, so they are kept: each in the place that its form's hash names,
 * where the next one of that place follows it. */
enum { KEPT = 1024 };
static struct {
  pthread_mutex_t lock;
  tt_cpu_dnnl_product *products[KEPT]; /* locked by `lock` */
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

static tt_cpu_dnnl_product *look_up(size_t place, const tt_cpu_dnnl_form *form) {
  pthread_mutex_lock(&kept.lock);
  tt_cpu_dnnl_product *p = kept.products[place];
  if (p != NULL && memcmp(&p->form, form, sizeof *form) == 0)
    atomic_fetch_add(&p->references, 1);
  else
    p = NULL;
  pthread_mutex_unlock(&kept.lock);
  return p;
}

tt_cpu_dnnl_product *tt_cpu_dnnl_product_get(const tt_cpu_dnnl_form *form) {
  size_t place = tt_hash64(form, sizeof *form, 0) % KEPT;
  tt_cpu_dnnl_product *p = look_up(place, form), *old = NULL;
  if (p == NULL && (p = make_product(form)) != NULL) {
    atomic_fetch_add(&p->references, 1);
    pthread_mutex_lock(&kept.lock);
    old = kept.products[place];
    kept.products[place] = p;
    pthread_mutex_unlock(&kept.lock);
    tt_cpu_dnnl_product_release(old);
  }
  if (p != NULL && p->primitive == NULL) {
    tt_cpu_dnnl_product_release(p);
    return NULL;
  }
  return p;
}
