/* Words, one at a time. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

static const struct {
    const char *text;
    enum word word;
} keywords[] = {
    {"let", LET},     {"fn", FN},   {"return", RETURN}, {"if", IF},   {"else", ELSE},   {"while", WHILE},
    {"print", PRINT}, {"and", AND}, {"or", OR},         {"not", NOT}, {"true", TRUE}, {"false", FALSE},
};

static const char *const names[] = {
    "the end", "a name", "a number", "a text", "let", "fn", "return", "if", "else", "while",
    "print",   "and",    "or",       "not",    "true", "false", "(", ")", "[", "]",
    "{",       "}",      ",",        ";",      "=",   "==", "!=", "<", "<=", ">",
    ">=",      "+",      "-",        "*",      "/",   "%",  "an unknown sign",
};

const char *word_name(enum word word) { return names[word]; }

void start_lexer(struct lexer *lexer, const char *source) {
    memset(lexer, 0, sizeof *lexer);
    lexer->at = source;
    lexer->line = 1;
    next_word(lexer);
}

static void skip_space(struct lexer *lexer) {
    for (;;) {
        char c = *lexer->at;
        if (c == '#') {
            while (*lexer->at && *lexer->at != '\n')
                lexer->at++;
        } else if (c == '\n') {
            lexer->line++;
            lexer->at++;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            lexer->at++;
        } else {
            return;
        }
    }
}

static void read_name(struct lexer *lexer) {
    size_t n = 0;
    while (isalnum((unsigned char)*lexer->at) || *lexer->at == '_') {
        if (n == sizeof lexer->text - 1)
            fail(lexer->line, "a name is too long", "");
        lexer->text[n++] = *lexer->at++;
    }
    lexer->text[n] = 0;
    lexer->length = n;
    lexer->word = NAME;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strcmp(keywords[i].text, lexer->text) == 0)
            lexer->word = keywords[i].word;
}

static void read_number(struct lexer *lexer) {
    double x = 0, scale = 1;
    while (isdigit((unsigned char)*lexer->at))
        x = 10 * x + (*lexer->at++ - '0');
    if (*lexer->at == '.' && isdigit((unsigned char)lexer->at[1])) {
        lexer->at++;
        while (isdigit((unsigned char)*lexer->at)) {
            scale /= 10;
            x += scale * (*lexer->at++ - '0');
        }
    }
    lexer->value = x;
    lexer->word = CONSTANT;
}

static char escaped(char c) {
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    default:
        return c;
    }
}

static void read_string(struct lexer *lexer) {
    size_t n = 0;
    lexer->at++;
    while (*lexer->at != '"') {
        if (!*lexer->at || *lexer->at == '\n')
            fail(lexer->line, "a text is not closed", "");
        if (n == sizeof lexer->text - 1)
            fail(lexer->line, "a text is too long", "");
        char c = *lexer->at++;
        if (c == '\\' && *lexer->at)
            c = escaped(*lexer->at++);
        lexer->text[n++] = c;
    }
    lexer->at++;
    lexer->text[n] = 0;
    lexer->length = n;
    lexer->word = STRING;
}

static enum word with_equal(struct lexer *lexer, enum word alone, enum word both) {
    if (*lexer->at != '=')
        return alone;
    lexer->at++;
    return both;
}

static enum word sign(struct lexer *lexer) {
    switch (*lexer->at++) {
    case '(':
        return LEFT;
    case ')':
        return RIGHT;
    case '[':
        return OPEN;
    case ']':
        return CLOSE;
    case '{':
        return BEGIN;
    case '}':
        return FINISH;
    case ',':
        return COMMA;
    case ';':
        return SEMICOLON;
    case '+':
        return PLUS;
    case '-':
        return MINUS;
    case '*':
        return TIMES;
    case '/':
        return DIVIDE;
    case '%':
        return REMAINDER;
    case '=':
        return with_equal(lexer, ASSIGN, EQUAL);
    case '!':
        return with_equal(lexer, WRONG, UNEQUAL);
    case '<':
        return with_equal(lexer, LESS, LESS_EQUAL);
    case '>':
        return with_equal(lexer, GREATER, GREATER_EQUAL);
    default:
        return WRONG;
    }
}

void next_word(struct lexer *lexer) {
    skip_space(lexer);
    if (!*lexer->at)
        lexer->word = END;
    else if (isalpha((unsigned char)*lexer->at) || *lexer->at == '_')
        read_name(lexer);
    else if (isdigit((unsigned char)*lexer->at))
        read_number(lexer);
    else if (*lexer->at == '"')
        read_string(lexer);
    else
        lexer->word = sign(lexer);
}
