/* memoize.c - memoize(key): may the values of a Func be kept from call to call? */
#include "schedule/resolve.h"

/* What in e may not stand in a key that memory is dropped by; NULL: nothing. */
static void check_key(void *user, const Node *e) {
    const Node **wrong = user;
    bool param = e->op == OP_VAR && e->u.sym->kind == SYM_PARAM;
    bool works_on_them = e->op != OP_VAR && e->op != OP_ACCESS && e->op != OP_RANDOM && e->op != OP_EXTERN &&
                         e->op != OP_PRINT && e->op != OP_REQUIRE && e->op != OP_UNDEF;
    if (!param && !works_on_them) *wrong = e;
}

static const Node *key_of(Resolve *r, const PlanLine *line) {
    const Node *e = line->d.cond.node, *wrong = NULL;
    Place place = sch_place(r->arena, line);
    if (!e) return NULL;
    if (e->op == OP_POISON) ir_raise_poison(r->fault, ir_poison_at(r->ir, e, &place));
    mlc_type t = (mlc_type)e->type;
    ir_visit(r->arena, e, check_key, &wrong);
    if (wrong || (!ty_is_int(t) && t != MLC_INDEX)) fault_raise(r->fault, ERR_MEMO_KEY, &place, ir_show(r->ir, e));
    return ir_cast(r->ir, MLC_INDEX, alg_canonical(r->ir, e, t));
}

void sch_memoize(Resolve *r, FuncSched *fs, const PlanLine *line) {
    Place place = sch_place(r->arena, line);
    if (sch_is_output(r->s, fs->func)) fault_raise(r->fault, ERR_MEMO_OUTPUT, &place, fs->func->name);
    if (fs->memo) fault_raise(r->fault, ERR_MEMO_TWICE, &place, fs->func->name);
    fs->memo = line;
    fs->memo_key = key_of(r, line);
}

static void find_print(void *user, const Node *e) {
    *(bool *)user |= e->op == OP_PRINT;
}

/* Is something printed while f is computed? */
static bool prints(Resolve *r, Func *f) {
    FuncList order = alg_order(r->arena, &f, 1);
    bool found = false;
    for (int i = 0; i < order.n; i++)
        for (int k = 0; k < order.at[i]->def.n; k++) {
            const Def *def = order.at[i]->def.at[k];
            for (int j = 0; j < def->n; j++) ir_visit(r->arena, def->value[j], find_print, &found);
            for (int d = 0; d < def->rank; d++) ir_visit(r->arena, def->coord[d], find_print, &found);
        }
    return found;
}

void sch_check_memo(Resolve *r, const FuncSched *fs) {
    if (!fs->memo) return;
    Place place = sch_place(r->arena, fs->memo);
    mlc_memory memory = fs->storage.memory;
    if (fs->compute.kind != AT_ROOT) fault_raise(r->fault, ERR_MEMO_ROOT, &place, fs->func->name);
    if (fs->async) fault_raise(r->fault, ERR_MEMO_ASYNC, &place, fs->func->name);
    if (memory == MLC_MEMORY_STACK || memory == MLC_MEMORY_REGISTER) fault_raise(r->fault, ERR_MEMO_MEMORY, &place, fs->func->name);
    if (prints(r, fs->func)) fault_raise(r->fault, ERR_MEMO_PRINT, &place, fs->func->name);
}
