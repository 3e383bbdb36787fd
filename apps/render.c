/* render.c - writes the project's own photo: render OUT.png [WxH]. */
#include "photo.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int w = 1536, h = 1024;
    if (argc < 2 ||
        (argc > 2 && (sscanf(argv[2], "%dx%d", &w, &h) != 2 || w < 1 || h < 1 || w > 16384 || h > 16384))) {
        fprintf(stderr, "usage: render OUT.png [WxH]\n");
        return 2;
    }
    size_t plane = (size_t)w * (size_t)h;
    uint8_t *planar = malloc(3 * plane), *pixels = malloc(3 * plane);
    bool ok = planar && pixels;
    if (ok) {
        png_image image = { .version = PNG_IMAGE_VERSION,
                            .width = (png_uint_32)w,
                            .height = (png_uint_32)h,
                            .format = PNG_FORMAT_RGB };
        photo_render(planar, w, h);
        for (size_t i = 0; i < 3 * plane; i++) pixels[i] = planar[i % 3 * plane + i / 3];
        ok = png_image_write_to_file(&image, argv[1], 0, pixels, 0, NULL) != 0;
        if (!ok) fprintf(stderr, "%s: %s\n", argv[1], image.message);
    }
    free(planar);
    free(pixels);
    return ok ? 0 : 1;
}
