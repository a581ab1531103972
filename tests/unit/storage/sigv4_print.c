/* Signs the requests on stdin (sigv4_case.h) and prints what our signer makes of them: the other
 * half of botocore_judge.py. */
#include "arena.h"
#include "base.h"
#include "buf.h"
#include "sigv4_case.h"

#include <stdio.h>

static void print(const char *name, struct str value)
{
    (void)fprintf(stdout, "%s: %.*s\n", name, STR_ARG(value));
}

/* Line ends as a blank that no canonical request holds at that place: "|" */
static void print_canonical(struct arena *a, const struct sigv4_case *c)
{
    struct str s = sigv4_canonical(a, &c->key, &c->request);
    char *p = arena_cstr(a, s);
    for (size_t i = 0; i < s.n; i++)
        if (p[i] == '\n')
            p[i] = '|';
    print("canonical", (struct str){p, s.n});
}

static bool sign(struct arena *a, const struct sigv4_case *c, struct err *err)
{
    print("path", c->request.path);
    struct fetch_header out[4];
    size_t n = 0;
    TRY(sigv4_sign(a, &c->key, &c->request, out, &n, err));
    print_canonical(a, c);
    for (size_t i = 0; i < n; i++)
        print(out[i].name.p, out[i].value);
    return true;
}

int main(void)
{
    struct buf in;
    buf_init(&in, SIZE_MAX);
    char part[4096];
    size_t n;
    while ((n = fread(part, 1, sizeof(part), stdin)) > 0)
        buf_put(&in, part, n);
    AUTO(arena_free) struct arena *a = arena_new();
    struct str text = buf_take(&in, a);
    struct sigv4_case c;
    while (sigv4_case_read(a, &text, &c)) {
        struct err err;
        if (!sign(a, &c, &err))
            print("error", str_from(err.msg));
        (void)fputc('\n', stdout);
    }
    return 0;
}
