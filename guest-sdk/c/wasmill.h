/* Wasmill guests in C: one header, freestanding, no C library. The layouts are those of ../abi/ABI.md 0.1.
 *
 * A plugin with scalar functions of text and numbers defines
 *     const char wm_manifest[];                      the JSON of `wmdescribe`
 *     const wm_function wm_functions[]; ... , {0}    name and row loop of each function
 * and includes this file once. See plugins/c-upper/upper.c, and plugins/c-decoder/fixed.c for a decoder. */
#ifndef WASMILL_H
#define WASMILL_H
#include <stddef.h>
#include <stdint.h>

#pragma clang diagnostic ignored "-Wunused-function" /* no plugin uses all of it */
#pragma clang diagnostic ignored "-Wmissing-field-initializers" /* a function has what its kind needs */
#define WM_EXPORT(name) __attribute__((export_name(name), used))

/* ---- memory: power-of-two blocks, freed blocks kept in lists by size ---- */
extern unsigned char __heap_base;
static unsigned char *wm_top = &__heap_base;
static void *wm_free_lists[32];

static unsigned wm_class(size_t n) {
  unsigned c = 4;
  while (((size_t)1 << c) < n + 8) c++;
  return c;
}
static void *wm_alloc(size_t n) {
  if (n > (1u << 29)) __builtin_trap();
  unsigned c = wm_class(n);
  void **block = wm_free_lists[c];
  if (block) { wm_free_lists[c] = block[1]; return block + 2; }
  uintptr_t at = ((uintptr_t)wm_top + 7) & ~(uintptr_t)7, end = at + ((uintptr_t)1 << c);
  uintptr_t size = __builtin_wasm_memory_size(0) << 16;
  if (end < at) __builtin_trap();
  if (end > size && __builtin_wasm_memory_grow(0, (end - size + 65535) >> 16) == (size_t)-1) __builtin_trap();
  wm_top = (unsigned char *)end;
  block = (void **)at;
  block[0] = (void *)(uintptr_t)c; /* 8 bytes in front of what is handed out: size class, next free block */
  return block + 2;
}
static void wm_free(void *p) {
  if (!p) return;
  void **block = (void **)p - 2;
  unsigned c = (unsigned)(uintptr_t)block[0];
  block[1] = wm_free_lists[c];
  wm_free_lists[c] = block;
}
static void wm_copy(void *to, const void *from, size_t n) { __builtin_memcpy(to, from, n); }
/* Clang turns __builtin_memcpy into a call where it cannot use memory.copy. */
void *memcpy(void *restrict to, const void *restrict from, size_t n) {
  for (size_t i = 0; i < n; i++) ((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
  return to;
}
void *memset(void *to, int value, size_t n) {
  for (size_t i = 0; i < n; i++) ((unsigned char *)to)[i] = (unsigned char)value;
  return to;
}
int memcmp(const void *a, const void *b, size_t n) {
  const unsigned char *x = a, *y = b;
  for (size_t i = 0; i < n; i++)
    if (x[i] != y[i]) return x[i] - y[i];
  return 0;
}
static size_t wm_length(const char *s) { size_t n = 0; while (s[n]) n++; return n; }

/* ---- unaligned little-endian numbers ---- */
static uint32_t wm_u32(const uint8_t *p) { uint32_t v; __builtin_memcpy(&v, p, 4); return v; }
static int64_t wm_i64(const uint8_t *p) { int64_t v; __builtin_memcpy(&v, p, 8); return v; }
static void wm_put(uint8_t *p, uint32_t v) { __builtin_memcpy(p, &v, 4); }

/* ---- bytes that grow ---- */
typedef struct { uint8_t *p; uint32_t n, room; } wm_bytes;
static void wm_reserve(wm_bytes *b, uint32_t more) {
  if (b->n + more <= b->room) return;
  uint32_t room = (b->n + more) * 2;
  uint8_t *p = wm_alloc(room);
  if (b->n) wm_copy(p, b->p, b->n);
  wm_free(b->p);
  b->p = p; b->room = room;
}
static void wm_append(wm_bytes *b, const void *p, uint32_t n) {
  wm_reserve(b, n);
  wm_copy(b->p + b->n, p, n);
  b->n += n;
}

/* ---- rows in ---- */
typedef struct { const uint8_t *frame; uint32_t rows; const uint8_t *nodes; } wm_rows;
typedef struct { const char *p; uint32_t n; } wm_text;

static const uint8_t *wm_node(const wm_rows *r, uint32_t column) { return r->nodes + 32 * column; }
static int wm_is_null(const wm_rows *r, uint32_t column, uint32_t row) {
  uint32_t bits = wm_u32(wm_node(r, column) + 12);
  return bits && !(r->frame[bits + row / 8] >> (row % 8) & 1);
}
static wm_text wm_get_text(const wm_rows *r, uint32_t column, uint32_t row) {
  const uint8_t *node = wm_node(r, column), *offsets = r->frame + wm_u32(node + 16) + 4 * row;
  uint32_t start = wm_u32(offsets), end = wm_u32(offsets + 4);
  return (wm_text){(const char *)r->frame + wm_u32(node + 20) + start, end - start};
}
static int64_t wm_get_i64(const wm_rows *r, uint32_t column, uint32_t row) {
  return wm_i64(r->frame + wm_u32(wm_node(r, column) + 20) + 8 * row);
}

/* ---- the result column: one of text (code 10) or of 8-byte numbers (5 BIGINT, 7 DOUBLE) ---- */
typedef struct { uint32_t rows, nulls, errors; wm_bytes bits, offsets, data, error_table, error_text; } wm_result;

static void wm_end_row(wm_result *out, int valid) {
  uint8_t zero = 0;
  if (out->rows % 8 == 0) wm_append(&out->bits, &zero, 1);
  if (valid) out->bits.p[out->rows / 8] |= (uint8_t)(1 << (out->rows % 8));
  else out->nulls++;
  wm_append(&out->offsets, &out->data.n, 4);
  out->rows++;
}
/* One of these for each row, in order. A text may also be appended to out->data and ended with wm_end_row(out, 1). */
static void wm_put_text(wm_result *out, const char *p, uint32_t n) { wm_append(&out->data, p, n); wm_end_row(out, 1); }
static void wm_put_i64(wm_result *out, int64_t v) { wm_append(&out->data, &v, 8); wm_end_row(out, 1); }
static void wm_put_null_text(wm_result *out) { wm_end_row(out, 0); }
static void wm_put_null_i64(wm_result *out) { int64_t v = 0; wm_append(&out->data, &v, 8); wm_end_row(out, 0); }
/* Refuses the row that comes next; put a NULL for it after this. */
static void wm_refuse(wm_result *out, const char *why) {
  uint32_t n = (uint32_t)wm_length(why), entry[4] = {out->rows, 0, out->error_text.n, n};
  wm_append(&out->error_table, entry, 16);
  wm_append(&out->error_text, why, n);
  out->errors++;
}

/* ---- decoders: rows of several columns, each with the record that it came from ---- */
enum { WM_TINYINT = 2, WM_SMALLINT, WM_INT, WM_BIGINT, WM_FLOAT, WM_DOUBLE, WM_STRING = 10, WM_BYTES = 12, WM_DATE,
       WM_TIME, WM_TIMESTAMP, WM_TIMESTAMP_LTZ, WM_DECODER = 255 };
#define WM_MAX_COLUMNS 64
/* A column that the decoder can give; a list of them ends with {0}. */
typedef struct { const char *name; uint32_t code; } wm_gives;
typedef struct { uint32_t code, width; wm_bytes bits, offsets, data; } wm_column;
/* `place` says for each of the decoder's columns where the query has it; WM_MAX_COLUMNS: it does not need it. */
typedef struct {
  uint32_t columns, rows, record, errors;
  wm_column column[WM_MAX_COLUMNS];
  const uint8_t *place;
  wm_bytes sources, error_table, error_text;
} wm_table;

static uint32_t wm_width(uint32_t code) {
  switch (code) {
    case WM_TINYINT: return 1;
    case WM_SMALLINT: return 2;
    case WM_INT: case WM_FLOAT: case WM_DATE: return 4;
    case WM_STRING: case WM_BYTES: return 0;
    default: return 8;
  }
}
/* Adds a row of the record at hand; its columns are NULL until they are set. */
static void wm_add_row(wm_table *t) {
  static const uint8_t zeros[8];
  for (uint32_t i = 0; i < t->columns; i++) {
    wm_column *c = &t->column[i];
    if (t->rows % 8 == 0) wm_append(&c->bits, zeros, 1);
    if (c->width) wm_append(&c->data, zeros, c->width);
    else wm_append(&c->offsets, &c->data.n, 4);
  }
  wm_append(&t->sources, &t->record, 4);
  t->rows++;
}
/* The column in the row that was added last, marked as not NULL; 0: the query does not need it. */
static wm_column *wm_place_of(wm_table *t, uint32_t column) {
  uint32_t place = t->place[column];
  if (place == WM_MAX_COLUMNS || !t->rows) return 0;
  wm_column *c = &t->column[place];
  c->bits.p[(t->rows - 1) / 8] |= (uint8_t)(1 << ((t->rows - 1) % 8));
  return c;
}
/* Numbers, dates and times, in the units of ABI.md 5.2; once for each row and column. */
static void wm_set_i64(wm_table *t, uint32_t column, int64_t v) {
  wm_column *c = wm_place_of(t, column);
  if (c) wm_copy(c->data.p + (t->rows - 1) * c->width, &v, c->width);
}
static void wm_set_f64(wm_table *t, uint32_t column, double v) {
  wm_column *c = wm_place_of(t, column);
  float f = (float)v;
  if (c && c->width == 4) wm_copy(c->data.p + (t->rows - 1) * 4, &f, 4);
  else if (c) wm_copy(c->data.p + (t->rows - 1) * 8, &v, 8);
}
static void wm_set_text(wm_table *t, uint32_t column, const char *p, uint32_t n) {
  wm_column *c = wm_place_of(t, column);
  if (!c) return;
  wm_append(&c->data, p, n);
  wm_put(c->offsets.p + 4 * t->rows, c->data.n);
}
/* Refuses the record at hand and takes its rows back; call it once, and return. */
static void wm_refuse_record(wm_table *t, const char *why) {
  uint32_t n = (uint32_t)wm_length(why), entry[4] = {t->record, 0, t->error_text.n, n};
  wm_append(&t->error_table, entry, 16);
  wm_append(&t->error_text, why, n);
  t->errors++;
  while (t->rows && wm_u32(t->sources.p + 4 * (t->rows - 1)) == t->record) t->rows--;
  t->sources.n = 4 * t->rows;
  for (uint32_t i = 0; i < t->columns; i++) {
    wm_column *c = &t->column[i];
    c->bits.n = (t->rows + 7) / 8;
    if (t->rows % 8) c->bits.p[t->rows / 8] &= (uint8_t)((1 << (t->rows % 8)) - 1);
    if (!c->width) c->offsets.n = 4 * (t->rows + 1);
    c->data.n = c->width ? t->rows * c->width : wm_u32(c->offsets.p + 4 * t->rows);
  }
}

/* `run` for scalar functions, with the result's type code; `decode` and `gives` for decoders, with WM_DECODER. */
typedef struct {
  const char *name;
  uint32_t code;
  void (*run)(const wm_rows *in, wm_result *out);
  void (*decode)(wm_text record, wm_table *out);
  const wm_gives *gives;
} wm_function;
extern const char wm_manifest[];
extern const wm_function wm_functions[];

/* ---- answers ---- */
typedef struct { uint8_t *p; uint32_t n; } wm_answer;
static wm_answer wm_last;
static wm_answer *wm_status(uint32_t status, const void *payload, size_t n) {
  wm_last.p = wm_alloc(8 + n);
  wm_last.n = 8 + (uint32_t)n;
  wm_put(wm_last.p, status); wm_put(wm_last.p + 4, 0);
  if (n) wm_copy(wm_last.p + 8, payload, n);
  return &wm_last;
}
static wm_answer *wm_text_status(uint32_t status, const char *text) { return wm_status(status, text, wm_length(text)); }

#define WM_MAX_OPEN 64
static struct {
  const wm_function *function;
  uint8_t fingerprint[8], columns, codes[WM_MAX_COLUMNS], place[WM_MAX_COLUMNS];
} wm_open[WM_MAX_OPEN];

/* Puts a buffer at the next multiple of 8, behind zeros, and gives its offset. */
static uint32_t wm_place(wm_bytes *frame, const wm_bytes *buffer) {
  static const uint8_t zeros[8];
  wm_append(frame, zeros, (8 - (frame->n & 7)) & 7);
  uint32_t at = frame->n;
  if (buffer->n) wm_append(frame, buffer->p, buffer->n);
  return at;
}
static wm_answer *wm_frame(const wm_result *out, uint32_t handle) {
  uint32_t code = wm_open[handle].function->code, sections = out->errors ? 2 : 1, nodes = 32 + 16 * sections;
  wm_bytes frame = {0}, none = {0};
  wm_reserve(&frame, nodes + 32 + out->data.n + out->offsets.n + out->error_text.n + 256);
  memset(frame.p, 0, nodes + 32);
  frame.n = nodes + 32;
  wm_copy(frame.p, "WMFR\0\1\40", 8);
  wm_copy(frame.p + 8, wm_open[handle].fingerprint, 8);
  uint32_t bits = out->nulls ? wm_place(&frame, &out->bits) : 0;
  uint32_t offsets = code == 10 ? wm_place(&frame, &out->offsets) : 0;
  uint32_t data = wm_place(&frame, &out->data), errors = 0, errors_n = 0;
  if (out->errors) {
    uint32_t head[2] = {out->errors, 0};
    errors = wm_place(&frame, &none);
    wm_append(&frame, head, 8);
    for (uint32_t i = 0; i < out->errors; i++) { /* the texts begin behind the table */
      uint8_t *at = out->error_table.p + 16 * i + 8;
      wm_put(at, wm_u32(at) + 8 + out->error_table.n);
    }
    wm_append(&frame, out->error_table.p, out->error_table.n);
    wm_append(&frame, out->error_text.p, out->error_text.n);
    errors_n = frame.n - errors;
  }
  wm_place(&frame, &none);
  uint32_t head[] = {out->rows, sections, frame.n, 0, 1, 1, nodes, 32, 5, 0, errors, errors_n};
  uint32_t node[] = {code, 0, out->rows, bits, offsets, out->data.n ? data : 0, out->data.n, 0};
  wm_copy(frame.p + 16, head, out->errors ? 48 : 32);
  wm_copy(frame.p + nodes, node, 32);
  wm_answer *answer = wm_status(0, frame.p, frame.n);
  wm_free(frame.p);
  return answer;
}

/* The columns that the query needs, from the schema block of the answers; a text: why the decoder does not give them. */
static const char *wm_open_columns(const wm_function *f, const uint8_t *schema, uint32_t handle) {
  uint32_t columns = wm_u32(schema + 12), nodes = wm_u32(schema + 16);
  if (columns != nodes || columns > WM_MAX_COLUMNS) return "nested columns, or too many of them";
  memset(wm_open[handle].place, WM_MAX_COLUMNS, WM_MAX_COLUMNS);
  const uint8_t *node = schema + 32;
  for (uint32_t i = 0; i < columns; i++) {
    uint32_t name_n = wm_u32(node + 12), at = 0;
    while (f->gives[at].name && (wm_length(f->gives[at].name) != name_n ||
                                 __builtin_memcmp(f->gives[at].name, node + 16, name_n))) at++;
    if (!f->gives[at].name) return "a column that the decoder does not give";
    if (f->gives[at].code != node[0]) return "a column has another type than the decoder gives";
    wm_open[handle].place[at] = (uint8_t)i;
    wm_open[handle].codes[i] = node[0];
    node += 16 + ((name_n + 3) & ~3u);
  }
  wm_open[handle].columns = (uint8_t)columns;
  return 0;
}
static void wm_free_table(wm_table *t) {
  for (uint32_t i = 0; i < t->columns; i++) {
    wm_free(t->column[i].bits.p); wm_free(t->column[i].offsets.p); wm_free(t->column[i].data.p);
  }
  wm_free(t->sources.p); wm_free(t->error_table.p); wm_free(t->error_text.p);
}
static wm_answer *wm_table_frame(wm_table *t, uint32_t handle) {
  uint32_t sections = t->errors ? 3 : 2, nodes = 32 + 16 * sections, head_n = nodes + 32 * t->columns;
  wm_bytes frame = {0}, none = {0};
  wm_reserve(&frame, head_n + 256);
  memset(frame.p, 0, head_n);
  frame.n = head_n;
  for (uint32_t i = 0; i < t->columns; i++) {
    wm_column *c = &t->column[i];
    uint32_t bits = wm_place(&frame, &c->bits), offsets = c->width ? 0 : wm_place(&frame, &c->offsets);
    uint32_t data = wm_place(&frame, &c->data);
    uint32_t node[] = {c->code, 0, t->rows, t->rows ? bits : 0, offsets, c->data.n ? data : 0, c->data.n, 0};
    wm_copy(frame.p + nodes + 32 * i, node, 32);
  }
  uint32_t sources = wm_place(&frame, &t->sources), errors = 0, errors_n = 0;
  if (t->errors) {
    uint32_t head[2] = {t->errors, 0};
    errors = wm_place(&frame, &none);
    wm_append(&frame, head, 8);
    for (uint32_t i = 0; i < t->errors; i++) {
      uint8_t *at = t->error_table.p + 16 * i + 8;
      wm_put(at, wm_u32(at) + 8 + t->error_table.n);
    }
    wm_append(&frame, t->error_table.p, t->error_table.n);
    wm_append(&frame, t->error_text.p, t->error_text.n);
    errors_n = frame.n - errors;
  }
  wm_place(&frame, &none);
  uint32_t head[] = {t->rows, sections, frame.n, 0, 1, 1, nodes, 32 * t->columns, 6, 0, sources, t->sources.n, 5, 0, errors, errors_n};
  wm_copy(frame.p, "WMFR\0\1\40", 8);
  wm_copy(frame.p + 8, wm_open[handle].fingerprint, 8);
  wm_copy(frame.p + 16, head, 16 + 16 * sections);
  wm_answer *answer = wm_status(0, frame.p, frame.n);
  wm_free(frame.p);
  return answer;
}
static wm_answer *wm_decode(const wm_rows *in, uint32_t handle) {
  static wm_table t;
  uint32_t zero = 0;
  memset(&t, 0, sizeof t);
  t.columns = wm_open[handle].columns;
  t.place = wm_open[handle].place;
  for (uint32_t i = 0; i < t.columns; i++) {
    t.column[i].code = wm_open[handle].codes[i];
    t.column[i].width = wm_width(t.column[i].code);
    if (!t.column[i].width) wm_append(&t.column[i].offsets, &zero, 4);
  }
  for (t.record = 0; t.record < in->rows; t.record++) {
    if (wm_is_null(in, 0, t.record)) wm_refuse_record(&t, "the record has no value");
    else wm_open[handle].function->decode(wm_get_text(in, 0, t.record), &t);
  }
  wm_answer *answer = wm_table_frame(&t, handle);
  wm_free_table(&t);
  return answer;
}

/* ---- exports ---- */
WM_EXPORT("wmabi") uint32_t wm_abi(void) { return 1; }
WM_EXPORT("cabi_realloc") void *wm_realloc(void *old, size_t old_n, size_t align, size_t n) {
  if (!n) return (void *)align;
  void *p = wm_alloc(n);
  if (old_n) { wm_copy(p, old, old_n < n ? old_n : n); wm_free(old); }
  return p;
}
WM_EXPORT("wmdescribe") wm_answer *wm_describe(uint8_t *p, uint32_t n) {
  if (n) wm_free(p);
  return wm_text_status(0, wm_manifest);
}
WM_EXPORT("wmopen") wm_answer *wm_open_function(uint8_t *p, uint32_t n) {
  const uint8_t *name = p + wm_u32(p + 8), *result = p + wm_u32(p + 24);
  uint32_t name_n = wm_u32(p + 12), handle = 0;
  const char *why = 0;
  const wm_function *f = wm_functions;
  while (f->name && (wm_length(f->name) != name_n || __builtin_memcmp(f->name, name, name_n))) f++;
  while (handle < WM_MAX_OPEN && wm_open[handle].function) handle++;
  if (f->name && handle < WM_MAX_OPEN) {
    wm_open[handle].function = f;
    wm_copy(wm_open[handle].fingerprint, result + 24, 8);
    if (f->code == WM_DECODER && (why = wm_open_columns(f, result, handle))) wm_open[handle].function = 0;
  }
  if (n) wm_free(p);
  if (!f->name) return wm_text_status(2, "there is no such function");
  if (handle == WM_MAX_OPEN) return wm_text_status(1, "too many open functions");
  if (why) return wm_text_status(1, why);
  return wm_status(0, &handle, 4);
}
WM_EXPORT("wmprocess") wm_answer *wm_process(uint8_t *p, uint32_t n) {
  uint32_t handle = n >= 40 ? wm_u32(p) : WM_MAX_OPEN;
  if (handle >= WM_MAX_OPEN || !wm_open[handle].function) return wm_text_status(3, "no such handle");
  const uint8_t *frame = p + 8, *table = frame + (frame[6] | frame[7] << 8);
  wm_rows in = {frame, wm_u32(frame + 16), 0};
  for (uint32_t i = 0; i < wm_u32(frame + 20); i++)
    if (wm_u32(table + 16 * i) == 1) in.nodes = frame + wm_u32(table + 16 * i + 8);
  if (wm_open[handle].function->code == WM_DECODER) {
    wm_answer *answer = wm_decode(&in, handle);
    wm_free(p);
    return answer;
  }
  wm_result out = {0};
  uint32_t zero = 0;
  wm_append(&out.offsets, &zero, 4);
  wm_open[handle].function->run(&in, &out);
  wm_answer *answer = wm_frame(&out, handle);
  wm_free(out.bits.p); wm_free(out.offsets.p); wm_free(out.data.p);
  wm_free(out.error_table.p); wm_free(out.error_text.p);
  wm_free(p);
  return answer;
}
WM_EXPORT("wmclose") wm_answer *wm_close(uint8_t *p, uint32_t n) {
  if (n >= 8 && wm_u32(p) < WM_MAX_OPEN) wm_open[wm_u32(p)].function = 0;
  if (n) wm_free(p);
  return wm_status(0, 0, 0);
}
static void wm_post(void) { wm_free(wm_last.p); wm_last.p = 0; }
WM_EXPORT("cabi_post_wmdescribe") void wm_post_describe(wm_answer *a) { (void)a; wm_post(); }
WM_EXPORT("cabi_post_wmopen") void wm_post_open(wm_answer *a) { (void)a; wm_post(); }
WM_EXPORT("cabi_post_wmprocess") void wm_post_process(wm_answer *a) { (void)a; wm_post(); }
WM_EXPORT("cabi_post_wmclose") void wm_post_close(wm_answer *a) { (void)a; wm_post(); }
#endif
