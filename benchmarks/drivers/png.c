/* Write a picture as PNG and read it again. */
#include "input.h"
#include <png.h>

int main(void) {
    static unsigned char file[sizeof picture + 4096], back[sizeof picture];
    png_alloc_size_t bytes = sizeof file;
    png_image image = {.version = PNG_IMAGE_VERSION, .width = WIDTH, .height = HEIGHT, .format = PNG_FORMAT_RGBA};
    paint();
    if (!png_image_write_to_memory(&image, file, &bytes, 0, picture, 0, 0))
        return 1;
    png_image again = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_memory(&again, file, bytes))
        return 1;
    again.format = PNG_FORMAT_RGBA;
    png_image_finish_read(&again, 0, back, 0, 0);
    printf("%lu %08x %d\n", (unsigned long)bytes, checksum(file, bytes), memcmp(picture, back, sizeof back));
    return 0;
}
