#include "op.h"

#include "arena.h"
#include "op_priv.h"

static const char *const method_names[OP_METHOD_COUNT] = {
    [OP_GET] = "GET",
    [OP_HEAD] = "HEAD",
    [OP_POST] = "POST",
    [OP_DELETE] = "DELETE",
};

/* A raw path in pieces. */
struct pieces {
    struct str at[OP_SEGMENTS_MAX];
    bool gap[OP_SEGMENTS_MAX]; /* empty segments came before it */
    bool gaps;                 /* is there one? */
    unsigned n;
    struct str prefix;
};

bool op_method_parse(struct str s, enum op_method *out)
{
    for (unsigned m = 0; m < OP_METHOD_COUNT; m++) {
        if (str_eq(s, str_from(method_names[m]))) {
            *out = (enum op_method)m;
            return true;
        }
    }
    *out = OP_METHOD_COUNT;
    return false;
}

/* Is s a word that follows "v1" in some path? Any other word there is a prefix. */
static bool follows_v1(struct str s)
{
    for (unsigned i = 0; i < op_n_paths; i++)
        if (op_paths[i].n > 1 && str_eq(op_paths[i].segments[1].text, s) &&
            str_eq(op_paths[i].segments[0].text, STR("v1")))
            return true;
    return false;
}

/* Splits before anything is decoded: an encoded slash belongs to a name. Slashes in a row count as
 * one; where they may stand for a name that is missing is noted. At the end an empty segment stays:
 * it is a name that is missing. False: more pieces than any path has. */
static bool split(struct str path, struct pieces *out)
{
    enum { AT_START, BEHIND_V1, BEHIND_WORD } state = AT_START;
    struct str rest = path;
    bool gap = false;

    *out = (struct pieces){.n = 0};
    while (rest.p) {
        struct str piece = str_cut(&rest, '/');

        if (piece.n == 0 && (rest.p || state != BEHIND_WORD)) {
            gap = state == BEHIND_WORD;
            continue;
        }
        if (state == BEHIND_V1 && !out->prefix.p && !follows_v1(piece)) {
            out->prefix = piece;
            continue;
        }
        if (out->n == OP_SEGMENTS_MAX)
            return false;
        out->gap[out->n] = gap;
        out->gaps |= gap;
        out->at[out->n++] = piece;
        gap = false;
        if (state == AT_START && str_eq(piece, STR("v1")))
            state = BEHIND_V1;
        else
            state = BEHIND_WORD;
    }
    return true;
}

static bool fits(const struct op_segment *want, struct str piece)
{
    return want->is_arg ? piece.n > 0 : str_eq(want->text, piece);
}

static bool matches(const struct op_path *path, const struct pieces *pieces)
{
    if (path->n != pieces->n || (pieces->prefix.p && !path->prefixed))
        return false;
    /* From the end: what comes first is in most paths the same. */
    for (unsigned i = path->n; i-- > 0;)
        if (!fits(&path->segments[i], pieces->at[i]))
            return false;
    return true;
}

/* Are the pieces the path, with gaps in the place of some of its names? Names do not follow each
 * other in any path, so a gap is one name at most, and whether it is one is seen from the next
 * word. */
static bool lacks_names(const struct op_path *path, const struct pieces *pieces)
{
    unsigned i = 0, k = 0, names = 0;

    for (; i < path->n && k < pieces->n; i++) {
        const struct op_segment *want = &path->segments[i];
        bool missing = want->is_arg && pieces->gap[k] && i + 1 < path->n &&
                       fits(&path->segments[i + 1], pieces->at[k]);
        if (missing)
            names++;
        else if (!fits(want, pieces->at[k++]))
            return false;
    }
    return names > 0 && i == path->n && k == pieces->n;
}

/* With a name left out "namespaces//tables" would be the namespace that is called "tables". */
static bool is_ambiguous(const struct pieces *pieces)
{
    if (!pieces->gaps)
        return false;
    for (unsigned i = 0; i < op_n_paths; i++)
        if (lacks_names(&op_paths[i], pieces))
            return true;
    return false;
}

static const struct op_path *find_path(struct str path, struct pieces *pieces)
{
    if (path.n == 0 || path.p[0] != '/' || !split(path, pieces))
        return NULL;
    for (unsigned i = 0; i < op_n_paths; i++)
        if (matches(&op_paths[i], pieces))
            return is_ambiguous(pieces) ? NULL : &op_paths[i];
    return NULL;
}

/* What answers a method. Where the specification has no HEAD, it is the GET without its body. */
static const struct op *method_row(const struct op_path *path, enum op_method method)
{
    const struct op *row = path->by_method[method];

    return row || method != OP_HEAD ? row : path->by_method[OP_GET];
}

static struct str allowed(struct arena *a, const struct op_path *path)
{
    struct str list = STR("");

    for (unsigned m = 0; m < OP_METHOD_COUNT; m++)
        if (method_row(path, (enum op_method)m))
            list = arena_printf(a, "%.*s%s%s", STR_ARG(list), list.n ? ", " : "", method_names[m]);
    return list;
}

static bool decode(struct arena *a, const char *what, struct str raw, enum str_plus plus,
    struct str *out, struct err *err)
{
    char shown[OP_EXCERPT];

    if (str_pct_decode(a, raw, plus, out))
        return true;
    return err_set(err, ERR_BAD_REQUEST,
        "%s in the path: expected percent-encoded UTF-8 without NUL, found \"%s\"", what,
        op__excerpt(raw, shown));
}

static bool decode_args(struct arena *a, const struct op_path *path, const struct pieces *pieces,
    struct route *out, struct err *err)
{
    for (unsigned i = 0; i < path->n; i++) {
        if (!path->segments[i].is_arg)
            continue;
        struct op_arg *arg = &out->args[out->n_args++];
        struct str raw = pieces->at[i];

        arg->name = path->segments[i].text.p;
        TRY(decode(a, arg->name, raw, STR_PLUS_SPACE, &arg->value, err));
        arg->plus = arg->value;
        if (str_find(raw, '+') < raw.n)
            TRY(decode(a, arg->name, raw, STR_PLUS_LITERAL, &arg->plus, err));
    }
    if (pieces->prefix.p)
        TRY(decode(a, "prefix", pieces->prefix, STR_PLUS_LITERAL, &out->prefix, err));
    return true;
}

bool op_find(struct arena *a, enum op_method method, struct str path, struct route *out,
    struct str *allow, struct err *err)
{
    struct pieces pieces;
    char shown[OP_EXCERPT];
    const char *name = method < OP_METHOD_COUNT ? method_names[method] : "This method";
    const struct op_path *found = find_path(path, &pieces);

    if (!found)
        return err_set(err, ERR_NO_ROUTE, "No route for request: %s%s%s",
            method < OP_METHOD_COUNT ? name : "", method < OP_METHOD_COUNT ? " " : "",
            op__excerpt(path, shown));
    if (method >= OP_METHOD_COUNT || !method_row(found, method)) {
        *allow = allowed(a, found);
        return err_set(err, ERR_METHOD, "%s is not allowed on %s: expected %.*s", name,
            op__excerpt(path, shown), STR_ARG(*allow));
    }
    *out = (struct route){.op = method_row(found, method)};
    return decode_args(a, found, &pieces, out, err);
}
