# src/simplify/rules.def
# x % y is x also where x equals y
s/"x % y", "x", "x >= 0 \&\& x < y"/"x % y", "x", "x >= 0 \&\& x <= y"/
