/* Encrypt, authenticate and hash the standard input. */
#include "input.h"
#include <monocypher.h>

int main(void) {
    static const uint8_t key[32] = "a key of a test", nonce[24] = "a number used once";
    static uint8_t locked[sizeof given], tag[16], hash[64];
    read_input();
    crypto_aead_lock(locked, tag, key, nonce, 0, 0, given, given_bytes);
    int failed = crypto_aead_unlock(given, tag, key, nonce, 0, 0, locked, given_bytes);
    crypto_blake2b(hash, sizeof hash, locked, given_bytes);
    printf("%08x %08x %d\n", checksum(locked, given_bytes), checksum(hash, sizeof hash), failed);
    return 0;
}
