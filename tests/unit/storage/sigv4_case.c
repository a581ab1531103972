#include "sigv4_case.h"

#include "base.h"

#include <assert.h>

static struct str unhex(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.n / 2 + 1);
    for (size_t i = 0; i + 1 < s.n; i += 2) {
        int v = 0;
        for (size_t k = i; k < i + 2; k++)
            v = v * 16 + (s.p[k] <= '9' ? s.p[k] - '0' : s.p[k] - 'a' + 10);
        p[i / 2] = (char)v;
    }
    return (struct str){p, s.n / 2};
}

static void take_header(struct sigv4_case *c, struct str value)
{
    struct str name = str_cut(&value, ':');
    assert(c->request.n_headers < CASE_HEADERS);
    /* Blanks behind the colon stay: trimming them is the signer's work. */
    c->headers[c->request.n_headers++] = (struct fetch_header){name, value};
    c->request.headers = c->headers;
}

static void take(struct arena *a, struct sigv4_case *c, struct str name, struct str value)
{
    struct {
        const char *name;
        struct str *to;
    } texts[] = {
        {"id",           &c->key.id              },
        {"secret",       &c->key.secret          },
        {"token",        &c->key.token           },
        {"region",       &c->key.region          },
        {"service",      &c->key.service         },
        {"host",         &c->request.host        },
        {"method",       &c->request.method      },
        {"path",         &c->request.path        },
        {"query",        &c->request.query       },
        {"payload-hash", &c->request.payload_hash},
        {"signed",       &c->signed_headers      },
        {"signature",    &c->signature           },
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (str_eq(name, str_from(texts[i].name)))
            *texts[i].to = value;
    if (str_eq(name, STR("header")))
        take_header(c, value);
    int64_t number = 0;
    if (str_eq(name, STR("time-ms")) && str_to_i64(value, &number))
        c->request.now_ms = number;
    if (str_eq(name, STR("key-hex")))
        c->request.path = arena_printf(a, "/%.*s", STR_ARG(sigv4_encode_path(a, unhex(a, value))));
}

bool sigv4_case_read(struct arena *a, struct str *text, struct sigv4_case *out)
{
    *out = (struct sigv4_case){.request = {.query = STR("")}};
    bool any = false;
    while (text->p) {
        struct str line = str_cut(text, '\n');
        if (line.n == 0 && any)
            return true;
        if (line.n == 0 || line.p[0] == '#')
            continue;
        any = true;
        struct str name = str_cut(&line, ':');
        take(a, out, name, str_sub(line, 1, line.n));
    }
    return any;
}
