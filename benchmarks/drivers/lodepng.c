/* Write a picture as PNG and read it again. */
#include "input.h"
#include <lodepng.h>

int main(void) {
    unsigned char *file, *back;
    unsigned width, height;
    size_t bytes;
    paint();
    if (lodepng_encode32(&file, &bytes, picture, WIDTH, HEIGHT) || lodepng_decode32(&back, &width, &height, file, bytes))
        return 1;
    printf("%lu %08x %d\n", (unsigned long)bytes, checksum(file, bytes), memcmp(picture, back, sizeof picture));
    return 0;
}
