/* The tree of a program, by recursive descent and precedence. */
#include <stdlib.h>
#include <string.h>

#include "script.h"

static struct node *expression(struct lexer *lexer, int strength);
static struct node *block(struct lexer *lexer);

static struct node *new_node(const struct lexer *lexer, enum form form) {
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        fail(lexer->line, "out of memory", "");
    node->form = form;
    node->word = lexer->word;
    node->line = lexer->line;
    return node;
}

static int accept(struct lexer *lexer, enum word word) {
    if (lexer->word != word)
        return 0;
    next_word(lexer);
    return 1;
}

static void expect(struct lexer *lexer, enum word word) {
    if (!accept(lexer, word))
        fail(lexer->line, "expected", word_name(word));
}

static struct node *named(struct lexer *lexer, enum form form) {
    struct node *node = new_node(lexer, form);
    if (lexer->word != NAME && lexer->word != STRING)
        fail(lexer->line, "expected a name, found", word_name(lexer->word));
    node->text = malloc(lexer->length + 1);
    memcpy(node->text, lexer->text, lexer->length + 1);
    next_word(lexer);
    return node;
}

/* Expressions between commas, up to a closing word. */
static struct node *items(struct lexer *lexer, enum word close) {
    struct node *first = NULL, **last = &first;
    while (lexer->word != close) {
        *last = expression(lexer, 0);
        last = &(*last)->next;
        if (!accept(lexer, COMMA))
            break;
    }
    expect(lexer, close);
    return first;
}

static struct node *primary(struct lexer *lexer) {
    struct node *node;
    switch (lexer->word) {
    case CONSTANT:
        node = new_node(lexer, NUMBER_FORM);
        node->value = lexer->value;
        next_word(lexer);
        return node;
    case STRING:
        return named(lexer, TEXT_FORM);
    case NAME:
        return named(lexer, NAME_FORM);
    case TRUE:
    case FALSE:
        node = new_node(lexer, TRUTH_FORM);
        node->value = lexer->word == TRUE;
        next_word(lexer);
        return node;
    case LEFT:
        next_word(lexer);
        node = expression(lexer, 0);
        expect(lexer, RIGHT);
        return node;
    case OPEN:
        node = new_node(lexer, LIST_FORM);
        next_word(lexer);
        node->first = items(lexer, CLOSE);
        return node;
    case MINUS:
    case NOT:
        node = new_node(lexer, UNARY_FORM);
        next_word(lexer);
        node->first = expression(lexer, 7);
        return node;
    default:
        fail(lexer->line, "an expression cannot begin with", word_name(lexer->word));
    }
}

static struct node *postfix(struct lexer *lexer) {
    struct node *node = primary(lexer);
    for (;;) {
        struct node *outer;
        if (lexer->word == LEFT) {
            outer = new_node(lexer, CALL_FORM);
            next_word(lexer);
            outer->second = items(lexer, RIGHT);
        } else if (lexer->word == OPEN) {
            outer = new_node(lexer, INDEX_FORM);
            next_word(lexer);
            outer->second = expression(lexer, 0);
            expect(lexer, CLOSE);
        } else {
            return node;
        }
        outer->first = node;
        node = outer;
    }
}

static int strength_of(enum word word) {
    switch (word) {
    case OR:
        return 1;
    case AND:
        return 2;
    case EQUAL:
    case UNEQUAL:
        return 3;
    case LESS:
    case LESS_EQUAL:
    case GREATER:
    case GREATER_EQUAL:
        return 4;
    case PLUS:
    case MINUS:
        return 5;
    case TIMES:
    case DIVIDE:
    case REMAINDER:
        return 6;
    default:
        return 0;
    }
}

static struct node *expression(struct lexer *lexer, int strength) {
    struct node *left = postfix(lexer);
    int mine;
    while ((mine = strength_of(lexer->word)) > strength) {
        struct node *node = new_node(lexer, BINARY_FORM);
        next_word(lexer);
        node->first = left;
        node->second = expression(lexer, mine);
        left = node;
    }
    return left;
}

static struct node *function(struct lexer *lexer) {
    struct node *node, **last;
    next_word(lexer);
    node = named(lexer, FUNCTION_FORM);
    last = &node->first;
    expect(lexer, LEFT);
    while (lexer->word == NAME) {
        *last = named(lexer, NAME_FORM);
        last = &(*last)->next;
        if (!accept(lexer, COMMA))
            break;
    }
    expect(lexer, RIGHT);
    node->second = block(lexer);
    return node;
}

static struct node *condition(struct lexer *lexer, enum form form) {
    struct node *node = new_node(lexer, form);
    next_word(lexer);
    node->first = expression(lexer, 0);
    node->second = block(lexer);
    if (form == IF_FORM && accept(lexer, ELSE))
        node->third = lexer->word == IF ? condition(lexer, IF_FORM) : block(lexer);
    return node;
}

static struct node *simple(struct lexer *lexer) {
    struct node *node, *target;
    switch (lexer->word) {
    case LET:
        next_word(lexer);
        node = named(lexer, LET_FORM);
        expect(lexer, ASSIGN);
        node->first = expression(lexer, 0);
        break;
    case PRINT:
        node = new_node(lexer, PRINT_FORM);
        next_word(lexer);
        node->first = items(lexer, SEMICOLON);
        return node;
    case RETURN:
        node = new_node(lexer, RETURN_FORM);
        next_word(lexer);
        if (lexer->word != SEMICOLON)
            node->first = expression(lexer, 0);
        break;
    default:
        target = expression(lexer, 0);
        if (lexer->word != ASSIGN) {
            node = new_node(lexer, EXPRESSION_FORM);
            node->first = target;
            break;
        }
        if (target->form != NAME_FORM && target->form != INDEX_FORM)
            fail(lexer->line, "cannot assign to this", "");
        node = new_node(lexer, target->form == NAME_FORM ? ASSIGN_FORM : STORE_FORM);
        next_word(lexer);
        node->first = target;
        node->second = expression(lexer, 0);
    }
    expect(lexer, SEMICOLON);
    return node;
}

static struct node *statement(struct lexer *lexer) {
    switch (lexer->word) {
    case FN:
        return function(lexer);
    case IF:
        return condition(lexer, IF_FORM);
    case WHILE:
        return condition(lexer, WHILE_FORM);
    case BEGIN:
        return block(lexer);
    default:
        return simple(lexer);
    }
}

static struct node *block(struct lexer *lexer) {
    struct node *node = new_node(lexer, BLOCK_FORM), **last = &node->first;
    expect(lexer, BEGIN);
    while (lexer->word != FINISH && lexer->word != END) {
        *last = statement(lexer);
        last = &(*last)->next;
    }
    expect(lexer, FINISH);
    return node;
}

struct node *parse(struct lexer *lexer) {
    struct node *node = new_node(lexer, BLOCK_FORM), **last = &node->first;
    while (lexer->word != END) {
        *last = statement(lexer);
        last = &(*last)->next;
    }
    return node;
}

void drop_tree(struct node *node) {
    while (node) {
        struct node *next = node->next;
        drop_tree(node->first);
        drop_tree(node->second);
        drop_tree(node->third);
        free(node->text);
        free(node);
        node = next;
    }
}
