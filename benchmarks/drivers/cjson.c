/* Reads JSON and prints it again. */
#include "cJSON.h"
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    static char text[1 << 20];
    text[fread(text, 1, sizeof text - 1, stdin)] = 0;
    cJSON *root = cJSON_Parse(text);
    char *out = cJSON_Print(root);
    puts(out ? out : "no JSON");
    free(out);
    cJSON_Delete(root);
    return 0;
}
