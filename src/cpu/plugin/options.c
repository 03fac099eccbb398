/* options.c: CompileOptionsProto and DeviceAssignmentProto by hand (xla/pjrt/proto/
 * compile_options.proto, xla/xla_data.proto), only the fields that mean something here. */
#include <stdlib.h>

#include "cpu/plugin/internal.h"

enum { DEVICES_MAX = 1 << 16 };
enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* ---- reading protos ---- */

typedef struct reader {
  const unsigned char *start, *at, *end;
} reader;

typedef struct field {
  uint32_t number;
  enum wire wire;
  uint64_t value; /* of a varint */
  reader bytes;   /* of WIRE_BYTES */
} field;

static tt_error *malformed(const reader *r, const char *what) {
  return tt_error_new(TT_INVALID_ARGUMENT, "CompileOptionsProto: %s at byte %td", what,
                      r->at - r->start);
}

static tt_error *read_varint(reader *r, uint64_t *out_value) {
  *out_value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (r->at == r->end)
      return malformed(r, "a number is cut short");
    unsigned char byte = *r->at++;
    *out_value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128)
      return NULL;
  }
  return malformed(r, "a number has more than 64 bits");
}

static tt_error *skip(reader *r, uint64_t size) {
  if (size > (uint64_t)(r->end - r->at))
    return malformed(r, "a field is cut short");
  r->at += size;
  return NULL;
}

/* `*out_more` is false at the end. */
static tt_error *next_field(reader *r, field *out_field, bool *out_more) {
  uint64_t tag = 0, size = 0;
  *out_field = (field){0};
  *out_more = r->at < r->end;
  if (!*out_more)
    return NULL;
  TT_RETURN_IF_ERROR(read_varint(r, &tag));
  if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3)
    return malformed(r, "a field has no valid number");
  out_field->number = (uint32_t)(tag >> 3);
  out_field->wire = (enum wire)(tag & 7);
  switch (out_field->wire) {
    case WIRE_VARINT:
      return read_varint(r, &out_field->value);
    case WIRE_FIXED64:
      return skip(r, 8);
    case WIRE_FIXED32:
      return skip(r, 4);
    case WIRE_BYTES:
      TT_RETURN_IF_ERROR(read_varint(r, &size));
      out_field->bytes =
          (reader){r->start, r->at, r->at + (size <= (uint64_t)(r->end - r->at) ? size : 0)};
      return skip(r, size);
  }
  return malformed(r, "a field has an unknown wire type");
}

/* ---- DeviceAssignmentProto ---- */

static tt_error *add_id(tt_bytes *ids, uint64_t id, const reader *r) {
  int64_t value = (int64_t)id;
  if (ids->size / sizeof value >= DEVICES_MAX)
    return malformed(r, "the device assignment is too long");
  tt_bytes_append(ids, &value, sizeof value);
  return tt_bytes_status(ids);
}

/* ComputationDevice: replica_device_ids, packed or one by one. */
static tt_error *read_computation(reader r, tt_bytes *ids) {
  field f;
  bool more = false;
  for (;;) {
    TT_RETURN_IF_ERROR(next_field(&r, &f, &more));
    if (!more)
      return NULL;
    if (f.number != 1)
      continue;
    if (f.wire == WIRE_VARINT)
      TT_RETURN_IF_ERROR(add_id(ids, f.value, &r));
    while (f.wire == WIRE_BYTES && f.bytes.at < f.bytes.end) {
      uint64_t id = 0;
      TT_RETURN_IF_ERROR(read_varint(&f.bytes, &id));
      TT_RETURN_IF_ERROR(add_id(ids, id, &r));
    }
  }
}

typedef struct assignment {
  uint64_t replicas, computations;
  uint64_t lists; /* computation devices that came */
  tt_bytes ids;   /* int64s, one computation after the other */
} assignment;

static tt_error *read_assignment(reader r, assignment *a) {
  field f;
  bool more = false;
  for (;;) {
    TT_RETURN_IF_ERROR(next_field(&r, &f, &more));
    if (!more)
      break;
    if (f.number == 1 && f.wire == WIRE_VARINT)
      a->replicas = f.value;
    if (f.number == 2 && f.wire == WIRE_VARINT)
      a->computations = f.value;
    if (f.number == 3 && f.wire == WIRE_BYTES) {
      a->lists++;
      TT_RETURN_IF_ERROR(read_computation(f.bytes, &a->ids));
    }
  }
  size_t count = a->ids.size / sizeof(int64_t);
  if (a->replicas > DEVICES_MAX || a->computations > DEVICES_MAX || a->lists != a->computations ||
      a->replicas * a->computations != count)
    return malformed(&r, "the device assignment has not as many devices as it says");
  return NULL;
}

/* Replica-major, as the rest of the plugin wants them. */
static tt_error *take_assignment(const assignment *a, tt_cpu_options *options) {
  const int64_t *from = (const int64_t *)(const void *)a->ids.data;
  size_t count = a->ids.size / sizeof *from;
  if (count == 0)
    return NULL;
  options->device_ids = malloc(count * sizeof *from);
  if (options->device_ids == NULL)
    return tt_error_no_memory(count * sizeof *from);
  options->device_ids_count = count;
  for (size_t c = 0; c < a->computations; c++)
    for (size_t r = 0; r < a->replicas; r++)
      options->device_ids[r * a->computations + c] = from[c * a->replicas + r];
  return NULL;
}

/* ---- CompileOptionsProto ---- */

/* Packed, or one by one: then the last stands for all, as one that comes alone does. */
static tt_error *read_bools(const field *f, tt_cpu_options *options) {
  size_t count = f->wire == WIRE_BYTES ? (size_t)(f->bytes.end - f->bytes.at) : 1;
  bool *items = calloc(count + 1, sizeof *items);
  if (items == NULL)
    return tt_error_no_memory(count);
  for (size_t i = 0; i < count; i++)
    items[i] = f->wire == WIRE_BYTES ? f->bytes.at[i] != 0 : f->value != 0;
  free(options->may_divide);
  options->may_divide = items;
  options->may_divide_count = count;
  return NULL;
}

/* ExecutableBuildOptionsProto */
static tt_error *read_build(reader r, tt_cpu_options *options, assignment *a) {
  field f;
  bool more = false;
  for (;;) {
    TT_RETURN_IF_ERROR(next_field(&r, &f, &more));
    if (!more)
      return NULL;
    if (f.wire == WIRE_VARINT && f.number == 1)
      options->device_ordinal = (int64_t)f.value;
    else if (f.wire == WIRE_VARINT && f.number == 4)
      options->replicas = (int64_t)f.value;
    else if (f.wire == WIRE_VARINT && f.number == 5)
      options->partitions = (int64_t)f.value;
    else if (f.number == 12)
      TT_RETURN_IF_ERROR(read_bools(&f, options));
    else if (f.wire == WIRE_BYTES && f.number == 9) {
      tt_bytes_free(&a->ids);
      *a = (assignment){0};
      TT_RETURN_IF_ERROR(read_assignment(f.bytes, a));
    }
  }
}

static tt_error *check(const tt_cpu_options *o) {
  if (o->replicas < 1 || o->partitions < 1 || o->replicas > DEVICES_MAX ||
      o->partitions > DEVICES_MAX || o->replicas * o->partitions > DEVICES_MAX)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "CompileOptionsProto: %lld replicas and %lld partitions",
                        (long long)o->replicas, (long long)o->partitions);
  if (o->device_ids != NULL && (int64_t)o->device_ids_count != o->replicas * o->partitions)
    return tt_error_new(TT_INVALID_ARGUMENT,
                        "CompileOptionsProto: %zu devices for %lld replicas and %lld partitions",
                        o->device_ids_count, (long long)o->replicas, (long long)o->partitions);
  return NULL;
}

tt_error *tt_cpu_options_read(const char *data, size_t size, tt_cpu_options *out_options) {
  tt_error *err = NULL;
  assignment a = {0};
  field f;
  bool more = false;
  const unsigned char *bytes = (const unsigned char *)(data == NULL ? "" : data);
  reader r = {bytes, bytes, bytes + (data == NULL ? 0 : size)};
  *out_options = (tt_cpu_options){.replicas = 1, .partitions = 1, .device_ordinal = -1};
  for (;;) {
    TT_TRY(next_field(&r, &f, &more));
    if (!more)
      break;
    if (f.number == 3 && f.wire == WIRE_BYTES)
      TT_TRY(read_build(f.bytes, out_options, &a));
    else if (f.number == 4 && f.wire == WIRE_VARINT)
      out_options->portable = f.value != 0;
  }
  /* Proto's default is 0 for what was not said. */
  out_options->replicas += out_options->replicas == 0;
  out_options->partitions += out_options->partitions == 0;
  TT_TRY(take_assignment(&a, out_options));
  TT_TRY(check(out_options));
out:
  tt_bytes_free(&a.ids);
  if (err != NULL)
    tt_cpu_options_free(out_options);
  return err;
}

void tt_cpu_options_free(tt_cpu_options *options) {
  free(options->device_ids);
  options->device_ids = NULL;
  options->device_ids_count = 0;
  free(options->may_divide);
  options->may_divide = NULL;
  options->may_divide_count = 0;
}

/* ---- writing ---- */

static void put_varint(tt_bytes *out, uint64_t value) {
  for (; value > 127; value >>= 7)
    tt_bytes_char(out, (char)((value & 127) | 128));
  tt_bytes_char(out, (char)value);
}

static void put_message_take(tt_bytes *out, uint32_t number, tt_bytes *message) {
  put_varint(out, (uint64_t)number << 3 | WIRE_BYTES);
  put_varint(out, message->size);
  tt_bytes_append(out, message->data, message->size);
  out->failed = out->failed || message->failed;
  tt_bytes_free(message);
}

tt_error *tt_cpu_assignment_write(const int64_t *ids, size_t replicas, size_t partitions,
                                  tt_bytes *out_bytes) {
  put_varint(out_bytes, 1 << 3 | WIRE_VARINT);
  put_varint(out_bytes, replicas);
  put_varint(out_bytes, 2 << 3 | WIRE_VARINT);
  put_varint(out_bytes, partitions);
  for (size_t p = 0; p < partitions; p++) {
    tt_bytes devices = {0}, packed = {0};
    for (size_t r = 0; r < replicas; r++)
      put_varint(&packed, (uint64_t)ids[r * partitions + p]);
    put_message_take(&devices, 1, &packed);
    put_message_take(out_bytes, 3, &devices);
  }
  return tt_bytes_status(out_bytes);
}
