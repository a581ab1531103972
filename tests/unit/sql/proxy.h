/* Stands between the catalog and PostgreSQL on a socket of its own, and loses what it is told to.
 */
#pragma once

enum proxy_trick {
    PROXY_FORWARD,
    PROXY_LOSE_REQUEST, /* the statement does not arrive, both sides are closed */
    PROXY_LOSE_REPLY, /* the statement is carried out, its answer is lost, both sides are closed */
    PROXY_HOLD,       /* the client is closed, the statement waits for proxy_release */
    PROXY_STALL,      /* the statement does not arrive and nothing is closed */
};

struct proxy;
/* One for each process. */
struct proxy *proxy_new(void);
void proxy_free(struct proxy **p);
/* The folder of its socket, as "host" in an address. */
const char *proxy_dir(const struct proxy *p);
/* From now on, for the next `hits` times that the named statement is sent. `then` runs before the
 * client is closed; it may be NULL. */
void proxy_arm(struct proxy *p, enum proxy_trick trick, const char *statement, int hits,
    void (*then)(void *arg), void *arg);
/* How often tricks were played since proxy_arm. */
int proxy_hits(struct proxy *p);
enum proxy_fate { PROXY_DELIVER, PROXY_FORGET };
/* What is held arrives now and is carried out, or its connection is closed. */
void proxy_release(struct proxy *p, enum proxy_fate fate);
