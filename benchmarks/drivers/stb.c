/* Decode a picture from the standard input with stb_image and print a sum of its pixels. */
#define STB_IMAGE_IMPLEMENTATION
#define STBI_NO_SIMD
#include "stb_image.h"
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    int width, height, channels;
    unsigned char *pixels = stbi_load_from_file(stdin, &width, &height, &channels, 3);
    unsigned long sum = 0;
    if (!pixels)
        return 1;
    for (long i = 0; i < 3L * width * height; i++)
        sum = sum * 31 + pixels[i];
    printf("%d %d %d %lu\n", width, height, channels, sum);
    free(pixels);
    return 0;
}
