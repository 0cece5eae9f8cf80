//! See [`options`].
pub mod options;
