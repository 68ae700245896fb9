/* Compress the standard input with LZO1X, decompress it again, and print the sizes. */
#include <lzo/lzo1x.h>
#include <stdio.h>
#include <string.h>

static unsigned char given[1 << 18], packed[1 << 19], back[1 << 18];
static lzo_align_t work[LZO1X_1_MEM_COMPRESS / sizeof(lzo_align_t) + 1];

int main(void) {
    lzo_uint bytes = fread(given, 1, sizeof given, stdin), size, again = sizeof back;
    lzo_init();
    lzo1x_1_compress(given, bytes, packed, &size, work);
    lzo1x_decompress(packed, size, back, &again, 0);
    printf("%lu %lu %d\n", (unsigned long)bytes, (unsigned long)size, memcmp(given, back, bytes));
    return 0;
}
