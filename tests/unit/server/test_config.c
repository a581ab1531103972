#include "config.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena *arena;
static char folder[64];

static void begin(void)
{
    arena = arena_new();
    snprintf(folder, sizeof folder, "/tmp/firn-config-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void end(void)
{
    ck_assert_int_eq(rmdir(folder), 0);
    arena_free(&arena);
}

static const char *file_with(const char *name, struct str text)
{
    struct str path = arena_printf(arena, "%s/%s", folder, name);
    int fd = open(path.p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text.p, text.n), (ssize_t)text.n);
    close(fd);
    return path.p;
}

enum { WORDS_MAX = 16 };

/* Words separated by '|' as an array that NULL ends. */
static size_t words(const char *text, char *out[static WORDS_MAX])
{
    size_t n = 0;
    struct str rest = str_from(text);
    while (rest.p && rest.n) {
        ck_assert_uint_lt(n + 1, WORDS_MAX);
        out[n++] = arena_cstr(arena, str_cut(&rest, '|'));
    }
    out[n] = NULL;
    return n;
}

/* argv and environment as words separated by '|'; HOME is there unless the environment names it. */
static bool load(const char *argv, const char *env, struct config *out, struct err *err)
{
    char *args[WORDS_MAX], *vars[WORDS_MAX];
    size_t n = words(argv, args), m = words(env, vars);
    if (!strstr(env, "HOME=")) {
        ck_assert_uint_lt(m + 1, WORDS_MAX);
        vars[m++] = arena_cstr(arena, STR("HOME=/home"));
        vars[m] = NULL;
    }
    *err = (struct err){.kind = ERR_NONE};
    return config_load(arena, (int)n, args, vars, out, err);
}

static struct config loaded(const char *argv, const char *env)
{
    struct config c;
    struct err err;
    ck_assert_msg(load(argv, env, &c, &err), "%s", err.msg);
    return c;
}

static void check_refused(const char *argv, const char *env, const char *message)
{
    struct config c;
    struct err err;
    ck_assert_msg(!load(argv, env, &c, &err), "accepted: %s", message);
    ck_assert_str_eq(err.msg, message);
    ck_assert_int_eq(err.kind, ERR_BAD_REQUEST);
}

START_TEST(test_config_load__defaults)
{
    struct config c = loaded("", "");
    ck_assert_str_eq(c.listen, "127.0.0.1:8181");
    ck_assert_str_eq(c.admin_listen, "127.0.0.1:9181");
    ck_assert_str_eq(c.database, "sqlite:/home/.local/share/firn/firn.db");
    ck_assert_str_eq(c.warehouse, "file:///home/.local/share/firn/warehouse");
    ck_assert_str_eq(c.warehouse_name, "main");
    ck_assert_str_eq(c.auth, "");
    ck_assert(c.pg_prepared);
    ck_assert_int_eq(c.pg_pool, 8);
    ck_assert_int_eq(c.body_limit, 32 << 20);
    ck_assert_int_eq(c.idle_timeout, 75000000);
    ck_assert_ptr_nonnull(c.allowed_locations);
    ck_assert_ptr_null(c.allowed_locations[0]);
}
END_TEST

static void check_places(const char *env, const char *database, const char *warehouse)
{
    struct config c = loaded("", env);
    ck_assert_str_eq(c.database, database);
    ck_assert_str_eq(c.warehouse, warehouse);
}

START_TEST(test_config_load__where_data_lies)
{
    check_places("HOME=/h/|XDG_DATA_HOME=/x/data//", "sqlite:/x/data/firn/firn.db",
        "file:///x/data/firn/warehouse");
    check_places("HOME=/h//|XDG_DATA_HOME=", "sqlite:/h/.local/share/firn/firn.db",
        "file:///h/.local/share/firn/warehouse");
    check_places(
        "HOME=/", "sqlite:/.local/share/firn/firn.db", "file:///.local/share/firn/warehouse");
    check_places("HOME=/h|FIRN_DATABASE=postgresql://u@h/n", "postgresql://u@h/n",
        "file:///h/.local/share/firn/warehouse");
    check_places("HOME=|FIRN_DATABASE=sqlite:/d|FIRN_WAREHOUSE=s3://b/w", "sqlite:/d", "s3://b/w");
    check_refused("", "HOME=",
        "Neither FIRN_DATABASE and FIRN_WAREHOUSE nor HOME or XDG_DATA_HOME is set: nowhere to "
        "keep data");
}
END_TEST

START_TEST(test_config_load__later_sources_win)
{
    const char *path = file_with("conf", STR("workers = 1\nslow_threads = 1\npg-pool = 1\n"));
    struct str env = arena_printf(arena, "FIRN_CONFIG=%s|FIRN_SLOW_THREADS=2|FIRN_PG_POOL=2", path);
    struct config c = loaded("--pg-pool|3", env.p);
    ck_assert_int_eq(c.workers, 1);
    ck_assert_int_eq(c.slow_threads, 2);
    ck_assert_int_eq(c.pg_pool, 3);
    ck_assert_int_eq(c.slow_queue, 256);

    /* The flag names the file that counts. */
    const char *other = file_with("other", STR("workers=9"));
    c = loaded(arena_printf(arena, "--config|%s", other).p, env.p);
    ck_assert_int_eq(c.workers, 9);
    ck_assert_int_eq(c.slow_threads, 2);
    c = loaded(arena_printf(arena, "--workers=4|--config=%s", other).p, "");
    ck_assert_int_eq(c.workers, 4);
    unlink(path);
    unlink(other);
}
END_TEST

START_TEST(test_config_load__flags)
{
    struct config c = loaded("--s3-region|eu|--s3_endpoint=http://h:1/?a=b|--Log-Level|debug", "");
    ck_assert_str_eq(c.s3_region, "eu");
    ck_assert_str_eq(c.s3_endpoint, "http://h:1/?a=b");
    ck_assert_str_eq(c.log_level, "debug");
    c = loaded("--s3-region=|--auth|none", "FIRN_S3_REGION=eu");
    ck_assert_str_eq(c.s3_region, "");
    check_refused("--workers", "", "The flag --workers needs a value");
    check_refused(
        "workers|3", "", "Unexpected argument 'workers': settings are given as --name value");
    check_refused("-w|3", "", "Unexpected argument '-w': settings are given as --name value");
}
END_TEST

static const struct {
    const char *env, *value, *expected;
} bad_values[] = {
    {"FIRN_PG_POOL",     "",                      "a number from 1 to 512"       },
    {"FIRN_PG_POOL",     "0",                     "a number from 1 to 512"       },
    {"FIRN_PG_POOL",     "513",                   "a number from 1 to 512"       },
    {"FIRN_PG_POOL",     "8k",                    "a number from 1 to 512"       },
    {"FIRN_PG_POOL",     "8.5",                   "a number from 1 to 512"       },
    {"FIRN_BODY_LIMIT",  "1023",                  "bytes from 1024 to 1073741824"},
    {"FIRN_BODY_LIMIT",  "2g",                    "bytes from 1024 to 1073741824"},
    {"FIRN_BODY_LIMIT",  "m",                     "bytes from 1024 to 1073741824"},
    {"FIRN_BODY_LIMIT",  "9223372036854775807k",  "bytes from 1024 to 1073741824"},
    {"FIRN_BODY_LIMIT",  "-9223372036854775808g", "bytes from 1024 to 1073741824"},
    {"FIRN_DRAIN_WAIT",  "-0.5",                  "seconds from 0 to 3600"       },
    {"FIRN_DRAIN_WAIT",  "1s",                    "seconds from 0 to 3600"       },
    {"FIRN_DRAIN_WAIT",  ".5",                    "seconds from 0 to 3600"       },
    {"FIRN_DRAIN_WAIT",  "0.1234567",             "seconds from 0 to 3600"       },
    {"FIRN_DRAIN_WAIT",  "3600.000001",           "seconds from 0 to 3600"       },
    {"FIRN_DRAIN_WAIT",  "99999999999999999999",  "seconds from 0 to 3600"       },
    {"FIRN_PG_PREPARED", "maybe",                 "true or false"                },
    {"FIRN_PG_PREPARED", "",                      "true or false"                },
};

START_TEST(test_config_load__numbers)
{
    for (size_t i = 0; i < ARRAY_LEN(bad_values); i++) {
        struct str env = arena_printf(arena, "%s=%s", bad_values[i].env, bad_values[i].value);
        struct str message =
            arena_printf(arena, "Invalid value of %s in the environment: expected %s, found '%s'",
                bad_values[i].env, bad_values[i].expected, bad_values[i].value);
        check_refused("", env.p, message.p);
    }
    struct config c = loaded("", "FIRN_BODY_LIMIT=2K|FIRN_CACHE=0|FIRN_METADATA_LIMIT=1g|"
                                 "FIRN_DRAIN_WAIT=1.5|FIRN_IDLE_TIMEOUT=3600|"
                                 "FIRN_HEAD_TIMEOUT=1.000001|FIRN_DRAIN_TIMEOUT=2.");
    ck_assert_int_eq(c.body_limit, 2048);
    ck_assert_int_eq(c.cache, 0);
    ck_assert_int_eq(c.metadata_limit, 1 << 30);
    ck_assert_int_eq(c.drain_wait, 1500000);
    ck_assert_int_eq(c.idle_timeout, 3600000000);
    ck_assert_int_eq(c.head_timeout, 1000001);
    ck_assert_int_eq(c.drain_timeout, 2000000);
}
END_TEST

START_TEST(test_config_load__booleans_in_any_case)
{
    static const struct {
        const char *text;
        bool value;
    } rows[] = {
        {"true",  true },
        {"TRUE",  true },
        {"on",    true },
        {"Yes",   true },
        {"1",     true },
        {"false", false},
        {"off",   false},
        {"OFF",   false},
        {"no",    false},
        {"0",     false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str env = arena_printf(arena, "FIRN_PG_PREPARED=%s", rows[i].text);
        ck_assert_int_eq(loaded("", env.p).pg_prepared, rows[i].value);
    }
}
END_TEST

START_TEST(test_config_load__lists)
{
    struct config c = loaded("", "FIRN_ALLOWED_LOCATIONS= s3://a/x , ,file:///b s3://c,,");
    static const char *const expected[] = {"s3://a/x", "file:///b", "s3://c"};
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        ck_assert_str_eq(c.allowed_locations[i], expected[i]);
    ck_assert_ptr_null(c.allowed_locations[3]);

    struct str many = STR("FIRN_ALLOWED_LOCATIONS=");
    for (int i = 0; i < 64; i++)
        many = arena_printf(arena, "%s,s3://b%d", many.p, i);
    c = loaded("", many.p);
    ck_assert_str_eq(c.allowed_locations[63], "s3://b63");
    ck_assert_ptr_null(c.allowed_locations[64]);
    struct err err;
    ck_assert(!load("", arena_printf(arena, "%s,s3://b64", many.p).p, &c, &err));
    ck_assert_ptr_nonnull(strstr(err.msg, "expected at most 64 items"));
}
END_TEST

/* Words apart by blanks: what a list may hold, and what could never match anything. */
static void check_items(const char *env, const char *good, const char *bad, const char *expected)
{
    loaded("", arena_printf(arena, "%s=%s", env, good).p);
    for (struct str rest = str_from(bad); rest.p;) {
        struct str item = str_cut(&rest, ' ');
        check_refused("", arena_printf(arena, "%s=%s, %.*s", env, good, STR_ARG(item)).p,
            arena_printf(arena, "Invalid value of %s: expected %s, found '%.*s'", env, expected,
                STR_ARG(item))
                .p);
    }
}

START_TEST(test_config_load__items_that_could_never_match)
{
    check_items("FIRN_WAREHOUSE_ENDPOINTS",
        "minio minio:9000 http://minio HTTPS://minio:9000/ 127.0.0.1:1 0x7f.1 ::1 [::1]:9 "
        "!2001:db8::1 *.example.org !*.internal !http://minio * !*",
        "http:/minio s3://minio //minio minio/path http://minio/path https://*.example.org "
        "*.a.org:9000 s3.*.org *. *.org. minio. minio: minio:65536 user@minio [::1 ! !http:",
        "HOST[:PORT], *.DOMAIN or *, or one of these behind '!'");
    check_items("FIRN_WAREHOUSE_FOLDERS", "file:///srv file:/srv/a/",
        "/srv file://host/srv s3://bucket file:///srv/* file:///srv/../etc *",
        "file:///PATH without '*'");
    check_items("FIRN_WAREHOUSE_IDENTITY",
        "s3://bucket s3a://BUCKET/a/ gs://bucket/a abfss://tables@a.dfs.core.windows.net/x "
        "arn:aws:iam::1:role/a arn:aws:iam::1:role/* arn:* *",
        "s3:/bucket s4://bucket S3://bucket s3:// s3:///a s3://buck* s3://bucket/* "
        "s3://bucket/a/../b file:///srv lake arm:aws:iam::1:role/a arn:aws:iam::*:role/a *role/a "
        "lake* abfss://tables/x",
        "a place (s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or "
        "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH) without '*', a role's ARN, the "
        "beginning of one with '*' behind it, or '*' alone");
    check_items("FIRN_ALLOWED_LOCATIONS", "s3://a/x file:///b gs://c",
        "s3:/a s3://a/* file:///a/* a *",
        "file:///PATH, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or "
        "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH, without '*'");
    check_items("FIRN_ALLOWED_PROPERTIES", "s3.endpoint header.* *-impl *",
        "s3.*.endpoint header.*x", "NAME, or BEGINS* with '*' at the end");
    check_items("FIRN_CORS_ORIGINS",
        "https://a.example http://localhost:3000 http://[::1]:1 http://a:443 https://a:80 null "
        "app://x chrome-extension://abc",
        "a.example https://a.example/ https://a.example/x https://A.example HTTPS://a.example "
        "http://a:80 https://a:443 https://a: https:// ://a https:/a https://*.example * "
        "https://user@a https://\303\274.example",
        "an origin as browsers send it: SCHEME://HOST[:PORT] in lower case, without the port that "
        "is the scheme's own, a path and '*'");
}
END_TEST

START_TEST(test_config_load__unknown_names_and_what_may_be_meant)
{
    check_refused("", "FIRN_S3_REGOIN=eu",
        "Unknown setting 'FIRN_S3_REGOIN' in the environment. Did you mean FIRN_S3_REGION "
        "(--s3-region)?");
    check_refused("--databse|x", "",
        "Unknown setting 'databse' in the command line. Did you mean FIRN_DATABASE (--database)?");
    check_refused("--foo|x", "",
        "Unknown setting 'foo' in the command line. `firn --help` lists all settings");
    check_refused(
        "--|x", "", "Unknown setting '' in the command line. `firn --help` lists all settings");
    check_refused("", "FIRN_=x",
        "Unknown setting 'FIRN_' in the environment. `firn --help` lists all settings");
    check_refused("", "FIRN_PORT=8181",
        "Unknown setting 'FIRN_PORT' in the environment. `firn --help` lists all settings");
    struct config c;
    struct err err;
    char *longest = arena_zalloc(arena, 300);
    memset(longest, 'x', 299);
    memcpy(longest, "--", 2);
    ck_assert(!load(arena_printf(arena, "%s|1", longest).p, "", &c, &err));
    ck_assert_ptr_nonnull(strstr(err.msg, "lists all settings"));
}
END_TEST

START_TEST(test_config_load__what_orchestrators_set_is_not_ours)
{
    loaded("", "FIRN_SERVICE_HOST=10.0.0.1|FIRN_SERVICE_PORT=8181|FIRN_SERVICE_PORT_HTTP=8181|"
               "FIRN_PORT=tcp://10.0.0.1:8181|FIRN_PORT_8181_TCP=tcp://10.0.0.1:8181|"
               "FIRN_PORT_8181_TCP_PROTO=tcp|FIRN_PORT_8181_TCP_PORT=8181|"
               "FIRN_PORT_8181_TCP_ADDR=10.0.0.1|FIRNISH=1|FIRN_NO_VALUE");
    loaded("", "FIRN_POSTGRESQL_SERVICE_HOST=10.0.0.1|FIRN_POSTGRESQL_SERVICE_PORT=5432|"
               "FIRN_POSTGRESQL_PORT=tcp://10.0.0.1:5432|FIRN_POSTGRESQL_PORT_5432_TCP_PORT=5432|"
               "FIRN_DNS_PORT=udp://10.0.0.1:53|FIRN_TEST_ANY=1|FIRN_FAULT=x|FIRN_BIN=/bin/firn");
    ck_assert_str_eq(loaded("", "FIRN_PORT_FILE=/tmp/ports").port_file, "/tmp/ports");
}
END_TEST

START_TEST(test_config_load__secrets_from_files)
{
    const char *path = file_with("secret", STR("s3cr et#\r\n\n"));
    struct str env = arena_printf(arena, "FIRN_S3_SECRET_ACCESS_KEY_FILE=%s", path);
    ck_assert_str_eq(loaded("", env.p).s3_secret_access_key, "s3cr et#");
    struct str flag = arena_printf(arena, "--database-file|%s", path);
    ck_assert_str_eq(loaded(flag.p, "").database, "s3cr et#");
    check_refused("", arena_printf(arena, "%s|FIRN_S3_SECRET_ACCESS_KEY=x", env.p).p,
        "Both FIRN_S3_SECRET_ACCESS_KEY and FIRN_S3_SECRET_ACCESS_KEY_FILE are set in the "
        "environment: expected one of them");
    check_refused("", arena_printf(arena, "FIRN_LISTEN_FILE=%s", path).p,
        "Unknown setting 'FIRN_LISTEN_FILE' in the environment. `firn --help` lists all settings");
    check_refused("", "FIRN_DATABASE_FILE=/nowhere/at/all",
        "Cannot read the file /nowhere/at/all (the environment): No such file or directory");
    check_refused("", "FIRN_DATABASE_FILE=/tmp",
        "Cannot read the file /tmp (the environment): Is a directory");
    unlink(path);
}
END_TEST

START_TEST(test_config_load__files_that_are_no_text)
{
    const char *path = file_with("secret", STR("a\0b"));
    check_refused("", arena_printf(arena, "FIRN_DATABASE_FILE=%s", path).p,
        arena_printf(arena, "Cannot use the file %s (the environment): it is no text", path).p);
    char *large = arena_alloc(arena, (1 << 20) + 1);
    memset(large, '#', (1 << 20) + 1);
    file_with("secret", (struct str){large, 1 << 20});
    ck_assert_uint_eq(
        strlen(loaded("", arena_printf(arena, "FIRN_DATABASE_FILE=%s", path).p).database), 1 << 20);
    file_with("secret", (struct str){large, (1 << 20) + 1});
    check_refused("", arena_printf(arena, "FIRN_DATABASE_FILE=%s", path).p,
        arena_printf(
            arena, "Cannot read the file %s (the environment): it is larger than 1 MiB", path)
            .p);
    unlink(path);
}
END_TEST

/* CONF in the message is the file. */
static void bad_file(const char *text, const char *message)
{
    const char *path = file_with("conf", str_from(text));
    const char *at = strstr(message, "CONF");
    struct str full =
        arena_printf(arena, "%.*s%s%s", (int)(at - message), message, path, at + strlen("CONF"));
    check_refused(arena_printf(arena, "--config|%s", path).p, "", full.p);
}

START_TEST(test_config_load__lines_of_the_file)
{
    const char *path = file_with("conf",
        STR("# settings\r\n\r\n  S3-Region\t=  eu west \r\n\t# more\ns3_endpoint=http://h/?x=#y\n"
            "s3_session_token =\nallowed-locations=s3://a,s3://b\nworkers=2"));
    struct config c = loaded(arena_printf(arena, "--config|%s", path).p, "");
    ck_assert_str_eq(c.s3_region, "eu west");
    ck_assert_str_eq(c.s3_endpoint, "http://h/?x=#y");
    ck_assert_str_eq(c.s3_session_token, "");
    ck_assert_str_eq(c.allowed_locations[1], "s3://b");
    ck_assert_int_eq(c.workers, 2);

    file_with("conf", STR(""));
    loaded(arena_printf(arena, "--config|%s", path).p, "");
    bad_file("workers=1\n\nworkers 2\n",
        "line 3 of CONF: expected 'name = value', found a line without '='");
    bad_file("\nworkers=x", "Invalid value of FIRN_WORKERS in line 2 of CONF: expected a "
                            "number from 0 to 256, found 'x'");
    bad_file("wrkers=1",
        "Unknown setting 'wrkers' in line 1 of CONF. Did you mean FIRN_WORKERS (--workers)?");
    bad_file("config=/etc/firn",
        "Unknown setting 'config' in line 1 of CONF. `firn --help` lists all settings");
    bad_file("=1", "Unknown setting '' in line 1 of CONF. `firn --help` lists all settings");
    unlink(path);
    check_refused(arena_printf(arena, "--config=%s", path).p, "",
        arena_printf(
            arena, "Cannot read the file %s (the settings file): No such file or directory", path)
            .p);
    loaded("", "FIRN_CONFIG=");
}
END_TEST

START_TEST(test_config_load__secrets_are_not_shown_in_errors)
{
    const char *path = file_with("conf", STR("s3_secret_access_key hush\n"));
    struct config c;
    struct err err;
    ck_assert(!load("--s3_secret_acces_key=hush", "", &c, &err));
    ck_assert_ptr_null(strstr(err.msg, "hush"));
    ck_assert(!load(arena_printf(arena, "--config|%s", path).p, "", &c, &err));
    ck_assert_ptr_null(strstr(err.msg, "hush"));
    unlink(path);
}
END_TEST

START_TEST(test_config_load__words)
{
    check_refused("--log-level|loud", "",
        "Invalid value of FIRN_LOG_LEVEL: expected one of error, warn, info, debug, found 'loud'");
    check_refused("--log-format|xml", "",
        "Invalid value of FIRN_LOG_FORMAT: expected one of text, json, found 'xml'");
    check_refused("--auth|basic", "",
        "Invalid value of FIRN_AUTH: expected one of nothing, none, found 'basic'");
    check_refused("--s3-path-style|maybe", "",
        "Invalid value of FIRN_S3_PATH_STYLE: expected one of auto, true, false, found 'maybe'");
    loaded("--log-level|debug|--log-format|json|--auth|none|--s3-path-style|false", "");
}
END_TEST

START_TEST(test_config_load__without_authentication_only_from_this_machine)
{
    static const char *const loopback[] = {
        "127.0.0.1:0", "127.8.8.8:1", "[::1]:8181", "localhost:8181", "::1:8181"};
    static const char *const open[] = {"0.0.0.0:8181", ":8181", "[::]:8181", "10.0.0.1:8181",
        "example.org:8181", "[::ffff:127.0.0.1]:8181", "localhost.example.org:1"};
    for (size_t i = 0; i < ARRAY_LEN(loopback); i++)
        loaded(arena_printf(arena, "--listen|%s", loopback[i]).p, "");
    for (size_t i = 0; i < ARRAY_LEN(open); i++) {
        struct str message = arena_printf(arena,
            "FIRN_LISTEN is %s, which is not a loopback address, and no authentication is "
            "configured. Everybody who reaches it could read and change all tables. Say "
            "FIRN_AUTH=none to serve it all the same",
            open[i]);
        check_refused(arena_printf(arena, "--listen|%s", open[i]).p, "", message.p);
        loaded(arena_printf(arena, "--listen|%s|--auth|none", open[i]).p, "");
    }
    struct config c;
    struct err err;
    ck_assert(!load("--admin-listen|0.0.0.0:1", "", &c, &err));
    ck_assert(str_starts(str_from(err.msg), STR("FIRN_ADMIN_LISTEN is 0.0.0.0:1, which")));
    check_refused("--listen|here", "", "FIRN_LISTEN: Invalid address 'here': expected HOST:PORT");
}
END_TEST

START_TEST(test_config_address__host_and_port)
{
    static const struct {
        const char *text, *host;
        uint16_t port;
    } good[] = {
        {"127.0.0.1:8181", "127.0.0.1", 8181 },
        {"[::1]:0",        "::1",       0    },
        {":65535",         "0.0.0.0",   65535},
        {"localhost:80",   "localhost", 80   },
        {"[]:80",          "0.0.0.0",   80   },
    };
    static const char *const bad[] = {
        "", "8181", "localhost", "localhost:", "h:65536", "h:-1", "h:http", "[::1]", "h:80 "};
    const char *host;
    uint16_t port;
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        ck_assert(config_address(arena, good[i].text, &host, &port, &err));
        ck_assert_str_eq(host, good[i].host);
        ck_assert_uint_eq(port, good[i].port);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        ck_assert_msg(!config_address(arena, bad[i], &host, &port, &err), "%s", bad[i]);
        ck_assert_str_eq(
            err.msg, arena_printf(arena, "Invalid address '%s': expected HOST:PORT", bad[i]).p);
    }
}
END_TEST

static const char *const all[] = {
#define X(field, type, env, value, min, max, help) env,
    CONFIG_SETTINGS(X)
#undef X
};

START_TEST(test_config_help__names_every_setting)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    config_help(&b);
    const char *text = buf_take(&b, arena).p;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        ck_assert_msg(strstr(text, arena_printf(arena, "(%s", all[i]).p) != NULL, "%s", all[i]);
    ck_assert_ptr_nonnull(
        strstr(text, "  --listen  (FIRN_LISTEN, default 127.0.0.1:8181)\n      "));
    ck_assert_ptr_nonnull(strstr(text, "  --s3-region  (FIRN_S3_REGION)\n"));
    ck_assert_ptr_nonnull(strstr(text, "  --config  (FIRN_CONFIG)\n"));
}
END_TEST

START_TEST(test_config_print__one_line_a_setting_and_no_secrets)
{
    struct config c = loaded("--database|postgresql://u:hush@h/n|--s3-secret-access-key|hush2|"
                             "--allowed-locations|s3://a s3://b|--drain-wait|0.25|--cache|1k",
        "");
    struct buf b;
    buf_init(&b, 1 << 20);
    config_print(&c, &b);
    const char *text = buf_take(&b, arena).p;
    ck_assert_ptr_null(strstr(text, "hush"));
    ck_assert_ptr_nonnull(strstr(text, "\ndatabase=***\n"));
    ck_assert_ptr_nonnull(strstr(text, "\ns3_secret_access_key=***\n"));
    ck_assert_ptr_nonnull(strstr(text, "\ns3_session_token=\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nallowed_locations=s3://a,s3://b\n"));
    ck_assert_ptr_nonnull(strstr(text, "\ndrain_wait=0.25\n"));
    ck_assert_ptr_nonnull(strstr(text, "\ncache=1024\n"));
    ck_assert_ptr_nonnull(strstr(text, "\npg_prepared=true\n"));
    size_t lines = 0;
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    ck_assert_uint_eq(lines, ARRAY_LEN(all));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("server/config");
    TCase *cases = tcase_create("server/config");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, test_config_load__defaults);
    tcase_add_test(cases, test_config_load__where_data_lies);
    tcase_add_test(cases, test_config_load__later_sources_win);
    tcase_add_test(cases, test_config_load__flags);
    tcase_add_test(cases, test_config_load__numbers);
    tcase_add_test(cases, test_config_load__booleans_in_any_case);
    tcase_add_test(cases, test_config_load__lists);
    tcase_add_test(cases, test_config_load__items_that_could_never_match);
    tcase_add_test(cases, test_config_load__unknown_names_and_what_may_be_meant);
    tcase_add_test(cases, test_config_load__what_orchestrators_set_is_not_ours);
    tcase_add_test(cases, test_config_load__secrets_from_files);
    tcase_add_test(cases, test_config_load__files_that_are_no_text);
    tcase_add_test(cases, test_config_load__lines_of_the_file);
    tcase_add_test(cases, test_config_load__secrets_are_not_shown_in_errors);
    tcase_add_test(cases, test_config_load__words);
    tcase_add_test(cases, test_config_load__without_authentication_only_from_this_machine);
    tcase_add_test(cases, test_config_address__host_and_port);
    tcase_add_test(cases, test_config_help__names_every_setting);
    tcase_add_test(cases, test_config_print__one_line_a_setting_and_no_secrets);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
