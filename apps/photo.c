/* photo.c - a landscape from value noise.
 *
 * Everything is a function of the pixel: layered noise ("fractal Brownian motion") makes clouds, the
 * ridges of hills and the ripples of water; hashing the coordinates makes grain.  Only + - * / and
 * floor are used, so the bytes do not depend on a math library. */
#include "photo.h"

typedef struct {
    float r, g, b;
} Colour;

static float hash(int x, int y, int seed) {
    uint32_t h = (uint32_t)x * 0x8da6b343u ^ (uint32_t)y * 0xd8163841u ^ (uint32_t)seed * 0xcb1ab31fu;
    h ^= h >> 15, h *= 0x2c1b3c6du, h ^= h >> 12, h *= 0x297a2d39u, h ^= h >> 15;
    return (float)(h >> 8) * (1 / 16777216.f);
}

static float mix(float a, float b, float t) {
    return a + (b - a) * t;
}

static Colour blend(Colour a, Colour b, float t) {
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return (Colour){ mix(a.r, b.r, t), mix(a.g, b.g, t), mix(a.b, b.b, t) };
}

static int whole(float v) {
    int i = (int)v;
    return (float)i > v ? i - 1 : i;
}

/* Smooth noise in [0, 1): random values on a unit grid, joined by a cubic. */
static float noise(float x, float y, int seed) {
    int ix = whole(x), iy = whole(y);
    float u = x - (float)ix, v = y - (float)iy;
    u = u * u * (3 - 2 * u), v = v * v * (3 - 2 * v);
    return mix(mix(hash(ix, iy, seed), hash(ix + 1, iy, seed), u),
               mix(hash(ix, iy + 1, seed), hash(ix + 1, iy + 1, seed), u), v);
}

static float layers(float x, float y, int seed, int n) {
    float sum = 0, weight = 0.5f;
    for (int i = 0; i < n; i++, x *= 2.03f, y *= 2.03f, weight *= 0.5f) sum += weight * noise(x, y, seed + i);
    return sum;
}

static const float HORIZON = 0.56f;

/* The height of ridge k above the horizon at x, in picture heights. */
static float ridge(float x, int k) {
    static const float scale[3] = { 2.2f, 3.7f, 6.1f }, height[3] = { 0.34f, 0.22f, 0.11f };
    return height[k] * (layers(x * scale[k] + 17.f * (float)k, 0.5f, 40 + 9 * k, 7) - 0.18f);
}

/* What is seen at (x, y), both in picture heights, y from the top, ignoring water. */
static Colour scene(float x, float y) {
    float up = (HORIZON - y) / HORIZON;
    Colour c = blend((Colour){ 1.f, 0.74f, 0.46f }, (Colour){ 0.16f, 0.34f, 0.66f }, 1.25f * up);
    float dx = x - 1.12f, dy = y - 0.37f, sun = dx * dx + dy * dy;
    c = blend(c, (Colour){ 1.f, 0.93f, 0.72f }, 0.012f / (sun + 0.012f));
    float cloud = layers(x * 2.6f, y * 7.f, 3, 6);
    c = blend(c, (Colour){ 1.f, 0.86f, 0.78f }, 3.4f * (cloud - 0.47f) * up);
    for (int k = 0; k < 3; k++) {
        float top = HORIZON - ridge(x, k);
        if (y < top || y > HORIZON) continue;
        float light = 0.6f + 1.1f * (layers(x * 19.f, y * 31.f, 70 + k, 5) - 0.5f) + 2.2f * (ridge(x - 0.004f, k) - ridge(x, k)) * 9;
        Colour rock = { 0.30f, 0.30f, 0.40f }, moss = { 0.17f, 0.30f, 0.16f };
        Colour hill = blend(rock, moss, 0.25f + 0.4f * (float)k);
        light = light < 0.25f ? 0.25f : light > 1.35f ? 1.35f : light;
        hill = (Colour){ hill.r * light, hill.g * light, hill.b * light };
        c = blend(hill, (Colour){ 0.93f, 0.70f, 0.55f }, 0.42f - 0.17f * (float)k); /* haze */
    }
    return c;
}

static Colour water(float x, float y) {
    float depth = (y - HORIZON) / (1 - HORIZON);
    float ripple = layers(x * 9.f, 26.f / (depth + 0.12f), 11, 4) - 0.47f;
    float mirrored = HORIZON - (y - HORIZON) * 0.92f + 0.05f * ripple * (0.3f + depth);
    Colour c = scene(x + 0.02f * ripple, mirrored > HORIZON ? HORIZON : mirrored);
    return blend(c, (Colour){ 0.05f, 0.13f, 0.19f }, 0.22f + 0.5f * depth + 0.5f * ripple);
}

/* Planks that run towards the viewer: straight edges under perspective. */
static bool on_pier(float x, float y, Colour *c) {
    float depth = (y - 0.66f) / 0.34f;
    if (depth < 0) return false;
    float half = 0.05f + 0.24f * depth, u = (x - 0.46f - 0.06f * depth) / half;
    if (u < -1 || u > 1) return false;
    float plank = 34.f / (depth * 3.f + 0.45f), gap = plank - (float)whole(plank);
    float grain = layers(u * 3.f, plank * 11.f, 90 + whole(plank), 4);
    float light = gap < 0.08f || u < -0.985f || u > 0.985f ? 0.25f : 0.55f + 0.9f * (grain - 0.4f);
    *c = (Colour){ 0.72f * light, 0.53f * light, 0.36f * light };
    return true;
}

static uint8_t byte(float v, float grain) {
    v = 255 * v + 9 * (grain - 0.5f);
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

void photo_render(uint8_t *rgb, int width, int height) {
    long plane = (long)width * height;
    for (int j = 0; j < height; j++)
        for (int i = 0; i < width; i++) {
            float x = ((float)i + 0.5f) / (float)height, y = ((float)j + 0.5f) / (float)height;
            Colour c;
            if (!on_pier(x, y, &c)) c = y < HORIZON ? scene(x, y) : water(x, y);
            float reed = layers(x * 160.f, 0.5f, 120, 2) * 0.16f; /* grass in front, at the left */
            if (x < 0.34f && y > 1 - reed - 0.10f + 0.35f * x) {
                float blade = 0.35f + 0.8f * noise(x * 420.f, y * 9.f, 130);
                c = (Colour){ 0.22f * blade, 0.34f * blade, 0.10f * blade };
            }
            long at = (long)j * width + i;
            rgb[at] = byte(c.r, hash(i, j, 1));
            rgb[at + plane] = byte(c.g, hash(i, j, 2));
            rgb[at + 2 * plane] = byte(c.b, hash(i, j, 3));
        }
}
