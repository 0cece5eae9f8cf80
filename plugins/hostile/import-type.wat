;; Wants `log` with another type.
(import "wasmill:plugin/host@0.1.0" "log" (func $log (param i64)))
