#include "policy.h"

#include "arena.h"
#include "base.h"
#include "buf.h"

#include <string.h>

/* AWS takes 2,048 bytes, and less when they do not pack well; Ceph's RGW 16 ends at 1,800. */
enum { POLICY_MAX = 1600, BUCKET_MAX = 63 };

static bool refuse(struct str key, const char *why, struct err *err)
{
    return err_set(
        err, ERR_STORE_BAD_URI, "No credentials can be limited to %.*s: %s", STR_ARG(key), why);
}

/* '*' and '?' are patterns, '$' begins a variable. Their escapes are not portable: RGW 16 takes
 * them for what they escape. */
static bool check_key(struct str key, struct err *err)
{
    if (key.n == 0)
        return refuse(key, "it is the whole bucket", err);
    if (!str_is_utf8(key))
        return refuse(STR("this folder"), "its name is no UTF-8", err);
    for (size_t i = 0; i < key.n; i++) {
        unsigned char c = (unsigned char)key.p[i];
        if (c < 0x20 || c == 0x7f)
            return refuse(STR("this folder"), "its name holds a control character", err);
        if (strchr("*?$\"\\", c))
            return refuse(key, "policies read '*', '?', '$', '\"' and '\\' as signs", err);
    }
    for (struct str rest = key; rest.p;) {
        struct str part = str_cut(&rest, '/');
        if (part.n == 0 || str_eq(part, STR(".")) || str_eq(part, STR("..")))
            return refuse(key, "a part of its path is empty, '.' or '..'", err);
    }
    return true;
}

static bool check_bucket(struct str bucket, struct err *err)
{
    bool good = bucket.n > 0 && bucket.n <= BUCKET_MAX;
    for (size_t i = 0; good && i < bucket.n; i++) {
        char c = bucket.p[i];
        good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '.' || c == '_';
    }
    return good || refuse(bucket, "it is no name of a bucket", err);
}

static const char *partition(struct str region)
{
    return str_starts(region, STR("cn-"))       ? "aws-cn"
           : str_starts(region, STR("us-gov-")) ? "aws-us-gov"
                                                : "aws";
}

static const char *const actions[] = {
    [POLICY_READ] = "\"s3:GetObject\"",
    [POLICY_WRITE] = "[\"s3:GetObject\",\"s3:PutObject\",\"s3:DeleteObject\","
                     "\"s3:AbortMultipartUpload\",\"s3:ListMultipartUploadParts\"]",
};

bool policy_for_folder(struct arena *a, const struct policy_folder *folder,
    enum policy_access access, struct str *out, struct err *err)
{
    TRY(check_bucket(folder->bucket, err));
    TRY(check_key(folder->key, err));
    struct str arn =
        arena_printf(a, "arn:%s:s3:::%.*s", partition(folder->region), STR_ARG(folder->bucket));
    AUTO(buf_fini) struct buf b;
    buf_init(&b, POLICY_MAX);
    buf_putf(&b,
        "{\"Version\":\"2012-10-17\",\"Statement\":["
        "{\"Effect\":\"Allow\",\"Action\":%s,\"Resource\":\"%.*s/%.*s/*\"},"
        "{\"Effect\":\"Allow\",\"Action\":\"s3:ListBucket\",\"Resource\":\"%.*s\","
        "\"Condition\":{\"StringLike\":{\"s3:prefix\":[\"%.*s/\",\"%.*s/*\"]}}},"
        "{\"Effect\":\"Allow\",\"Action\":\"s3:GetBucketLocation\",\"Resource\":\"%.*s\"}]}",
        actions[access], STR_ARG(arn), STR_ARG(folder->key), STR_ARG(arn), STR_ARG(folder->key),
        STR_ARG(folder->key), STR_ARG(arn));
    if (b.over)
        return refuse(folder->key, "its policy would have more than 1600 bytes", err);
    *out = buf_take(&b, a);
    return true;
}
