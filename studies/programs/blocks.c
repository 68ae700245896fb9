/* A ring of records kept in a growing buffer: memcpy, memmove, memset, realloc, copies of structs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record {
    int key;
    char name[20];
    double weight[4];
};

static struct record *records;
static int used, room;

static void append(struct record r) {
    if (used == room) {
        room = room ? 2 * room : 4;
        records = realloc(records, (size_t)room * sizeof *records);
    }
    memcpy(&records[used++], &r, sizeof r);
}

static void insert_first(const struct record *r) {
    append(*r);
    memmove(records + 1, records, (size_t)(used - 1) * sizeof *records);
    records[0] = *r;
}

static struct record make(int key) {
    struct record r;
    memset(&r, 0, sizeof r);
    r.key = key;
    for (int i = 0; i < 4; i++)
        r.weight[i] = key * 0.25 + i;
    for (int i = 0; i < 6; i++)
        r.name[i] = (char)('a' + (key * (i + 3)) % 26);
    return r;
}

static double total(const struct record *from, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 4; j++)
            sum += from[i].weight[j];
    return sum;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 12;
    for (int i = 0; i < n; i++) {
        struct record r = make(i);
        if (i % 3)
            append(r);
        else
            insert_first(&r);
    }
    struct record copy[4];
    memcpy(copy, records, sizeof copy);
    int same = memcmp(copy, records, sizeof copy) == 0;
    printf("%d records, %.2f, first %s, same %d\n", used, total(records, used), copy[0].name, same);
    free(records);
    return 0;
}
