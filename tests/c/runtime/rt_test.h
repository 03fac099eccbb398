/* rt_test.h: what the tests of src/runtime share: runtimes to test on, a host that is not PyTorch,
 * calls in one line.
 *
 * The runtimes are opened at the first use and stay: plugins keep threads, which a forked child
 * lacks, so none of these tests is tortured. */
#ifndef TT_RT_TEST_H
#define TT_RT_TEST_H

#include "runtime/runtime.h"
#include "test.h"

/* The runtime on the plugin that TT_TEST_PLUGIN names, else on XLA:CPU; NULL, with the test skipped
 * or failed, when it cannot be had. Strict mode. */
tt_rt *rt_get(void);
/* The runtime on the plugin that fails on demand (faulty/faulty_plugin.c), or NULL likewise. */
tt_rt *rt_get_faulty(void);
void rt_fail(const char *what, tt_code code, int after);
long rt_count(const char *what);
/* What rt_get() opens; NULL where the build found none. */
const char *rt_plugin_path(void);

/* A tensor with its own arrays. */
enum { RT_RANK = 6 };
typedef struct rt_tensor {
  tt_rt_storage *storage;
  tt_dtype dtype;
  int32_t rank;
  int64_t sizes[RT_RANK], strides[RT_RANK], offset;
} rt_tensor;

/* The same, as the runtime wants it: borrows the arrays. */
tt_rt_tensor rt_view(const rt_tensor *t);
tt_rt_arg rt_arg(const rt_tensor *t);
tt_rt_arg rt_float(double value);
tt_rt_arg rt_int(int64_t value);       /* a Scalar: may become a parameter */
tt_rt_arg rt_fixed_int(int64_t value); /* an int of the schema */
int64_t rt_elements(const rt_tensor *t);
/* A contiguous tensor that fills a new storage with `data`, or has no content when that is NULL. */
TT_NODISCARD tt_error *rt_new(tt_rt *rt, tt_dtype dtype, int32_t rank, const int64_t *sizes,
                              const void *data, rt_tensor *out);
TT_NODISCARD tt_error *rt_vector(tt_rt *rt, const float *data, int64_t count, rt_tensor *out);
void rt_drop(rt_tensor *t);
/* The whole storage. */
TT_NODISCARD tt_error *rt_read(const rt_tensor *t, void *data);

/* Calls an overload. `like` gives the result's dtype and sizes, as a meta kernel would; NULL: the
 * rule's own count. The result is written to `target`, or, when that is NULL, is a new tensor in
 * `out`. */
TT_NODISCARD tt_error *rt_call(tt_rt *rt, const char *overload, const tt_rt_arg *args,
                               size_t args_count, const rt_tensor *like, const rt_tensor *target,
                               rt_tensor *out);
/* The same with a generator. */
TT_NODISCARD tt_error *rt_call_random(tt_rt *rt, const char *overload, const tt_rt_arg *args,
                                      size_t args_count, const rt_tensor *like, tt_rt_rng *rng,
                                      rt_tensor *out);
/* out = x + alpha y, elements of equal sizes. */
TT_NODISCARD tt_error *rt_add(tt_rt *rt, const rt_tensor *x, const rt_tensor *y, double alpha,
                              const rt_tensor *target, rt_tensor *out);
tt_rt_stats rt_stats(tt_rt *rt);
/* How often the host was asked for metas, and what it says of the user's line (NULL: nothing). */
extern long rt_metas_asked;
extern const char *rt_line;

#endif /* TT_RT_TEST_H */
