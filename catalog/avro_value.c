/* Values of a compiled schema: those that are wanted are made, the others passed over. */
#include <inttypes.h>

#include "avro_priv.h"
#include "base.h"

bool avro__take(struct avro_cursor *c, size_t n, struct str *out, struct err *err)
{
    if (n > avro__left(c))
        return err_set(err, ERR_BAD_REQUEST, "ends too early: %zu bytes expected, %zu are there", n,
            avro__left(c));
    *out = (struct str){(const char *)c->p, n};
    c->p += n;
    return true;
}

bool avro__long(struct avro_cursor *c, int64_t *out, struct err *err)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (c->p == c->end)
            return err_set(err, ERR_BAD_REQUEST, "ends too early, within a number");
        unsigned byte = *c->p++;
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = (int64_t)(v >> 1 ^ (0 - (v & 1)));
            return true;
        }
    }
    return err_set(err, ERR_BAD_REQUEST, "a number of more than 64 bits");
}

bool avro__bytes(struct avro_cursor *c, struct str *out, struct err *err)
{
    int64_t n;
    TRY(avro__long(c, &n, err));
    if (n < 0)
        return err_set(err, ERR_BAD_REQUEST, "a text of %" PRId64 " bytes", n);
    return avro__take(c, (size_t)n, out, err);
}

/* A negative count is followed by the bytes of the block. */
bool avro__count(struct avro_cursor *c, int64_t *out, struct err *err)
{
    int64_t size;
    TRY(avro__long(c, out, err));
    if (*out >= 0)
        return true;
    TRY(avro__long(c, &size, err));
    *out = *out == INT64_MIN ? INT64_MAX : -*out;
    return true;
}

static bool skip(struct avro_cursor *c, const struct avro_node *node, struct err *err);

static bool skip_element(struct avro_cursor *c, const struct avro_node *node, struct err *err)
{
    struct str key;
    if (node->type == AVRO_T_MAP)
        TRY(avro__bytes(c, &key, err));
    return skip(c, node->fields[0].node, err);
}

/* Each takes a byte or more. */
static bool skip_elements(struct avro_cursor *c, const struct avro_node *node, struct err *err)
{
    int64_t count;
    do {
        TRY(avro__count(c, &count, err));
        if ((uint64_t)count > avro__left(c))
            return err_set(
                err, ERR_BAD_REQUEST, "%" PRId64 " elements in %zu bytes", count, avro__left(c));
        for (int64_t i = 0; i < count; i++)
            TRY(skip_element(c, node, err));
    } while (count > 0);
    return true;
}

static bool branch(struct avro_cursor *c, const struct avro_node *node,
    const struct avro_node **out, struct err *err)
{
    int64_t i;
    TRY(avro__long(c, &i, err));
    if (i < 0 || (uint64_t)i >= node->n)
        return err_set(err, ERR_BAD_REQUEST, "branch %" PRId64 " of a union of %zu", i, node->n);
    *out = node->fields[i].node;
    return true;
}

static bool skip(struct avro_cursor *c, const struct avro_node *node, struct err *err)
{
    int64_t number;
    struct str text;
    switch (node->type) {
    case AVRO_T_INT:
    case AVRO_T_LONG:
    case AVRO_T_ENUM:
        return avro__long(c, &number, err);
    case AVRO_T_BYTES:
    case AVRO_T_STRING:
        return avro__bytes(c, &text, err);
    case AVRO_T_ARRAY:
    case AVRO_T_MAP:
        return skip_elements(c, node, err);
    case AVRO_T_UNION:
        TRY(branch(c, node, &node, err));
        return skip(c, node, err);
    case AVRO_T_RECORD:
        for (size_t i = 0; i < node->n; i++)
            TRY(skip(c, node->fields[i].node, err));
        return true;
    default: /* null, boolean, float, double, fixed: of one size */
        return avro__take(c, node->min, &text, err);
    }
}

static bool read(struct avro_cursor *c, const struct avro_node *node, const struct avro_want *want,
    char *out, struct err *err)
{
    if (node->type == AVRO_T_UNION)
        TRY(branch(c, node, &node, err));
    if (node->type == AVRO_T_NULL)
        return true;
    switch (want->kind) {
    case AVRO_TEXT:
        return avro__bytes(c, (struct str *)(void *)(out + want->at), err);
    case AVRO_INTEGER:
        return avro__long(c, (int64_t *)(void *)(out + want->at), err);
    case AVRO_INNER:
        break;
    }
    return avro__record(c, node, out, err);
}

bool avro__record(struct avro_cursor *c, const struct avro_node *record, void *out, struct err *err)
{
    for (size_t i = 0; i < record->n; i++) {
        const struct avro_field *f = &record->fields[i];
        if (!(f->want ? read(c, f->node, f->want, out, err) : skip(c, f->node, err)))
            return err_wrap(err, "%.*s", STR_ARG(str_utf8_cut(f->name, 60)));
    }
    return true;
}
