#include "handed.h"

#include "client_setting.h"

/* Java and PyIceberg tell the server by it which ways of access they want; it leads nowhere. */
#define HARMLESS STR("header.x-iceberg-access-delegation")

bool handed_out(const char *name)
{
    struct str key = str_from(name);

    return !client_setting(key, CLIENT_SETTING_OF_WAREHOUSE) || str_eq_nocase(key, HARMLESS);
}

bool handed_check(const json_t *body, struct err *err)
{
    static const char *const members[] = {"defaults", "overrides"};

    for (size_t i = 0; i < 2; i++) {
        const char *key;
        json_t *value;
        json_object_foreach(json_object_get(body, members[i]), key, value)
        {
            if (!handed_out(key))
                return err_set(err, ERR_INVALID_ARGUMENT,
                    "/%s/%s: cannot be handed to clients: it would lead their own credentials "
                    "elsewhere, or show a secret to all who may read the warehouse",
                    members[i], key);
        }
    }
    return true;
}
