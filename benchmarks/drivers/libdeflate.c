/* Compress the standard input and decompress it again. */
#include "input.h"
#include <libdeflate.h>

int main(void) {
    static unsigned char packed[sizeof given], back[sizeof given];
    size_t again;
    read_input();
    size_t bytes = libdeflate_gzip_compress(libdeflate_alloc_compressor(6), given, given_bytes, packed, sizeof packed);
    libdeflate_gzip_decompress(libdeflate_alloc_decompressor(), packed, bytes, back, sizeof back, &again);
    printf("%lu %08x %d\n", (unsigned long)bytes, checksum(packed, bytes), memcmp(given, back, given_bytes));
    return 0;
}
