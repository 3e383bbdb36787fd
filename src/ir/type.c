/* type.c - the table of element types, and the table of operators. */
#include "ir.h"

#include <string.h>

static const struct {
    const char *name;
    unsigned char size, bits;
} types[MLC_TYPE_COUNT] = {
    [MLC_VOID] = { "void", 0, 0 },
    [MLC_BOOL] = { "bool", 1, 1 },
    [MLC_I8] = { "i8", 1, 8 },     [MLC_I16] = { "i16", 2, 16 }, [MLC_I32] = { "i32", 4, 32 }, [MLC_I64] = { "i64", 8, 64 },
    [MLC_U8] = { "u8", 1, 8 },     [MLC_U16] = { "u16", 2, 16 }, [MLC_U32] = { "u32", 4, 32 }, [MLC_U64] = { "u64", 8, 64 },
    [MLC_F16] = { "f16", 2, 16 },  [MLC_BF16] = { "bf16", 2, 16 }, [MLC_F32] = { "f32", 4, 32 }, [MLC_F64] = { "f64", 8, 64 },
    [MLC_INDEX] = { "index", 8, 64 },
};

const OpInfo ir_ops[OP_COUNT] = {
#define OP(name, text, arity, class, rule, prec) [OP_##name] = { #name, text, arity, CLASS_##class, RULE_##rule, prec },
#include "ops.def"
#undef OP
};

size_t mlc_type_size(mlc_type t) {
    return (unsigned)t < MLC_TYPE_COUNT ? types[t].size : 0;
}

const char *mlc_type_name(mlc_type t) {
    return (unsigned)t < MLC_TYPE_COUNT ? types[t].name : "void";
}

int ty_bits(mlc_type t) {
    return (unsigned)t < MLC_TYPE_COUNT ? types[t].bits : 0;
}

mlc_type ty_from_name(const char *name) {
    for (int t = MLC_BOOL; t < MLC_TYPE_COUNT; t++)
        if (!strcmp(types[t].name, name)) return (mlc_type)t;
    return MLC_VOID;
}

mlc_type ty_int(bool is_signed, int bits) {
    mlc_type first = is_signed ? MLC_I8 : MLC_U8;
    int step = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : bits == 64 ? 3 : -1;
    return step < 0 ? MLC_VOID : (mlc_type)((int)first + step);
}

int64_t ty_min(mlc_type t) {
    if (ty_is_signed(t)) return INT64_MIN >> (64 - ty_bits(t));
    return t == MLC_INDEX ? INT64_MIN : 0;
}

uint64_t ty_max(mlc_type t) {
    int bits = ty_bits(t) - (ty_is_signed(t) || t == MLC_INDEX);
    return bits <= 0 ? 0 : UINT64_MAX >> (64 - bits);
}
