/* photo.h - the picture that the apps work on, rendered by the project itself. */
#ifndef PHOTO_H
#define PHOTO_H

#include <stdbool.h>
#include <stdint.h>

/* Fills a planar image (x fastest, then y, then the channels R, G, B): hills behind a lake under an
 * evening sky, with grass, reflections, a wooden pier and film grain: edges, texture and noise.  The
 * same size gives the same bytes on every machine that computes floats as IEEE 754 does. */
void photo_render(uint8_t *rgb, int width, int height);

#endif
