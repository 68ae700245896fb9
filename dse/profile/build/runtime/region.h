/* The region of interest: counting begins and ends at calls of named functions.
 *
 * DSE_REGION_START: counting begins when this function is called for the DSE_REGION_FIRST-th time, and
 * ends when that invocation returns (again for each call up to the DSE_REGION_LAST-th), or, where
 * DSE_REGION_STOP is given, when that function is called next. */
#ifndef DSE_REGION_H
#define DSE_REGION_H
#include "cache.h"
#include "tree.h"

#ifdef DSE_REGION
static u64 *region_total, *region_base, region_calls;
static u32 region_depth;

static void region_begin(void) {
    active = 1;
    memcpy(region_base, __dse_counts, 8 * (u64)__dse_counter_count);
}
static void region_end(void) {
    active = 0;
    for (u32 i = 0; i < __dse_counter_count; i++)
        region_total[i] += __dse_counts[i] - region_base[i];
}
static void region_enter(u32 function) {
    if (active && DSE_REGION_STOP >= 0 && function == (u32)DSE_REGION_STOP) {
        region_end();
        return;
    }
    if (function != DSE_REGION_START || active)
        return;
    region_calls++;
    if (region_calls < DSE_REGION_FIRST || region_calls > DSE_REGION_LAST)
        return;
    region_depth = depth;
    region_begin();
}
static void region_leave(void) {
    if (active && DSE_REGION_STOP < 0 && depth == region_depth)
        region_end();
}
static void region_start(void) {
    active = 0;
    region_total = reserve(8 * (u64)__dse_counter_count);
    region_base = reserve(8 * (u64)__dse_counter_count);
}
static u64 *region_counts(void) {
    if (active)
        region_end();
    return region_total;
}
#else
static void region_enter(u32 function) {}
static void region_leave(void) {}
static void region_start(void) {}
static u64 *region_counts(void) { return __dse_counts; }
#endif
#endif
