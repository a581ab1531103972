#include "xml.h"

#include "answer.h"

#include "arena.h"
#include "base.h"

#include <string.h>

enum {
    WORDS_MAX = 300,
    PIECES_MAX = 16, /* of one text, between comments and the like: they are joined each time */
};

void xml_init(struct xml *x, struct arena *a, struct str doc)
{
    *x = (struct xml){.a = a, .rest = doc};
    if (str_starts(x->rest, STR("\xef\xbb\xbf")))
        x->rest = str_sub(x->rest, 3, x->rest.n);
}

static bool bad(struct err *err, const char *why)
{
    return err_set(err, ERR_INTERNAL, "the store's XML cannot be read: %s", why);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Cuts what stands before `end` off the rest, and `end` with it. */
static bool cut_before(struct xml *x, struct str end, struct str *out)
{
    const char *at = x->rest.n > 0 ? memmem(x->rest.p, x->rest.n, end.p, end.n) : NULL;
    if (!at)
        return false;
    const char *stop = x->rest.p + x->rest.n;
    *out = str_range(x->rest.p, at);
    x->rest = str_range(at + end.n, stop);
    return true;
}

/* "#38" or "#x26" as a character; 0 when it is none. */
static uint32_t char_ref(struct str s)
{
    bool is_hex = s.n > 1 && (s.p[1] == 'x' || s.p[1] == 'X');
    uint32_t base = is_hex ? 16 : 10, v = 0;
    size_t from = is_hex ? 2 : 1;
    if (s.n == from || s.n > from + 7)
        return 0;
    for (size_t i = from; i < s.n; i++) {
        int digit = str_hex(s.p[i]);
        if (digit < 0 || (uint32_t)digit >= base)
            return 0;
        v = v * base + (uint32_t)digit;
    }
    return v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff) ? 0 : v;
}

static uint32_t entity(struct str s)
{
    static const struct {
        struct str name;
        char c;
    } known[] = {
        {{"amp", 3},  '&' },
        {{"lt", 2},   '<' },
        {{"gt", 2},   '>' },
        {{"quot", 4}, '"' },
        {{"apos", 4}, '\''},
    };
    if (s.n > 0 && s.p[0] == '#')
        return char_ref(s);
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_eq(s, known[i].name))
            return (unsigned char)known[i].c;
    return 0;
}

/* Decodes the entities; the result is never longer than the text. */
static bool decode(struct xml *x, struct str s, struct str *out, struct err *err)
{
    char *start = arena_alloc(x->a, s.n + 1), *p = start;
    while (s.n > 0) {
        size_t amp = str_find(s, '&');
        p = mempcpy(p, s.p, amp);
        s = str_sub(s, amp, s.n);
        if (s.n == 0)
            break;
        size_t end = str_find(s, ';');
        uint32_t c = end < s.n ? entity(str_sub(s, 1, end - 1)) : 0;
        if (c == 0)
            return bad(err, "an entity it does not know");
        p = str_utf8_put(p, c);
        s = str_sub(s, end + 1, s.n);
    }
    *p = '\0';
    *out = str_range(start, p);
    return true;
}

/* Adds text to the innermost open element. */
static bool add_text(struct xml *x, struct str s, struct err *err)
{
    if (x->depth == 0) {
        for (size_t i = 0; i < s.n; i++)
            if (!is_blank(s.p[i]))
                return bad(err, "text outside of the document");
        return true;
    }
    struct str *t = &x->texts[x->depth - 1];
    if (t->n == 0) {
        *t = s;
    } else if (s.n > 0) {
        if (++x->pieces[x->depth - 1] == PIECES_MAX)
            return bad(err, "a text in too many pieces");
        *t = arena_printf(x->a, "%.*s%.*s", STR_ARG(*t), STR_ARG(s));
    }
    return true;
}

static struct str local_name(struct str tag)
{
    size_t n = 0;
    while (n < tag.n && !is_blank(tag.p[n]) && tag.p[n] != '/')
        n++;
    struct str name = str_sub(tag, 0, n);
    size_t colon = str_find(name, ':');
    return colon < n ? str_sub(name, colon + 1, n) : name;
}

static bool open_element(struct xml *x, struct str tag, struct err *err)
{
    x->empty = str_ends(tag, STR("/"));
    x->name = local_name(tag);
    if (x->name.n == 0)
        return bad(err, "an element without a name");
    if (x->depth == 0 && x->seen)
        return bad(err, "two documents in one");
    if (x->depth == XML_DEPTH_MAX)
        return bad(err, "elements nested too deeply");
    x->seen = true;
    if (x->depth > 0) { /* blanks between elements, not worth keeping */
        x->texts[x->depth - 1] = STR("");
        x->pieces[x->depth - 1] = 0;
    }
    x->names[x->depth] = x->name;
    x->texts[x->depth] = STR("");
    x->pieces[x->depth] = 0;
    x->depth++;
    return true;
}

static bool close_element(struct xml *x, struct str name, struct err *err)
{
    if (x->depth == 0 || !str_eq(x->names[x->depth - 1], name))
        return bad(err, "an element is closed that is not open");
    x->depth--;
    x->name = name;
    x->text = x->texts[x->depth];
    x->empty = false;
    return true;
}

/* Comments, the prolog and CDATA; anything else behind "<!" (DOCTYPE) is refused. */
static bool skip_markup(struct xml *x, struct err *err)
{
    struct str s = STR("");
    if (str_starts(x->rest, STR("<?")))
        return cut_before(x, STR("?>"), &s) || bad(err, "cut short");
    if (str_starts(x->rest, STR("<!--")))
        return cut_before(x, STR("-->"), &s) || bad(err, "cut short");
    if (!str_starts(x->rest, STR("<![CDATA[")))
        return bad(err, "a document type or another declaration");
    x->rest = str_sub(x->rest, 9, x->rest.n);
    if (!cut_before(x, STR("]]>"), &s))
        return bad(err, "cut short");
    return add_text(x, s, err);
}

static bool read_text(struct xml *x, struct err *err)
{
    size_t n = str_find(x->rest, '<');
    if (n == 0)
        return true;
    struct str s = STR("");
    TRY(decode(x, str_sub(x->rest, 0, n), &s, err));
    x->rest = str_sub(x->rest, n, x->rest.n);
    return add_text(x, s, err);
}

bool xml_next(struct xml *x, enum xml_event *out, struct err *err)
{
    *out = XML_CLOSE;
    if (x->empty)
        return close_element(x, x->names[x->depth - 1], err);
    for (;;) {
        TRY(read_text(x, err));
        if (x->rest.n == 0) {
            *out = XML_DONE;
            return (x->seen && x->depth == 0) || bad(err, "cut short");
        }
        if (str_starts(x->rest, STR("<!")) || str_starts(x->rest, STR("<?"))) {
            TRY(skip_markup(x, err));
            continue;
        }
        struct str tag = STR("");
        x->rest = str_sub(x->rest, 1, x->rest.n);
        if (!cut_before(x, STR(">"), &tag))
            return bad(err, "cut short");
        if (str_starts(tag, STR("/")))
            return close_element(x, local_name(str_sub(tag, 1, tag.n)), err);
        *out = XML_OPEN;
        return open_element(x, tag, err);
    }
}

struct str xml_find(struct arena *a, struct str doc, const char *name)
{
    struct xml x;
    enum xml_event e;
    struct err ignored;
    xml_init(&x, a, doc);
    while (xml_next(&x, &e, &ignored) && e != XML_DONE)
        if (e == XML_CLOSE && str_eq(x.name, str_from(name)))
            return x.text;
    return (struct str){NULL, 0};
}

struct str xml_words(struct arena *a, struct str doc, const char *name)
{
    struct str s = str_sub(xml_find(a, doc, name), 0, WORDS_MAX);
    for (int i = 0; i < 4 && s.n > 0; i++, s.n--)
        if (str_is_utf8(s))
            return s;
    return (struct str){NULL, 0};
}

struct str xml_code(struct arena *a, struct str doc)
{
    return answer_code(xml_find(a, doc, "Code"));
}
