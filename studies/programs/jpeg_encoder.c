/* Write a test picture as a baseline JPEG stream: what jpeg.c reads.
 *
 *     jpeg_encoder WIDTH HEIGHT [STEP]       colours at half resolution each way; a larger STEP is coarser
 *
 * Each table of codes is made for the picture (ITU-T T.81, F.1.2 for the symbols, annex C for the codes). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "jpeg_picture.h"

enum { SYMBOLS = 257, LONGEST = 16, RESERVED = 256 };

struct code {
    long uses[SYMBOLS]; /* the last stands for the code of ones alone, which is reserved */
    int length[SYMBOLS];
    unsigned bits[SYMBOLS];
};

static const int zigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                               12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                               35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                               58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
static int width, height, columns, rows; /* the last two in units of 16 x 16 pixels */
static int step[2][64];                  /* quantisation of brightness and of colour */
static struct code dc[2], ac[2];
static int (*blocks)[64]; /* quantised, six a unit: four of brightness, blue, red */
static unsigned pending;
static int pending_bits;

static double cosine(int k, int n) {
    return cos((2 * n + 1) * k * 3.14159265358979323846 / 16) * (k ? 0.5 : sqrt(0.125));
}

static double sample(int x, int y, int part) {
    x = x < width ? x : width - 1;
    y = y < height ? y : height - 1;
    double r = picture(x, y, 0), g = picture(x, y, 1), b = picture(x, y, 2);
    if (part == 0)
        return 0.299 * r + 0.587 * g + 0.114 * b - 128;
    return part == 1 ? -0.168736 * r - 0.331264 * g + 0.5 * b : 0.5 * r - 0.418688 * g - 0.081312 * b;
}

static void transform(double in[64], const int *quantiser, int *out) {
    double half[64];
    for (int y = 0; y < 8; y++)
        for (int k = 0; k < 8; k++) {
            half[8 * y + k] = 0;
            for (int n = 0; n < 8; n++)
                half[8 * y + k] += in[8 * y + n] * cosine(k, n);
        }
    for (int x = 0; x < 8; x++)
        for (int k = 0; k < 8; k++) {
            double sum = 0;
            for (int n = 0; n < 8; n++)
                sum += half[8 * n + x] * cosine(k, n);
            out[8 * k + x] = (int)lround(sum / quantiser[8 * k + x]);
        }
}

static void make_blocks(void) {
    blocks = malloc(sizeof *blocks * 6 * (size_t)(columns * rows));
    double in[64];
    for (int unit = 0; unit < columns * rows; unit++)
        for (int b = 0; b < 6; b++) {
            int left = unit % columns * 16, top = unit / columns * 16;
            for (int i = 0; i < 64; i++) {
                int x = i % 8, y = i / 8;
                if (b < 4) {
                    in[i] = sample(left + b % 2 * 8 + x, top + b / 2 * 8 + y, 0);
                } else {
                    in[i] = 0;
                    for (int k = 0; k < 4; k++)
                        in[i] += sample(left + 2 * x + k % 2, top + 2 * y + k / 2, b - 3) / 4;
                }
            }
            transform(in, step[b >= 4], blocks[6 * unit + b]);
        }
}

static void put_byte(unsigned byte) {
    putchar((int)(byte & 255));
}

static void put_two(unsigned word) {
    put_byte(word >> 8);
    put_byte(word);
}

static void put_bits(unsigned bits, int count) {
    for (int i = count - 1; i >= 0; i--) {
        pending = pending << 1 | (bits >> i & 1);
        if (++pending_bits == 8) {
            put_byte(pending);
            if ((pending & 255) == 255)
                put_byte(0);
            pending_bits = 0;
        }
    }
}

/* Count a symbol, or write it: all blocks pass twice. */
static void symbol(struct code *code, int s, int writing) {
    if (writing)
        put_bits(code->bits[s], code->length[s]);
    else
        code->uses[s]++;
}

static int size_of(int value) {
    int size = 0;
    for (value = abs(value); value; value >>= 1)
        size++;
    return size;
}

static void number(int value, int size, int writing) {
    if (writing)
        put_bits((unsigned)(value < 0 ? value + (1 << size) - 1 : value), size);
}

static void block(const int *values, int difference, int colour, int writing) {
    int size = size_of(difference), zeros = 0;
    symbol(&dc[colour], size, writing);
    number(difference, size, writing);
    for (int i = 1; i < 64; i++) {
        int value = values[zigzag[i]];
        if (!value) {
            zeros++;
            continue;
        }
        for (; zeros > 15; zeros -= 16)
            symbol(&ac[colour], 0xf0, writing);
        size = size_of(value);
        symbol(&ac[colour], zeros << 4 | size, writing);
        number(value, size, writing);
        zeros = 0;
    }
    if (zeros)
        symbol(&ac[colour], 0, writing);
}

static void scan(int writing) {
    int last[3] = {0, 0, 0};
    for (int i = 0; i < 6 * columns * rows; i++) {
        int part = i % 6 < 4 ? 0 : i % 6 - 3;
        block(blocks[i], blocks[i][0] - last[part], part > 0, writing);
        last[part] = blocks[i][0];
    }
}

/* Join the two rarest sets of symbols until one is left: the lengths of Huffman's code. */
static int find_lengths(struct code *code) {
    long uses[SYMBOLS];
    int set[SYMBOLS], longest = 0;
    for (int s = 0; s < SYMBOLS; s++) {
        uses[s] = code->uses[s];
        set[s] = s;
        code->length[s] = 0;
    }
    for (;;) {
        int first = -1, second = -1;
        for (int s = 0; s < SYMBOLS; s++) {
            if (!uses[s])
                continue;
            if (first < 0 || uses[s] < uses[first]) {
                second = first;
                first = s;
            } else if (second < 0 || uses[s] < uses[second]) {
                second = s;
            }
        }
        if (second < 0)
            return longest;
        uses[second] += uses[first];
        uses[first] = 0;
        for (int s = 0; s < SYMBOLS; s++)
            if (set[s] == first || set[s] == second) {
                set[s] = second;
                longest = ++code->length[s] > longest ? code->length[s] : longest;
            }
    }
}

static void make_code(struct code *code) {
    code->uses[RESERVED] = 1;
    while (find_lengths(code) > LONGEST)
        for (int s = 0; s < RESERVED; s++)
            code->uses[s] = (code->uses[s] + 1) / 2; /* a flatter count gives a shorter code */
    int deepest = 0;
    for (int s = 0; s < SYMBOLS; s++)
        deepest = code->length[s] > deepest ? code->length[s] : deepest;
    code->length[RESERVED] = 0;
    unsigned next = 0;
    for (int length = 1; length <= deepest; length++, next <<= 1)
        for (int s = 0; s < RESERVED; s++)
            if (code->length[s] == length)
                code->bits[s] = next++;
}

static void put_code(const struct code *code, unsigned number) {
    int symbols = 0;
    for (int s = 0; s < RESERVED; s++)
        symbols += code->length[s] > 0;
    put_two(0xffc4);
    put_two(19 + (unsigned)symbols);
    put_byte(number);
    for (int length = 1; length <= LONGEST; length++) {
        unsigned count = 0;
        for (int s = 0; s < RESERVED; s++)
            count += code->length[s] == length;
        put_byte(count);
    }
    for (int length = 1; length <= LONGEST; length++)
        for (int s = 0; s < RESERVED; s++)
            if (code->length[s] == length)
                put_byte((unsigned)s);
}

static void put_headers(void) {
    put_two(0xffd8);
    for (unsigned q = 0; q < 2; q++) {
        put_two(0xffdb);
        put_two(67);
        put_byte(q);
        for (int i = 0; i < 64; i++)
            put_byte((unsigned)step[q][zigzag[i]]);
    }
    put_two(0xffc0);
    put_two(17);
    put_byte(8);
    put_two((unsigned)height);
    put_two((unsigned)width);
    put_byte(3);
    for (unsigned part = 0; part < 3; part++) {
        put_byte(part + 1);
        put_byte(part ? 0x11 : 0x22);
        put_byte(part > 0);
    }
    for (unsigned colour = 0; colour < 2; colour++) {
        put_code(&dc[colour], colour);
        put_code(&ac[colour], 0x10 | colour);
    }
    put_two(0xffda);
    put_two(12);
    put_byte(3);
    for (unsigned part = 0; part < 3; part++) {
        put_byte(part + 1);
        put_byte(part ? 0x11 : 0);
    }
    put_byte(0);
    put_byte(63);
    put_byte(0);
}

int main(int argc, char **argv) {
    width = argc > 1 ? atoi(argv[1]) : 32;
    height = argc > 2 ? atoi(argv[2]) : 32;
    int coarse = argc > 3 ? atoi(argv[3]) : 2;
    columns = (width + 15) / 16;
    rows = (height + 15) / 16;
    for (int i = 0; i < 64; i++) {
        step[0][i] = 3 + coarse * (i % 8 + i / 8);
        step[1][i] = 4 + 2 * coarse * (i % 8 + i / 8);
    }
    make_blocks();
    scan(0);
    for (int colour = 0; colour < 2; colour++) {
        make_code(&dc[colour]);
        make_code(&ac[colour]);
    }
    put_headers();
    scan(1);
    if (pending_bits)
        put_bits(127, 8 - pending_bits);
    put_two(0xffd9);
    return 0;
}
