//! Operators: what a task does to elements.
