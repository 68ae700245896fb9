/* Names and their slots: open addressing, doubled when two thirds are in use. */
#include <stdlib.h>
#include <string.h>

#include "script.h"

uint32_t hash_bytes(const char *bytes, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) {
        hash ^= (unsigned char)bytes[i];
        hash *= 16777619u;
    }
    return hash;
}

static struct entry *probe(struct entry *entries, size_t room, const char *name, uint32_t hash) {
    size_t at = hash & (room - 1);
    for (;;) {
        struct entry *entry = &entries[at];
        if (!entry->name)
            return entry;
        if (entry->hash == hash && strcmp(entry->name, name) == 0)
            return entry;
        at = (at + 1) & (room - 1);
    }
}

static void grow(struct table *table) {
    size_t room = table->room ? 2 * table->room : 16;
    struct entry *entries = calloc(room, sizeof *entries);
    if (!entries)
        fail(0, "out of memory", "");
    for (size_t i = 0; i < table->room; i++)
        if (table->entries[i].name)
            *probe(entries, room, table->entries[i].name, table->entries[i].hash) = table->entries[i];
    free(table->entries);
    table->entries = entries;
    table->room = room;
}

int find_name(const struct table *table, const char *name) {
    if (!table->room)
        return -1;
    const struct entry *entry =
        probe(table->entries, table->room, name, hash_bytes(name, strlen(name)));
    return entry->name ? entry->slot : -1;
}

int add_name(struct table *table, const char *name) {
    if (3 * (table->used + 1) > 2 * table->room)
        grow(table);
    uint32_t hash = hash_bytes(name, strlen(name));
    struct entry *entry = probe(table->entries, table->room, name, hash);
    if (!entry->name) {
        entry->name = strdup(name);
        entry->hash = hash;
        entry->slot = (int)table->used++;
    }
    return entry->slot;
}

void drop_table(struct table *table) {
    for (size_t i = 0; i < table->room; i++)
        free(table->entries[i].name);
    free(table->entries);
    table->entries = NULL;
    table->used = table->room = 0;
}
