/* From the tree to instructions. */
#include <stdlib.h>
#include <string.h>

#include "script.h"

struct scope {
    const char *names[64];
    int used;
    int inside; /* a function */
};

struct compiler {
    struct program *program;
    struct scope scope;
};

static void compile_node(struct compiler *c, const struct node *node);

static int emit(struct compiler *c, enum code code, int operand, int line) {
    struct program *p = c->program;
    if (p->used == p->room) {
        p->room = p->room ? 2 * p->room : 64;
        p->code = realloc(p->code, p->room * sizeof *p->code);
    }
    struct instruction made = {code, operand, line};
    memcpy(&p->code[p->used], &made, sizeof made);
    return (int)p->used++;
}

static void patch(struct compiler *c, int at) { c->program->code[at].operand = (int)c->program->used; }

static int constant(struct compiler *c, struct value v) {
    struct program *p = c->program;
    for (size_t i = 0; i < p->constants_used; i++)
        if (equal(p->constants[i], v))
            return (int)i;
    if (p->constants_used == p->constants_room) {
        p->constants_room = p->constants_room ? 2 * p->constants_room : 16;
        p->constants = realloc(p->constants, p->constants_room * sizeof v);
    }
    p->constants[p->constants_used] = v;
    return (int)p->constants_used++;
}

static int local(const struct compiler *c, const char *name) {
    for (int i = c->scope.used - 1; i >= 0; i--)
        if (strcmp(c->scope.names[i], name) == 0)
            return i;
    return -1;
}

static int declare(struct compiler *c, const struct node *node) {
    if (c->scope.used == 64)
        fail(node->line, "too many names in function", "");
    c->scope.names[c->scope.used] = node->text;
    return c->scope.used++;
}

static void access_name(struct compiler *c, const struct node *node, int store) {
    int slot = c->scope.inside ? local(c, node->text) : -1;
    if (slot >= 0) {
        emit(c, store ? STORE_LOCAL : LOAD_LOCAL, slot, node->line);
        return;
    }
    slot = find_name(&c->program->globals, node->text);
    if (slot < 0)
        fail(node->line, "unknown name", node->text);
    emit(c, store ? STORE_GLOBAL : LOAD_GLOBAL, slot, node->line);
}

static int compile_row(struct compiler *c, const struct node *node) {
    int count = 0;
    for (; node; node = node->next, count++)
        compile_node(c, node);
    return count;
}

static void binary(struct compiler *c, const struct node *node) {
    if (node->word == AND || node->word == OR) {
        compile_node(c, node->first);
        int jump = emit(c, node->word == AND ? KEEP_FALSE : KEEP_TRUE, 0, node->line);
        emit(c, POP, 0, node->line);
        compile_node(c, node->second);
        patch(c, jump);
        return;
    }
    int turned = node->word == GREATER || node->word == GREATER_EQUAL;
    compile_node(c, turned ? node->second : node->first);
    compile_node(c, turned ? node->first : node->second);
    switch (node->word) {
    case PLUS:
        emit(c, ADD, 0, node->line);
        break;
    case MINUS:
        emit(c, SUBTRACT, 0, node->line);
        break;
    case TIMES:
        emit(c, MULTIPLY, 0, node->line);
        break;
    case DIVIDE:
        emit(c, QUOTIENT, 0, node->line);
        break;
    case REMAINDER:
        emit(c, MODULO, 0, node->line);
        break;
    case EQUAL:
        emit(c, IS_EQUAL, 0, node->line);
        break;
    case UNEQUAL:
        emit(c, IS_EQUAL, 0, node->line);
        emit(c, INVERT, 0, node->line);
        break;
    case LESS:
    case GREATER:
        emit(c, IS_LESS, 0, node->line);
        break;
    default:
        emit(c, IS_LESS_EQUAL, 0, node->line);
    }
}

static void conditional(struct compiler *c, const struct node *node) {
    compile_node(c, node->first);
    int over = emit(c, JUMP_FALSE, 0, node->line);
    compile_node(c, node->second);
    if (node->third) {
        int end = emit(c, JUMP, 0, node->line);
        patch(c, over);
        compile_node(c, node->third);
        patch(c, end);
    } else {
        patch(c, over);
    }
}

static void loop(struct compiler *c, const struct node *node) {
    int start = (int)c->program->used;
    compile_node(c, node->first);
    int out = emit(c, JUMP_FALSE, 0, node->line);
    compile_node(c, node->second);
    emit(c, JUMP, start, node->line);
    patch(c, out);
}

static void define(struct compiler *c, const struct node *node) {
    int slot = add_name(&c->program->globals, node->text), parameters = 0;
    struct scope outer = c->scope;
    memset(&c->scope, 0, sizeof c->scope);
    c->scope.inside = 1;
    for (const struct node *p = node->first; p; p = p->next, parameters++)
        declare(c, p);
    int over = emit(c, JUMP, 0, node->line);
    struct object *made = new_function(node->text, (int)c->program->used, parameters);
    compile_node(c, node->second);
    emit(c, PUSH, constant(c, nothing()), node->line);
    emit(c, GIVE_BACK, 0, node->line);
    made->as.function.locals = c->scope.used;
    patch(c, over);
    c->scope = outer;
    emit(c, PUSH, constant(c, boxed(made)), node->line);
    emit(c, STORE_GLOBAL, slot, node->line);
}

static void let(struct compiler *c, const struct node *node) {
    compile_node(c, node->first);
    if (c->scope.inside) {
        int slot = local(c, node->text);
        emit(c, STORE_LOCAL, slot < 0 ? declare(c, node) : slot, node->line);
    } else {
        emit(c, STORE_GLOBAL, add_name(&c->program->globals, node->text), node->line);
    }
}

static void print(struct compiler *c, const struct node *node) {
    for (const struct node *item = node->first; item; item = item->next) {
        compile_node(c, item);
        emit(c, WRITE, item->next != NULL, node->line);
    }
    emit(c, WRITE_LINE, 0, node->line);
}

static void compile_node(struct compiler *c, const struct node *node) {
    int count;
    switch (node->form) {
    case NUMBER_FORM:
        emit(c, PUSH, constant(c, number(node->value)), node->line);
        break;
    case TEXT_FORM:
        emit(c, PUSH, constant(c, boxed(new_text(node->text, strlen(node->text)))), node->line);
        break;
    case TRUTH_FORM:
        emit(c, PUSH, constant(c, truth(node->value != 0)), node->line);
        break;
    case NAME_FORM:
        access_name(c, node, 0);
        break;
    case LIST_FORM:
        count = compile_row(c, node->first);
        emit(c, MAKE_LIST, count, node->line);
        break;
    case UNARY_FORM:
        compile_node(c, node->first);
        emit(c, node->word == MINUS ? NEGATE : INVERT, 0, node->line);
        break;
    case BINARY_FORM:
        binary(c, node);
        break;
    case CALL_FORM:
        compile_node(c, node->first);
        count = compile_row(c, node->second);
        emit(c, CALL, count, node->line);
        break;
    case INDEX_FORM:
        compile_node(c, node->first);
        compile_node(c, node->second);
        emit(c, GET_ITEM, 0, node->line);
        break;
    case LET_FORM:
        let(c, node);
        break;
    case ASSIGN_FORM:
        compile_node(c, node->second);
        access_name(c, node->first, 1);
        break;
    case STORE_FORM:
        compile_node(c, node->first->first);
        compile_node(c, node->first->second);
        compile_node(c, node->second);
        emit(c, SET_ITEM, 0, node->line);
        break;
    case PRINT_FORM:
        print(c, node);
        break;
    case IF_FORM:
        conditional(c, node);
        break;
    case WHILE_FORM:
        loop(c, node);
        break;
    case RETURN_FORM:
        if (node->first)
            compile_node(c, node->first);
        else
            emit(c, PUSH, constant(c, nothing()), node->line);
        emit(c, GIVE_BACK, 0, node->line);
        break;
    case FUNCTION_FORM:
        define(c, node);
        break;
    case EXPRESSION_FORM:
        compile_node(c, node->first);
        emit(c, POP, 0, node->line);
        break;
    case BLOCK_FORM:
        compile_row(c, node->first);
        break;
    }
}

void compile(struct program *program, const struct node *tree) {
    struct compiler c;
    memset(&c, 0, sizeof c);
    c.program = program;
    compile_node(&c, tree);
    emit(&c, STOP, 0, 0);
}

void drop_program(struct program *program) {
    free(program->code);
    free(program->constants);
    drop_table(&program->globals);
}
