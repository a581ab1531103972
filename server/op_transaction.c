/* Transactions: arguments in, one catalog function, one reply. */
#include "call.h"
#include "txn.h"

bool op_commit_transaction(struct call *c)
{
    struct caller by = call_caller(c);
    TRY(txn_commit(c->arena, c->catalog, &by, c->json, call_digest(c), &c->err));
    return reply_empty(c);
}
