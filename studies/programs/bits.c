/* Words turned, counted and mixed: a check sum by table, a hash, a Gray code, a sieve in bits. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t table[256];

static void make_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? 0xedb88320u ^ c >> 1 : c >> 1;
        table[i] = c;
    }
}

static uint32_t check(const uint8_t *p, int n) {
    uint32_t c = ~0u;
    for (int i = 0; i < n; i++)
        c = table[(c ^ p[i]) & 255] ^ c >> 8;
    return ~c;
}

static uint32_t left(uint32_t x, int k) { return x << k | x >> (32 - k); }

static uint32_t mix(const uint8_t *p, int n) {
    uint32_t a = 0x9e3779b9u, b = 0x7f4a7c15u;
    for (int i = 0; i + 4 <= n; i += 4) {
        uint32_t w = p[i] | (uint32_t)p[i + 1] << 8 | (uint32_t)p[i + 2] << 16 | (uint32_t)p[i + 3] << 24;
        a = left(a ^ w, 13) * 5 + 0xe6546b64u;
        b = left(b + a, 7) ^ (a & w);
    }
    return a ^ b;
}

static int sieve(uint64_t *bits, int n) {
    int primes = 0;
    for (int i = 2; i < n; i++)
        if (!(bits[i >> 6] >> (i & 63) & 1)) {
            primes++;
            for (int j = 2 * i; j < n; j += i)
                bits[j >> 6] |= (uint64_t)1 << (j & 63);
        }
    return primes;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 500;
    uint8_t *bytes = malloc((size_t)n);
    uint64_t *flags = calloc((size_t)n / 64 + 1, sizeof *flags);
    int ones = 0;
    make_table();
    for (int i = 0; i < n; i++) {
        bytes[i] = (uint8_t)(i ^ i >> 1);
        ones += __builtin_popcount((unsigned)i * 2654435761u);
    }
    printf("%08x %08x %d %d\n", check(bytes, n), mix(bytes, n), ones, sieve(flags, n));
    return 0;
}
