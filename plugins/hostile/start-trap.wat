;; Gives up before anything is called.
(func $start (unreachable))
(start $start)
