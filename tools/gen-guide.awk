# gen-guide.awk - fills the guide's loop nests in: behind a line `<!-- loops NAME: PLAN -->` the next block
# becomes what `mlc explain` prints for docs/guide/NAME.mlc under that plan (or the error it gives).
#     awk -v mlc=build/mlc -f tools/gen-guide.awk docs/guide.md > new && mv new docs/guide.md
/^<!-- loops .*-->$/ {
    text = $0; sub(/^<!-- loops /, "", text); sub(/ -->$/, "", text)
    name = text; sub(/:.*/, "", name)
    plan = text; sub(/^[^:]*: */, "", plan)
    print
    command = mlc " explain docs/guide/" name ".mlc --level loops --schedule '" plan "' 2>&1"
    print "```"
    while ((command | getline line) > 0) {
        if (line ~ /^ *check .* else (INPUT_BOX|INDEX_I32)/) continue # long, and the same in every nest
        gsub(/  \/\/ --schedule:[0-9]+ /, "  // ", line)
        sub(/^mlc: --schedule:1: /, "", line)
        print line
    }
    close(command)
    print "```"
    skip = 2 # the block's two fences
    next
}
skip { if (/^```/) skip--; next }
{ print }
