#include "cpu/kernels/dot_onednn.h"

#include <stdatomic.h>

#include "cpu/kernels/units.h"

/* Each product in parts of its longer side, which differ in length at most in the last one. */
typedef struct parts_job {
  const tt_cpu_dnnl_form *form;
  const tt_cpu_product *products;
  bool rows;            /* parts are rows of c; else columns */
  int64_t length, part; /* of that side */
  int64_t parts, count; /* of a product; of all of them */
  int64_t groups_most;
  tt_cpu_dnnl_product *whole, *last;
  atomic_int status;
} parts_job;

static tt_cpu_dnnl_form form_of(const parts_job *j, int64_t length) {
  tt_cpu_dnnl_form form = *j->form;
  if (j->rows)
    form.m = length;
  else
    form.n = length;
  return form;
}

static void run_part(int64_t i, void *scratch, void *user) {
  parts_job *j = user;
  const tt_cpu_product *p = &j->products[i / j->parts];
  int64_t part = i % j->parts, begin = part * j->part, in = tt_dtype_bytes(j->form->in);
  const char *a = p->a, *b = p->b;
  char *c = p->out;
  a += j->rows ? begin * j->form->a_m * in : 0;
  b += j->rows ? 0 : begin * j->form->b_n * in;
  c += begin * (j->rows ? j->form->c_m : 1) * tt_dtype_bytes(j->form->out);
  int status = tt_cpu_dnnl_run(part == j->parts - 1 ? j->last : j->whole, a, b, c, scratch);
  if (status != 0)
    atomic_store(&j->status, status);
}

/* A thread has at least one part, where the work is worth more than one. */
static void choose_parts(parts_job *j, int64_t count, double cost) {
  enum { STEP = 32 };
  int64_t threads = tt_cpu_parallel_pays(cost * (double)count) ? tt_cpu_threads() : 1;
  int64_t parts = count >= 2 * threads ? 1 : (threads + count - 1) / count;
  j->rows = j->form->m >= j->form->n;
  j->length = j->rows ? j->form->m : j->form->n;
  j->part = ((j->length + parts - 1) / parts + STEP - 1) / STEP * STEP;
  j->part = j->part > j->length ? j->length : j->part;
  j->parts = (j->length + j->part - 1) / j->part;
  j->count = count * j->parts;
  j->groups_most = 2 * threads;
}

static tt_error *run_parts(const tt_cpu_args *args, parts_job *j, double cost) {
  int64_t whole = tt_cpu_dnnl_scratch(j->whole), last = tt_cpu_dnnl_scratch(j->last);
  tt_cpu_units units = {.count = j->count,
                        .groups_most = j->groups_most,
                        .scratch = ((whole > last ? whole : last) + 63) / 64 * 64,
                        .cost = cost,
                        .run = run_part,
                        .user = j};
  TT_RETURN_IF_ERROR(tt_cpu_run_units(args, &units));
  int status = atomic_load(&j->status);
  return status == 0
             ? NULL
             : tt_error_new(TT_INTERNAL, "dot_general: oneDNN ended with status %d", status);
}

tt_error *tt_cpu_dot_onednn(const tt_cpu_args *args, const tt_cpu_dnnl_form *form,
                            const tt_cpu_product *products, int64_t count, bool *out_done) {
  parts_job j = {.form = form, .products = products};
  double cost = 0.01 * (double)form->m * (double)form->n * (double)form->k;
  tt_error *err = NULL;
  choose_parts(&j, count, cost);
  tt_cpu_dnnl_form whole = form_of(&j, j.part),
                   last = form_of(&j, j.length - (j.parts - 1) * j.part);
  j.whole = tt_cpu_dnnl_product_get(&whole);
  j.last = tt_cpu_dnnl_product_get(&last);
  *out_done = j.whole != NULL && j.last != NULL;
  if (*out_done)
    err = run_parts(args, &j, cost * (double)count);
  tt_cpu_dnnl_product_release(j.whole);
  tt_cpu_dnnl_product_release(j.last);
  return err;
}
