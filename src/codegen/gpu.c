/* gpu.c - launching kernels, and memory of which host and GPU have each a copy.
 *
 * The hooks do the work; what is written here says what is needed where.  A memory that kernels touch has a
 * mlc_gpu_memory: the call brings those of its buffers, an allocation declares its own.  The host's pointer to it is read
 * again after each move to the host, which may have found it a place.
 *
 *     int failed = hooks->gpu_move(hooks->user, call, &f_memory, 1, 2);     before a kernel that writes all of f
 *     u64 f_device = f_memory.device;
 *     void *args[] = { &f_device, (void *)&n };
 *     failed = hooks->gpu_launch(hooks->user, call, 0, grid, threads, 0, args);
 *     ...
 *     failed = hooks->gpu_move(hooks->user, call, &f_memory, 0, 0);         before the host reads f
 *     f = f_memory.host; */
#include "cg.h"

static const char *memory_text(Gen *G, const Storage *t, int e) {
    if (t->is_input || t->is_output) return fmt(G, "call->memory[%d]", t->slot + e);
    return name_of(G, (const char *)&t->type[e] + 2, fmt(G, "%s_memory", element_name(G, t, e))); /* an address in the element's key */
}

const char *gpu_offset(Gen *G, const Storage *t, int e) {
    return name_of(G, (const char *)&t->type[e] + 3, fmt(G, "%s_offset", element_name(G, t, e)));
}

static bool is_external(const Storage *t) {
    return t->is_input || t->is_output;
}

static void leave_if_failed(Gen *G) {
    open_brace(G, "if (failed)");
    fail_line(G, "failed");
    close_brace(G);
}

/* ---- memory ---- */

void gpu_array(Gen *G, const Storage *t, int e, const char *bytes) {
    line(G, "mlc_gpu_memory %s = { .bytes = (unsigned long)%s };", memory_text(G, t, e), bytes);
    line(G, "%s *%s = 0;", ty_c(t->type[e]), element_name(G, t, e));
}

void release_gpu(Gen *G, const Storage *t, int next) {
    line(G, "hooks->gpu_close(hooks->user, call, &%s);", memory_text(G, t, next - 1));
}

void move_memory(Gen *G, const Stmt *s) {
    const Storage *t = s->u.move.storage;
    int what = s->u.move.all ? 2 : s->u.move.writes;
    if (G->fn->up) BUG(G->arena->fault, "memory moves in a parallel loop");
    for (int e = 0; e < t->n; e++) {
        const char *name = in_scope(G, &t->type[e]), *memory = memory_text(G, t, e), *type = ty_c(t->type[e]);
        open_brace(G, "%s", "");
        line(G, "const int failed = hooks->gpu_move(hooks->user, call, &%s, %d, %d);", memory, s->u.move.device, what);
        leave_if_failed(G);
        close_brace(G);
        if (s->u.move.device) continue;
        const char *cast = t->is_input ? fmt(G, "const %s *", type) : fmt(G, "%s *", type);
        if (is_external(t)) line(G, "%s = (%s)((u64)%s.host + (u64)%s);", name, cast, memory, gpu_offset(G, t, e));
        else line(G, "%s = (%s)%s.host;", name, cast, memory);
    }
}

/* ---- launches ---- */

static const char *list_of(Gen *G, const char *const *item) {
    return fmt(G, "{ %s, %s, %s }", item[0], item[1], item[2]);
}

/* Copies of several bytes at a time begin at multiples of them (copies.c of lowering). */
static void need_aligned(Gen *G, const Kernel *k, const Storage *t, const char *address) {
    const char *arg[4] = { fmt(G, "%lld", (long long)t->copy_bytes), "0", "0", "0" };
    int number = add_check(G, ERR_COPY_BASE, k->name, NULL);
    open_brace(G, "if (%s %% %lld)", address, (long long)t->copy_bytes);
    fail_line(G, fail_text(G, ERR_COPY_BASE, number, arg));
    close_brace(G);
}

/* A device address stands in for each memory; values are passed where they are. */
static const char *argument(Gen *G, const Kernel *k, const KernelArg *a) {
    if (!a->storage) return fmt(G, "(void *)&%s", in_scope(G, a->sym));
    const Storage *t = a->storage;
    in_scope(G, &t->type[a->elem]); /* its offset is read at the top */
    const char *name = fresh(G, fmt(G, "%s_device", element_name(G, t, a->elem))), *memory = memory_text(G, t, a->elem);
    if (is_external(t)) line(G, "u64 %s = %s.device + (u64)%s;", name, memory, gpu_offset(G, t, a->elem));
    else line(G, "u64 %s = %s.device;", name, memory);
    if (t->copy_bytes) need_aligned(G, k, t, name);
    return fmt(G, "&%s", name);
}

void launch_kernel(Gen *G, const Stmt *s) {
    const Kernel *k = s->u.kernel.kernel;
    if (G->o->emit || G->fn->up) BUG(G->arena->fault, "a kernel ahead of time, or in a parallel loop");
    KernelArgs args = kernel_args(G, s);
    const char *grid[GPU_DIMS], *threads[GPU_DIMS], *list = "";
    Env v;
    comment_line(G, k->line);
    open_brace(G, "%s", "");
    env_init(G, &v, NULL);
    for (int d = 0; d < GPU_DIMS; d++) {
        grid[d] = value(G, &v, k->grid[d]);
        threads[d] = fmt(G, "%lld", (long long)k->threads[d]);
    }
    line(G, "const i64 grid[] = %s, threads[] = %s;", list_of(G, grid), list_of(G, threads));
    for (int i = 0; i < args.n; i++) list = fmt(G, "%s%s, ", list, argument(G, k, &args.at[i]));
    line(G, "void *args[] = { %s0 }; /* %s */", list, k->name);
    line(G, "const int some = grid[0] > 0 && grid[1] > 0 && grid[2] > 0;");
    line(G, "const int failed = some ? hooks->gpu_launch(hooks->user, call, %d, grid, threads, %lld, args) : 0;", k->number,
         (long long)shared_at(G, s, NULL, 0));
    leave_if_failed(G);
    close_brace(G);
}
