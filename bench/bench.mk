# make bench [BENCH=cpu/blur] [THREADS="1 2"]: a line a result, also in build/bench.tsv.  MLC_HALIDE names the
# folder of Halide's applications (`halide_apps.py --aot`); a peer that is absent prints `-`.
THREADS ?= 1 2
BENCH ?=
BENCH_SHELL = $(BUILD)/bench/bench.o $(BUILD)/bench/peers.o $(APPS:%=$(BUILD)/lib/apps/%.o) $(APP_SHELL)

$(BUILD)/bench/cpu $(BUILD)/bench/compile: $(BENCH_SHELL)
$(BUILD)/bench/gpu: $(BUILD)/bench/bench.o $(BUILD)/bench/peers.o $(BUILD)/bench/gpu_peers.o

bench: $(BUILD)/bench/cpu $(BUILD)/bench/compile
	$(Q)rm -f $(BUILD)/bench.tsv
	$(Q)for n in $(THREADS); do $(BUILD)/bench/cpu --threads $$n --out $(BUILD)/bench.tsv --only "$(BENCH)" || exit 1; done
	$(Q)$(BUILD)/bench/compile --out $(BUILD)/bench.tsv --only "$(BENCH)"

# make bench-gpu [BENCH=gpu/blur]: on a machine with a GPU; a case is a text (bench/gpu.c says how to write one).
bench-gpu: $(BUILD)/bench/gpu
	$(Q)$(BUILD)/bench/gpu --out $(BUILD)/bench.tsv --only "$(BENCH)" bench/gpu/*.mlc

# Without a GPU: the cubins of the texts, kept in the cache of the tests.
bench-kernels: $(BUILD)/mlc
	$(Q)MLC_CACHE=$(BUILD)/cache sh tools/check-kernels.sh $(BUILD) $(if $(LONG),all)
TEST_DEPS += bench-kernels
check-long: LONG = 1
check-long: bench-kernels

-include $(wildcard $(BUILD)/bench/*.d)
.PHONY: bench bench-gpu bench-kernels
