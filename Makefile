# mlc: `make demo` shows it, `make test` proves it.  V=1 shows commands; BUILD=dir builds elsewhere.
BUILD ?= build
CC ?= gcc
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
CFLAGS ?= -O2 -g
ALL_CFLAGS = -std=c11 $(WARN) $(CFLAGS) -fPIC -fvisibility=hidden -D_GNU_SOURCE -Iinclude -Isrc -MMD -MP $(EXTRA)
LIBS = -lffi -lxxhash -ldl -lpthread -lm
Q = $(if $(V),,@)

SRC := $(wildcard src/*/*.c)
OBJ := $(SRC:%.c=$(BUILD)/%.o)
TEST_SRC := $(wildcard tests/*/test_*.c)
TESTS := $(TEST_SRC:%.c=$(BUILD)/%)

all: $(BUILD)/libmlc.a

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	@echo "  cc $<"
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(BUILD)/libmlc.a: $(OBJ)
	$(Q)rm -f $@; ar rcs $@ $^

# One program a test file: `make build/tests/ir/test_value && build/tests/ir/test_value`.
$(BUILD)/tests/%: $(BUILD)/tests/%.o $(BUILD)/libmlc.a
	$(Q)$(CC) $(CFLAGS) $(EXTRA) $^ -o $@ $(LIBS) $$(pkg-config --libs check)

-include $(OBJ:.o=.d)
.PHONY: all
.SECONDARY:
