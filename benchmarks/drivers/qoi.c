/* Write a picture as QOI and read it again. */
#define QOI_IMPLEMENTATION
#include "input.h"
#include <qoi.h>

int main(void) {
    qoi_desc format = {.width = WIDTH, .height = HEIGHT, .channels = 4}, again;
    int bytes;
    paint();
    void *file = qoi_encode(picture, &format, &bytes), *back = qoi_decode(file, bytes, &again, 4);
    printf("%d %08x %d\n", bytes, checksum(file, bytes), memcmp(picture, back, sizeof picture));
    return 0;
}
