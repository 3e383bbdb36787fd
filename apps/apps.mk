# The example programs: `make demo [PHOTO=mine.png]`, and the same apps as objects for tests and benchmarks.
APPS = blur unsharp hist matmul
APP_PROGRAMS = $(APPS:%=$(BUILD)/apps/%)
APP_OBJ = $(APPS:%=$(BUILD)/lib/apps/%.o) $(BUILD)/apps/app.o $(BUILD)/apps/photo.o
PHOTO ?=

$(APP_PROGRAMS): $(BUILD)/apps/app.o $(BUILD)/apps/photo.o
$(BUILD)/apps/render: $(BUILD)/apps/photo.o

# Without its main.
$(BUILD)/lib/%.o: %.c | $(BUILD)/.setup
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -DAPP_LIBRARY -c $< -o $@

# Objects named after the library need it once more behind them.
$(BUILD)/mlc_tests: $(APP_OBJ)
$(BUILD)/mlc_tests: LIBS := $(BUILD)/libmlc_all.a $(LIBS)

demo: $(APP_PROGRAMS) $(BUILD)/apps/render $(BUILD)/apps/contact
	$(Q)sh apps/demo.sh $(BUILD) "$(PHOTO)"

-include $(wildcard $(BUILD)/apps/*.d $(BUILD)/lib/apps/*.d)
.PHONY: demo
