/* MD5 (RFC 1321): known digests, and that of a long message.
 *
 *     md5 [BYTES]                 of a message made by formula
 *
 * The four rounds are loops; their constants come from the sine, as the standard defines them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned int word;

static word constants[64];
static const int shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static void make_constants(void) {
    for (int i = 0; i < 64; i++)
        constants[i] = (word)(4294967296.0 * fabs(sin(i + 1)));
}

static void start(word *state) {
    state[0] = 0x67452301;
    state[1] = 0xefcdab89;
    state[2] = 0x98badcfe;
    state[3] = 0x10325476;
}

static void load_words(const unsigned char *data, word *words) {
    for (int i = 0; i < 16; i++, data += 4)
        words[i] = data[0] | (word)data[1] << 8 | (word)data[2] << 16 | (word)data[3] << 24;
}

#define STEP(mix, position)                                   \
    do {                                                      \
        word sum = a + (mix) + constants[i] + words[position]; \
        int by = shift[i & 3];                                \
        a = d;                                                \
        d = c;                                                \
        c = b;                                                \
        b += sum << by | sum >> (32 - by);                    \
    } while (0)

static void transform(word *state, const unsigned char *block) {
    word words[16], a = state[0], b = state[1], c = state[2], d = state[3];
    const int *shift = shifts[0];
    int i = 0;
    load_words(block, words);
    for (; i < 16; i++)
        STEP((b & c) | (~b & d), i);
    for (shift = shifts[1]; i < 32; i++)
        STEP((b & d) | (c & ~d), (5 * i + 1) & 15);
    for (shift = shifts[2]; i < 48; i++)
        STEP(b ^ c ^ d, (3 * i + 5) & 15);
    for (shift = shifts[3]; i < 64; i++)
        STEP(c ^ (b | ~d), (7 * i) & 15);
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

static void finish(word *state, const unsigned char *rest, size_t left, size_t length) {
    unsigned char last[128] = {0};
    memcpy(last, rest, left);
    last[left] = 0x80;
    size_t end = left < 56 ? 64 : 128;
    for (int i = 0; i < 8; i++)
        last[end - 8 + (size_t)i] = (unsigned char)((unsigned long long)length * 8 >> (8 * i));
    for (size_t at = 0; at < end; at += 64)
        transform(state, last + at);
}

static void digest(const unsigned char *data, size_t length, char *text) {
    word state[4];
    size_t at = 0;
    start(state);
    for (; at + 64 <= length; at += 64)
        transform(state, data + at);
    finish(state, data + at, length - at, length);
    for (int i = 0; i < 16; i++)
        sprintf(text + 2 * i, "%02x", state[i / 4] >> (8 * (i % 4)) & 255);
}

/* Two of the test suite of RFC 1321, section A.5: one block, and two. */
static int known(void) {
    static const char longer[] = "12345678901234567890123456789012345678901234567890123456789012345678901234567890";
    char text[33];
    digest((const unsigned char *)"abc", 3, text);
    int right = !strcmp(text, "900150983cd24fb0d6963f7d28e17f72");
    digest((const unsigned char *)longer, strlen(longer), text);
    return right && !strcmp(text, "57edf4a22be3c955ac49da2e2107b67a");
}

int main(int argc, char **argv) {
    size_t length = argc > 1 ? (size_t)atol(argv[1]) : 1000;
    unsigned char *data = malloc(length + 1);
    char text[33];
    for (size_t i = 0; i < length; i++)
        data[i] = (unsigned char)(i * 7 + i / 256);
    make_constants();
    int right = known();
    digest(data, length, text);
    printf("%s\n%s\n", text, right ? "right" : "WRONG");
    return !right;
}
