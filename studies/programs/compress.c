/* Compress a text in blocks of equal size: repeated strings as pairs of distance and length (Ziv and
 * Lempel, 1977), numbers in Elias' gamma code, a checksum for each block.
 *
 *     compress BLOCKS
 *
 * makes its own text, compresses it, expands it again to check it, and prints the sizes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char byte;
enum { BLOCK = 4096, HASHES = 1024, SHORTEST = 3, LONGEST = 64, TRIES = 8, ROOM = 3 * BLOCK };

struct writer {
    byte *to;
    unsigned held, bits, bytes;
};
struct reader {
    const byte *from;
    unsigned bit;
};

static unsigned sums[256];    /* of the checksum, by byte */
static short first[HASHES];   /* the last place of a hash in the block, or -1 */
static short before[BLOCK];   /* the place of the same hash before this one, or -1 */

/* ---------------------------------------------------------------------------- the test data */

static unsigned draw(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/* Words of a small vocabulary, the frequent ones most often. */
static void make_text(byte *text, unsigned size) {
    static const char *const words[] = {"the", "of", "stream", "engine", "schedule", "accelerator",
                                        "latency", "pipeline", "and", "a", "shares", "between"};
    unsigned state = 7, at = 0;
    while (at < size) {
        const char *word = words[draw(&state) % 12 * (draw(&state) % 12) / 12];
        while (*word && at < size)
            text[at++] = (byte)*word++;
        if (at < size)
            text[at++] = draw(&state) % 9 ? ' ' : '\n';
    }
}

/* --------------------------------------------------------------------------------- compression */

static void make_sums(void) {
    for (unsigned i = 0; i < 256; i++) {
        unsigned sum = i;
        for (int k = 0; k < 8; k++)
            sum = sum & 1 ? sum >> 1 ^ 0xedb88320u : sum >> 1;
        sums[i] = sum;
    }
}

static unsigned checksum(const byte *data, unsigned size) {
    unsigned sum = ~0u;
    for (unsigned i = 0; i < size; i++)
        sum = sum >> 8 ^ sums[(sum ^ data[i]) & 255];
    return ~sum;
}

static void put_bits(struct writer *w, unsigned value, unsigned count) {
    w->held |= value << w->bits;
    w->bits += count;
    while (w->bits >= 8) {
        w->to[w->bytes++] = (byte)w->held;
        w->held >>= 8;
        w->bits -= 8;
    }
}

/* A number of at least 1: as many zeros as it has further bits, then its bits, the highest first. */
static void put_number(struct writer *w, unsigned number) {
    unsigned length = 0;
    while (number >> (length + 1))
        length++;
    put_bits(w, 0, length);
    for (int k = (int)length; k >= 0; k--)
        put_bits(w, number >> k & 1, 1);
}

static unsigned hash_at(const byte *data) {
    return (data[0] * 2654435761u ^ data[1] * 40503u ^ data[2] * 97u) % HASHES;
}

static unsigned match_length(const byte *a, const byte *b, unsigned most) {
    unsigned length = 0;
    while (length < most && a[length] == b[length])
        length++;
    return length;
}

/* The longest string before a place that stands there again: its length, and how far back. */
static unsigned find_match(const byte *data, unsigned at, unsigned size, unsigned *distance) {
    unsigned best = 0, most = size - at < LONGEST ? size - at : LONGEST;
    int from = first[hash_at(data + at)];
    for (int tries = 0; from >= 0 && tries < TRIES; tries++, from = before[from]) {
        unsigned length = match_length(data + from, data + at, most);
        if (length > best) {
            best = length;
            *distance = at - (unsigned)from;
        }
    }
    return best;
}

static void remember(const byte *data, unsigned at) {
    short *place = &first[hash_at(data + at)];
    before[at] = *place;
    *place = (short)at;
}

static unsigned compress_block(const byte *data, unsigned size, byte *to) {
    struct writer w = {to, 0, 0, 0};
    memset(first, 255, sizeof first);
    put_bits(&w, checksum(data, size) & 0xffff, 16);
    for (unsigned at = 0; at < size;) {
        unsigned distance = 0, length = 0;
        if (at + SHORTEST <= size)
            length = find_match(data, at, size, &distance);
        if (length < SHORTEST) {
            put_bits(&w, 0, 1);
            put_bits(&w, data[at], 8);
            length = 1;
        } else {
            put_bits(&w, 1, 1);
            put_number(&w, distance);
            put_number(&w, length);
        }
        for (unsigned end = at + length; at < end; at++)
            if (at + SHORTEST <= size)
                remember(data, at);
    }
    put_bits(&w, 0, 7);
    return w.bytes;
}

/* Compress blocks one by one; where each begins stands before them all. */
static unsigned compress(const byte *text, unsigned blocks, unsigned *starts, byte *packed) {
    static byte room[ROOM];
    unsigned total = 0;
    for (unsigned i = 0; i < blocks; i++) {
        unsigned size = compress_block(text + i * BLOCK, BLOCK, room);
        starts[i] = total;
        memcpy(packed + total, room, size);
        total += size;
    }
    return total;
}

/* ------------------------------------------------------------------------------------ the check */

static unsigned get_bit(struct reader *r) {
    unsigned at = r->bit++;
    return r->from[at >> 3] >> (at & 7) & 1;
}

static unsigned get_number(struct reader *r) {
    unsigned length = 0, number = 1;
    while (!get_bit(r))
        length++;
    while (length--)
        number = number << 1 | get_bit(r);
    return number;
}

static int expands_to(const byte *packed, const byte *data, unsigned size) {
    static byte text[BLOCK];
    struct reader r = {packed, 16};
    for (unsigned at = 0; at < size;) {
        unsigned distance, length;
        if (get_bit(&r)) {
            distance = get_number(&r);
            for (length = get_number(&r); length--; at++)
                text[at] = text[at - distance];
        } else {
            for (text[at] = 0, length = 0; length < 8; length++)
                text[at] |= (byte)(get_bit(&r) << length);
            at++;
        }
    }
    return !memcmp(text, data, size) && (packed[0] | packed[1] << 8) == (checksum(text, size) & 0xffff);
}

int main(int count, char **arguments) {
    unsigned blocks = count > 1 ? (unsigned)atoi(arguments[1]) : 4, total, wrong = 0;
    byte *text = malloc(blocks * BLOCK), *packed = malloc(blocks * ROOM);
    unsigned *starts = malloc(blocks * sizeof *starts);
    make_text(text, blocks * BLOCK);
    make_sums();
    total = compress(text, blocks, starts, packed);
    for (unsigned i = 0; i < blocks; i++)
        wrong += !expands_to(packed + starts[i], text + i * BLOCK, BLOCK);
    printf("%u bytes in %u, %u blocks wrong\n", blocks * BLOCK, total, wrong);
    return wrong != 0;
}
