# Libraries that stand in for NVIDIA's, so that what their functions return is for the tests to choose.
NVRTC_FAKES = $(addprefix $(BUILD)/tests/nvrtc/fake_,nvrtc.so cuda.so cpp.so)

$(BUILD)/tests/nvrtc/fake_%.so: tests/nvrtc/fake_%.c | $(BUILD)/.setup
	@mkdir -p $(@D)
	$(call SAY,cc $<)
	$(Q)$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -fvisibility=default -shared $< -o $@ -lpthread

$(BUILD)/mlc_tests $(TEXT_CASES): | $(NVRTC_FAKES)
$(BUILD)/tests/nvrtc/fake_cpp.so: fuzz/cuda_cpp.h tests/nvrtc/fake_nvrtc.h
$(BUILD)/tests/nvrtc/fake_nvrtc.so: tests/nvrtc/fake_nvrtc.h
$(BUILD)/tests/nvrtc/fake_cuda.so: tests/nvrtc/fake_cuda.h

# A GPU, if there is one, through this floor alone: what it links needs nothing else that is installed.
GPU_PROBE = $(patsubst %.c,$(BUILD)/%.o,tests/device/gpu_probe.c $(wildcard src/nvrtc/*.c src/base/*.c))
$(BUILD)/gpu_probe: $(GPU_PROBE)
	$(Q)$(CC) $(CFLAGS) $(EXTRA) $^ -o $@ -ldl -lpthread -lm
gpu-check: $(BUILD)/gpu_probe $(BUILD)/text_cases $(BUILD)/mlc
	$(Q)MLC_BUILD=$(BUILD) MLC_CACHE=$(BUILD)/cache sh tools/gpu-check.sh $(BUILD) $(TEXTS)
-include $(BUILD)/tests/device/gpu_probe.d
.PHONY: gpu-check
