/* An HTTP server on loopback that plays a script: one step per request, whoever asks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum stub_end {
    STUB_CLOSE, /* after the answer */
    STUB_KEEP,  /* the connection stays open */
    STUB_RESET, /* the connection is torn down */
};

struct stub_step {
    const char *answer; /* bytes; NULL: none */
    enum stub_end end;
    int delay_ms; /* before the answer */
};

enum { STUB_REQUESTS = 16, STUB_BYTES = 16384 };

/* Starts; after the last step connections are accepted and closed. Returns "http://127.0.0.1:N". */
const char *stub_start(const struct stub_step *steps, size_t n);
/* Stops, and joins the thread. */
void stub_stop(void);
/* How many whole requests came. */
size_t stub_count(void);
/* The i-th request, headers and body, as it came. Only after it was answered. */
const char *stub_request(size_t i);
/* Does the i-th request hold this text? */
bool stub_saw(size_t i, const char *text);
