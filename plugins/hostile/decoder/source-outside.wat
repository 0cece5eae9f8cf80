;; A row comes from a record that was not asked about.
(func $source (param $index i32) (param $value i64) (result i32)
  (if (result i32) (i64.eq (local.get $value) (i64.const 13)) (then (i32.const 1000000)) (else (local.get $index))))
