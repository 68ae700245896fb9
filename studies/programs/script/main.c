/* Reads a script from a file or from standard input, compiles and executes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

_Noreturn void fail(int line, const char *message, const char *detail) {
    fflush(stdout);
    if (line)
        fprintf(stderr, "line %d: ", line);
    fprintf(stderr, "%s%s%s\n", message, *detail ? " " : "", detail);
    exit(1);
}

static char *read_all(FILE *file) {
    size_t used = 0, room = 1024, got;
    char *text = malloc(room);
    while ((got = fread(text + used, 1, room - used - 1, file)) > 0) {
        used += got;
        if (used + 1 == room) {
            room *= 2;
            text = realloc(text, room);
        }
    }
    text[used] = 0;
    return text;
}

static FILE *input(int argc, char **argv) {
    FILE *file = stdin;
    if (argc > 1 && !(file = fopen(argv[1], "r")))
        fail(0, "cannot open", argv[1]);
    return file;
}

static void start(struct machine *machine, const struct program *program) {
    memset(machine, 0, sizeof *machine);
    machine->globals = calloc(program->globals.used, sizeof *machine->globals);
    for (size_t i = 0; i < program->globals.used; i++)
        machine->globals[i] = builtin_at(0) && i < 6 ? number((double)i) : nothing();
}

int main(int argc, char **argv) {
    FILE *file = input(argc, argv);
    char *source = read_all(file);
    struct lexer lexer;
    struct program program;
    struct machine *machine = malloc(sizeof *machine);
    memset(&program, 0, sizeof program);
    start_lexer(&lexer, source);
    struct node *tree = parse(&lexer);
    define_builtins(&program);
    compile(&program, tree);
    start(machine, &program);
    execute(machine, &program);
    printf("%zu instructions, %zu objects collected\n", machine->executed, machine->collected);
    drop_tree(tree);
    drop_program(&program);
    free_all();
    free(machine->globals);
    free(machine);
    free(source);
    if (file != stdin)
        fclose(file);
    return 0;
}
