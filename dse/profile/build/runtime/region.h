/* The region of interest: counting begins and ends at calls of named functions.
 *
 * Counting begins when the function REGION_START is called for the REGION_FIRST-th time, and ends when that
 * invocation returns (again for each call up to the REGION_LAST-th), or, where REGION_STOP is not negative, when
 * the function REGION_STOP is called next. */
#ifndef DSE_REGION_H
#define DSE_REGION_H
#include "cache.h"
#include "tree.h"

#ifdef DSE_REGION
enum { REGION_START, REGION_STOP, REGION_FIRST, REGION_LAST };
static u64 *region_total, *region_base;
static int64_t region_calls;
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
    if (active && function == __dse_region[REGION_STOP]) {
        region_end();
        return;
    }
    if (function != __dse_region[REGION_START] || active)
        return;
    region_calls++;
    if (region_calls < __dse_region[REGION_FIRST] || region_calls > __dse_region[REGION_LAST])
        return;
    region_depth = depth;
    region_begin();
}
static void region_leave(void) {
    if (active && __dse_region[REGION_STOP] < 0 && depth == region_depth)
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
