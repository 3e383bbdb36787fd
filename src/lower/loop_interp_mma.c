/* loop_interp_mma.c - instructions of tensor units in the loop interpreter.
 *
 * Which element of a tile an element of a lane is, stands here in the words of the PTX manual, apart from the maps of
 * tensor.def that lowering goes by: where the two differ, products come out wrong.  A register holds 32 bits; in terms of a
 * lane's group g = lane / 4 and place t = lane % 4, with p elements a register:
 *   a, register j:  row g, 8 further where j is odd; columns t * p .., 4 p further for every two registers
 *   b, register j:  rows t * p .., 4 p further for every register; column g
 *   c, element i:   row g, 8 further from the third on; column 2 t, one more where i is odd
 * Products are added in order, each rounded once. */
#include "loop_interp_run.h"

enum { MOST_DEPTH = 64, WARP = 32 };

typedef struct {
    Value at;
    State state;
} Cell;

typedef struct {
    Run *r;
    const Stmt *s;
    Lane *const *lane;
    Cell a[16][MOST_DEPTH], b[MOST_DEPTH][8];
} Warp;

static Cell eval(Warp *w, int lane, const Node *e) {
    Cell c;
    c.at = run_eval(w->r, w->lane[lane], e, &c.state);
    return c;
}

static void gather(Warp *w, int64_t *thread) {
    const TensorRow *row = w->s->u.mma.row;
    int p = 32 / ty_bits(row->ab), n_a = row->m * row->k / WARP, n_b = row->n * row->k / WARP;
    for (int l = 0; l < WARP; l++) {
        int g = l / 4, t = l % 4;
        w->r->thread = thread[l];
        for (int i = 0; i < n_a; i++) w->a[g + 8 * (i / p % 2)][t * p + i % p + 4 * p * (i / p / 2)] = eval(w, l, w->s->u.mma.a[i]);
        for (int i = 0; i < n_b; i++) w->b[t * p + i % p + 4 * p * (i / p)][g] = eval(w, l, w->s->u.mma.b[i]);
    }
}

static Cell sum(const Warp *w, Cell c, int row, int column) {
    const TensorRow *r = w->s->u.mma.row;
    for (int k = 0; k < r->k; k++) {
        const Cell *a = &w->a[row][k], *b = &w->b[k][column];
        Value v[] = { val_cast(r->c, r->ab, a->at), val_cast(r->c, r->ab, b->at), c.at };
        if (ty_is_float(r->c)) c.at = val_op(OP_FMA, r->c, r->c, v);
        else {
            Value two[] = { val_op(OP_MUL, r->c, r->c, v), c.at };
            c.at = val_op(OP_ADD, r->c, r->c, two);
        }
        if (a->state != DEFINED || b->state != DEFINED) c.state = GARBAGE;
    }
    return c;
}

void run_mma(Run *r, const Stmt *s, Lane *const *lane, int64_t *thread) {
    Warp w = { .r = r, .s = s, .lane = lane };
    CHECK(r->fault, s->u.mma.row->k <= MOST_DEPTH && s->u.mma.row->m == 16 && s->u.mma.row->n == 8);
    gather(&w, thread);
    for (int l = 0; l < WARP; l++) {
        Cell d[4];
        r->thread = thread[l];
        for (int i = 0; i < 4; i++) d[i] = sum(&w, eval(&w, l, s->u.mma.c[i]), l / 4 + 8 * (i / 2), l % 4 * 2 + i % 2);
        for (int i = 0; i < 4; i++) {
            int var = run_number(r, s->u.mma.d[i]);
            lane[l]->var[var] = d[i].at;
            lane[l]->state[var] = (uint8_t)d[i].state;
        }
    }
}
