;; Makes rows of one record for ever.
(func $row (param $value i64) (result i64)
  (local $at i32)
  (local.set $at (i32.const 65640))
  (if (i64.eq (local.get $value) (i64.const 13)) (then
    (loop $more
      (if (i32.ge_u (i32.add (local.get $at) (i32.const 8)) (i32.shl (memory.size) (i32.const 16))) (then
        (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then unreachable))))
      (i64.store (local.get $at) (local.get $value))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br $more))))
  (local.get $value))
