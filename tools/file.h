/* file.h - arrays in files: PNG and NPY, read from memory so that they can be fuzzed, written beside and
 * renamed.  Every function that can fail fills `why` and returns NULL or false. */
#ifndef FILE_H
#define FILE_H

#include <mlc.h>

enum { WHY = 256 };

/* A whole file, to be freed; NULL where it cannot be read or has over 4 GiB. */
void *file_bytes(const char *path, size_t *n, char why[WHY]);
/* Makes PATH.part, hands it to `write`, renames it. */
bool file_replace(const char *path, bool (*write)(FILE *f, const mlc_buffer *b, char why[WHY]), const mlc_buffer *b,
                  char why[WHY]);

/* PNG: u8 or u16, x and y for grey, else planes x, y, c (RGB, RGBA; grey with alpha has c = 2). */
mlc_buffer *png_decode(const void *bytes, size_t n, char why[WHY]);
bool png_encode(FILE *f, const mlc_buffer *b, char why[WHY]);
bool png_holds(const mlc_buffer *b, char why[WHY]); /* is it a picture? */
/* NPY, versions 1 to 3; the last axis of C order is dimension 0.  2-byte voids are bf16. */
mlc_buffer *npy_decode(const void *bytes, size_t n, char why[WHY]);
bool npy_encode(FILE *f, const mlc_buffer *b, char why[WHY]);

/* By the first bytes (reading) or the name's end (writing). */
mlc_buffer *array_read(const char *path, char why[WHY]);
bool array_write(const char *path, const mlc_buffer *b, char why[WHY]);
/* Could it be written there?  Asked before b is computed. */
bool array_writable(const char *path, const mlc_buffer *b, char why[WHY]);
/* What the program wants of what a file holds: the same buffer, or a new one (the old is freed).  Pictures
 * become floats in 0..1, u8 and u16 scale to each other, a missing channel dimension is added. */
mlc_buffer *array_fit(mlc_buffer *b, mlc_type type, int rank, char why[WHY]);

/* The element as a number, and back (rounded, saturated). */
double element_get(mlc_type t, const void *p);
void element_set(mlc_type t, void *p, double v);

#endif
