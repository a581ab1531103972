/* The floor of touching bytes: so many copied from one place to another, or a file read.
   floor_copy BYTES|FILE SECONDS
   Prints how often that was done and the CPU time it took. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char *from, *to;
static size_t n;

static void copy(void)
{
    memcpy(to, from, n);
    __asm__ volatile("" : : "r"(to) : "memory"); /* the copy is not left out */
}

static void read_file(const char *path)
{
    int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, to, n) != (ssize_t)n || close(fd) < 0)
        exit(1);
}

int main(int argc, char **argv)
{
    struct stat st;

    if (argc != 3)
        return 2;
    const char *path = strchr(argv[1], '/') ? argv[1] : NULL;
    if (path && stat(path, &st) < 0)
        return 1;
    n = path ? (size_t)st.st_size : (size_t)atol(argv[1]);
    from = malloc(n + 1);
    to = malloc(n + 1);
    if (!from || !to)
        return 1;
    memset(from, 'x', n + 1);
    double most = atof(argv[2]), spent = 0;
    clock_t begin = clock();
    long done = 0;
    for (; spent < most; done++) {
        if (path)
            read_file(path);
        else
            copy();
        if (done % 16 == 0)
            spent = (double)(clock() - begin) / CLOCKS_PER_SEC;
    }
    printf("%ld %.6f\n", done, spent);
    return 0;
}
