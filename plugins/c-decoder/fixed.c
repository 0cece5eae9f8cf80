/* A decoder in C: lines of fixed width. Build: see README.md. */
#include "../../guest-sdk/c/wasmill.h"

const char wm_manifest[] =
    "{\"name\":\"c-decoder\",\"version\":\"0.1.0\",\"functions\":[{\"name\":\"fixed\",\"kind\":\"decoder\"}]}";

enum { ID, NAME, AMOUNT };
static const wm_gives columns[] = {{"id", WM_INT}, {"name", WM_STRING}, {"amount", WM_BIGINT}, {0}};

/* Digits up to a blank or the end; -1: something else. */
static int64_t number(const char *p, uint32_t n, uint32_t *read) {
  int64_t value = 0;
  for (*read = 0; *read < n && p[*read] != ' '; ++*read) {
    if (p[*read] < '0' || p[*read] > '9' || *read > 17) return -1;
    value = value * 10 + p[*read] - '0';
  }
  return *read ? value : -1;
}

/* 6 digits of an id, 10 characters of a name, then amounts between blanks: a row for each amount. A comment is none. */
static void fixed(wm_text record, wm_table *out) {
  uint32_t read, name_n = 10;
  if (record.n && record.p[0] == '#') return;
  int64_t id = record.n < 16 ? -1 : number(record.p, 6, &read);
  if (id < 0 || read != 6) {
    wm_refuse_record(out, "the first six characters are no number");
    return;
  }
  while (name_n && record.p[5 + name_n] == ' ') name_n--;
  for (uint32_t at = 16; at < record.n; at += read) {
    if (record.p[at] == ' ') {
      read = 1;
      continue;
    }
    int64_t amount = number(record.p + at, record.n - at, &read);
    if (amount < 0) {
      wm_refuse_record(out, "an amount is no number");
      return;
    }
    wm_add_row(out);
    wm_set_i64(out, ID, id);
    if (name_n) wm_set_text(out, NAME, record.p + 6, name_n);
    wm_set_i64(out, AMOUNT, amount);
  }
}

const wm_function wm_functions[] = {{"fixed", WM_DECODER, .decode = fixed, .gives = columns}, {0}};
