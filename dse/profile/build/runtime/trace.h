/* The full trace of events, for the tests alone: every access with the cache levels found. */
#ifndef DSE_TRACE_H
#define DSE_TRACE_H
#include "base.h"

#ifdef DSE_TRACE
struct event {
    u8 kind, pad;
    u16 levels; /* two bits a cache configuration */
    u32 id, block, size;
    u64 address;
};
enum { TRACE_ROOM = 1 << 12 };
static struct event *const trace_buffer = (struct event *)PLACE(PLACE_TRACE);
static u32 trace_used;
static int trace_file = -1;

static void write_all(int file, const void *data, size_t bytes);

static void trace_flush(void) {
    write_all(trace_file, trace_buffer, trace_used * sizeof *trace_buffer);
    trace_used = 0;
}
static void trace(u8 kind, u32 id, u32 block, u64 address, u64 size, u16 levels) {
    if (trace_used == TRACE_ROOM)
        trace_flush();
    trace_buffer[trace_used++] =
        (struct event){kind, 0, levels, id, block, (u32)size, address};
}
HIDDEN void __dse_trace_block(u32 block) { trace('B', block, block, 0, 0, 0); }
#else
#define trace(kind, id, block, address, size, levels) ((void)0)
#endif
#endif
