/* libmicrohttpd (0.9.75) refuses what it cannot read before anybody is asked: in HTML, and of some
 * requests with two heads. It queues such an answer with the function that programs use, and by the
 * rules of the dynamic linker the one of the program goes before its own. So this module defines
 * it: the library's answers come by here, ours go on to the library. A static library would not
 * link; one that no longer calls the function fails the tests of malformed requests. */
#pragma once

#include <microhttpd.h>

struct call;

typedef enum MHD_Result refusal_queue(
    struct MHD_Connection *con, unsigned status, struct MHD_Response *r);

/* The library's own function, for answers of ours. NULL: it cannot be found. */
refusal_queue *refusal_library(void);

/* Defined by the one who serves: the library is about to refuse what this connection brings. He
 * answers past it and closes his side, so that the library's own answer goes nowhere. */
void refusal_answer(struct MHD_Connection *con, unsigned status);

/* c->err of a refusal: the status says what is wrong, the state of the call says where. */
void refusal_words(struct call *c, unsigned status);
#define REFUSAL_OF_LINE                                                                            \
    "Malformed request: expected \"METHOD TARGET HTTP/1.1\" with single spaces, ending in CR LF"
