/* Values: made, compared, written. */
#include <stdio.h>
#include <string.h>

#include "script.h"

struct value nothing(void) {
    struct value v;
    memset(&v, 0, sizeof v);
    v.type = NOTHING;
    return v;
}

struct value truth(int t) {
    struct value v = nothing();
    v.type = TRUTH;
    v.as.truth = t != 0;
    return v;
}

struct value number(double x) {
    struct value v = nothing();
    v.type = NUMBER;
    v.as.number = x;
    return v;
}

struct value boxed(struct object *object) {
    struct value v = nothing();
    v.type = object->type;
    v.as.object = object;
    return v;
}

int is_true(struct value v) {
    switch (v.type) {
    case NOTHING:
        return 0;
    case TRUTH:
        return v.as.truth;
    case NUMBER:
        return v.as.number != 0;
    case TEXT:
        return v.as.object->as.text.length != 0;
    case LIST:
        return v.as.object->as.list.used != 0;
    case FUNCTION:
        return 1;
    }
    return 0;
}

static int equal_texts(const struct object *a, const struct object *b) {
    return a == b || (a->as.text.hash == b->as.text.hash && a->as.text.length == b->as.text.length &&
                      memcmp(a->as.text.bytes, b->as.text.bytes, a->as.text.length) == 0);
}

static int equal_lists(const struct object *a, const struct object *b) {
    if (a->as.list.used != b->as.list.used)
        return 0;
    for (size_t i = 0; i < a->as.list.used; i++)
        if (!equal(a->as.list.items[i], b->as.list.items[i]))
            return 0;
    return 1;
}

int equal(struct value a, struct value b) {
    if (a.type != b.type)
        return 0;
    switch (a.type) {
    case NOTHING:
        return 1;
    case TRUTH:
        return a.as.truth == b.as.truth;
    case NUMBER:
        return a.as.number == b.as.number;
    case TEXT:
        return equal_texts(a.as.object, b.as.object);
    case LIST:
        return equal_lists(a.as.object, b.as.object);
    case FUNCTION:
        return a.as.object == b.as.object;
    }
    return 0;
}

static void write_number(double x) {
    if (x == (double)(long)x)
        printf("%ld", (long)x);
    else
        printf("%.6g", x);
}

static void write_list(const struct object *list) {
    putchar('[');
    for (size_t i = 0; i < list->as.list.used; i++) {
        if (i)
            printf(", ");
        write_value(list->as.list.items[i]);
    }
    putchar(']');
}

void write_value(struct value v) {
    switch (v.type) {
    case NOTHING:
        printf("nothing");
        break;
    case TRUTH:
        printf("%s", v.as.truth ? "true" : "false");
        break;
    case NUMBER:
        write_number(v.as.number);
        break;
    case TEXT:
        fwrite(v.as.object->as.text.bytes, 1, v.as.object->as.text.length, stdout);
        break;
    case LIST:
        write_list(v.as.object);
        break;
    case FUNCTION:
        printf("fn %s", v.as.object->as.function.name);
        break;
    }
}
