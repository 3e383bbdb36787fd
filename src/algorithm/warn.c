/* warn.c - what is legal but probably not meant: one line to the context's log hook, if it has one. */
#include "algorithm.h"

#include <math.h>

void alg_warning(mlc_ctx *ctx, ErrCode row, const Place *place, ...) {
    if (!ctx->log) return;
    Fault line = { 0 };
    va_list ap;
    va_start(ap, place);
    fault_vnote(&line, row, place, ap);
    va_end(ap);
    ctx->log(ctx->log_user, line.info.message);
}

typedef struct {
    mlc_ctx *ctx;
    const Place *place;
} Look;

/* Is 1/c a float, so that x/c is x * (1/c)? */
static bool has_exact_inverse(mlc_type t, double c) {
    int exponent;
    if (c == 0 || !isfinite(c)) return true; /* nothing to advise */
    return fabs(frexp(c, &exponent)) == 0.5 && isfinite(val_round(t, 1 / c).f) && val_round(t, 1 / c).f != 0;
}

static void look(void *user, const Node *e) {
    const Look *l = user;
    if (e->op == OP_REQUIRE && e->kid[0]->op == OP_CONST && !ir_value(e->kid[0]).i) alg_warning(l->ctx, ERR_WARN_REQUIRE, l->place, e->u.text);
    if (e->op != OP_DIV || !ty_is_float((mlc_type)e->type) || e->kid[1]->op != OP_CONST) return;
    double c = e->kid[1]->u.f;
    if (has_exact_inverse((mlc_type)e->type, c)) return;
    StrBuf s; /* with a point, so that the remedy's 1 / c is no division of integers */
    sb_init(&s, &l->ctx->arena);
    ir_print_number(&s, (mlc_type)e->kid[1]->type, ir_value(e->kid[1]));
    alg_warning(l->ctx, ERR_WARN_DIVIDE, l->place, s.at, s.at);
}

void alg_warn(const Func *f, const Def *def, const Place *place) {
    mlc_ctx *ctx = f->ctx;
    if (!ctx->log) return;
    for (int i = 0; i < def->n; i++) {
        bool sums = def->rdom && (def->op == DEF_ADD || def->op == DEF_SUB || def->op == DEF_MUL);
        if (sums && ty_is_half(f->type[i])) alg_warning(ctx, ERR_WARN_HALF_SUM, place, f->name, mlc_type_name(f->type[i]));
        ir_visit(&ctx->arena, def->rhs[i], look, &(Look){ ctx, place });
    }
}
