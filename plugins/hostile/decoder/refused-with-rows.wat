;; Refuses a record and gives a row for it, too: a third section, written over the end of the answer.
(global $lie (mut i32) (i32.const 0))

(global $refused (mut i32) (i32.const 0))

(func $source (param $index i32) (param $value i64) (result i32)
  (if (i64.eq (local.get $value) (i64.const 13)) (then
    (global.set $lie (i32.const 1))
    (global.set $refused (local.get $index))))
  (local.get $index))

;; One error, without a text, behind the frame; its section takes the place of the columns' first 16 bytes of tables,
;; so the frame is built anew: the nodes move behind it.
(func $answer (param $length i32) (result i32)
  (local $end i32)
  (if (i32.eqz (global.get $lie)) (then
    (return (call $pair (i32.const 65536) (i32.add (local.get $length) (i32.const 8))))))
  ;; node table, then the error, then the new section table, all behind the frame; the header's length points at it
  (local.set $end (i32.add (i32.const 65544) (local.get $length)))
  (i32.store (local.get $end) (i32.const 1))
  (i32.store (i32.add (local.get $end) (i32.const 4)) (i32.const 0))
  (i32.store (i32.add (local.get $end) (i32.const 8)) (global.get $refused))
  (i32.store (i32.add (local.get $end) (i32.const 12)) (i32.const 0))
  (i32.store (i32.add (local.get $end) (i32.const 16)) (i32.const 24))
  (i32.store (i32.add (local.get $end) (i32.const 20)) (i32.const 0))
  (memory.copy (i32.add (local.get $end) (i32.const 24)) (i32.const 65576) (i32.const 32))
  (call $entry (i32.add (local.get $end) (i32.const 56)) (i32.const 5) (i32.const 1) (local.get $length) (i32.const 24))
  (i32.store16 (i32.const 65550) (i32.add (local.get $length) (i32.const 24)))
  (i32.store (i32.const 65564) (i32.const 3))
  (i32.store (i32.const 65568) (i32.add (local.get $length) (i32.const 72)))
  (call $pair (i32.const 65536) (i32.add (local.get $length) (i32.const 80))))
