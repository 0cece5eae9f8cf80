;; Gives up when it is opened.
(func $opened (unreachable))
