;; An honest decoder with holes, built up like ../guest.wat: `d` gives one row for each record, its 8 bytes as the one
;; column BIGINT. The records are 8 bytes long each, without a NULL.
;; Memory: 0 the answer's pointer and length, 1024 the description, 4096 requests (fewer than 60,000 bytes),
;; 65536 answers.

(global $fingerprint (mut i64) (i64.const 0))
(data (i32.const 1024) "\00\00\00\00\00\00\00\00{\"name\":\"hostile\",\"functions\":[{\"name\":\"d\",\"kind\":\"decoder\"}]}")

(func (export "wmabi") (result i32) (i32.const 1))

(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))

(func $pair (param $start i32) (param $length i32) (result i32)
  (i32.store (i32.const 0) (local.get $start))
  (i32.store (i32.const 4) (local.get $length))
  (i32.const 0))

(func (export "wmdescribe") (param i32 i32) (result i32) (call $pair (i32.const 1024) (i32.const 70)))

;; Keeps the fingerprint of the answers' schema: part 2 of the bundle, at 24 of the schema block. The handle is 0.
(func (export "wmopen") (param $p i32) (param $n i32) (result i32)
  (global.set $fingerprint
    (i64.load (i32.add (i32.add (local.get $p) (i32.load (i32.add (local.get $p) (i32.const 24)))) (i32.const 24))))
  (i64.store (local.get $p) (i64.const 0))
  (i32.store (i32.add (local.get $p) (i32.const 8)) (i32.const 0))
  (call $pair (local.get $p) (i32.const 12)))

(func (export "wmclose") (param $p i32) (param i32) (result i32)
  (i64.store (local.get $p) (i64.const 0))
  (call $pair (local.get $p) (i32.const 8)))

;; A section's entry: kind, flags, offset, length.
(func $entry (param $at i32) (param $kind i32) (param $flags i32) (param $offset i32) (param $length i32)
  (i32.store (local.get $at) (local.get $kind))
  (i32.store (i32.add (local.get $at) (i32.const 4)) (local.get $flags))
  (i32.store (i32.add (local.get $at) (i32.const 8)) (local.get $offset))
  (i32.store (i32.add (local.get $at) (i32.const 12)) (local.get $length)))

;; The frame lies at 65544, behind the status: header 32, two sections 32, one node 32, then the values (8 bytes a row)
;; and the source rows (4 bytes a row).
(func (export "wmprocess") (param $p i32) (param $n i32) (result i32)
  (local $rows i32) (local $from i32) (local $i i32) (local $value i64) (local $length i32)
  (local.set $rows (i32.load (i32.add (local.get $p) (i32.const 24))))
  ;; the records' bytes: the frame at p + 8, its one node at 48 (one section), the data's offset at 20 of it
  (local.set $from
    (i32.add (i32.add (local.get $p) (i32.const 8)) (i32.load (i32.add (local.get $p) (i32.const 76)))))
  (block $done
    (loop $next
      (br_if $done (i32.ge_u (local.get $i) (local.get $rows)))
      (local.set $value (i64.load (i32.add (local.get $from) (i32.shl (local.get $i) (i32.const 3)))))
      (i64.store (i32.add (i32.const 65640) (i32.shl (local.get $i) (i32.const 3))) (call $row (local.get $value)))
      (i32.store
        (i32.add (i32.add (i32.const 65640) (i32.shl (local.get $rows) (i32.const 3))) (i32.shl (local.get $i) (i32.const 2)))
        (call $source (local.get $i) (local.get $value)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next)))
  (local.set $length
    (i32.and (i32.add (i32.add (i32.const 96) (i32.mul (local.get $rows) (i32.const 12))) (i32.const 7)) (i32.const -8)))
  (i64.store (i32.const 65536) (i64.const 0))
  ;; WMFR, 0.1, header of 32
  (i64.store (i32.const 65544) (i64.const 0x0020010052464d57))
  (i64.store (i32.const 65552) (global.get $fingerprint))
  (i32.store (i32.const 65560) (local.get $rows))
  (i32.store (i32.const 65564) (i32.const 2))
  (i32.store (i32.const 65568) (local.get $length))
  (i32.store (i32.const 65572) (i32.const 0))
  (call $entry (i32.const 65576) (i32.const 1) (i32.const 1) (i32.const 64) (i32.const 32))
  (call $entry (i32.const 65592) (i32.const 6) (i32.const 0)
    (i32.add (i32.const 96) (i32.shl (local.get $rows) (i32.const 3))) (i32.shl (local.get $rows) (i32.const 2)))
  (i32.store (i32.const 65608) (i32.const 5))
  (i32.store (i32.const 65612) (i32.const 0))
  (i32.store (i32.const 65616) (local.get $rows))
  (i32.store (i32.const 65620) (i32.const 0))
  (i32.store (i32.const 65624) (i32.const 0))
  (i32.store (i32.const 65628) (i32.const 96))
  (i32.store (i32.const 65632) (i32.shl (local.get $rows) (i32.const 3)))
  (i32.store (i32.const 65636) (i32.const 0))
  (call $answer (local.get $length)))
