/* Compress blocks of the standard input with FSE and Huffman codes, and decompress them again. */
#include "input.h"
#include <fse.h>
#include <huf.h>

int main(void) {
    static unsigned char packed[1 << 17], back[1 << 15];
    unsigned long bytes = 0, wrong = 0;
    read_input();
    for (size_t at = 0; at + sizeof back <= given_bytes; at += sizeof back) {
        size_t size = FSE_compress(packed, sizeof packed, given + at, sizeof back);
        wrong += FSE_decompress(back, sizeof back, packed, size) != sizeof back || memcmp(back, given + at, sizeof back);
        bytes += size;
        size = HUF_compress(packed, sizeof packed, given + at, sizeof back);
        wrong += HUF_decompress(back, sizeof back, packed, size) != sizeof back || memcmp(back, given + at, sizeof back);
        bytes += size;
    }
    printf("%lu %lu\n", bytes, wrong);
    return 0;
}
