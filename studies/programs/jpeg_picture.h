/* The test picture of jpeg_encoder.c and jpeg.c: red, green or blue of a pixel, by formula. */
static int picture(int x, int y, int colour) {
    int far = (x - 60) * (x - 60) + (y - 90) * (y - 90), ring = (far >> 5) & 255;
    int wave = ring < 128 ? ring : 255 - ring;
    wave += (5 * x ^ 3 * y) & 31; /* a fine pattern */
    switch (colour) {
    case 0:
        return 40 + wave + (x >> 2) % 64;
    case 1:
        return 200 - wave / 2 - (y >> 1) % 96;
    default:
        return ((x + 2 * y) >> 1) % 160 + (x / 24 + y / 24) % 2 * 60;
    }
}
