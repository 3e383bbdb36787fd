# mlc: `make demo` shows it, `make test` proves it.
#
#   make [all]          libmlc.a, libmlc.so, the command line tool mlc
#   make test           every test; the last line is the verdict.  SUITE="value pool" runs some
#   make demo           the apps on a photo (PHOTO=mine.png)
#   make check-asan | check-tsan | check-valgrind | check-hard | check-long
#   make fuzz-schedules N=3000 SEED=s | fuzz-parse fuzz-png fuzz-npy TIME=60 | mutations | bench BENCH=prefix
#   make lint | format | tidy | loc | install | uninstall | clean
# V=1 shows commands; BUILD=dir builds elsewhere; EXTRA=flags adds to the compiler's flags.
# What a folder builds beyond the library is in its own *.mk.
BUILD ?= build
CC = gcc
PREFIX ?= /usr/local
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
CFLAGS ?= -O2 -g
# Contraction is off because the interpreters and constant folding are the meaning of fma.
ALL_CFLAGS = -std=c11 $(WARN) $(CFLAGS) -ffp-contract=off -fPIC -fvisibility=hidden -D_GNU_SOURCE \
             -Iinclude -Isrc -I$(BUILD)/gen -MMD -MP $(EXTRA)
LIBS = -lffi -lxxhash -ldl -lpthread -lm
Q = $(if $(V),,@)
SAY = @echo "  $(1)"

SRC := $(sort $(wildcard src/*/*.c))
HDR := $(wildcard include/mlc.h include/mlc/*.h include/mlc/*.def)
OBJ := $(SRC:%.c=$(BUILD)/%.o)
CLI_SRC := $(sort $(addprefix tools/,mlc.c job.c slots.c commands.c array.c npy.c png.c))
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o)
TEST_SRC := $(sort $(wildcard tests/*/test_*.c))
TEST_OBJ := $(TEST_SRC:%.c=$(BUILD)/%.o) $(BUILD)/tests/main.o

all: $(BUILD)/libmlc.a $(BUILD)/libmlc.so $(BUILD)/mlc

# ---- the library ----

# What the build needs and the machine lacks is installed once a build folder.
$(BUILD)/.setup: tools/setup.sh
	$(Q)mkdir -p $(@D) && sh tools/setup.sh && touch $@

$(BUILD)/%.o: %.c | $(BUILD)/.setup
	@mkdir -p $(@D)
	$(call SAY,cc $<)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

# The identity of the library in cache keys: a digest of its sources and flags.
$(BUILD)/gen/build_id.h: $(SRC) $(wildcard src/*/*.h src/*/*.def) $(HDR) Makefile
	@mkdir -p $(@D)
	$(Q){ cat $^; echo '$(CC) $(CFLAGS) $(EXTRA)'; } | sha256sum | \
	    awk '{ print "#define MLC_BUILD_ID \"" substr($$1, 1, 32) "\"" }' > $@
$(BUILD)/src/pipeline/build_id.o: $(BUILD)/gen/build_id.h

# Everything, for tests that look inside.
$(BUILD)/libmlc_all.a: $(OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^

# One relocatable object whose hidden symbols are local: a program sees only mlc_*.
$(BUILD)/libmlc.a: $(OBJ)
	$(call SAY,ar $@)
	$(Q)ld -r -o $(BUILD)/libmlc.o $^ && objcopy --localize-hidden $(BUILD)/libmlc.o
	$(Q)rm -f $@ && ar rcs $@ $(BUILD)/libmlc.o

$(BUILD)/libmlc.so: $(OBJ)
	$(call SAY,ld $@)
	$(Q)$(CC) $(CFLAGS) $(EXTRA) -shared -Wl,-soname,libmlc.so.0 $(if $(EXTRA),,-Wl$(comma)-z$(comma)defs) $^ -o $@ $(LIBS)
comma := ,

$(BUILD)/mlc: $(CLI_OBJ) $(BUILD)/libmlc.a
	$(call SAY,ld $@)
	$(Q)$(CC) $(CFLAGS) $(EXTRA) $^ -o $@ -lpng -lz $(LIBS)

# A program of one file: build/tutorials/01_first from tutorials/01_first.c.
$(BUILD)/%: $(BUILD)/%.o $(BUILD)/libmlc.a
	$(Q)$(CC) $(CFLAGS) $(EXTRA) $^ -o $@ -lpng -lz $(LIBS)

# ---- tests ----

# Each tests/*/test_<topic>.c exports <topic>_suite; the registry is the list of files.
$(BUILD)/gen/suites.h: $(TEST_SRC)
	@mkdir -p $(@D)
	$(Q)printf 'SUITE(%s)\n' $(TEST_SRC:%.c=%) | sed 's|(.*/test_|(|' > $@
$(BUILD)/tests/main.o: $(BUILD)/gen/suites.h

# The readers of the tool are tested from inside too.
CLI_TESTED := $(addprefix $(BUILD)/tools/,array.o npy.o png.o)
$(BUILD)/mlc_tests: $(TEST_OBJ) $(CLI_TESTED) $(BUILD)/libmlc_all.a
	$(call SAY,ld $@)
	$(Q)$(CC) $(CFLAGS) $(EXTRA) $^ -o $@ -lpng -lz $(LIBS) $$(pkg-config --libs check)

# Programs that other folders want run before the suites (tutorials, the slice of random schedules):
# their .mk files append to TEST_DEPS.
test: $(BUILD)/mlc_tests $(BUILD)/mlc
	$(Q)$(MAKE) --no-print-directory $(if $(SUITE),,$(TEST_DEPS)) BUILD=$(BUILD)
	$(Q)MLC=$(BUILD)/mlc MLC_BUILD=$(BUILD) MLC_CACHE=$(BUILD)/cache $(TEST_ENV) $(TEST_WRAP) $(BUILD)/mlc_tests $(SUITE)

# Generated code is compiled with the same sanitizers: MLC_CFLAGS reaches the run-time compiler.  Random
# schedules, which other targets run by the thousand, would take hours here; threads matter to some suites only,
# and valgrind runs those that touch memory most.  SUITE="..." chooses others.
TOPICS = $(patsubst test_%,%,$(basename $(notdir $(TEST_SRC))))
ASAN_SUITES = $(or $(SUITE),$(filter-out schedules contract_plans apps,$(TOPICS)))
TSAN_SUITES = $(or $(SUITE),$(filter atomic processes module memo tasks watch pool memory jit loops contract_calls driver gpu_calls,$(TOPICS)))
VALGRIND_SUITES = $(or $(SUITE),$(filter alloc errors module memory buffer pool jit text program_text plan_text interp resolve \
    build sliding,$(TOPICS)))
HARD_SUITES = $(or $(SUITE),$(filter-out schedules contract_plans,$(TOPICS)))
SAN_ENV = ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
check-asan:
	@echo "  runs $(ASAN_SUITES)"
	$(Q)$(MAKE) test BUILD=$(BUILD)/asan CFLAGS="-O1 -g" EXTRA="-fsanitize=address,undefined \
	    -fno-sanitize-recover=all -fno-omit-frame-pointer" TEST_DEPS= SUITE="$(ASAN_SUITES)" \
	    TEST_ENV='$(SAN_ENV) CK_FORK=no MLC_CACHE=$(BUILD)/asan/cache MLC_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all"'

check-tsan:
	@echo "  runs $(TSAN_SUITES)"
	$(Q)$(MAKE) test BUILD=$(BUILD)/tsan CFLAGS="-O1 -g" EXTRA="-fsanitize=thread" TEST_DEPS= SUITE="$(TSAN_SUITES)" \
	    TEST_ENV='CK_FORK=no TSAN_OPTIONS=die_after_fork=0:allocator_may_return_null=1:suppressions=tools/tsan.supp MLC_CACHE=$(BUILD)/tsan/cache MLC_CFLAGS=-fsanitize=thread'

check-valgrind: $(BUILD)/mlc_tests $(BUILD)/mlc
	@echo "  runs $(VALGRIND_SUITES)"
	$(Q)$(MAKE) test TEST_DEPS= SUITE="$(VALGRIND_SUITES)" TEST_ENV="CK_FORK=no MLC_TARGET=avx2 MLC=$(BUILD)/mlc" \
	    TEST_WRAP="valgrind -q --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=definite"

check-hard:
	@echo "  runs $(HARD_SUITES)"
	$(Q)$(MAKE) test BUILD=$(BUILD)/hard EXTRA="-DMLC_HARD" TEST_DEPS= SUITE="$(HARD_SUITES)" TEST_ENV="MLC_NTH_ALLOCATION=1"

check-long: $(BUILD)/mlc_tests
	$(Q)MLC_LONG=1 CK_DEFAULT_TIMEOUT=0 $(BUILD)/mlc_tests $(SUITE)

# ---- order ----

lint: $(BUILD)/libmlc.so
	$(Q)awk -f tools/check-layers.awk $(SRC) $(wildcard src/*/*.h) $(CLI_SRC) $(wildcard apps/*.[ch] apps/*/*.[ch] tutorials/*.c)
	$(Q)sh tools/check-symbols.sh $(BUILD)/libmlc.so
	$(Q)sh tools/check-source.sh "$(CC)" "$(ALL_CFLAGS)"
	$(Q)sh tools/check-semantics.sh
	$(Q)sh tools/check-errors.sh
	@echo "lint: clean"

format:
	$(Q)clang-format -i $(SRC) $(wildcard src/*/*.h include/mlc/*.h) $(CLI_SRC) $(TEST_SRC) tests/main.c

tidy:
	$(Q)clang-tidy --quiet $(SRC) $(CLI_SRC) -- -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -I$(BUILD)/gen

loc:
	$(Q)sh tools/loc.sh

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/mlc \
	    $(DESTDIR)$(PREFIX)/share/man/man1
	install $(BUILD)/mlc $(DESTDIR)$(PREFIX)/bin/mlc
	install -m 644 $(BUILD)/libmlc.a $(DESTDIR)$(PREFIX)/lib/libmlc.a
	install $(BUILD)/libmlc.so $(DESTDIR)$(PREFIX)/lib/libmlc.so.0
	ln -sf libmlc.so.0 $(DESTDIR)$(PREFIX)/lib/libmlc.so
	install -m 644 $(wildcard include/mlc/*.h include/mlc/*.def) $(DESTDIR)$(PREFIX)/include/mlc
	install -m 644 $(wildcard include/mlc.h) $(DESTDIR)$(PREFIX)/include
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' mlc.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/mlc.pc
	install -m 644 man/mlc.1 $(DESTDIR)$(PREFIX)/share/man/man1/mlc.1
VERSION = $(shell sed -n 's/.*MLC_VERSION "\(.*\)"/\1/p' include/mlc/base.h)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/mlc $(DESTDIR)$(PREFIX)/lib/libmlc.a $(DESTDIR)$(PREFIX)/lib/libmlc.so \
	    $(DESTDIR)$(PREFIX)/lib/libmlc.so.0 $(DESTDIR)$(PREFIX)/lib/pkgconfig/mlc.pc \
	    $(DESTDIR)$(PREFIX)/share/man/man1/mlc.1 $(DESTDIR)$(PREFIX)/include/mlc.h
	rm -rf $(DESTDIR)$(PREFIX)/include/mlc

clean:
	rm -rf $(BUILD)

-include $(wildcard apps/*.mk bench/*.mk fuzz/*.mk tutorials/*.mk tests/*.mk tests/*/*.mk)
-include $(OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(TEST_OBJ:.o=.d)

.PHONY: all test demo check-asan check-tsan check-valgrind check-hard check-long fuzz-schedules mutations \
        bench lint format tidy loc install uninstall clean
.SECONDARY:
