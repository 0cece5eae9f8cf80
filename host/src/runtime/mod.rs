//! Tasks, channels, control flow of a running job.
