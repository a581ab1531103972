#include "client_setting.h"

#include "base.h"

enum { TABLE = CLIENT_SETTING_OF_TABLE, WAREHOUSE = CLIENT_SETTING_OF_WAREHOUSE };

static const struct {
    const char *pattern;
    unsigned of;
} settings[] = {
  /* where the catalog is, and who the client is there */
    {"uri",                            TABLE | WAREHOUSE},
    {"token",                          TABLE | WAREHOUSE},
    {"credential",                     TABLE | WAREHOUSE},
    {"auth",                           WAREHOUSE        },
    {"auth.*",                         WAREHOUSE        },
    {"oauth2-*",                       TABLE | WAREHOUSE},
    {"rest.*",                         TABLE | WAREHOUSE},
    {"header.*",                       TABLE | WAREHOUSE},
    {"signer.*",                       TABLE | WAREHOUSE},
    {"s3.signer*",                     TABLE | WAREHOUSE},
    {"client.credentials-provider*",   TABLE | WAREHOUSE},
    {"*.refresh-credentials-endpoint", TABLE | WAREHOUSE},
 /* classes to load, and where files are: an operator's to say */
    {"*-impl",                         TABLE            },
    {"s3.endpoint",                    TABLE            },
    {"s3.proxy-uri",                   TABLE            },
    {"gcs.service.host",               TABLE            },
    {"gcs.endpoint",                   TABLE            },
    {"gcs.session-kwargs",             TABLE            },
    {"adls.account-host",              TABLE            },
    {"adls.endpoint",                  TABLE            },
    {"adls.protocol",                  TABLE            },
    {"adls.blob-storage-authority",    TABLE            },
    {"adls.blob-storage-scheme",       TABLE            },
    {"adls.dfs-storage-authority",     TABLE            },
    {"adls.dfs-storage-scheme",        TABLE            },
    {"hf.endpoint",                    TABLE            },
 /* secrets, and where they lie */
    {"s3.access-key-id",               TABLE            },
    {"s3.secret-access-key",           TABLE            },
    {"s3.session-token",               TABLE            },
    {"client.access-key-id",           TABLE            },
    {"client.secret-access-key",       TABLE            },
    {"client.session-token",           TABLE            },
    {"adls.client-secret",             TABLE            },
    {"adls.credential",                TABLE | WAREHOUSE},
    {"gcs.jsonkey",                    TABLE | WAREHOUSE},
    {"gcs.keypath",                    TABLE            },
    {"gcs.oauth2.token*",              TABLE | WAREHOUSE},
    {"hf.token",                       TABLE | WAREHOUSE},
    {"adls.sas-token*",                TABLE | WAREHOUSE},
    {"adls.account-key",               TABLE | WAREHOUSE},
    {"adls.token",                     TABLE | WAREHOUSE},
    {"adls.connection-string*",        TABLE | WAREHOUSE},
    {"adls.auth.shared-key.*",         TABLE | WAREHOUSE},
    {"gcs.encryption-key",             WAREHOUSE        },
    {"gcs.decryption-key",             WAREHOUSE        },
    {"*secret*",                       WAREHOUSE        },
    {"*password*",                     WAREHOUSE        },
    {"*access-key-id",                 WAREHOUSE        },
    {"*access-key.id",                 WAREHOUSE        },
    {"*session-token",                 WAREHOUSE        },
    {"*session.token",                 WAREHOUSE        },
};

bool client_setting(struct str name, enum client_setting_of of)
{
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        if ((settings[i].of & of) && str_fits(name, str_from(settings[i].pattern)))
            return true;
    return false;
}
