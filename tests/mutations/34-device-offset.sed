# src/codegen/gpu.c
# kernels get a buffer's first byte for the element at its mins
s/\.device + (u64)%s;", name, memory, gpu_offset(G, t, a->elem)/.device; (void)%s;", name, memory, gpu_offset(G, t, a->elem)/
