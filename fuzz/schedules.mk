# Random programs under random plans: `make fuzz-schedules N=3000 SEED=s`; the tests hold a slice of it.
FUZZ_SCHEDULES = $(BUILD)/fuzz_schedules
FUZZ_SRC = fuzz/schedules.c fuzz/case.c fuzz/shrink.c fuzz/gen_program.c fuzz/gen_expr.c fuzz/gen_plan.c
FUZZ_OBJ = $(FUZZ_SRC:%.c=$(BUILD)/%.o)

$(FUZZ_SCHEDULES): $(FUZZ_OBJ) $(BUILD)/libmlc_all.a
	$(call SAY,ld $@)
	$(Q)$(CC) $(CFLAGS) $(EXTRA) $^ -o $@ $(LIBS)

fuzz-schedules: $(FUZZ_SCHEDULES)
	$(Q)$(FUZZ_SCHEDULES) -n $(or $(N),3000) $(if $(SEED),-s $(SEED))

# Plans without care for what is legal: each is right or a row of errors.def.
fuzz-plans: $(FUZZ_SCHEDULES)
	$(Q)$(FUZZ_SCHEDULES) -c -n $(or $(N),20000) $(if $(SEED),-s $(SEED))

$(BUILD)/mlc_tests: | $(FUZZ_SCHEDULES)
-include $(FUZZ_OBJ:.o=.d)
.PHONY: fuzz-plans

# Ten and more planted bugs; each must make a test fail.
mutations: $(BUILD)/.setup
	$(Q)sh tests/mutations/run.sh $(BUILD)
