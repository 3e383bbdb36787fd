# The example programs: `make demo [PHOTO=mine.png]`, and the same apps as objects for tests and benchmarks.
APPS = blur unsharp hist matmul
APP_PROGRAMS = $(APPS:%=$(BUILD)/apps/%)
APP_SHELL = $(BUILD)/apps/app.o $(BUILD)/apps/photo.o
PHOTO ?=

$(APP_PROGRAMS): $(APP_SHELL)
$(BUILD)/apps/render: $(BUILD)/apps/photo.o

# Without main, for benchmarks (lib) and, of small sizes, for tests.
$(BUILD)/lib/%.o: %.c | $(BUILD)/.setup
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -DAPP_LIBRARY -c $< -o $@
$(BUILD)/small/%.o: %.c | $(BUILD)/.setup
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -DAPP_LIBRARY -DAPP_SMALL -c $< -o $@

# Objects named behind the library need it once more.
$(BUILD)/mlc_tests: $(APPS:%=$(BUILD)/small/apps/%.o) $(APP_SHELL)
$(BUILD)/mlc_tests: LIBS := $(BUILD)/libmlc_all.a $(LIBS)

demo: $(BUILD)/mlc $(APP_PROGRAMS) $(BUILD)/apps/render $(BUILD)/apps/contact
	$(Q)sh apps/demo.sh $(BUILD) "$(PHOTO)"

# The search runs, and the program that it leaves holds.
TEST_DEPS += check-search
check-search: $(BUILD)/mlc
	$(Q)mkdir -p $(BUILD)/search
	$(Q)MLC=$(BUILD)/mlc SIZE=131,67 sh apps/search/search.sh 4 1 > $(BUILD)/search/best 2> $(BUILD)/search/log || \
	    { cat $(BUILD)/search/log; exit 1; }
	$(Q)cat apps/search/blur.mlc $(BUILD)/search/best > $(BUILD)/search/blur.mlc
	$(Q)$(BUILD)/mlc check $(BUILD)/search/blur.mlc > $(BUILD)/search/check
	@echo "  the schedule search runs"

-include $(wildcard $(BUILD)/apps/*.d $(BUILD)/lib/apps/*.d $(BUILD)/small/apps/*.d)
.PHONY: demo check-search
