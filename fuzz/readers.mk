# libFuzzer on what reads text and files: `make fuzz-parse fuzz-png fuzz-npy TIME=600` (seconds each), or
# `make fuzz-readers` for all.  Findings stay in the build folder as crash-*; what was tried, in corpus_*.
READERS = parse png npy
TIME ?= 60
fuzz-readers: $(READERS:%=fuzz-%)
$(READERS:%=fuzz-%):
	$(Q)$(MAKE) --no-print-directory $(BUILD)/fuzz/$(@:fuzz-%=reader_%) BUILD=$(BUILD)/fuzz CC=clang CFLAGS="-O1 -g" \
	    EXTRA="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"
	$(Q)mkdir -p $(BUILD)/fuzz/corpus_$(@:fuzz-%=%)
	$(Q)cp -n $(if $(filter fuzz-parse,$@),apps/*/*.mlc fuzz/corpus/*.mlc,fuzz/corpus/*.$(@:fuzz-%=%)) $(BUILD)/fuzz/corpus_$(@:fuzz-%=%)
	$(Q)awk -F'"' '/^(OP|DIRECTIVE|TAIL|MEMORY|WAY)\(/ && $$2 ~ /^[a-z_0-9]+$$/ { print "\"" $$2 "\"" }' include/mlc/ops.def \
	    src/schedule/directives.def > $(BUILD)/fuzz/words.dict
	$(Q)ASAN_OPTIONS=allocator_may_return_null=1 $(BUILD)/fuzz/$(@:fuzz-%=reader_%) -max_total_time=$(TIME) -timeout=20 \
	    -rss_limit_mb=4096 -malloc_limit_mb=4096 -artifact_prefix=$(BUILD)/fuzz/ $(if $(filter fuzz-parse,$@),-dict=$(BUILD)/fuzz/words.dict) \
	    $(BUILD)/fuzz/corpus_$(@:fuzz-%=%)

$(BUILD)/reader_%: fuzz/%.c tools/png.c tools/npy.c tools/array.c $(BUILD)/libmlc_all.a
	$(call SAY,ld $@)
	$(Q)$(CC) $(ALL_CFLAGS) -Itools -fsanitize=fuzzer $^ -o $@ -lpng -lz $(LIBS)

.PHONY: fuzz-readers $(READERS:%=fuzz-%)
