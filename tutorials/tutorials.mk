# The tutorials: built, run and checked before the tests.  Each returns 0 where all that it shows is so.
TUTORIALS = $(sort $(wildcard tutorials/*.c))
TEST_DEPS += tutorials

tutorials: $(TUTORIALS:%.c=$(BUILD)/%)
	$(Q)for t in $^; do $$t > $$t.out 2>&1 || { cat $$t.out; echo "$$t failed"; exit 1; }; done
	@echo "  $(words $(TUTORIALS)) tutorials run and checked"

-include $(wildcard $(BUILD)/tutorials/*.d)
.PHONY: tutorials
