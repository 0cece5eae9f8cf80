;; Wants more memory at start than its limit.
(memory $memory (export "memory") 2000)
