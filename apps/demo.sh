#!/bin/sh
# demo.sh BUILD [PHOTO.png] - runs every plan of every app on the photo, prints one table, leaves the
# pictures, the table and a contact sheet in BUILD/demo.
set -eu
build=$1 photo=${2:-}
out=$build/demo
mkdir -p "$out"
if [ -z "$photo" ]; then
    photo=$out/photo.png
    echo "rendering the photo"
    "$build/apps/render" "$photo"
fi
echo
printf '%-10s %-12s %10s %13s\n' app plan ms speed-up | tee "$out/table.txt"
for app in blur unsharp hist matmul; do
    "$build/apps/$app" --photo "$photo" --out "$out/$app.png" --table "$out/table.txt"
done
"$build/apps/contact" --table "$out/table.txt" "$out/contact.png" "photo=$photo" "blur 3x3=$out/blur.png" \
    "unsharp mask=$out/unsharp.png" "hist. equalisation=$out/hist.png" "matmul: mirror, smear=$out/matmul.png"
printf '\npictures: %s/{blur,unsharp,hist,matmul}.png; all of them: %s/contact.png\n' "$out" "$out"
