/* The stack machine. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "script.h"

static size_t limit = 64; /* objects alive when the next collection begins */

static void push(struct machine *m, struct value v, int line) {
    if (m->top == STACK)
        fail(line, "the stack is full", "");
    m->stack[m->top++] = v;
}

static struct value pop(struct machine *m) { return m->stack[--m->top]; }

static double wants_number(struct value v, int line) {
    if (v.type != NUMBER)
        fail(line, "a number is needed", "");
    return v.as.number;
}

static void collect(struct machine *m, const struct program *program) {
    if (live_objects() < limit)
        return;
    for (size_t i = 0; i < m->top; i++)
        mark(m->stack[i]);
    for (size_t i = 0; i < program->globals.used; i++)
        mark(m->globals[i]);
    for (size_t i = 0; i < program->constants_used; i++)
        mark(program->constants[i]);
    m->collected += sweep();
    limit = 2 * live_objects() + 64;
}

static void make_list(struct machine *m, int count, int line) {
    struct object *list = new_list();
    for (int i = count; i > 0; i--)
        append(list, m->stack[m->top - (size_t)i]);
    m->top -= (size_t)count;
    push(m, boxed(list), line);
}

static struct value *item(struct value list, struct value index, int line) {
    double at = wants_number(index, line);
    if (list.type != LIST)
        fail(line, "only a list has items", "");
    if (at < 0 || at >= (double)list.as.object->as.list.used)
        fail(line, "no such item", "");
    return &list.as.object->as.list.items[(size_t)at];
}

static struct value add(struct value a, struct value b, int line) {
    if (a.type == TEXT && b.type == TEXT)
        return boxed(join_texts(a.as.object, b.as.object));
    return number(wants_number(a, line) + wants_number(b, line));
}

static struct value arithmetic(enum code code, struct value left, struct value right, int line) {
    if (code == ADD)
        return add(left, right, line);
    double a = wants_number(left, line), b = wants_number(right, line);
    switch (code) {
    case SUBTRACT:
        return number(a - b);
    case MULTIPLY:
        return number(a * b);
    case QUOTIENT:
    case MODULO:
        if (b == 0)
            fail(line, "division by zero", "");
        return number(code == QUOTIENT ? a / b : fmod(a, b));
    case IS_LESS:
        return truth(a < b);
    default:
        return truth(a <= b);
    }
}

static const struct instruction *call(struct machine *m, const struct program *p,
                                      const struct instruction *at) {
    size_t base = m->top - (size_t)at->operand;
    struct value callee = m->stack[base - 1];
    if (callee.type == NUMBER) { /* a library function, by its slot */
        builtin *function = builtin_at((int)callee.as.number);
        struct value result = function(m, &m->stack[base], at->operand);
        m->top = base - 1;
        push(m, result, at->line);
        return at + 1;
    }
    if (callee.type != FUNCTION)
        fail(at->line, "only a function can be called", "");
    struct object *function = callee.as.object;
    if (function->as.function.parameters != at->operand)
        fail(at->line, "wrong number of arguments of", function->as.function.name);
    if (m->depth == FRAMES)
        fail(at->line, "too many calls within calls", "");
    struct frame *frame = &m->frames[m->depth++];
    frame->back = at + 1;
    frame->base = base;
    for (int i = at->operand; i < function->as.function.locals; i++)
        push(m, nothing(), at->line);
    return p->code + function->as.function.start;
}

static const struct instruction *give_back(struct machine *m, int line) {
    struct value result = pop(m);
    if (!m->depth)
        fail(line, "return outside of a function", "");
    struct frame *frame = &m->frames[--m->depth];
    m->top = frame->base - 1;
    push(m, result, line);
    return frame->back;
}

void execute(struct machine *m, const struct program *p) {
    const struct instruction *at = p->code;
    for (;; m->executed++) {
        struct value a, b;
        size_t base = m->depth ? m->frames[m->depth - 1].base : 0;
        switch (at->code) {
        case STOP:
            return;
        case PUSH:
            push(m, p->constants[at->operand], at->line);
            break;
        case POP:
            pop(m);
            break;
        case LOAD_GLOBAL:
            push(m, m->globals[at->operand], at->line);
            break;
        case STORE_GLOBAL:
            m->globals[at->operand] = pop(m);
            break;
        case LOAD_LOCAL:
            push(m, m->stack[base + (size_t)at->operand], at->line);
            break;
        case STORE_LOCAL:
            m->stack[base + (size_t)at->operand] = pop(m);
            break;
        case MAKE_LIST:
            make_list(m, at->operand, at->line);
            break;
        case GET_ITEM:
            b = pop(m);
            a = pop(m);
            push(m, *item(a, b, at->line), at->line);
            break;
        case SET_ITEM:
            a = pop(m);
            b = pop(m);
            *item(pop(m), b, at->line) = a;
            break;
        case NEGATE:
            push(m, number(-wants_number(pop(m), at->line)), at->line);
            break;
        case INVERT:
            push(m, truth(!is_true(pop(m))), at->line);
            break;
        case ADD:
        case SUBTRACT:
        case MULTIPLY:
        case QUOTIENT:
        case MODULO:
        case IS_LESS:
        case IS_LESS_EQUAL:
            b = pop(m);
            a = pop(m);
            push(m, arithmetic(at->code, a, b, at->line), at->line);
            break;
        case IS_EQUAL:
            b = pop(m);
            a = pop(m);
            push(m, truth(equal(a, b)), at->line);
            break;
        case JUMP:
            at = p->code + at->operand;
            collect(m, p);
            continue;
        case JUMP_FALSE:
            if (!is_true(pop(m))) {
                at = p->code + at->operand;
                continue;
            }
            break;
        case KEEP_FALSE:
        case KEEP_TRUE:
            if (is_true(m->stack[m->top - 1]) == (at->code == KEEP_TRUE)) {
                at = p->code + at->operand;
                continue;
            }
            break;
        case CALL:
            at = call(m, p, at);
            continue;
        case GIVE_BACK:
            at = give_back(m, at->line);
            continue;
        case WRITE:
            write_value(pop(m));
            if (at->operand)
                putchar(' ');
            break;
        case WRITE_LINE:
            putchar('\n');
            break;
        }
        at++;
    }
}
