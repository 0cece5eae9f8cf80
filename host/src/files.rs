//! Files that a job adds to when it goes on. A leaf.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

const BLOCK: u64 = 64 * 1024;

/// Opens a file of lines to add to it. A process that was killed may have left part of a line at its end, whose record
/// comes again: it is cut off. Pipes and devices are left as they are.
pub fn append_lines(path: &Path) -> std::io::Result<File> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    if !file.metadata()?.is_file() {
        return OpenOptions::new().append(true).open(path);
    }
    let size = file.seek(SeekFrom::End(0))?;
    let whole = whole_lines(&mut file, size)?;
    if whole < size {
        file.set_len(whole)?;
    }
    Ok(file)
}

/// The length of the file up to its last newline.
fn whole_lines(file: &mut File, size: u64) -> std::io::Result<u64> {
    let mut end = size;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let mut block = vec![0; (end - start) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut block)?;
        if let Some(newline) = memchr::memrchr(b'\n', &block) {
            return Ok(start + newline as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn half_a_line_is_cut_off_however_long() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let long = "x".repeat(3 * BLOCK as usize);
        for (before, kept) in [
            ("a\nb\n".to_string(), "a\nb\n".to_string()),
            ("a\nb".to_string(), "a\n".to_string()),
            (format!("a\n{long}"), "a\n".to_string()),
            (format!("{long}\nb"), format!("{long}\n")),
            ("b".to_string(), String::new()),
            (String::new(), String::new()),
        ] {
            std::fs::write(&path, &before).unwrap();
            append_lines(&path).unwrap().write_all(b"new\n").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), kept + "new\n");
        }
        std::fs::remove_file(&path).unwrap();
        append_lines(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    }
}
