/* Turns a square picture (PPM, a power of two a side) by 90 degrees, in place.
 *
 *     rotate i    pixel by pixel: the four pixels of a ring change places
 *     rotate r    quarter by quarter: the quarters change places, then each is turned itself
 *
 * The picture is kept as one word a pixel. The functions talk through memory alone. */
#include <stdio.h>
#include <stdlib.h>

static unsigned *pixels;
static int side, height, depth;

static int number(void) {
    int c = getchar(), value = 0;
    while (c < '0' || c > '9')
        c = getchar();
    while (c >= '0' && c <= '9') {
        value = 10 * value + (c - '0');
        c = getchar();
    }
    return value;
}

static void load(void) {
    getchar(); /* P */
    getchar(); /* 6 */
    side = number();
    height = number();
    depth = number();
    int n = side * height;
    unsigned *next = malloc((size_t)n * sizeof *next);
    pixels = next;
    for (int i = 0; i < n; i++) {
        unsigned red = (unsigned)getchar();
        unsigned green = (unsigned)getchar();
        next[i] = red << 16 | green << 8 | (unsigned)getchar();
    }
}

static void turn_rings(void) {
    int n = side, m = height;
    unsigned *p = pixels;
    for (int y = 0; y < n / 2; y++)
        for (int x = 0; x < (m + 1) / 2; x++) {
            int right = n - 1 - x, below = m - 1 - y;
            unsigned kept = p[y * n + x];
            p[y * n + x] = p[right * n + y];
            p[right * n + y] = p[below * n + right];
            p[below * n + right] = p[x * n + below];
            p[x * n + below] = kept;
        }
}

static void turn_quarters(int left, int top, int size) {
    unsigned *p = pixels;
    int n = side, half = size / 2;
    for (int y = top; y < top + half; y++)
        for (int x = left; x < left + half; x++) {
            unsigned kept = p[y * n + x];
            p[y * n + x] = p[(y + half) * n + x];
            p[(y + half) * n + x] = p[(y + half) * n + x + half];
            p[(y + half) * n + x + half] = p[y * n + x + half];
            p[y * n + x + half] = kept;
        }
    if (half < 2)
        return;
    turn_quarters(left, top, half);
    turn_quarters(left + half, top, half);
    turn_quarters(left, top + half, half);
    turn_quarters(left + half, top + half, half);
}

static void digits(int value) {
    if (value >= 10)
        digits(value / 10);
    putchar('0' + value % 10);
}

static void store(void) {
    int n = side * height;
    unsigned *next = pixels;
    putchar('P');
    putchar('6');
    putchar('\n');
    digits(side);
    putchar(' ');
    digits(height);
    putchar('\n');
    digits(depth);
    putchar('\n');
    for (int i = 0; i < n; i++) {
        unsigned pixel = next[i];
        putchar((int)(pixel >> 16 & 255));
        putchar((int)(pixel >> 8 & 255));
        putchar((int)(pixel & 255));
    }
}

int main(int argc, char **argv) {
    if (argc != 2 || (argv[1][0] != 'i' && argv[1][0] != 'r')) {
        fputs("usage: rotate i|r < picture.ppm\n", stderr);
        return 2;
    }
    load();
    if (argv[1][0] == 'i')
        turn_rings();
    else
        turn_quarters(0, 0, side);
    store();
    return 0;
}
