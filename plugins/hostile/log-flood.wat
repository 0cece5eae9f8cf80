;; Logs ten thousand lines for every row, from a place outside of its memory at the value 13.
(import "wasmill:plugin/host@0.1.0" "log" (func $log (param i32 i32 i32)))

(func $row (param $value i64) (result i64)
  (local $n i32)
  (loop $more
    (call $log (i32.const 2)
      (select (i32.const -1) (i32.const 1032) (i64.eq (local.get $value) (i64.const 13))) (i32.const 20))
    (br_if $more (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 10000))))
  (local.get $value))
