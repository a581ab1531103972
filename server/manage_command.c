/* firn warehouse: the management API's functions from the shell. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "config.h"
#include "json.h"
#include "manage.h"
#include "op.h"
#include "secret.h"
#include "secrets.h"
#include "serve.h"
#include "sql_warehouse.h"

enum { INPUT_MAX = 1 << 20 };

/* The standard input, checked as the body of the operation. */
static bool read_body(struct arena *a, enum op_id op, const json_t **out, struct err *err)
{
    char *text = arena_alloc(a, INPUT_MAX);
    size_t n = 0;
    ssize_t got = 1;
    json_error_t why;

    while (n < INPUT_MAX && (got = read(STDIN_FILENO, text + n, INPUT_MAX - n)) != 0) {
        if (got < 0 && errno != EINTR)
            return err_set(
                err, ERR_INTERNAL, "cannot read the standard input: %s", strerror(errno));
        n += got > 0 ? (size_t)got : 0;
    }
    json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
    if (!json)
        return err_set(err, ERR_BAD_REQUEST,
            "Expected the warehouse as JSON on the standard input; malformed at byte %d: %s",
            why.position, why.text);
    *out = json_hold(a, json);
    return op_check_body(op_rows[op].body, *out, err);
}

static bool run_create(
    struct arena *a, const struct manage *m, struct str name, struct str *out, struct err *err)
{
    const json_t *body;

    (void)name;
    TRY(read_body(a, OP_CREATE_WAREHOUSE, &body, err));
    return manage_create(a, m, body, out, err);
}

static bool run_change(
    struct arena *a, const struct manage *m, struct str name, struct str *out, struct err *err)
{
    const json_t *body;

    TRY(read_body(a, OP_CHANGE_WAREHOUSE, &body, err));
    return manage_change(a, m, name, body, out, err);
}

static bool run_list(
    struct arena *a, const struct manage *m, struct str name, struct str *out, struct err *err)
{
    (void)name;
    return manage_list(a, m, out, err);
}

static bool run_delete(
    struct arena *a, const struct manage *m, struct str name, struct str *out, struct err *err)
{
    TRY(manage_delete(a, m, name, err));
    *out = arena_printf(a, "{\"deleted\":true}");
    return true;
}

static const struct word {
    const char *name, *more;
    bool (*run)(
        struct arena *a, const struct manage *m, struct str name, struct str *out, struct err *err);
    enum { WITHOUT_NAME, WITH_NAME } needs;
} commands[] = {
    {"create", ": makes the warehouse that the standard input describes", run_create,   WITHOUT_NAME},
    {"list",   ": all warehouses",                                        run_list,     WITHOUT_NAME},
    {"show",   "NAME",                                                    manage_show,  WITH_NAME   },
    {"change", "NAME: with the members that the standard input holds",    run_change,   WITH_NAME   },
    {"check",  "NAME: tries the storage",                                 manage_check, WITH_NAME   },
    {"delete", "NAME: an empty one",                                      run_delete,   WITH_NAME   },
};

static int usage(void)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        fprintf(stderr, "firn warehouse %s %s\n", commands[i].name, commands[i].more);
    return 2;
}

/* The document, indented for people. Scripts look at the exit status: a check that found a fault
 * failed. */
static bool print(struct arena *a, struct str document, struct err *err)
{
    json_t *json = json_hold(a, json_loadb(document.p, document.n, 0, NULL));
    char *text = json_dumps(json, JSON_INDENT(2));

    puts(text);
    xfree(text);
    return !json_is_false(json_object_get(json, "ok")) ||
           err_set(err, ERR_INVALID_ARGUMENT, "%s",
               json_string_value(json_object_get(json, "message")));
}

static bool run(
    const struct word *word, const struct config *conf, const char *name, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    AUTO(sql_close) struct sql *sql = NULL;
    AUTO(secrets_free) struct secrets *secrets = NULL;
    struct str out;

    TRY(serve_open_database(conf, SERVE_EXISTING, &sql, err));
    if (!serve_check_schema(sql, err))
        return err_wrap(err, "The schema of the database");
    TRY(secrets_open(conf, sql, &secrets, err));
    const struct manage m = {conf, sql, secrets};
    TRY(word->run(a, &m, str_from(name ? name : ""), &out, err));
    return print(a, out, err);
}

int manage_command(const struct config *conf, char *const *words, struct err *err)
{
    for (size_t i = 0; words[0] && i < ARRAY_LEN(commands); i++)
        if (strcmp(commands[i].name, words[0]) == 0)
            return commands[i].needs == WITH_NAME && !words[1] ? usage()
                   : run(&commands[i], conf, words[1], err)    ? 0
                                                               : 1;
    return usage();
}
