/* CompileOptionsProto by hand: xla/pjrt/proto/compile_options.proto, only the fields that we set.
 */
#include <string.h>

#include "pjrt/internal.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static void put_varint(tt_bytes *out, uint64_t value) {
  for (; value > 127; value >>= 7)
    tt_bytes_char(out, (char)((value & 127) | 128));
  tt_bytes_char(out, (char)value);
}

static void put_int(tt_bytes *out, uint64_t field, int64_t value) {
  put_varint(out, field << 3 | WIRE_VARINT);
  put_varint(out, (uint64_t)value);
}

static void put_double(tt_bytes *out, uint64_t field, double value) {
  put_varint(out, field << 3 | WIRE_FIXED64);
  tt_bytes_append(out, &value, sizeof value); /* little-endian, as all hosts of ours are */
}

static void put_bytes(tt_bytes *out, uint64_t field, const void *data, size_t size) {
  put_varint(out, field << 3 | WIRE_BYTES);
  put_varint(out, size);
  tt_bytes_append(out, data, size);
}

static void put_message_take(tt_bytes *out, uint64_t field, tt_bytes *message) {
  put_bytes(out, field, message->data, message->size);
  out->failed = out->failed || message->failed;
  tt_bytes_free(message);
}

/* DeviceAssignmentProto: for each partition the devices of its replicas. */
static void put_assignment(tt_bytes *out, uint64_t field, int replicas, int partitions,
                           const int *ids) {
  tt_bytes assignment = {0};
  put_int(&assignment, 1, replicas);
  put_int(&assignment, 2, partitions);
  for (int p = 0; p < partitions; p++) {
    tt_bytes devices = {0}, packed = {0};
    for (int r = 0; r < replicas; r++)
      put_varint(&packed, (uint64_t)(int64_t)ids[r * partitions + p]);
    put_message_take(&devices, 1, &packed);
    put_message_take(&assignment, 3, &devices);
  }
  put_message_take(out, field, &assignment);
}

/* ExecutableBuildOptionsProto */
static void put_build(tt_bytes *out, uint64_t field, const tt_pj_compile_options *options) {
  int replicas = options->replicas == 0 ? 1 : options->replicas;
  int partitions = options->partitions == 0 ? 1 : options->partitions;
  tt_bytes build = {0};
  put_int(&build, 1, -1); /* device_ordinal: none */
  put_int(&build, 4, replicas);
  put_int(&build, 5, partitions);
  if (partitions > 1)
    put_int(&build, 6, 1); /* use_spmd_partitioning */
  if (options->device_ids != NULL && !options->portable)
    put_assignment(&build, 9, replicas, partitions, options->device_ids);
  put_int(&build, 19, !options->gspmd); /* use_shardy_partitioner */
  put_message_take(out, field, &build);
}

/* CompileOptionsProto.env_option_overrides: map<string, OptionOverrideProto> */
tt_error *tt_pj_override_encode(const tt_pj_value *override, tt_bytes *out_bytes) {
  tt_bytes entry = {0}, value = {0};
  switch (override->type) {
    case TT_PJ_STRING:
      put_bytes(&value, 1, override->string.data, override->string.size);
      break;
    case TT_PJ_BOOL:
      put_int(&value, 2, override->boolean);
      break;
    case TT_PJ_INT64:
      put_int(&value, 3, override->int64);
      break;
    case TT_PJ_FLOAT:
      put_double(&value, 4, (double) override->f32);
      break;
    case TT_PJ_INT64_LIST:
    case TT_PJ_VALUE_TYPE_COUNT:
      return tt_error_new(TT_INVALID_ARGUMENT,
                          "compile option %.*s: expected string, int64, float or bool",
                          (int) override->name.size, override->name.data);
  }
  put_bytes(&entry, 1, override->name.data, override->name.size);
  put_message_take(&entry, 2, &value);
  put_message_take(out_bytes, 7, &entry);
  return NULL;
}

tt_error *tt_pj_compile_options_encode(const tt_pj_compile_options *options, tt_bytes *out_bytes) {
  put_build(out_bytes, 3, options);
  if (options->portable)
    put_int(out_bytes, 4, 1);
  for (size_t i = 0; i < options->overrides_count; i++)
    TT_RETURN_IF_ERROR(tt_pj_override_encode(&options->overrides[i], out_bytes));
  return tt_bytes_status(out_bytes);
}
