/* Functions of the language that are written in C. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

static struct value length(struct machine *m, const struct value *v, int count) {
    (void)m;
    if (count == 1 && v->type == TEXT)
        return number((double)v->as.object->as.text.length);
    if (count == 1 && v->type == LIST)
        return number((double)v->as.object->as.list.used);
    fail(0, "length of a text or a list", "");
}

static struct value add_item(struct machine *m, const struct value *v, int count) {
    (void)m;
    if (count != 2 || v->type != LIST)
        fail(0, "append a value to a list", "");
    append(v->as.object, v[1]);
    return *v;
}

static struct value root(struct machine *m, const struct value *v, int count) {
    (void)m;
    if (count != 1 || v->type != NUMBER)
        fail(0, "root of a number", "");
    return number(sqrt(v->as.number));
}

static struct value whole(struct machine *m, const struct value *v, int count) {
    (void)m;
    if (count != 1 || v->type != NUMBER)
        fail(0, "whole part of a number", "");
    return number(floor(v->as.number));
}

static struct value letter(struct machine *m, const struct value *v, int count) {
    (void)m;
    if (count != 2 || v->type != TEXT || v[1].type != NUMBER)
        fail(0, "letter of a text at a number", "");
    size_t at = (size_t)v[1].as.number;
    if (at >= v->as.object->as.text.length)
        return nothing();
    return boxed(new_text(v->as.object->as.text.bytes + at, 1));
}

static int order(const void *a, const void *b) {
    const struct value *x = a, *y = b;
    if (x->type == NUMBER && y->type == NUMBER)
        return (x->as.number > y->as.number) - (x->as.number < y->as.number);
    if (x->type == TEXT && y->type == TEXT)
        return strcmp(x->as.object->as.text.bytes, y->as.object->as.text.bytes);
    return (int)x->type - (int)y->type;
}

static struct value sorted(struct machine *m, const struct value *v, int count) {
    (void)m;
    if (count != 1 || v->type != LIST)
        fail(0, "sort a list", "");
    struct object *list = v->as.object, *copy = new_list();
    for (size_t i = 0; i < list->as.list.used; i++)
        append(copy, list->as.list.items[i]);
    if (copy->as.list.used)
        qsort(copy->as.list.items, copy->as.list.used, sizeof(struct value), order);
    return boxed(copy);
}

static const struct {
    const char *name;
    builtin *function;
} builtins[] = {
    {"length", length}, {"append", add_item}, {"root", root},
    {"whole", whole},   {"letter", letter},   {"sorted", sorted},
};

enum { BUILTINS = sizeof builtins / sizeof *builtins };

/* Their names take the first global slots; a slot's number stands for its function. */
void define_builtins(struct program *program) {
    for (int i = 0; i < BUILTINS; i++)
        add_name(&program->globals, builtins[i].name);
}

builtin *builtin_at(int slot) {
    if (slot < 0 || slot >= BUILTINS)
        fail(0, "only a function can be called", "");
    return builtins[slot].function;
}
