# Pages that tables and programs make (`make docs`), and the README's programs, which run before the tests.
docs: $(BUILD)/mlc
	$(Q)awk -f tools/gen-errors.awk src/base/errors.def > docs/errors.md
	$(Q)awk -f tools/gen-operators.awk src/ir/derived.def include/mlc/ops.def > docs/operators.md
	$(Q)awk -f tools/gen-directives.awk src/schedule/directives.def > docs/directives.md
	$(Q)awk -f tools/gen-behaviours.awk docs/halide-to-mlc.md tests/behaviours/halide_*.txt tests/behaviours/*/*.mlc > $(BUILD)/halide.md && cp $(BUILD)/halide.md docs/halide-to-mlc.md
	$(Q)awk -v mlc=$(BUILD)/mlc -f tools/gen-guide.awk docs/guide.md > $(BUILD)/guide.md && cp $(BUILD)/guide.md docs/guide.md

# The pages in the repository are what the tables and the tool say now.
check-docs: docs
	$(Q)git diff --exit-code --stat -- docs/errors.md docs/operators.md docs/directives.md docs/guide.md docs/halide-to-mlc.md

# The demo's table and contact sheet as the README shows them.
docs-demo: demo
	$(Q)$(BUILD)/apps/contact --width 300 docs/images/contact.png "photo=$(BUILD)/demo/photo.png" \
	    "blur 3x3=$(BUILD)/demo/blur.png" "unsharp mask=$(BUILD)/demo/unsharp.png" \
	    "hist. equalisation=$(BUILD)/demo/hist.png" "matmul: mirror, smear=$(BUILD)/demo/matmul.png" \
	    --table $(BUILD)/demo/table.txt
	$(Q)awk -v table=$(BUILD)/demo/table.txt '/^<!-- demo -->/ { print; print "```"; while ((getline line < table) > 0) print line; \
	    print "```"; skip = 1 } /^<!-- \/demo -->/ { skip = 0 } !skip' README.md > $(BUILD)/README.md && cp $(BUILD)/README.md README.md

TEST_DEPS += check-readme
check-readme: $(BUILD)/libmlc.a $(BUILD)/mlc
	$(Q)sh tests/apps/check-readme.sh $(BUILD) "$(CC) $(EXTRA)"
	@echo "  the README's programs run"

.PHONY: docs check-docs docs-demo check-readme
