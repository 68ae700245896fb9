/* Compress the standard input and decompress it again. */
#include "input.h"
#include <miniz.h>

int main(void) {
    static unsigned char packed[sizeof given], back[sizeof given];
    mz_ulong bytes = sizeof packed, again = sizeof back;
    read_input();
    mz_compress(packed, &bytes, given, given_bytes);
    mz_uncompress(back, &again, packed, bytes);
    printf("%lu %08x %d\n", bytes, checksum(packed, bytes), memcmp(given, back, given_bytes));
    return 0;
}
