;; Wants what a later version may offer.
(import "wasmill:plugin/host@0.1.0" "http" (func $http (param i32 i32) (result i32)))
