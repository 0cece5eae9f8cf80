;; Exports a call with another type.
(func (export "wmbind") (param i64) (result i32) (i32.const 0))
