# Random programs under random plans: `make fuzz-schedules N=3000 SEED=s`; the tests hold a slice of it.
FUZZ_SCHEDULES = $(BUILD)/fuzz_schedules
FUZZ_SRC = $(addprefix fuzz/,schedules.c case.c case_compile.c shrink.c coverage.c gen.c gen_program.c gen_expr.c gen_plan.c gen_loops.c \
    gen_place.c gen_gpu.c gen_share.c gen_derive.c gen_careless.c)
FUZZ_OBJ = $(FUZZ_SRC:%.c=$(BUILD)/%.o)

$(FUZZ_SCHEDULES): $(FUZZ_OBJ) $(BUILD)/libmlc_all.a
	$(call SAY,ld $@)
	$(Q)$(CC) $(CFLAGS) $(EXTRA) $^ -o $@ $(LIBS)

# TARGET=cuda: plans with kernels, in the loop interpreter; without -q their code runs too, on this processor.
fuzz-schedules: $(FUZZ_SCHEDULES)
	$(Q)$(FUZZ_SCHEDULES) $(if $(filter cuda%,$(TARGET)),-g -q) -n $(or $(N),3000) $(if $(SEED),-s $(SEED))

# Plans without care for what is legal: each is right or a row of errors.def.
fuzz-plans: $(FUZZ_SCHEDULES)
	$(Q)$(FUZZ_SCHEDULES) -c -n $(or $(N),100000) $(if $(SEED),-s $(SEED))

$(BUILD)/mlc_tests: | $(FUZZ_SCHEDULES)
-include $(FUZZ_OBJ:.o=.d)
.PHONY: fuzz-plans

# Twenty and more planted bugs; each must make a test fail.
mutations: $(BUILD)/.setup
	$(Q)sh tests/mutations/run.sh $(BUILD)
