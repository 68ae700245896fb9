/* Normalize the UTF-8 text on the standard input. */
#include "input.h"
#include <utf8proc.h>

int main(void) {
    read_input();
    unsigned char *folded = utf8proc_NFKC_Casefold(given), *apart = utf8proc_NFD(given);
    printf("%08x %08x\n", checksum(folded, strlen((char *)folded)), checksum(apart, strlen((char *)apart)));
    return 0;
}
