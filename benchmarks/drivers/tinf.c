/* Decompress a gzip file on the standard input. */
#include "input.h"
#include <tinf.h>

int main(void) {
    static unsigned char back[sizeof given];
    unsigned bytes = sizeof back;
    read_input();
    tinf_init();
    int failed = tinf_gzip_uncompress(back, &bytes, given, (unsigned)given_bytes);
    printf("%u %08x %d\n", bytes, checksum(back, bytes), failed);
    return 0;
}
