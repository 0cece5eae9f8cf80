;; Tries to open /etc/passwd from the current folder and from folder 3; answers with 100 times the first errno plus
;; the second.
(import "wasi_snapshot_preview1" "path_open"
  (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))

(data (i32.const 2048) "/etc/passwd")

(func $open (param $folder i32) (result i64)
  (i64.extend_i32_u (call $path_open (local.get $folder) (i32.const 0) (i32.const 2048) (i32.const 11) (i32.const 0)
    (i64.const -1) (i64.const -1) (i32.const 0) (i32.const 2100))))

(func $row (param $value i64) (result i64)
  (i64.add (i64.mul (i64.const 100) (call $open (i32.const -100))) (call $open (i32.const 3))))
