#include "refusal.h"

#include <dlfcn.h>
#include <string.h>

#include "call.h"

refusal_queue *refusal_library(void)
{
    void *found = dlsym(RTLD_NEXT, "MHD_queue_response");
    refusal_queue *queue;

    memcpy(&queue, &found, sizeof(queue)); /* a cast is not ISO C */
    return queue;
}

/* In the library: transmit_error_response_len. Its callers go on as if the answer was on its way,
 * some with memory that would be gone if the connection was closed here (0.9.75: cookies). */
__attribute__((visibility("default"))) enum MHD_Result MHD_queue_response(
    struct MHD_Connection *con, unsigned status, struct MHD_Response *r)
{
    refusal_answer(con, status);
    return refusal_library()(con, status, r);
}

static const char *malformed(const struct call *c)
{
    if (c->state == CALL_BODY)
        return "Malformed request: expected the body in chunks, each behind its size";
    return c->uri.p ? "Malformed request: header lines must have a name, a colon and end in CR LF"
                    : REFUSAL_OF_LINE;
}

void refusal_words(struct call *c, unsigned status)
{
    switch (status) {
    case MHD_HTTP_CONTENT_TOO_LARGE:
        err_set(&c->err, ERR_TOO_LARGE, "Malformed request: a length is too large");
        break;
    case MHD_HTTP_URI_TOO_LONG:
        err_set(&c->err, ERR_URI_TOO_LONG, "The request line is too long");
        break;
    case MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE:
        err_set(&c->err, ERR_HEADERS_TOO_LARGE,
            "Target and headers are too long, or too many parameters, cookies or headers");
        break;
    case MHD_HTTP_HTTP_VERSION_NOT_SUPPORTED:
        err_set(&c->err, ERR_HTTP_VERSION, "The HTTP version is not supported: expected HTTP/1.1");
        break;
    default:
        err_set(&c->err, ERR_BAD_REQUEST, "%s", malformed(c));
        break;
    }
}
