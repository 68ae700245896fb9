/* A small language: read, compiled to instructions for a stack machine, and executed.
 *
 *     let n = 10;
 *     fn square(x) { return x * x; }
 *     while n > 0 { print square(n), "is a square"; n = n - 1; }
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stddef.h>
#include <stdint.h>

/* ---- values ------------------------------------------------------------------------------- */

enum type { NOTHING, TRUTH, NUMBER, TEXT, LIST, FUNCTION };

struct object;

struct value {
    enum type type;
    union {
        int truth;
        double number;
        struct object *object;
    } as;
};

struct object {
    struct object *next; /* all objects that live */
    enum type type;
    int marked;
    union {
        struct {
            size_t length;
            uint32_t hash;
            char *bytes;
        } text;
        struct {
            size_t used, room;
            struct value *items;
        } list;
        struct {
            int start, parameters, locals;
            const char *name;
        } function;
    } as;
};

struct value nothing(void);
struct value truth(int t);
struct value number(double x);
struct value boxed(struct object *object);
int is_true(struct value v);
int equal(struct value a, struct value b);
void write_value(struct value v);

/* ---- objects and their memory --------------------------------------------------------------- */

struct object *new_text(const char *bytes, size_t length);
struct object *join_texts(const struct object *a, const struct object *b);
struct object *new_list(void);
struct object *new_function(const char *name, int start, int parameters);
void append(struct object *list, struct value item);
void mark(struct value v);
size_t sweep(void);
size_t live_objects(void);
void free_all(void);

/* ---- a table of names ------------------------------------------------------------------------ */

struct entry {
    char *name;
    uint32_t hash;
    int slot;
};

struct table {
    struct entry *entries;
    size_t used, room;
};

uint32_t hash_bytes(const char *bytes, size_t length);
int find_name(const struct table *table, const char *name);
int add_name(struct table *table, const char *name);
void drop_table(struct table *table);

/* ---- words of the language --------------------------------------------------------------------- */

enum word {
    END,
    NAME,
    CONSTANT,
    STRING,
    LET,
    FN,
    RETURN,
    IF,
    ELSE,
    WHILE,
    PRINT,
    AND,
    OR,
    NOT,
    TRUE,
    FALSE,
    LEFT,
    RIGHT,
    OPEN,
    CLOSE,
    BEGIN,
    FINISH,
    COMMA,
    SEMICOLON,
    ASSIGN,
    EQUAL,
    UNEQUAL,
    LESS,
    LESS_EQUAL,
    GREATER,
    GREATER_EQUAL,
    PLUS,
    MINUS,
    TIMES,
    DIVIDE,
    REMAINDER,
    WRONG
};

struct lexer {
    const char *at;
    int line;
    enum word word;
    double value;      /* of a constant */
    char text[256];    /* of a name or a string */
    size_t length;
};

void start_lexer(struct lexer *lexer, const char *source);
void next_word(struct lexer *lexer);
const char *word_name(enum word word);

/* ---- the tree -------------------------------------------------------------------------------------- */

enum form {
    NUMBER_FORM,
    TEXT_FORM,
    TRUTH_FORM,
    NAME_FORM,
    LIST_FORM,
    UNARY_FORM,
    BINARY_FORM,
    CALL_FORM,
    INDEX_FORM,
    LET_FORM,
    ASSIGN_FORM,
    STORE_FORM,
    PRINT_FORM,
    IF_FORM,
    WHILE_FORM,
    RETURN_FORM,
    FUNCTION_FORM,
    EXPRESSION_FORM,
    BLOCK_FORM
};

struct node {
    enum form form;
    enum word word;
    int line;
    double value;
    char *text;
    struct node *first, *second, *third; /* parts */
    struct node *next;                   /* in a row of statements, parameters, items */
};

struct node *parse(struct lexer *lexer);
void drop_tree(struct node *node);

/* ---- instructions ------------------------------------------------------------------------------------ */

enum code {
    STOP,
    PUSH,
    POP,
    LOAD_GLOBAL,
    STORE_GLOBAL,
    LOAD_LOCAL,
    STORE_LOCAL,
    MAKE_LIST,
    GET_ITEM,
    SET_ITEM,
    NEGATE,
    INVERT,
    ADD,
    SUBTRACT,
    MULTIPLY,
    QUOTIENT,
    MODULO,
    IS_EQUAL,
    IS_LESS,
    IS_LESS_EQUAL,
    JUMP,
    JUMP_FALSE,
    KEEP_FALSE,
    KEEP_TRUE,
    CALL,
    GIVE_BACK,
    WRITE,
    WRITE_LINE
};

struct instruction {
    enum code code;
    int operand;
    int line;
};

struct program {
    struct instruction *code;
    size_t used, room;
    struct value *constants;
    size_t constants_used, constants_room;
    struct table globals;
};

void compile(struct program *program, const struct node *tree);
void drop_program(struct program *program);

/* ---- the machine ---------------------------------------------------------------------------------------- */

enum { STACK = 4096, FRAMES = 512 };

struct frame {
    const struct instruction *back;
    size_t base;
};

struct machine {
    struct value stack[STACK];
    size_t top;
    struct frame frames[FRAMES];
    size_t depth;
    struct value *globals;
    size_t executed, collected;
};

typedef struct value builtin(struct machine *machine, const struct value *arguments, int count);

void define_builtins(struct program *program);
builtin *builtin_at(int slot);
void execute(struct machine *machine, const struct program *program);

/* Ends the program with a message. */
_Noreturn void fail(int line, const char *message, const char *detail);

#endif
