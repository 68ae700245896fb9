/* Encrypts and digests what it reads, with ciphers of libtomcrypt. */
#include <stdio.h>
#include <tomcrypt.h>

int main(void) {
    static unsigned char text[1 << 20];
    unsigned char key[32] = "a key of thirty-two bytes, fixed", digest[32];
    size_t size = fread(text, 1, sizeof text, stdin) & ~(size_t)15;
    register_cipher(&aes_desc);
    register_cipher(&twofish_desc);
    register_cipher(&blowfish_desc);
    const char *names[] = {"aes", "twofish", "blowfish"};
    for (int i = 0; i < 3; i++) {
        symmetric_CBC state;
        int cipher = find_cipher(names[i]);
        cbc_start(cipher, key, key, 32, 0, &state);
        cbc_encrypt(text, text, size, &state);
        cbc_done(&state);
    }
    hash_state hash;
    sha256_init(&hash);
    sha256_process(&hash, text, size);
    sha256_done(&hash, digest);
    for (int i = 0; i < 32; i++)
        printf("%02x", digest[i]);
    puts("");
    return 0;
}
