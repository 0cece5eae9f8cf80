;; Tries to send to and to accept from socket 4; answers with 100 times the first errno plus the second.
(import "wasi_snapshot_preview1" "sock_send" (func $send (param i32 i32 i32 i32 i32) (result i32)))
(import "wasi_snapshot_preview1" "sock_accept" (func $accept (param i32 i32 i32) (result i32)))

(func $row (param $value i64) (result i64)
  (i64.extend_i32_u (i32.add
    (i32.mul (i32.const 100) (call $send (i32.const 4) (i32.const 2048) (i32.const 0) (i32.const 0) (i32.const 2100)))
    (call $accept (i32.const 4) (i32.const 0) (i32.const 2100)))))
