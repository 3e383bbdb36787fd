/* copies.c - copies to shared memory that a GPU makes on its own: PTX's cp.async.
 *
 *     copy_async_16(as + (x * 4 + y * 16), a + (...));      a thread asks for 16 bytes
 *     copies_end();                                         what it has asked for since the last one is a group
 *     copies_wait<2>();                                     until all groups but the last 2 have landed
 *
 * 16 bytes go around the first cache (.cg), which holds nothing that is read once; smaller ones must take it (.ca). */
#include "cg.h"

static void write_helper(Gen *G, const char *name, const char *text) {
    if (sm_get(&G->have, name)) return;
    sm_put(&G->have, name, G);
    sb_puts(&G->helpers, text);
}

static const char *copy_helper(Gen *G, int bytes) {
    const char *name = fmt(G, "copy_async_%d", bytes), *cache = bytes == 16 ? "cg" : "ca";
    write_helper(G, name, fmt(G, "#ifdef __CUDACC__\nINLINE void %s(void *to, const void *from) {\n"
                                 "    asm volatile(\"cp.async.%s.shared.global [%%0], [%%1], %d;\" : : \"r\"((u32)__cvta_generic_to_shared(to)), \"l\"(from) : \"memory\");\n"
                                 "}\n#endif\n", name, cache, bytes));
    return name;
}

void ask_copy(Gen *G, const Stmt *s) {
    const Storage *to = s->u.store.storage;
    const Node *from = s->u.store.value[0];
    int lanes = G->copy_lanes ? G->copy_lanes : 1;
    Env v;
    env_init(G, &v, NULL);
    if (from->op != OP_LOAD) BUG(G->arena->fault, "a copy that is none");
    const char *name = copy_helper(G, lanes * ty_bytes(to->type[0]));
    const char *at = mem_address(G, &v, to, 0, legal(G, s->u.store.coord[0]));
    line(G, "%s(%s, %s);", name, at, mem_address(G, &v, from->u.storage, from->aux, legal(G, from->kid[0])));
}

void wait_copies(Gen *G, int pending) {
    write_helper(G, "copies_end", "#ifdef __CUDACC__\nINLINE void copies_end() { asm volatile(\"cp.async.commit_group;\" : : : \"memory\"); }\n"
                                  "template <int N> INLINE void copies_wait() { asm volatile(\"cp.async.wait_group %0;\" : : \"n\"(N) : \"memory\"); }\n#endif\n");
    if (pending < 0) {
        line(G, "copies_end();");
        return;
    }
    if (!pending) line(G, "copies_end();"); /* those in no group, too */
    line(G, "copies_wait<%d>();", pending);
}
