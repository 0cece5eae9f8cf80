;; Answers with less than a status word.
(global $lie (mut i32) (i32.const 0))

(func $row (param $value i64) (result i64)
  (if (i64.eq (local.get $value) (i64.const 13)) (then (global.set $lie (i32.const 1))))
  (local.get $value))

(func $answer (param $p i32) (param $n i32) (result i32)
  (if (global.get $lie) (then (return (call $pair (local.get $p) (i32.const 4)))))
  (call $pair (local.get $p) (local.get $n)))
