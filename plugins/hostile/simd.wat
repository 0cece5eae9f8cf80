;; Needs SIMD, which not every engine has.
(func $simd (result v128) (v128.const i64x2 1 2))
