/* Parameters of statements about many rows: arrays in PostgreSQL's text form. */
#include "sql_priv.h"

#include <assert.h>
#include <inttypes.h>

enum { ARRAY_MAX = 64 << 20 };

void array_begin(struct array *l)
{
    buf_init(&l->text, ARRAY_MAX);
    buf_putc(&l->text, '{');
}

static void separate(struct array *l)
{
    if (l->text.n > 1)
        buf_putc(&l->text, ',');
}

void array_number(struct array *l, int64_t n)
{
    separate(l);
    buf_putf(&l->text, "%" PRId64, n);
}

void array_str(struct array *l, struct str s)
{
    separate(l);
    if (!s.p) {
        buf_puts(&l->text, "NULL");
        return;
    }
    buf_putc(&l->text, '"');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"' || s.p[i] == '\\')
            buf_putc(&l->text, '\\');
        buf_putc(&l->text, s.p[i]);
    }
    buf_putc(&l->text, '"');
}

struct param array_end(struct array *l, struct arena *a)
{
    buf_putc(&l->text, '}');
    assert(!l->text.over);
    return text_param(buf_take(&l->text, a));
}
