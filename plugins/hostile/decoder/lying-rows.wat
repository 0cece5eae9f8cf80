;; Says that its frame has one row more than it holds.
(global $lie (mut i32) (i32.const 0))

(func $row (param $value i64) (result i64)
  (if (i64.eq (local.get $value) (i64.const 13)) (then (global.set $lie (i32.const 1))))
  (local.get $value))

(func $answer (param $length i32) (result i32)
  (i32.store (i32.const 65560) (i32.add (i32.load (i32.const 65560)) (global.get $lie)))
  (call $pair (i32.const 65536) (i32.add (local.get $length) (i32.const 8))))
