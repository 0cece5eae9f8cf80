;; Was made for ABI 9.1.
(func $version (result i32) (i32.const 0x90001))
