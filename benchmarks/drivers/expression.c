/* Compile an expression and evaluate it for many values. */
#include "input.h"
#include <tinyexpr.h>

int main(void) {
    double x, sum = 0;
    te_variable known[] = {{"x", &x, TE_VARIABLE, 0}};
    for (int round = 0; round < 200; round++) {
        te_expr *e = te_compile("(x^2+3*x-7)/(1+x*x)+sqrt(x+2)*(5+x%3)", known, 1, 0);
        for (x = 0; x < 100; x++)
            sum += te_eval(e);
        te_free(e);
    }
    printf("%.3f\n", sum);
    return 0;
}
