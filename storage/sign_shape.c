/* The requests that are signed, as rows: the store decides by the whole query what a request is, so
 * that each row has exact sets of parameters, and everything else is refused. */
#include "arena.h"
#include "base.h"
#include "buf.h"
#include "sign_priv.h"

enum { VALUE_MAX = 2048 };

/* What a parameter may be. */
enum value {
    VALUE_NONE,
    VALUE_ONE_OF, /* the row's word */
    VALUE_NUMBER, /* 1 to 10000 */
    VALUE_ANY,    /* something opaque of the store */
    VALUE_WORD,   /* letters */
    VALUE_INSIDE, /* a beginning of keys beneath the folder */
};

#define PARAMS(X)                                                                                  \
    X(X_ID, "x-id", VALUE_WORD, NULL) /* SDKs name their operation */                              \
    X(LIST_TYPE, "list-type", VALUE_ONE_OF, "2")                                                   \
    X(PREFIX, "prefix", VALUE_INSIDE, NULL)                                                        \
    X(CONTINUATION_TOKEN, "continuation-token", VALUE_ANY, NULL)                                   \
    X(DELIMITER, "delimiter", VALUE_ONE_OF, "/")                                                   \
    X(ENCODING_TYPE, "encoding-type", VALUE_ONE_OF, "url")                                         \
    X(FETCH_OWNER, "fetch-owner", VALUE_WORD, NULL)                                                \
    X(MAX_KEYS, "max-keys", VALUE_NUMBER, NULL)                                                    \
    X(START_AFTER, "start-after", VALUE_INSIDE, NULL)                                              \
    X(PART_NUMBER, "partNumber", VALUE_NUMBER, NULL)                                               \
    X(UPLOAD_ID, "uploadId", VALUE_ANY, NULL)                                                      \
    X(UPLOADS, "uploads", VALUE_NONE, NULL)                                                        \
    X(DELETE, "delete", VALUE_NONE, NULL)

enum {
#define X(name, wire, value, word) NTH_##name,
    PARAMS(X)
#undef X
        PARAM_COUNT
};

enum {
#define X(name, wire, value, word) PARAM_##name = 1U << NTH_##name,
    PARAMS(X)
#undef X
};

static const struct param {
    const char *name;
    enum value value;
    const char *word;
} params[PARAM_COUNT] = {
#define X(name, wire, value, word) {wire, value, word},
    PARAMS(X)
#undef X
};

enum where { AT_OBJECT, AT_BUCKET };

#define LISTS                                                                                      \
    (PARAM_X_ID | PARAM_CONTINUATION_TOKEN | PARAM_DELIMITER | PARAM_ENCODING_TYPE |               \
        PARAM_FETCH_OWNER | PARAM_MAX_KEYS | PARAM_START_AFTER)

static const struct shape {
    const char *method;
    enum where where;
    unsigned must, may; /* parameters */
    enum sign_kind kind;
} shapes[] = {
    {"GET",    AT_OBJECT, 0,                                   PARAM_X_ID, SIGN_READS       },
    {"HEAD",   AT_OBJECT, 0,                                   PARAM_X_ID, SIGN_READS       },
    {"GET",    AT_BUCKET, PARAM_LIST_TYPE | PARAM_PREFIX,      LISTS,      SIGN_READS       },
    {"PUT",    AT_OBJECT, 0,                                   PARAM_X_ID, SIGN_WRITES      },
    {"PUT",    AT_OBJECT, PARAM_PART_NUMBER | PARAM_UPLOAD_ID, PARAM_X_ID, SIGN_WRITES      },
    {"POST",   AT_OBJECT, PARAM_UPLOADS,                       PARAM_X_ID, SIGN_WRITES      },
    {"POST",   AT_OBJECT, PARAM_UPLOAD_ID,                     PARAM_X_ID, SIGN_WRITES      },
    {"DELETE", AT_OBJECT, 0,                                   PARAM_X_ID, SIGN_WRITES      },
    {"DELETE", AT_OBJECT, PARAM_UPLOAD_ID,                     PARAM_X_ID, SIGN_WRITES      },
    {"POST",   AT_BUCKET, PARAM_DELETE,                        PARAM_X_ID, SIGN_DELETES_MANY},
};

/* --- the query ---------------------------------------------------------------------------------
 */

static bool is_number(struct str s)
{
    int64_t n = 0;
    return s.n > 0 && s.n <= 5 && s.p[0] >= '1' && s.p[0] <= '9' && str_to_i64(s, &n) && n <= 10000;
}

static bool is_word(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z') ||
                (s.p[i] >= '0' && s.p[i] <= '9')))
            return false;
    return s.n > 0 && s.n <= 64;
}

static bool is_opaque(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return false;
    return s.n > 0 && s.n <= VALUE_MAX;
}

/* A list's beginning may be the folder itself only with its slash: "t1" would list "t10" too. */
static bool is_inside(struct arena *a, const struct sign_folder *f, struct str s, struct err *err)
{
    if (!str_starts(s, f->key) || s.n <= f->key.n || s.p[f->key.n] != '/')
        return err_set(err, ERR_STORE_DENIED,
            "The request to be signed lists what lies outside of the table: expected a prefix that "
            "begins with %.*s/",
            STR_ARG(f->key));
    return sign__path(a, s, SIGN_PATH_BEGINNING, err);
}

static bool check_value(struct arena *a, const struct sign_folder *f, const struct param *p,
    struct str value, struct err *err)
{
    bool good = false;
    switch (p->value) {
    case VALUE_NONE:
        good = value.n == 0;
        break;
    case VALUE_ONE_OF:
        good = str_eq(value, str_from(p->word));
        break;
    case VALUE_NUMBER:
        good = is_number(value);
        break;
    case VALUE_ANY:
        good = is_opaque(value);
        break;
    case VALUE_WORD:
        good = is_word(value);
        break;
    case VALUE_INSIDE:
        return is_inside(a, f, value, err);
    }
    return good || err_set(err, ERR_STORE_DENIED,
                       "The request to be signed is refused: a value of the parameter %s", p->name);
}

static const struct param *find_param(struct str name, unsigned *bit)
{
    for (unsigned i = 0; i < PARAM_COUNT; i++) {
        *bit = 1U << i;
        if (str_eq(name, str_from(params[i].name)))
            return &params[i];
    }
    return NULL;
}

static bool refuse_param(struct str name, struct err *err)
{
    if (name.n >= 6 && str_eq_nocase(str_sub(name, 0, 6), STR("x-amz-")))
        return err_set(err, ERR_STORE_BAD_URI,
            "The URI to be signed is signed already: expected one without X-Amz- parameters");
    return err_set(err, ERR_STORE_DENIED, "The request to be signed is refused: the parameter %.*s",
        STR_ARG(str_sub(name, 0, 64)));
}

/* Reads the query and writes it anew, so that what is signed is what was read: a plus is the blank
 * that most parsers take it for. */
static bool read_query(struct arena *a, const struct sign_folder *f, struct str query,
    struct buf *out, unsigned *found, struct err *err)
{
    *found = 0;
    while (query.p) {
        struct str value = str_cut(&query, '&'), name = str_cut(&value, '='), plain = STR("");
        unsigned bit = 0;
        if (!str_pct_decode(a, name, STR_PLUS_SPACE, &name) ||
            (value.p && !str_pct_decode(a, value, STR_PLUS_SPACE, &plain)))
            return err_set(err, ERR_STORE_BAD_URI,
                "The URI to be signed is not understood: bad percent-encoding or UTF-8 in the "
                "query");
        const struct param *p = find_param(name, &bit);
        if (!p)
            return refuse_param(name, err);
        if (*found & bit)
            return err_set(err, ERR_STORE_DENIED,
                "The request to be signed is refused: the parameter %s twice", p->name);
        *found |= bit;
        TRY(check_value(a, f, p, plain, err));
        buf_putf(out, "%s%s=%.*s", out->n > 0 ? "&" : "", p->name,
            STR_ARG(str_pct_encode(a, plain, "")));
    }
    return true;
}

static bool take_query(struct arena *a, const struct sign_folder *f, struct sign_plan *plan,
    unsigned *found, struct err *err)
{
    struct buf b;
    buf_init(&b, (size_t)3 * SIGN_URI_MAX);
    buf_reserve(&b, 2 * plan->at.query.n);
    bool good = read_query(a, f, plan->at.query, &b, found, err);
    plan->at.query = buf_take(&b, a);
    return good;
}

/* --- the shape ---------------------------------------------------------------------------------
 */

static const struct shape *find_shape(struct str method, enum where where, unsigned found)
{
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        const struct shape *s = &shapes[i];
        if (s->where == where && str_eq(method, str_from(s->method)) &&
            (found & s->must) == s->must && (found & ~(s->must | s->may)) == 0)
            return s;
    }
    return NULL;
}

static bool check_key(const struct sign_folder *f, const struct sign_plan *plan, struct err *err)
{
    if (!plan->at.key.p || sign__beneath(f, plan->at.key))
        return true;
    /* Clients look whether the folder's own name is an object. */
    if (plan->kind == SIGN_READS && str_eq(plan->at.key, f->key))
        return true;
    return err_set(err, ERR_STORE_DENIED,
        "The URI to be signed is refused: expected something beneath s3://%.*s/%.*s/",
        STR_ARG(f->bucket), STR_ARG(f->key));
}

bool sign__shape(struct arena *a, const struct sign_folder *f, enum vend_access access,
    struct str method, struct sign_plan *plan, struct err *err)
{
    unsigned found = 0;
    if (plan->at.query.n > 0)
        TRY(take_query(a, f, plan, &found, err));
    else
        plan->at.query = STR("");
    const struct shape *s = find_shape(method, plan->at.key.p ? AT_OBJECT : AT_BUCKET, found);
    if (!s)
        return err_set(err, ERR_STORE_DENIED,
            "The request to be signed is refused: %.*s of %s with these parameters",
            STR_ARG(str_sub(method, 0, 16)), plan->at.key.p ? "an object" : "the bucket");
    plan->kind = s->kind;
    TRY(check_key(f, plan, err));
    return access == VEND_WRITE || s->kind == SIGN_READS ||
           err_set(err, ERR_STORE_DENIED, "The request to be signed writes, and may only read");
}
