# Libraries that stand in for NVIDIA's, so that what their functions return is for the tests to choose.
NVRTC_FAKES = $(BUILD)/tests/nvrtc/fake_nvrtc.so $(BUILD)/tests/nvrtc/fake_cuda.so

$(BUILD)/tests/nvrtc/fake_%.so: tests/nvrtc/fake_%.c | $(BUILD)/.setup
	@mkdir -p $(@D)
	$(call SAY,cc $<)
	$(Q)$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -fvisibility=default -shared $< -o $@ -lpthread

$(BUILD)/mlc_tests: | $(NVRTC_FAKES)
