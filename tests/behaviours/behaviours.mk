# The texts under tests/behaviours, each a behaviour; `make behaviours` runs them under every compiler and set.
TEXT_CASES = $(BUILD)/text_cases
CASES_OBJ = $(addprefix $(BUILD)/tests/behaviours/,cases.o kernels.o) $(addprefix $(BUILD)/fuzz/,case.o case_compile.o gen.o)

$(TEXT_CASES): $(CASES_OBJ) $(BUILD)/libmlc_all.a
	$(call SAY,ld $@)
	$(Q)$(CC) $(CFLAGS) $(EXTRA) $^ -o $@ $(LIBS)

behaviours: $(TEXT_CASES)
	$(Q)$(TEXT_CASES) -a tests/behaviours/*/*.mlc

$(BUILD)/mlc_tests: | $(TEXT_CASES)
-include $(CASES_OBJ:.o=.d)
.PHONY: behaviours
