/* AES-128 (FIPS 197): a message in cipher block chaining, encrypted and decrypted again.
 *
 *     aes [BLOCKS [SEED]]
 *
 * Byte by byte as the standard puts it, with tables of the substitution alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char byte;
enum { ROUNDS = 10, BLOCK = 16 };

static byte substitute[256], restore[256];
static byte keys[ROUNDS + 1][BLOCK];

static byte twice(byte x) {
    return (byte)(x << 1 ^ (x >> 7) * 0x1b);
}

static byte rotated(byte x, int by) {
    return (byte)(x << by | x >> (8 - by));
}

/* Run through the field's elements as powers of 3, beside those of its inverse (section 5.1.1). */
static void make_tables(void) {
    byte p = 1, q = 1;
    do {
        p = p ^ twice(p);
        for (int by = 1; by <= 4; by *= 2)
            q ^= (byte)(q << by);
        if (q & 128)
            q ^= 9;
        byte s = q ^ rotated(q, 1) ^ rotated(q, 2) ^ rotated(q, 3) ^ rotated(q, 4) ^ 0x63;
        substitute[p] = s;
        restore[s] = p;
    } while (p != 1);
    substitute[0] = 0x63;
    restore[0x63] = 0;
}

static void expand_key(const byte *key) {
    byte *k = keys[0], constant = 1;
    memcpy(k, key, BLOCK);
    for (int i = BLOCK; i < (ROUNDS + 1) * BLOCK; i += 4) {
        byte t[4] = {k[i - 4], k[i - 3], k[i - 2], k[i - 1]};
        if (i % BLOCK == 0) {
            byte first = t[0];
            t[0] = substitute[t[1]] ^ constant;
            t[1] = substitute[t[2]];
            t[2] = substitute[t[3]];
            t[3] = substitute[first];
            constant = twice(constant);
        }
        for (int j = 0; j < 4; j++)
            k[i + j] = k[i + j - BLOCK] ^ t[j];
    }
}

static void add_round_key(byte *s, const byte *key) {
    for (int i = 0; i < BLOCK; i++)
        s[i] ^= key[i];
}

/* Substitute and shift the rows: byte i of the result was at column + row of the state. */
static void substitute_and_shift(byte *s) {
    byte old[BLOCK];
    memcpy(old, s, BLOCK);
    for (int i = 0; i < BLOCK; i++)
        s[i] = substitute[old[(i + 4 * (i % 4)) % BLOCK]];
}

static void restore_and_shift(byte *s) {
    byte old[BLOCK];
    memcpy(old, s, BLOCK);
    for (int i = 0; i < BLOCK; i++)
        s[(i + 4 * (i % 4)) % BLOCK] = restore[old[i]];
}

/* The doubling of `twice` is written out: no function is inlined under the profiler. */
#define TWICE(x) (byte)((x) << 1 ^ ((x) >> 7) * 0x1b)

static void mix_columns(byte *s) {
    for (byte *c = s; c < s + BLOCK; c += 4) {
        byte a = c[0], b = c[1], d = c[2], e = c[3], all = a ^ b ^ d ^ e;
        byte ab = a ^ b, bd = b ^ d, de = d ^ e, ea = e ^ a;
        c[0] = a ^ all ^ TWICE(ab);
        c[1] = b ^ all ^ TWICE(bd);
        c[2] = d ^ all ^ TWICE(de);
        c[3] = e ^ all ^ TWICE(ea);
    }
}

/* The inverse is the forward mix after one with 4 (a + d) and 4 (b + e), since its matrix factors so. */
static void unmix_columns(byte *s) {
    for (byte *c = s; c < s + BLOCK; c += 4) {
        byte even = c[0] ^ c[2], odd = c[1] ^ c[3];
        even = TWICE(even);
        odd = TWICE(odd);
        even = TWICE(even);
        odd = TWICE(odd);
        c[0] ^= even;
        c[1] ^= odd;
        c[2] ^= even;
        c[3] ^= odd;
    }
    mix_columns(s);
}

static void encrypt_block(byte *s) {
    add_round_key(s, keys[0]);
    for (int round = 1; round < ROUNDS; round++) {
        substitute_and_shift(s);
        mix_columns(s);
        add_round_key(s, keys[round]);
    }
    substitute_and_shift(s);
    add_round_key(s, keys[ROUNDS]);
}

static void decrypt_block(byte *s) {
    add_round_key(s, keys[ROUNDS]);
    for (int round = ROUNDS - 1; round > 0; round--) {
        restore_and_shift(s);
        add_round_key(s, keys[round]);
        unmix_columns(s);
    }
    restore_and_shift(s);
    add_round_key(s, keys[0]);
}

static void encrypt(byte *data, int blocks) {
    byte previous[BLOCK] = {0};
    for (int i = 0; i < blocks; i++, data += BLOCK) {
        add_round_key(data, previous);
        encrypt_block(data);
        memcpy(previous, data, BLOCK);
    }
}

static void decrypt(byte *data, int blocks) {
    byte previous[BLOCK] = {0}, next[BLOCK];
    for (int i = 0; i < blocks; i++, data += BLOCK) {
        memcpy(next, data, BLOCK);
        decrypt_block(data);
        add_round_key(data, previous);
        memcpy(previous, next, BLOCK);
    }
}

/* The example vectors of FIPS 197, appendix C.1. */
static int known(void) {
    static const byte expected[BLOCK] = {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30,
                                         0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a};
    byte key[BLOCK], data[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        key[i] = (byte)i;
        data[i] = (byte)(i * 0x11);
    }
    expand_key(key);
    encrypt_block(data);
    int right = !memcmp(data, expected, BLOCK);
    decrypt_block(data);
    for (int i = 0; i < BLOCK; i++)
        right &= data[i] == i * 0x11;
    return right;
}

int main(int argc, char **argv) {
    int blocks = argc > 1 ? atoi(argv[1]) : 16, right;
    unsigned state = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    byte *data = malloc((size_t)blocks * BLOCK), *original = malloc((size_t)blocks * BLOCK);
    make_tables();
    right = known();
    for (int i = 0; i < blocks * BLOCK; i++)
        original[i] = data[i] = (byte)((state = state * 1664525 + 1013904223) >> 24);
    encrypt(data, blocks);
    printf("last block ");
    for (int i = 0; i < BLOCK; i++)
        printf("%02x", data[(blocks - 1) * BLOCK + i]);
    decrypt(data, blocks);
    right &= !memcmp(data, original, (size_t)blocks * BLOCK);
    printf("\n%s\n", right ? "right" : "WRONG");
    return !right;
}
