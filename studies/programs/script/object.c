/* Objects: made on the heap, marked where they are reachable, swept where they are not. */
#include <stdlib.h>
#include <string.h>

#include "script.h"

static struct object *objects;
static size_t live;

static struct object *new_object(enum type type) {
    struct object *object = calloc(1, sizeof *object);
    if (!object)
        fail(0, "out of memory", "");
    object->type = type;
    object->next = objects;
    objects = object;
    live++;
    return object;
}

static void set_text(struct object *object, char *bytes, size_t length) {
    bytes[length] = 0;
    object->as.text.bytes = bytes;
    object->as.text.length = length;
    object->as.text.hash = hash_bytes(bytes, length);
}

struct object *new_text(const char *bytes, size_t length) {
    struct object *object = new_object(TEXT);
    char *copy = malloc(length + 1);
    memcpy(copy, bytes, length);
    set_text(object, copy, length);
    return object;
}

struct object *join_texts(const struct object *a, const struct object *b) {
    size_t first = a->as.text.length, second = b->as.text.length;
    char *bytes = malloc(first + second + 1);
    memcpy(bytes, a->as.text.bytes, first);
    memcpy(bytes + first, b->as.text.bytes, second);
    struct object *object = new_object(TEXT);
    set_text(object, bytes, first + second);
    return object;
}

struct object *new_list(void) { return new_object(LIST); }

struct object *new_function(const char *name, int start, int parameters) {
    struct object *object = new_object(FUNCTION);
    object->as.function.name = strdup(name);
    object->as.function.start = start;
    object->as.function.parameters = parameters;
    return object;
}

void append(struct object *list, struct value item) {
    if (list->as.list.used == list->as.list.room) {
        size_t room = list->as.list.room ? 2 * list->as.list.room : 4;
        list->as.list.items = realloc(list->as.list.items, room * sizeof item);
        list->as.list.room = room;
    }
    list->as.list.items[list->as.list.used++] = item;
}

void mark(struct value v) {
    if (v.type < TEXT || v.as.object->marked)
        return;
    v.as.object->marked = 1;
    if (v.type == LIST)
        for (size_t i = 0; i < v.as.object->as.list.used; i++)
            mark(v.as.object->as.list.items[i]);
}

static void drop(struct object *object) {
    switch (object->type) {
    case TEXT:
        free(object->as.text.bytes);
        break;
    case LIST:
        free(object->as.list.items);
        break;
    case FUNCTION:
        free((char *)object->as.function.name);
        break;
    default:
        break;
    }
    free(object);
    live--;
}

size_t sweep(void) {
    size_t dropped = 0;
    for (struct object **place = &objects; *place;) {
        struct object *object = *place;
        if (object->marked) {
            object->marked = 0;
            place = &object->next;
        } else {
            *place = object->next;
            drop(object);
            dropped++;
        }
    }
    return dropped;
}

size_t live_objects(void) { return live; }

void free_all(void) {
    while (objects) {
        struct object *object = objects;
        objects = object->next;
        drop(object);
    }
}
