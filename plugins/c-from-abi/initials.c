/* initials(STRING) -> STRING: a Wasmill guest, written from ABI.md alone. */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
#define EXPORT(n) __attribute__((export_name(#n)))

/* Memory: a bump allocator; everything goes when the host has read the response. */
extern u8 __heap_base; /* wasm-ld: where the heap may begin */
static u32 top;

EXPORT(cabi_realloc) u8 *cabi_realloc(u8 *old, u32 old_size, u32 align, u32 size) {
    if (!top) top = (u32)&__heap_base;
    u64 at = ((u64)top + 7) & ~7ull, end = at + size, have = (u64)__builtin_wasm_memory_size(0) << 16;
    (void)align; /* never more than 8 */
    if (end > have && (end > 0xffff0000u ||
                       __builtin_wasm_memory_grow(0, (u32)((end - have + 65535) >> 16)) == (__SIZE_TYPE__)-1))
        __builtin_trap();
    top = (u32)end;
    u8 *p = (u8 *)(u32)at;
    for (u32 i = 0; i < old_size && i < size; i++) p[i] = old[i];
    return p;
}
#define POST(n) EXPORT(cabi_post_##n) void post_##n(u32 *r) { (void)r; top = 0; }
POST(wmdescribe) POST(wmopen) POST(wmprocess) POST(wmclose)

static u32 get(const u8 *p) { u32 v; __builtin_memcpy(&v, p, 4); return v; }
static void put(u8 *p, u32 v) { __builtin_memcpy(p, &v, 4); }
static u32 pad(u32 n) { return (n + 7) & ~7u; }

static u32 pair[2];
static u8 *respond(u32 status, u32 payload) { /* gives the zeroed payload */
    u8 *p = cabi_realloc(0, 0, 8, 8 + payload);
    for (u32 i = 0; i < 8 + payload; i++) p[i] = 0;
    put(p, status);
    pair[0] = (u32)p, pair[1] = 8 + payload;
    return p + 8;
}
static u32 *say(u32 status, const char *text) {
    u32 n = 0;
    while (text[n]) n++;
    u8 *p = respond(status, n);
    for (u32 i = 0; i < n; i++) p[i] = (u8)text[i];
    return pair;
}

EXPORT(wmabi) u32 wmabi(void) { return 1; }

EXPORT(wmdescribe) u32 *wmdescribe(u8 *r, u32 n) {
    (void)r, (void)n;
    return say(0, "{\"name\":\"initials\",\"version\":\"1.0.0\",\"features\":[],\"capabilities\":[],"
                  "\"functions\":[{\"name\":\"initials\",\"kind\":\"scalar\",\"arguments\":[\"STRING\"],"
                  "\"result\":\"STRING\",\"deterministic\":true,\"variadic\":false}]}");
}

static u64 prints[16]; /* handle - 1 -> fingerprint of the answers; equal ones share a handle */
static u32 opened;

EXPORT(wmopen) u32 *wmopen(u8 *r, u32 n) {
    static const char name[] = "initials";
    if (n < 40 || get(r) < 3 || get(r + 12) != 8) return say(2, "only the function initials is known");
    for (u32 i = 0; i < 8; i++)
        if (r[get(r + 8) + i] != (u8)name[i]) return say(2, "only the function initials is known");
    u64 print;
    u32 h = 0;
    __builtin_memcpy(&print, r + get(r + 24) + 24, 8);
    while (h < opened && prints[h] != print) h++;
    if (h == 16) return say(1, "initials is open for too many schemas");
    if (h == opened) prints[opened++] = print;
    put(respond(0, 4), h + 1);
    return pair;
}

EXPORT(wmclose) u32 *wmclose(u8 *r, u32 n) { (void)r, (void)n; return say(0, ""); }

static int present(const u8 *bits, u32 i) { return !bits || (bits[i >> 3] >> (i & 7) & 1); }

EXPORT(wmprocess) u32 *wmprocess(u8 *r, u32 n) {
    static const char text[] = "nothing to abbreviate";
    const u32 text_len = sizeof text - 1;
    u32 h = n < 40 ? 0 : get(r);
    if (h == 0 || h > opened) return say(3, "no such handle");
    u8 *in = r + 8, *node = 0;
    u32 rows = get(in + 16), sections = get(in + 20), errors = 0;
    for (u32 i = 0; i < sections; i++) {
        u8 *s = in + (in[6] | in[7] << 8) + 16 * i;
        if (get(s) == 1) node = in + get(s + 8);
    }
    if (!node) return say(3, "a frame without columns");
    u8 *bits = get(node + 12) ? in + get(node + 12) : 0, *offs = in + get(node + 16), *data = in + get(node + 20);
    for (u32 i = 0; i < rows; i++)
        errors += present(bits, i) && get(offs + 4 * i) == get(offs + 4 * i + 4);

    /* Layout: header, sections, node, validity, offsets, data, row errors. */
    u32 count = errors ? 2 : 1, nodes = 32 + 16 * count, valid_at = nodes + 32;
    u32 offs_at = valid_at + pad((rows + 7) / 8), data_at = offs_at + pad(4 * rows + 4);
    u32 err_len = errors ? 8 + 16 * errors + text_len : 0;
    u8 *out = respond(0, data_at + pad(get(node + 24)) + pad(err_len)); /* never longer than the input */
    u32 used = 0;
    for (u32 i = 0; i < rows; i++) {
        u32 at = get(offs + 4 * i), end = get(offs + 4 * i + 4);
        if (present(bits, i) && at != end) {
            out[valid_at + (i >> 3)] |= (u8)(1 << (i & 7));
            for (int first = 1; at < end; first = data[at++] == ' ') {
                if (!first || data[at] == ' ') continue;
                u8 c = data[at];
                out[data_at + used++] = c >= 'a' && c <= 'z' ? c - 32 : c;
                while (c >= 0x80 && at + 1 < end && (data[at + 1] & 0xc0) == 0x80) out[data_at + used++] = data[++at];
            }
        }
        put(out + offs_at + 4 * i + 4, used);
    }
    u32 err_at = data_at + pad(used), len = err_at + pad(err_len);
    put(out, 0x52464d57), out[5] = 1, out[6] = 32; /* WMFR, 0.1 */
    __builtin_memcpy(out + 8, &prints[h - 1], 8);
    put(out + 16, rows), put(out + 20, count), put(out + 24, len);
    put(out + 32, 1), put(out + 36, 1), put(out + 40, nodes), put(out + 44, 32);
    put(out + nodes, 10), put(out + nodes + 8, rows), put(out + nodes + 12, valid_at);
    put(out + nodes + 16, offs_at), put(out + nodes + 20, used ? data_at : 0), put(out + nodes + 24, used);
    if (errors) {
        u8 *e = out + err_at;
        put(out + 48, 5), put(out + 52, 1), put(out + 56, err_at), put(out + 60, err_len);
        put(e, errors);
        for (u32 i = 0, k = 0; i < rows; i++)
            if (present(bits, i) && get(offs + 4 * i) == get(offs + 4 * i + 4)) {
                put(e + 8 + 16 * k, i);
                put(e + 16 + 16 * k, 8 + 16 * errors), put(e + 20 + 16 * k, text_len); /* all share one text */
                k++;
            }
        for (u32 i = 0; i < text_len; i++) e[8 + 16 * errors + i] = (u8)text[i];
    }
    pair[1] = 8 + len;
    return pair;
}
