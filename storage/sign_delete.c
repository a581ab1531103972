/* The body of "delete many": every key of it is checked as if it stood in a path. */
#include "arena.h"
#include "base.h"
#include "sign_priv.h"
#include "xml.h"

#include <string.h>

static bool bad(struct err *err, const char *why)
{
    return err_set(
        err, ERR_STORE_BAD_URI, "The list of objects to delete is not understood: %s", why);
}

/* <Delete><Quiet/><Object><Key>…</Key></Object>…</Delete>; no versions, no conditions. */
static bool is_known(const struct xml *x)
{
    static const char *const at[][2] = {
        {NULL,     "Delete"},
        {"Delete", "Object"},
        {"Delete", "Quiet" },
        {"Object", "Key"   },
    };
    struct str parent = x->depth > 1 ? x->names[x->depth - 2] : (struct str){NULL, 0};
    for (size_t i = 0; i < ARRAY_LEN(at); i++)
        if (str_eq(x->name, str_from(at[i][1])) && str_eq(parent, str_from(at[i][0])))
            return x->depth == (i == 0 ? 1U : i == 3 ? 3U : 2U);
    return false;
}

static size_t count(struct str s, char c)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += s.p[i] == c;
    return n;
}

/* Nothing that two readers could end at two places: a '<' or '>' in an attribute. */
static bool tag_is_plain(struct str tag)
{
    return str_find(tag, '<') == tag.n && count(tag, '"') % 2 == 0 && count(tag, '\'') % 2 == 0;
}

static bool prolog_is_plain(struct str prolog)
{
    size_t at = 0;
    while (at < prolog.n && !str_starts(str_sub(prolog, at, prolog.n), STR("encoding")))
        at++;
    struct str rest = str_sub(prolog, at, prolog.n);
    (void)str_cut(&rest, '=');
    rest = str_trim(rest);
    return at == prolog.n || (rest.n >= 7 && str_eq_nocase(str_sub(rest, 1, 5), STR("UTF-8")) &&
                                 rest.p[0] == rest.p[6]);
}

/* Comments, CDATA and other encodings are ways to be read in two ways. */
static bool is_plain(struct str body)
{
    bool first = true;
    if (memchr(body.p, '\0', body.n))
        return false;
    for (struct str rest = body; rest.p; first = false) {
        (void)str_cut(&rest, '<');
        if (!rest.p)
            break;
        struct str tag = str_cut(&rest, '>');
        if (!rest.p || !tag_is_plain(tag) || str_starts(tag, STR("!")))
            return false;
        if (str_starts(tag, STR("?")) && (!first || !prolog_is_plain(tag)))
            return false;
    }
    return true;
}

struct count {
    size_t keys, of_object;
};

static bool take(struct arena *a, const struct sign_folder *f, const struct xml *x, struct count *c,
    struct err *err)
{
    if (str_eq(x->name, STR("Object")))
        return c->of_object == 1 || bad(err, "an object with no key or more than one");
    if (!str_eq(x->name, STR("Key")))
        return true;
    c->of_object++;
    if (++c->keys > SIGN_KEYS_MAX)
        return bad(err, "more than 1,000 objects");
    TRY(sign__path(a, x->text, SIGN_PATH_WHOLE, err));
    return sign__beneath(f, x->text) ||
           err_set(err, ERR_STORE_DENIED,
               "The list of objects to delete is refused: object %zu lies outside of the table's "
               "folder s3://%.*s/%.*s/",
               c->keys, STR_ARG(f->bucket), STR_ARG(f->key));
}

bool sign__deletes(struct arena *a, const struct sign_folder *f, struct str body, struct err *err)
{
    struct xml x;
    enum xml_event e = XML_OPEN;
    struct count c = {0};
    if (!body.p)
        return err_set(err, ERR_STORE_DENIED,
            "The request to be signed is refused: a list of objects to delete must come with it");
    if (body.n > SIGN_BODY_MAX || !is_plain(body))
        return bad(err, "more than 1 MiB, or a declaration, a comment or CDATA in it");
    xml_init(&x, a, body);
    for (;;) {
        struct err why = {0};
        if (!xml_next(&x, &e, &why))
            return bad(err, "no XML of elements and text");
        if (e == XML_DONE)
            break;
        if (e == XML_OPEN && !is_known(&x))
            return bad(err, "expected Delete with Quiet and Object with Key, and nothing else");
        if (e == XML_OPEN && str_eq(x.name, STR("Object")))
            c.of_object = 0;
        if (e == XML_CLOSE)
            TRY(take(a, f, &x, &c, err));
    }
    return c.keys > 0 || bad(err, "it names none");
}
