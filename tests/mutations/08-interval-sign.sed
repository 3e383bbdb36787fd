# src/simplify/bounds.c
# an interval times a negative number keeps its ends in place
s/if (sign\.hi <= 0) return (Interval){ hi, lo };/if (sign.hi <= 0) return (Interval){ lo, hi };/
