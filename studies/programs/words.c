/* Counts the words of its input: strings, a hash table with chains, sorting through a call-back. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
    struct word *next;
    int count;
    char *text;
};

static struct word *table[64];
static int words;

static unsigned hash(const char *s) {
    unsigned h = 2166136261u;
    while (*s)
        h = (h ^ (unsigned char)*s++) * 16777619u;
    return h;
}

static void count(const char *text) {
    struct word **place = &table[hash(text) % 64];
    for (struct word *w = *place; w; w = w->next)
        if (strcmp(w->text, text) == 0) {
            w->count++;
            return;
        }
    struct word *w = malloc(sizeof *w);
    w->text = strdup(text);
    w->count = 1;
    w->next = *place;
    *place = w;
    words++;
}

static int order(const void *a, const void *b) {
    const struct word *x = *(struct word *const *)a, *y = *(struct word *const *)b;
    if (x->count != y->count)
        return y->count - x->count;
    return strcmp(x->text, y->text);
}

int main(void) {
    char line[256], word[64];
    while (fgets(line, sizeof line, stdin)) {
        size_t n = 0;
        for (char *p = line; *p; p++) {
            if (isalpha((unsigned char)*p) && n < sizeof word - 1)
                word[n++] = (char)tolower((unsigned char)*p);
            else if (n) {
                word[n] = 0;
                count(word);
                n = 0;
            }
        }
    }
    struct word **all = malloc((size_t)words * sizeof *all);
    int k = 0;
    for (int i = 0; i < 64; i++)
        for (struct word *w = table[i]; w; w = w->next)
            all[k++] = w;
    qsort(all, (size_t)words, sizeof *all, order);
    for (int i = 0; i < words && i < 8; i++)
        printf("%5d %s\n", all[i]->count, all[i]->text);
    return 0;
}
