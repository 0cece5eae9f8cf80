;; An honest guest with holes: `f(BIGINT) -> BIGINT` passes every value through $row and answers in place. The other
;; files of this folder fill the holes; whoever runs them (host/src/wasm/testing.rs) puts together
;;     (module <file> <guest.wat> <defaults.wat without what the file defines> )
;; Memory: 0 the answer's pointer and length, 1024 the description, 4096 the one buffer for requests and answers.

(global $fingerprint (mut i64) (i64.const 0))
(data (i32.const 1024) "\00\00\00\00\00\00\00\00{\"name\":\"hostile\",\"functions\":[{\"name\":\"f\",\"kind\":\"scalar\",\"arguments\":[\"BIGINT\"],\"result\":\"BIGINT\"}]}")

(func (export "wmabi") (result i32) (call $version))

(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))

(func $pair (param $start i32) (param $length i32) (result i32)
  (i32.store (i32.const 0) (local.get $start))
  (i32.store (i32.const 4) (local.get $length))
  (i32.const 0))

(func (export "wmdescribe") (param i32 i32) (result i32) (call $pair (i32.const 1024) (i32.const 110)))

;; Keeps the fingerprint of the result schema: part 2 of the bundle, at 24 of the schema block. The handle is 0.
(func (export "wmopen") (param $p i32) (param $n i32) (result i32)
  (call $opened)
  (global.set $fingerprint
    (i64.load (i32.add (i32.add (local.get $p) (i32.load (i32.add (local.get $p) (i32.const 24)))) (i32.const 24))))
  (i64.store (local.get $p) (i64.const 0))
  (i32.store (i32.add (local.get $p) (i32.const 8)) (i32.const 0))
  (call $pair (local.get $p) (i32.const 12)))

;; The request's 8 bytes in front of the frame become the answer's status, the argument's column the result's.
(func (export "wmprocess") (param $p i32) (param $n i32) (result i32)
  (local $frame i32) (local $at i32) (local $end i32)
  (local.set $frame (i32.add (local.get $p) (i32.const 8)))
  (i64.store (local.get $p) (i64.const 0))
  (i64.store (i32.add (local.get $frame) (i32.const 8)) (global.get $fingerprint))
  (local.set $at (i32.add (local.get $frame) (i32.load (i32.add (local.get $frame) (i32.const 68)))))
  (local.set $end
    (i32.add (local.get $at) (i32.shl (i32.load (i32.add (local.get $frame) (i32.const 16))) (i32.const 3))))
  (block $done
    (loop $next
      (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
      (i64.store (local.get $at) (call $row (i64.load (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br $next)))
  (call $answer (local.get $p) (local.get $n)))

(func (export "wmclose") (param $p i32) (param i32) (result i32)
  (i64.store (local.get $p) (i64.const 0))
  (call $pair (local.get $p) (i32.const 8)))
