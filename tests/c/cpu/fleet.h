/* fleet.h: one program on several devices, each a thread, without the plugin. */
#ifndef TT_TEST_FLEET_H
#define TT_TEST_FLEET_H

#include "cpu/team.h"

enum { FLEET_MAX = 8, FLEET_FLOATS = 64 };

/* @main takes one tensor of floats or none, and returns one of f32. */
typedef struct fleet {
  const char *text;
  int64_t replicas, partitions;
  int64_t wait_ns;                    /* 0: long */
  float in[FLEET_MAX][FLEET_FLOATS];  /* of each device */
  float out[FLEET_MAX][FLEET_FLOATS]; /* out */
  tt_error *errors[FLEET_MAX];        /* out; the caller frees them */
  bool absent[FLEET_MAX];             /* does not run, and says nothing */
} fleet;

/* The error is one of making the plan. */
TT_NODISCARD tt_error *fleet_run(fleet *f);
void fleet_free(fleet *f);

#endif /* TT_TEST_FLEET_H */
