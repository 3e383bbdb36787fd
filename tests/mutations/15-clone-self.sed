# src/schedule/derive.c
# a clone goes on reading the Func that it was copied from
s/pm_put(&c.func, f, w);/(void)0;/
