/* The connections of a daemon by what their clients have to do: send something within a time, or
 * nothing more, because they ended their side. Driven by the thread of the daemon. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base.h"
#include "err.h"

struct call;
struct config;
struct http;

/* How long a client may take: between requests, for a head, for a body, to end a connection on
 * which it was refused; not while the server has to do something. The library's own timer starts
 * again with every byte, so it alone would let a client trickle for ever. */
enum patience {
    PATIENT_IDLE,
    PATIENT_HEAD,
    PATIENT_BODY,
    PATIENT_REFUSED,
    PATIENT_COUNT,
    PATIENT_NONE
};

struct peer {
    TAILQ_ENTRY(peer) link, ended_link;
    int64_t deadline_us;
    int fd;
    enum patience patience;
    bool ended;         /* the client sends no more than is on its way */
    const char *target; /* where the library has the request's target, until the head is in */
    struct call *call;  /* that is being received */
    struct http *http;
};
TAILQ_HEAD(peer_list, peer);

struct peers {
    struct peer_list waiting[PATIENT_COUNT]; /* each in the order of the deadlines */
    struct peer_list ended;
    unsigned refused;
    int64_t patience_us[PATIENT_COUNT];
    int fd; /* readable when clients have ended their side: then peers_ended */
    bool ending;
};

MUST bool peers_open(struct peers *ps, const struct config *conf, struct err *err);
void peers_close(struct peers *ps);

/* A connection of which the client is to send something. It must be freed before its fd is closed.
 */
struct peer *peer_new(struct peers *ps, int fd);
void peer_free(struct peers *ps, struct peer **p);
/* Its time begins now. */
void peer_wait(struct peers *ps, struct peer *p, enum patience patience);

/* Ends the server's side of a connection with a last answer on it. What the client still sends is
 * read away for five seconds, also when the library closes its descriptor meanwhile: with bytes
 * left unread TCP would break the connection off, and the answer with it. */
void peers_refused(struct peers *ps, int fd);

void peers_ended(struct peers *ps);
/* To be called before the daemon runs: ends what took too long, and makes the daemon read what
 * clients left behind. */
void peers_run(struct peers *ps);
/* Until peers_run has something to do; -1: nothing is waited for. */
int peers_timeout_ms(const struct peers *ps);
