# src/schedule/eager.c
# a product that is put in fuses with the sum around it
s/return e->op == OP_MUL;/return false \&\& e->op == OP_MUL;/
