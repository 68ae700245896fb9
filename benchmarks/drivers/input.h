/* The whole standard input, and a number that depends on each byte of a result. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char given[1 << 20];
static size_t given_bytes;

static void read_input(void) { given_bytes = fread(given, 1, sizeof given - 1, stdin); }

static uint32_t checksum(const void *data, size_t bytes) {
    const unsigned char *p = data;
    uint32_t sum = 1;
    while (bytes--)
        sum = sum * 31 + *p++;
    return sum;
}

/* A picture of four channels: slopes, with areas of one colour. */
enum { WIDTH = 256, HEIGHT = 192 };
static unsigned char picture[4 * WIDTH * HEIGHT];

static void paint(void) {
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            unsigned char *p = picture + 4 * (y * WIDTH + x);
            int flat = (x / 32 + y / 32) % 3 == 0;
            p[0] = flat ? 200 : x;
            p[1] = flat ? 90 : x * y / 64;
            p[2] = flat ? 30 : (x ^ y) & 63;
            p[3] = 255;
        }
}
