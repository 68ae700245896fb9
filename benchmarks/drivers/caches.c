/* Misses of first-level caches on a trace of events: caches LINE SETS WAYS [LINE SETS WAYS...].
 *
 * Least recently used, as a list of lines a set, the latest first; second levels are not looked at. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct event {
    uint8_t kind, pad;
    uint16_t levels;
    uint32_t id, block, size;
    uint64_t address;
};
struct cache {
    uint64_t line, sets, ways, misses, *lists;
};

static int missed(struct cache *c, uint64_t line) {
    uint64_t *list = c->lists + line % c->sets * c->ways, at = 0;
    while (at < c->ways - 1 && list[at] != line + 1)
        at++;
    int miss = list[at] != line + 1;
    memmove(list + 1, list, at * sizeof *list);
    list[0] = line + 1;
    return miss;
}

int main(int count, char **arguments) {
    struct cache caches[8];
    int n = (count - 1) / 3;
    for (int i = 0; i < n; i++) {
        struct cache *c = &caches[i];
        *c = (struct cache){strtoull(arguments[3 * i + 1], 0, 10), strtoull(arguments[3 * i + 2], 0, 10),
                            strtoull(arguments[3 * i + 3], 0, 10), 0, 0};
        c->lists = calloc(c->sets * c->ways, sizeof *c->lists);
    }
    struct event e, copied;
    while (fread(&e, sizeof e, 1, stdin) == 1) {
        if (!e.kind || !strchr("LSRWPpKk", e.kind))
            continue;
        if (e.kind == 'P') {
            copied = e;
            continue;
        }
        for (int i = 0; i < n; i++) {
            if (e.kind == 'p') { /* byte by byte */
                uint64_t line = caches[i].line, read = 0, written = 0; /* one more than the last line */
                for (uint64_t at = 0; at < e.size; at++) {
                    uint64_t from = (copied.address + at) / line, to = (e.address + at) / line;
                    caches[i].misses += from + 1 != read && missed(&caches[i], from);
                    caches[i].misses += to + 1 != written && missed(&caches[i], to);
                    read = from + 1;
                    written = to + 1;
                }
                continue;
            }
            uint64_t first = e.address / caches[i].line, any = 0;
            for (uint64_t l = first; l <= (e.address + e.size - 1) / caches[i].line; l++) {
                int miss = missed(&caches[i], l);
                any |= miss;
                if (e.kind == 'R' || e.kind == 'W') /* a run of bytes counts once a line */
                    caches[i].misses += miss;
            }
            if (e.kind == 'L' || e.kind == 'S')
                caches[i].misses += any;
        }
    }
    for (int i = 0; i < n; i++)
        printf("%llu\n", (unsigned long long)caches[i].misses);
    return 0;
}
