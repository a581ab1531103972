#include "op.h"

#include "arena.h"
#include "op_priv.h"
#include "uuid.h"

#include <inttypes.h>

static bool refuse(const struct param *p, const char *expected, struct str found, struct err *err)
{
    char shown[OP_EXCERPT];

    return err_set(err, ERR_BAD_REQUEST, "%s: expected %s, found \"%s\"", p->name, expected,
        op__excerpt(found, shown));
}

static bool check_int(struct arena *a, const struct param *p, struct str value, struct err *err)
{
    int64_t n;
    struct str expected = STR("an integer");

    if (str_to_i64(value, &n) && n >= p->min && n <= p->max)
        return true;
    if (p->min != INT64_MIN && p->max == INT64_MAX)
        expected = arena_printf(a, "an integer of at least %" PRId64, p->min);
    else if (p->min != INT64_MIN)
        expected = arena_printf(a, "an integer from %" PRId64 " to %" PRId64, p->min, p->max);
    return refuse(p, expected.p, value, err);
}

static bool check_enum(struct arena *a, const struct param *p, struct str value, struct err *err)
{
    struct str expected = STR("");

    for (unsigned i = 0; p->values[i]; i++) {
        if (str_eq_nocase(value, str_from(p->values[i])))
            return true;
        expected = arena_printf(a, "%.*s%s%s", STR_ARG(expected), i ? " or " : "", p->values[i]);
    }
    return refuse(p, expected.p, value, err);
}

/* Names and tokens are looked at by those who know what they stand for. */
static bool check_text(const struct param *p, struct str value, struct err *err)
{
    if ((int64_t)value.n < p->min)
        return err_set(err, ERR_BAD_REQUEST, "%s: expected at least %" PRId64 " bytes, found %zu",
            p->name, p->min, value.n);
    if (p->max > 0 && (int64_t)value.n > p->max)
        return err_set(err, ERR_BAD_REQUEST, "%s: expected at most %" PRId64 " bytes, found %zu",
            p->name, p->max, value.n);
    if (!str_is_utf8(value))
        return refuse(p, "UTF-8", value, err);
    return true;
}

static bool check(struct arena *a, const struct param *p, struct str *value, struct err *err)
{
    bool flag;

    switch (p->kind) {
    case PARAM_INT:
        return check_int(a, p, *value, err);
    case PARAM_BOOL:
        if (!str_to_bool(*value, &flag))
            return refuse(p, "true or false", *value, err);
        *value = str_lower(a, *value);
        return true;
    case PARAM_ENUM:
        TRY(check_enum(a, p, *value, err));
        *value = str_lower(a, *value);
        return true;
    case PARAM_UUID:
        return uuid_is(*value) || refuse(p, "a UUID", *value, err);
    case PARAM_STRING:
    case PARAM_TOKEN:
    case PARAM_NAME:
    case PARAM_NAMESPACE:
        break;
    }
    return check_text(p, *value, err);
}

bool op_check_params(struct arena *a, const struct op *op, struct str *values, struct err *err)
{
    for (unsigned i = 0; i < op->n_params; i++) {
        const struct param *p = &op->params[i];

        if (p->in == IN_PATH)
            continue;
        if (values[i].p)
            TRY(check(a, p, &values[i], err));
        else if (p->required)
            return err_set(err, ERR_BAD_REQUEST, "%s: required parameter is missing", p->name);
    }
    return true;
}
