/* Runs programs through the engine alone, where a sanitizer sees what they do:
 *
 *   run_programs FILE.mlir...
 *
 * each twice, on inputs of small numbers in memory of just their size, and on the same plan. A
 * program that is refused is named, and no failure; results are not looked at, but that two runs
 * give the same, and that FILE.mlir.apart, where there is one, gives the same: a program with
 * barriers between all ops, none of which then becomes one step with another.
 * tests/conformance/differential/run.py --emit writes such files by the thousand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu/kernel.h"
#include "hlo/parse.h"

enum { SLOTS_MOST = 512 };

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    return NULL;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *text = calloc((size_t)size + 1, 1);
  if (text != NULL && fread(text, 1, (size_t)size, file) != (size_t)size)
    text[0] = '\0';
  fclose(file);
  return text;
}

static tt_error *plan_of(const char *text, tt_cpu_plan **out_plan) {
  tt_hlo_module *module = NULL;
  *out_plan = NULL;
  TT_RETURN_IF_ERROR(tt_hlo_parse(text, strlen(text), &module));
  tt_error *err = tt_hlo_module_verify(module);
  if (err == NULL)
    return tt_cpu_plan_new_take(module, out_plan);
  tt_hlo_module_free(module);
  return err;
}

/* `size` bytes at a multiple of 64, with a guard right behind them under the sanitizer. */
static void *memory_new(int64_t size) {
  void *memory = NULL;
  if (posix_memalign(&memory, 64, size == 0 ? 1 : (size_t)size) != 0)
    exit(2);
  memset(memory, 0x5a, (size_t)size);
  return memory;
}

static void fill(const tt_cpu_slot *slot, void *to, uint64_t *state) {
  int64_t count = tt_cpu_count(&slot->type);
  tt_dtype dtype = slot->type.dtype;
  for (int64_t i = 0; i < count; i++) {
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    int64_t x = (int64_t)(*state >> 60) - 8;
    if (dtype == TT_PRED)
      tt_cpu_store_int(dtype, to, i, x & 1);
    else if (tt_dtype_is_integer(dtype))
      tt_cpu_store_int(dtype, to, i, x);
    else
      tt_cpu_store(dtype, to, i, (double)x, 0);
  }
}

static void copy_slots(void **to, void *const *from, const tt_cpu_slot *slots, size_t count) {
  for (size_t i = 0; i < count; i++)
    memcpy(to[i], from[i], (size_t)slots[i].size);
}

static void new_slots(void **to, const tt_cpu_slot *slots, size_t count) {
  for (size_t i = 0; i < count; i++)
    to[i] = memory_new(slots[i].size);
}

static void free_slots(void **to, size_t count) {
  for (size_t i = 0; i < count; i++)
    free(to[i]);
}

/* FNV-1a of the outputs. */
static uint64_t digest_of(void *const *outputs, const tt_cpu_slot *slots, size_t count) {
  uint64_t digest = 14695981039346656037U;
  for (size_t i = 0; i < count; i++) {
    const unsigned char *bytes = outputs[i];
    for (int64_t k = 0; k < slots[i].size; k++)
      digest = (digest ^ bytes[k]) * 1099511628211U;
  }
  return digest;
}

/* The second run has the outputs in the memory of the parameters that they may have. */
static tt_error *run_twice(const tt_cpu_plan *plan, bool *out_same, uint64_t *out_digest) {
  static void *kept[SLOTS_MOST], *inputs[SLOTS_MOST], *first[SLOTS_MOST], *second[SLOTS_MOST];
  void *outputs[SLOTS_MOST];
  size_t ins = 0, outs = 0;
  uint64_t state = 7;
  const tt_cpu_slot *params = tt_cpu_plan_params(plan, &ins);
  const tt_cpu_slot *results = tt_cpu_plan_results(plan, &outs);
  if (ins > SLOTS_MOST || outs > SLOTS_MOST)
    return tt_error_new(TT_UNIMPLEMENTED, "more than %d parameters or results", SLOTS_MOST);
  new_slots(kept, params, ins);
  new_slots(inputs, params, ins);
  new_slots(first, results, outs);
  new_slots(second, results, outs);
  for (size_t i = 0; i < ins; i++)
    fill(&params[i], kept[i], &state);
  copy_slots(inputs, kept, params, ins);
  tt_cpu_call call = {.inputs = (const void *const *)inputs, .outputs = first};
  tt_error *err = tt_cpu_plan_run(plan, &call);
  *out_same = true;
  for (size_t i = 0; i < ins; i++)
    *out_same = *out_same && memcmp(inputs[i], kept[i], (size_t)params[i].size) == 0;
  for (size_t i = 0; i < outs; i++)
    outputs[i] = results[i].alias >= 0 ? inputs[results[i].alias] : second[i];
  call.outputs = outputs;
  err = err == NULL ? tt_cpu_plan_run(plan, &call) : err;
  for (size_t i = 0; err == NULL && i < outs; i++)
    *out_same = *out_same && memcmp(first[i], outputs[i], (size_t)results[i].size) == 0;
  *out_digest = digest_of(first, results, outs);
  free_slots(kept, ins);
  free_slots(inputs, ins);
  free_slots(first, outs);
  free_slots(second, outs);
  return err;
}

/* `*out_digest` stays as it is where the program is refused. */
static bool run_file(const char *path, bool *out_refused, uint64_t *out_digest) {
  tt_cpu_plan *plan = NULL;
  bool same = true;
  char *text = read_file(path);
  if (getenv("TT_VERBOSE") != NULL)
    fprintf(stderr, "%s\n", path);
  tt_error *err = text == NULL ? tt_error_new(TT_NOT_FOUND, "cannot be read") : NULL;
  if (err == NULL)
    err = plan_of(text, &plan);
  if (err == NULL)
    err = run_twice(plan, &same, out_digest);
  if (err != NULL)
    printf("%s: %s\n", path, tt_error_message(err));
  else if (!same)
    printf("%s: two runs gave different results, or changed what they only may read\n", path);
  *out_refused = err != NULL;
  tt_error_free(err);
  tt_cpu_plan_free(plan);
  free(text);
  return same;
}

static bool is_like_apart(const char *path, uint64_t digest) {
  static char apart[4096];
  bool refused = false;
  uint64_t other = digest;
  snprintf(apart, sizeof apart, "%s.apart", path);
  if (access(apart, R_OK) != 0)
    return true;
  bool same = run_file(apart, &refused, &other);
  if (digest != other)
    printf("%s: its ops apart give other results\n", path);
  return same && digest == other;
}

int main(int argc, char **argv) {
  int refused = 0, bad = 0;
  for (int i = 1; i < argc; i++) {
    bool is_refused = false;
    uint64_t digest = 0;
    bool good = run_file(argv[i], &is_refused, &digest);
    good = good && (is_refused || is_like_apart(argv[i], digest));
    refused += is_refused;
    bad += !good;
  }
  printf("%d programs, %d refused, %d bad\n", argc - 1, refused, bad);
  return bad > 0;
}
