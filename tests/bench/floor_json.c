/* What a commit costs that reads the document into a tree and writes it out again.
   floor_json FILE SECONDS
   Prints how often that was done and the CPU time it took. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    double most = atof(argv[2]), spent = 0;
    clock_t begin = clock();
    long done = 0;
    while (spent < most) {
        json_error_t error;
        json_t *tree = json_load_file(argv[1], 0, &error);
        char *text = json_dumps(tree, JSON_COMPACT);
        if (!text)
            return 1;
        free(text);
        json_decref(tree);
        done++;
        spent = (double)(clock() - begin) / CLOCKS_PER_SEC;
    }
    printf("%ld %.6f\n", done, spent);
    return 0;
}
