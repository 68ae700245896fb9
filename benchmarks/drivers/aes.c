/* Encrypt the standard input with AES in counter mode. */
#include "input.h"
#include <aes.h>

int main(void) {
    static const uint8_t key[AES_KEYLEN] = "a key of a test", start[16] = "a first counter";
    struct AES_ctx state;
    read_input();
    AES_init_ctx_iv(&state, key, start);
    AES_CTR_xcrypt_buffer(&state, given, given_bytes);
    printf("%08x\n", checksum(given, given_bytes));
    return 0;
}
