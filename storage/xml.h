/* Reads the small XML documents of object stores: elements and their text, nothing else. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "str.h"

struct arena;

enum { XML_DEPTH_MAX = 8 };

enum xml_event { XML_OPEN, XML_CLOSE, XML_DONE };

/* Pulled event by event. After XML_OPEN and XML_CLOSE `name` is the element's, without namespace
 * prefix; after XML_CLOSE `text` is what stood directly in it, decoded, in the arena. */
struct xml {
    struct arena *a;
    struct str rest;
    size_t depth; /* open elements, the one just opened or closed not counted after XML_CLOSE */
    struct str name, text;
    struct str names[XML_DEPTH_MAX], texts[XML_DEPTH_MAX];
    unsigned pieces[XML_DEPTH_MAX]; /* that the texts were joined of */
    bool empty;                     /* <x/> was opened: its end comes next */
    bool seen;                      /* the root element began */
};

void xml_init(struct xml *x, struct arena *a, struct str doc);
/* ERR_INTERNAL when the text is no such document; DOCTYPE is refused, so no entity can be made. */
MUST bool xml_next(struct xml *x, enum xml_event *out, struct err *err);
/* Text of the first element `name` at any depth; absent when there is none or doc is no XML. */
struct str xml_find(struct arena *a, struct str doc, const char *name);
/* The same as words for the log: short, and UTF-8 whatever was sent. */
struct str xml_words(struct arena *a, struct str doc, const char *name);
/* The same as the code of an error, which may be shown to anybody; absent when it is no code. */
struct str xml_code(struct arena *a, struct str doc);
