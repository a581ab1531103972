/* One question to a service of Google's. */
#pragma once

#include "buf.h"
#include "fetch.h"
#include "google.h"

#define GOOGLE_SCOPE_ALL "https://www.googleapis.com/auth/cloud-platform"
#define GOOGLE_TOKEN_URI "https://oauth2.googleapis.com/token"
#define GOOGLE_STS_URI   "https://sts.googleapis.com/v1/token"
#define GOOGLE_TYPE      "urn:ietf:params:oauth:token-type:access_token"
#define GOOGLE_EXCHANGE  "urn:ietf:params:oauth:grant-type:token-exchange"

struct google_ask {
    struct str url;
    struct str body;            /* absent: GET */
    struct fetch_header header; /* besides the body's type; absent: none */
    const char *content_type;   /* of the body; NULL: a form */
    struct str project;         /* becomes the id of the credentials */
    int64_t fallback_ms;        /* their end, where the answer names none; 0: it must */
    int64_t deadline_us;
    enum fetch_reach reach;
};

/* A token from the answer. Errors as in google.h. */
MUST bool google__ask(
    struct arena *a, const struct google_ask *ask, struct credentials **out, struct err *err);
/* Where Google's `url` is asked instead when the service has an endpoint of its own. */
MUST bool google__url(struct arena *a, const struct google_service *service, const char *url,
    struct str *out, struct err *err);

void google__form(struct buf *form);
/* Wiped with the arena. */
MUST bool google__form_end(struct buf *form, struct arena *a, struct str *out, struct err *err);
struct str google__scope(const struct google_service *service);
