# The errors of the float functions: every f32 input of those of one argument (STRIDE=97: a sample).
STRIDE ?= 1
$(BUILD)/math-errors: $(BUILD)/tests/ir/math_errors.o $(BUILD)/libmlc_all.a
	$(Q)$(CC) $(CFLAGS) $(EXTRA) $^ -o $@ $(LIBS)
check-math: $(BUILD)/math-errors
	$(Q)CC=$(CC) $(BUILD)/math-errors $(STRIDE)
check-long: check-math
.PHONY: check-math
