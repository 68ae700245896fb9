/* A decoder of baseline JPEG (ITU-T T.81): a stream on the input, a PPM picture on the output.
 *
 *     jpeg < PICTURE.jpg > PICTURE.ppm
 *     jpeg check < STREAM        compare with the picture that jpeg_encoder.c writes
 *
 * Sequential, 8 bits, one or three components, colours at full or half resolution, no restart markers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "jpeg_picture.h"

struct huffman {
    int first[18], most[17], offset[17]; /* by length of the code; most is -1 where there is none */
    unsigned char symbols[256];
};

struct component {
    int id, across, down; /* samples of a unit, in blocks */
    int quantiser, dc, ac, previous;
    int width, height;
    unsigned char *samples;
};

static const unsigned char zigzag[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
static unsigned char *stream;
static size_t size, at;
static unsigned bits;
static int bits_left;
static int quantisers[4][64];
static struct huffman codes[2][4]; /* DC and AC */
static struct component components[3];
static int count, width, height, most_across, most_down;
static unsigned char *pixels;

static void stop(const char *why) {
    fprintf(stderr, "jpeg: %s\n", why);
    exit(1);
}

static void *room(size_t bytes) {
    void *p = malloc(bytes);
    if (!p)
        stop("no memory");
    return p;
}

static void read_stream(void) {
    size_t space = 1 << 16;
    stream = room(space);
    for (size_t got; (got = fread(stream + size, 1, space - size, stdin)) > 0;) {
        size += got;
        if (size == space && !(stream = realloc(stream, space *= 2)))
            stop("no memory");
    }
}

static int get_byte(void) {
    if (at >= size)
        stop("the stream ends early");
    return stream[at++];
}

static int get_two(void) {
    int high = get_byte();
    return high << 8 | get_byte();
}

static void read_quantisers(size_t end) {
    while (at < end) {
        int head = get_byte();
        for (int i = 0; i < 64; i++)
            quantisers[head & 3][zigzag[i]] = head >> 4 ? get_two() : get_byte();
    }
}

static void read_codes(size_t end) {
    while (at < end) {
        int head = get_byte(), code = 0, total = 0, lengths[17];
        struct huffman *h = &codes[head >> 4 & 1][head & 3];
        for (int length = 1; length <= 16; length++)
            lengths[length] = get_byte();
        for (int length = 1; length <= 16; length++, code <<= 1) {
            h->first[length] = code;
            h->offset[length] = total;
            code += lengths[length];
            total += lengths[length];
            h->most[length] = lengths[length] ? code - 1 : -1;
        }
        if (total > 256)
            stop("a table of codes is too long");
        for (int i = 0; i < total; i++)
            h->symbols[i] = (unsigned char)get_byte();
    }
}

static void read_frame(void) {
    if (get_byte() != 8)
        stop("only 8 bits a sample");
    height = get_two();
    width = get_two();
    count = get_byte();
    if (!width || !height || (count != 1 && count != 3))
        stop("no picture of one or three components");
    for (int i = 0; i < count; i++) {
        struct component *c = &components[i];
        c->id = get_byte();
        int sampling = get_byte();
        c->across = sampling >> 4;
        c->down = sampling & 15;
        c->quantiser = get_byte() & 3;
        if (c->across < 1 || c->across > 2 || c->down < 1 || c->down > 2)
            stop("only full or half resolution");
        most_across = c->across > most_across ? c->across : most_across;
        most_down = c->down > most_down ? c->down : most_down;
    }
}

static void read_scan(void) {
    if (!count || get_byte() != count)
        stop("only one scan of all components");
    for (int i = 0; i < count; i++) {
        if (get_byte() != components[i].id)
            stop("unknown component");
        int tables = get_byte();
        components[i].dc = tables >> 4 & 3;
        components[i].ac = tables & 3;
    }
}

/* Read up to the start of the coded data. */
static void read_headers(void) {
    if (get_two() != 0xffd8)
        stop("no JPEG stream");
    for (;;) {
        int marker = get_two();
        size_t end = at;
        end += (size_t)get_two();
        if (marker == 0xffdb)
            read_quantisers(end);
        else if (marker == 0xffc4)
            read_codes(end);
        else if (marker == 0xffc0)
            read_frame();
        else if (marker == 0xffda)
            read_scan();
        else if (marker == 0xffdd || (marker >> 4 == 0xffc && marker != 0xffcc))
            stop("only baseline streams without restarts");
        at = end;
        if (marker == 0xffda)
            return;
    }
}

static int get_bit(void) {
    if (!bits_left) {
        bits = (unsigned)get_byte();
        bits_left = 8;
        if (bits == 255 && get_byte() != 0)
            stop("a marker in the coded data");
    }
    return bits >> --bits_left & 1;
}

static int get_symbol(const struct huffman *h) {
    int code = 0;
    for (int length = 1; length <= 16; length++) {
        code = code << 1 | get_bit();
        if (code <= h->most[length])
            return h->symbols[h->offset[length] + code - h->first[length]];
    }
    stop("no such code");
    return 0;
}

/* A signed number of so many bits: a leading 0 means negative. */
static int get_number(int length) {
    int value = 0;
    for (int i = 0; i < length; i++)
        value = value << 1 | get_bit();
    return length && value < 1 << (length - 1) ? value - (1 << length) + 1 : value;
}

static void decode_block(struct component *c, int *values) {
    memset(values, 0, 64 * sizeof *values);
    c->previous += get_number(get_symbol(&codes[0][c->dc]) & 15);
    values[0] = c->previous;
    for (int i = 1; i < 64; i++) {
        int symbol = get_symbol(&codes[1][c->ac]), length = symbol & 15;
        i += symbol >> 4;
        if (symbol == 0)
            return;
        if (i > 63)
            stop("a block is too long");
        if (length)
            values[zigzag[i]] = get_number(length);
    }
}

static void dequantise(int *values, const int *quantiser) {
    for (int i = 0; i < 64; i++)
        values[i] *= quantiser[i];
}

/* One row or column of eight, `stride` apart; the constants are 2048 cos(k pi / 16) / 2. */
static void idct_1d(int *v, int stride, int shift) {
    enum { C1 = 1004, C2 = 946, C3 = 851, C4 = 724, C5 = 569, C6 = 392, C7 = 200 };
    int x0 = v[0], x1 = v[stride], x2 = v[2 * stride], x3 = v[3 * stride];
    int x4 = v[4 * stride], x5 = v[5 * stride], x6 = v[6 * stride], x7 = v[7 * stride];
    int half = 1 << (shift - 1);
    int sum = (x0 + x4) * C4 + half, difference = (x0 - x4) * C4 + half;
    int low = x2 * C2 + x6 * C6, high = x2 * C6 - x6 * C2;
    int even0 = sum + low, even1 = difference + high, even2 = difference - high, even3 = sum - low;
    int odd0 = x1 * C1 + x3 * C3 + x5 * C5 + x7 * C7;
    int odd1 = x1 * C3 - x3 * C7 - x5 * C1 - x7 * C5;
    int odd2 = x1 * C5 - x3 * C1 + x5 * C7 + x7 * C3;
    int odd3 = x1 * C7 - x3 * C5 + x5 * C3 - x7 * C1;
    v[0] = (even0 + odd0) >> shift;
    v[stride] = (even1 + odd1) >> shift;
    v[2 * stride] = (even2 + odd2) >> shift;
    v[3 * stride] = (even3 + odd3) >> shift;
    v[4 * stride] = (even3 - odd3) >> shift;
    v[5 * stride] = (even2 - odd2) >> shift;
    v[6 * stride] = (even1 - odd1) >> shift;
    v[7 * stride] = (even0 - odd0) >> shift;
}

static void idct(int *values) {
    for (int row = 0; row < 8; row++)
        idct_1d(values + 8 * row, 1, 8); /* keeps three bits of fraction */
    for (int column = 0; column < 8; column++)
        idct_1d(values + column, 8, 14);
}

/* A macro, since no function is inlined under the profiler. */
#define LIMITED(v) (unsigned char)((v) < 0 ? 0 : (v) > 255 ? 255 : (v))

static void store_block(const int *values, unsigned char *to, int stride) {
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
            to[y * stride + x] = LIMITED(values[8 * y + x] + 128);
}

static void decode_unit(int column, int row) {
    int values[64];
    for (int i = 0; i < count; i++) {
        struct component *c = &components[i];
        for (int b = 0; b < c->across * c->down; b++) {
            int x = (column * c->across + b % c->across) * 8, y = (row * c->down + b / c->across) * 8;
            decode_block(c, values);
            dequantise(values, quantisers[c->quantiser]);
            idct(values);
            store_block(values, c->samples + (size_t)y * (size_t)c->width + x, c->width);
        }
    }
}

static void decode_blocks(void) {
    int columns = (width + 8 * most_across - 1) / (8 * most_across);
    int rows = (height + 8 * most_down - 1) / (8 * most_down);
    for (int i = 0; i < count; i++) {
        struct component *c = &components[i];
        c->width = 8 * columns * c->across;
        c->height = 8 * rows * c->down;
        c->samples = room((size_t)c->width * (size_t)c->height);
    }
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++)
            decode_unit(column, row);
}

/* Bring a component of half resolution to full by repeating samples. */
static void upsample(struct component *c) {
    int right = most_across / c->across - 1, down = most_down / c->down - 1, old = c->width;
    if (!right && !down)
        return;
    c->width <<= right;
    unsigned char *full = room((size_t)c->width * (size_t)(c->height << down));
    for (int y = 0; y < c->height << down; y++) {
        const unsigned char *from = c->samples + (y >> down) * old;
        unsigned char *to = full + y * c->width;
        for (int x = 0; x < c->width; x++)
            to[x] = from[x >> right];
    }
    free(c->samples);
    c->samples = full;
}

/* Factors of 1/65536; a picture of one component has neutral colours. */
static void convert_row(const unsigned char *brightness, const unsigned char *blue,
                        const unsigned char *red, unsigned char *out) {
    for (int x = 0; x < width; x++) {
        int y = (brightness[x] << 16) + 32768, b = blue[x] - 128, r = red[x] - 128;
        int red_part = (y + 91881 * r) >> 16, blue_part = (y + 116130 * b) >> 16;
        int green_part = (y - 22554 * b - 46802 * r) >> 16;
        out[3 * x] = LIMITED(red_part);
        out[3 * x + 1] = LIMITED(green_part);
        out[3 * x + 2] = LIMITED(blue_part);
    }
}

static void colour_conversion(void) {
    unsigned char *neutral = memset(room((size_t)width), 128, (size_t)width);
    pixels = room(3 * (size_t)width * (size_t)height);
    for (int y = 0; y < height; y++) {
        const unsigned char *rows[3] = {0, neutral, neutral};
        for (int i = 0; i < count; i++)
            rows[i] = components[i].samples + y * components[i].width;
        convert_row(rows[0], rows[1], rows[2], pixels + (size_t)y * 3 * (size_t)width);
    }
    free(neutral);
}

static void write_picture(void) {
    printf("P6\n%d %d\n255\n", width, height);
    fwrite(pixels, 3, (size_t)width * (size_t)height, stdout);
}

static int check_picture(void) {
    long error = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int k = 0; k < 3; k++)
                error += abs(pixels[3 * (y * width + x) + k] - picture(x, y, k));
    double mean = (double)error / (3.0 * width * height);
    printf("%d x %d, mean error %.2f of 255\n", width, height, mean);
    return mean < 7 ? 0 : 1;
}

int main(int argc, char **argv) {
    read_stream();
    read_headers();
    decode_blocks();
    if (get_two() != 0xffd9)
        stop("no end of the picture");
    for (int i = 0; i < count; i++)
        upsample(&components[i]);
    colour_conversion();
    if (argc > 1 && !strcmp(argv[1], "check"))
        return check_picture();
    write_picture();
    return 0;
}
