/* firn: the commands. What each does is in serve.c and the modules. */
#include <jansson.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "admin.h"
#include "arena.h"
#include "config.h"
#include "fetch.h"
#include "log.h"
#include "manage.h"
#include "secrets.h"
#include "serve.h"
#include "sign.h"
#include "sql.h"
#include "store.h"
#include "vend.h"

enum { FILES_MAX = 65536, LARGE_BYTES = 1024 * 1024, WORDS_MAX = 2 };

static int run_serve(const struct config *conf, char *const *words, struct err *err)
{
    (void)words;
    return serve(conf, err) ? 0 : 1;
}

static int run_migrate(const struct config *conf, char *const *words, struct err *err)
{
    AUTO(sql_close) struct sql *sql = NULL;
    int64_t have, want;

    (void)words;
    if (!serve_open_database(conf, SERVE_MAKE, &sql, err) || !sql_migrate(sql, err) ||
        !sql_schema_version(sql, &have, &want, err))
        return 1;
    printf("database %.*s: schema version %lld\n", STR_ARG(sql_name(sql)), (long long)have);
    return 0;
}

static void to_one_line(char *text)
{
    for (; *text; text++)
        if (*text == '\n' || *text == '\t')
            *text = ' ';
}

/* One line each; *ok becomes false with the first that is wrong. */
static void line(const char *what, bool good, struct err *err, bool *ok)
{
    to_one_line(err->msg);
    printf("%-14s %s%s%s\n", what, good ? "ok" : "FAILED: ", good ? "" : err->msg,
        good ? "" : err->said);
    *ok = *ok && good;
    err_clear(err);
}

static int run_check(const struct config *conf, char *const *words, struct err *err)
{
    AUTO(sql_close) struct sql *sql = NULL;
    AUTO(secrets_free) struct secrets *secrets = NULL;
    AUTO(arena_free) struct arena *arena = arena_new();
    AUTO(store_close) struct store *store = NULL;
    struct config now = *conf;
    bool ok = true;

    (void)words;
    now.start_timeout = 0; /* says what is, does not wait for what will be */
    line("configuration", true, err, &ok);
    line("database", serve_open_database(&now, SERVE_EXISTING, &sql, err), err, &ok);
    if (sql) {
        bool current = serve_check_schema(sql, err);
        line("schema", current, err, &ok);
        if (current)
            line("secrets", secrets_open(&now, sql, &secrets, err), err, &ok);
    }
    line("warehouse", serve_open_store(arena, &now, secrets, &store, err), err, &ok);
    if (store)
        line("storage", store_probe(store, err) && vend_probe(store, err) && sign_probe(store, err),
            err, &ok);
    if (store && store_warning(store).n > 0)
        printf("%-14s %.*s\n", "warning", STR_ARG(store_warning(store)));
    return ok ? 0 : 1;
}

static int run_health(const struct config *conf, char *const *words, struct err *err)
{
    (void)words;
    if (!admin_ask_ready(conf->admin_listen, err))
        return 1;
    puts("ready");
    return 0;
}

static const struct command {
    const char *name, *help;
    int (*run)(const struct config *conf, char *const *words, struct err *err);
    int words; /* at most so many come before the settings */
} commands[] = {
    {"serve",     "Serve the catalog; brings the schema of the database up to date first",     run_serve,
     0                                                                                                       },
    {"migrate",   "Bring the schema of the database up to date",                               run_migrate, 0},
    {"check",     "Check configuration, database and storage, one line each",                  run_check,   0},
    {"secrets",   "Secrets in the database: set NAME, delete NAME, list, rotate, key ID",
     secrets_command,                                                                                       2},
    {"warehouse", "Warehouses: create, list, show NAME, change NAME, check NAME, delete NAME",
     manage_command,                                                                                        2},
    {"health",    "Is the server on the admin address ready?",                                 run_health,  0},
};

static int print_help(FILE *to, int code)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    buf_puts(&b, "Firn " FIRN_VERSION ", an Apache Iceberg REST catalog\n\nUsage: firn COMMAND "
                 "[--SETTING VALUE ...]\n\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        buf_putf(&b, "  %-10s %s\n", commands[i].name, commands[i].help);
    buf_puts(&b,
        "\nSettings, as flag, environment variable, or line of the file that FIRN_CONFIG or "
        "--config names:\n\n");
    config_help(&b);
    fwrite(b.p, 1, b.n, to);
    buf_fini(&b);
    return code;
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* Before any thread and any JSON. */
static void prepare_process(void)
{
    struct rlimit files;

    signal(SIGPIPE, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES_MAX) {
        files.rlim_cur = files.rlim_max < FILES_MAX ? files.rlim_max : FILES_MAX;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 4); /* threads share the allocator's memory: a small process */
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES); /* what a large request took goes back at once */
    mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
#endif
    json_set_alloc_funcs(xmalloc_json, xfree);
    json_object_seed(0);
}

static void open_log(const struct config *conf)
{
    static const char *const levels[] = {"error", "warn", "info", "debug"};
    enum log_level level = LOG_INFO;
    struct buf b;

    for (size_t i = 0; i < ARRAY_LEN(levels); i++)
        if (strcmp(conf->log_level, levels[i]) == 0)
            level = (enum log_level)i;
    log_open(level, strcmp(conf->log_format, "json") == 0 ? LOG_JSON : LOG_KEY_VALUE);
    if (!log_enabled(LOG_DEBUG))
        return;
    buf_init(&b, 1 << 16);
    config_print(conf, &b);
    struct str rest = buf_view(&b);
    while (rest.p && rest.n) {
        struct str setting = str_cut(&rest, '\n');
        log_write(LOG_DEBUG, "setting", "%.*s", STR_ARG(setting));
    }
    buf_fini(&b);
}

/* Where logs are read by machines, the last line is no other. */
static void complain(const struct command *command, const struct config *conf, struct err *err)
{
    if (command->run == run_serve && conf->log_format && strcmp(conf->log_format, "json") == 0) {
        log_write(LOG_ERROR, "start", "%s%s", ERR_ALL(err));
        return;
    }
    to_one_line(err->msg);
    fprintf(stderr, "firn %s: %s%s\n", command->name, ERR_ALL(err));
}

static int run(const struct command *command, int argc, char **argv)
{
    AUTO(arena_free) struct arena *arena = arena_new();
    struct config conf = {0};
    struct err err = {0};
    char *words[WORDS_MAX + 1] = {0};
    int n = 0;

    for (; n < command->words && n + 2 < argc && argv[n + 2][0] != '-'; n++)
        words[n] = argv[n + 2];
    int code = 2;
    if (config_load(arena, argc - 2 - n, argv + 2 + n, environ, &conf, &err)) {
        (void)prctl(PR_SET_DUMPABLE, conf.core_dumps ? 1 : 0);
        open_log(&conf);
        fetch_global_init();
        code = command->run(&conf, words, &err);
        fetch_global_fini();
    }
    if (code && err.kind)
        complain(command, &conf, &err);
    return code;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "--help";

    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
        puts("firn " FIRN_VERSION);
        return 0;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return print_help(argc > 1 ? stdout : stderr, argc > 1 ? 0 : 2);
    const struct command *command = find_command(word);
    if (!command) {
        fprintf(stderr, "firn: unknown command \"%s\"; firn --help lists them\n", word);
        return 2;
    }
    if (argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0))
        return print_help(stdout, 0);
    prepare_process();
    return run(command, argc, argv);
}
