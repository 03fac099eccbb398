#include <stdio.h>
#include <string.h>

#include "lower/rules/rules.h"
#include "test.h"

typedef struct family {
  const char *name;
  const tt_low_rule *rules;
  const size_t *count;
} family;

static const family families[] = {
#define X(name) {#name, tt_low_rules_##name, &tt_low_rules_##name##_count},
#include "lower/families.def"
#undef X
};

/* The lookup is a binary search. */
TEST(low_rules, families_are_sorted) {
  for (size_t f = 0; f < TT_COUNT(families); f++) {
    EXPECT(*families[f].count > 0);
    for (size_t i = 1; i < *families[f].count; i++)
      if (!EXPECT(strcmp(families[f].rules[i - 1].overload, families[f].rules[i].overload) < 0))
        printf("  %s: %s does not come before %s\n", families[f].name,
               families[f].rules[i - 1].overload, families[f].rules[i].overload);
  }
}

TEST(low_rules, each_is_found_by_its_name) {
  size_t count = tt_low_rule_count();
  EXPECT(count >= 300);
  for (size_t i = 0; i < count; i++) {
    const tt_low_rule *rule = tt_low_rule_at(i);
    /* an overload of two families would give the other's rule */
    if (!EXPECT(tt_low_rule_find(rule->overload) == rule))
      printf("  %s\n", rule->overload);
  }
  EXPECT(tt_low_rule_at(count) == NULL);
  EXPECT(tt_low_rule_find("aten::no_such_op") == NULL);
  EXPECT(tt_low_rule_find("") == NULL);
  EXPECT(tt_low_rule_find("zzz") == NULL);
}

TEST(low_rules, rows_are_whole) {
  for (size_t i = 0; i < tt_low_rule_count(); i++) {
    const tt_low_rule *rule = tt_low_rule_at(i);
    bool foreach = (rule->traits & TT_LOW_FOREACH) != 0;
    const char *name = strstr(rule->overload, "::");
    EXPECT(rule->lower != NULL);
    EXPECT(name != NULL && name[2] != '\0');
    EXPECT(foreach || rule->base == NULL);
    if (rule->base != NULL && !EXPECT(tt_low_rule_find(rule->base) != NULL))
      printf("  %s applies %s\n", rule->overload, rule->base);
  }
}

/* In-place and out= forms are derived: they have no rows. */
TEST(low_rules, only_functional_overloads) {
  for (size_t i = 0; i < tt_low_rule_count(); i++) {
    const char *overload = tt_low_rule_at(i)->overload, *dot = strchr(overload, '.');
    size_t length = dot != NULL ? (size_t)(dot - overload) : strlen(overload);
    bool dunder = length > 2 && overload[length - 1] == '_' && overload[length - 2] == '_';
    if (!EXPECT(overload[length - 1] != '_' || dunder) ||
        !EXPECT(dot == NULL || strcmp(dot, ".out") != 0))
      printf("  %s\n", overload);
  }
}
