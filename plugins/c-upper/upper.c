/* Scalar functions in C. Build: see README.md. */
#include "../../guest-sdk/c/wasmill.h"

const char wm_manifest[] =
    "{\"name\":\"c-upper\",\"version\":\"0.1.0\",\"functions\":["
    "{\"name\":\"ascii_upper\",\"kind\":\"scalar\",\"arguments\":[\"STRING\"],\"result\":\"STRING\"},"
    "{\"name\":\"half\",\"kind\":\"scalar\",\"arguments\":[\"BIGINT\"],\"result\":\"BIGINT\"}]}";

/* ASCII letters in upper case, everything else as it is; NULL stays NULL. */
static void ascii_upper(const wm_rows *in, wm_result *out) {
  for (uint32_t row = 0; row < in->rows; row++) {
    if (wm_is_null(in, 0, row)) {
      wm_put_null_text(out);
      continue;
    }
    wm_text text = wm_get_text(in, 0, row);
    wm_append(&out->data, text.p, text.n);
    for (char *c = (char *)out->data.p + out->data.n - text.n; text.n; text.n--, c++)
      if (*c >= 'a' && *c <= 'z') *c -= 'a' - 'A';
    wm_end_row(out, 1);
  }
}

/* Half of an even number; an odd one is refused. */
static void half(const wm_rows *in, wm_result *out) {
  for (uint32_t row = 0; row < in->rows; row++) {
    int64_t value = wm_get_i64(in, 0, row);
    if (wm_is_null(in, 0, row)) {
      wm_put_null_i64(out);
    } else if (value % 2) {
      wm_refuse(out, "the number is odd");
      wm_put_null_i64(out);
    } else {
      wm_put_i64(out, value / 2);
    }
  }
}

const wm_function wm_functions[] = {{"ascii_upper", 10, ascii_upper}, {"half", 5, half}, {0}};
