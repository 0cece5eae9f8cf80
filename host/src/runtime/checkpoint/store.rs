//! Checkpoints in a local folder: `chk-<epoch>/manifest.json`, visible all at once or not at all.

use super::Checkpoint;
use super::manifest::{Provenance, Unusable, read, write};
use crate::data::Epoch;
use crate::error::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

const MANIFEST: &str = "manifest.json";
const PREFIX: &str = "chk-";
/// Of folders that are being written, and being removed.
const NEW: &str = ".chk-new-";
const OLD: &str = ".chk-old-";

/// Which checkpoint a job goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// None: the folder has to be empty.
    Anew,
    /// The newest one that is complete.
    Latest,
    Epoch(Epoch),
}

/// A folder of checkpoints that no other process uses meanwhile.
pub struct CheckpointStore {
    folder: PathBuf,
    retained: usize,
    /// Locked as long as it is open; the system lets go of it whichever way the process ends.
    _lock: File,
}

impl CheckpointStore {
    pub fn open(folder: &Path, retained: usize) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|e| fail("make the folder", folder, &e))?;
        let lock = lock(folder)?;
        let store = Self { folder: folder.to_path_buf(), retained: retained.max(1), _lock: lock };
        store.remove_leftovers()?;
        Ok(store)
    }

    /// What a process that was killed had not finished.
    fn remove_leftovers(&self) -> Result<()> {
        for name in self.names()? {
            if name.starts_with(NEW) || name.starts_with(OLD) {
                let path = self.folder.join(name);
                remove(&path).map_err(|e| fail("remove", &path, &e))?;
            }
        }
        Ok(())
    }

    fn names(&self) -> Result<Vec<String>> {
        let list = |e: std::io::Error| fail("list", &self.folder, &e);
        let mut names = vec![];
        for entry in std::fs::read_dir(&self.folder).map_err(list)? {
            names.extend(entry.map_err(list)?.file_name().into_string());
        }
        Ok(names)
    }

    /// The epochs in the folder, ascending, whether their manifests can be read or not.
    pub fn epochs(&self) -> Result<Vec<Epoch>> {
        let epoch = |n: &String| n.strip_prefix(PREFIX)?.parse().ok().map(Epoch);
        let mut epochs: Vec<Epoch> = self.names()?.iter().filter_map(epoch).collect();
        epochs.sort_unstable();
        Ok(epochs)
    }

    fn path(&self, epoch: Epoch) -> PathBuf {
        self.folder.join(format!("{PREFIX}{}", epoch.0))
    }

    /// The checkpoint to go on from; None: start anew.
    pub fn load(&self, resume: Resume, job: &str) -> Result<Option<Checkpoint>> {
        let epochs = self.epochs()?;
        let found = match resume {
            Resume::Anew => {
                return match epochs.last() {
                    None => Ok(None),
                    Some(newest) => Err(self.refuse_filled(*newest)),
                };
            }
            Resume::Epoch(epoch) => self.read(epoch).map_err(|u| self.unusable(epoch, u, &epochs))?,
            Resume::Latest => self.newest(&epochs)?,
        };
        let (checkpoint, provenance) = found;
        if provenance.job != job {
            tracing::warn!(
                "checkpoint {} was written by job {}, this is job {job}",
                checkpoint.epoch.0,
                provenance.job
            );
        }
        Ok(Some(checkpoint))
    }

    fn newest(&self, epochs: &[Epoch]) -> Result<(Checkpoint, Provenance)> {
        let mut reasons = vec![];
        for epoch in epochs.iter().rev() {
            match self.read(*epoch) {
                Ok(found) => {
                    reasons.iter().for_each(|r| tracing::warn!("{r}; going on from checkpoint {}", epoch.0));
                    return Ok(found);
                }
                // To pass over a good checkpoint that we do not understand would repeat what it covers.
                Err(u @ Unusable::Version(_)) => return Err(self.unusable(*epoch, u, epochs)),
                Err(u) => reasons.push(self.unusable(*epoch, u, epochs).message),
            }
        }
        if reasons.is_empty() {
            let message = format!("--from-checkpoint: there is no checkpoint in {}", self.folder.display());
            return Err(Error::user(message).with_hint("without the flag the job starts anew"));
        }
        Err(Error::user(format!("no checkpoint can be used: {}", reasons.join("; "))))
    }

    fn read(&self, epoch: Epoch) -> Result<(Checkpoint, Provenance), Unusable> {
        let bytes = std::fs::read(self.path(epoch).join(MANIFEST))
            .map_err(|e| Unusable::Damaged(format!("{MANIFEST} cannot be read: {e}")))?;
        let (checkpoint, provenance) = read(&bytes)?;
        if checkpoint.epoch != epoch {
            return Err(Unusable::Damaged(format!("it is the manifest of checkpoint {}", checkpoint.epoch.0)));
        }
        Ok((checkpoint, provenance))
    }

    fn unusable(&self, epoch: Epoch, why: Unusable, epochs: &[Epoch]) -> Error {
        let place = self.path(epoch);
        if !epochs.contains(&epoch) {
            let there = epochs.iter().map(|e| e.0.to_string()).collect::<Vec<_>>().join(", ");
            let message = format!("--from-checkpoint: there is no checkpoint {} in {}", epoch.0, self.folder.display());
            return Error::user(message).with_hint(format!("there are: {there}"));
        }
        match why {
            Unusable::Version(version) => {
                Error::user(format!("{}: its manifest has version {version}, which is not known here", place.display()))
                    .with_hint("go on with the version of Wasmill that wrote it, or name an older checkpoint")
            }
            Unusable::Damaged(what) => Error::user(format!("{}: {what}", place.display()))
                .with_hint("--from-checkpoint=latest takes the newest one that is complete"),
        }
    }

    fn refuse_filled(&self, newest: Epoch) -> Error {
        Error::user(format!("{} holds checkpoints, the newest is {}", self.folder.display(), newest.0)).with_hint(
            "--from-checkpoint goes on from there; to start anew name another --checkpoint-dir or empty this one",
        )
    }

    /// Makes the checkpoint durable; it is there when this returns and after any crash. Removes those beyond the number
    /// to keep.
    pub fn publish(&self, checkpoint: &Checkpoint, provenance: &Provenance) -> Result<()> {
        let bytes = write(checkpoint, provenance).map_err(|e| Error::internal(format!("manifest: {e}")))?;
        let epoch = checkpoint.epoch;
        // In the same file system as its place, which a rename needs.
        let new = self.folder.join(format!("{NEW}{}-{}", epoch.0, provenance.attempt));
        let written = || -> std::io::Result<()> {
            // Not the folder itself: if that is gone, so is its lock.
            std::fs::create_dir(&new)?;
            let mut file = File::create(new.join(MANIFEST))?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            File::open(&new)?.sync_all()?;
            std::fs::rename(&new, self.path(epoch))?;
            File::open(&self.folder)?.sync_all()
        };
        written().map_err(|e| {
            // What was not published well must not be found later.
            for half in [&new, &self.path(epoch)] {
                let _ = remove(half);
            }
            fail("write", &self.path(epoch), &e)
        })?;
        self.remove_old(epoch);
        Ok(())
    }

    /// That an old one cannot be removed harms nobody.
    fn remove_old(&self, newest: Epoch) {
        let removed = || -> Result<()> {
            let epochs: Vec<Epoch> = self.epochs()?.into_iter().filter(|e| *e <= newest).collect();
            for epoch in &epochs[..epochs.len().saturating_sub(self.retained)] {
                // Renamed first: half a checkpoint must not look like a whole one.
                let old = self.folder.join(format!("{OLD}{}", epoch.0));
                std::fs::rename(self.path(*epoch), &old)
                    .and_then(|()| remove(&old))
                    .map_err(|e| fail("remove", &self.path(*epoch), &e))?;
            }
            Ok(())
        };
        if let Err(e) = removed() {
            tracing::warn!("{e}");
        }
    }
}

/// Removes a checkpoint and nothing else that may lie there.
fn remove(checkpoint: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(checkpoint.join(MANIFEST)) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    std::fs::remove_dir(checkpoint)
}

fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    let open = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let file = open.map_err(|e| fail("write", &path, &e))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Error::user(format!("another running job uses the checkpoint folder {}", folder.display()))
                .with_hint("each job needs a folder of its own"))
        }
        Err(TryLockError::Error(e)) => Err(fail("lock", &path, &e)),
    }
}

fn fail(doing: &str, path: &Path, e: &std::io::Error) -> Error {
    Error::external(format!("checkpoints: cannot {doing} {}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(folder: &Path) -> CheckpointStore {
        CheckpointStore::open(folder, 3).unwrap()
    }

    fn publish(store: &CheckpointStore, epochs: std::ops::RangeInclusive<u64>) {
        for epoch in epochs {
            let provenance = Provenance { job: "j".into(), attempt: "a".into(), time: "t".into() };
            store.publish(&Checkpoint { epoch: Epoch(epoch), operators: vec![] }, &provenance).unwrap();
        }
    }

    fn epochs(store: &CheckpointStore) -> Vec<u64> {
        store.epochs().unwrap().iter().map(|e| e.0).collect()
    }

    fn message(result: Result<Option<Checkpoint>>) -> String {
        let e = result.unwrap_err();
        assert_eq!(e.domain.exit_code(), 2, "{e}");
        e.message + " | " + &e.hint.unwrap_or_default()
    }

    fn loaded(store: &CheckpointStore, resume: Resume) -> u64 {
        store.load(resume, "j").unwrap().unwrap().epoch.0
    }

    #[test]
    fn the_newest_ones_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        publish(&store, 8..=12);
        assert_eq!(epochs(&store), [10, 11, 12]);
        assert_eq!(loaded(&store, Resume::Latest), 12);
        assert_eq!(loaded(&store, Resume::Epoch(Epoch(10))), 10);
    }

    #[test]
    fn a_filled_folder_is_not_started_anew_and_an_empty_one_not_resumed() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        assert!(message(store.load(Resume::Latest, "j")).contains("there is no checkpoint in"));
        assert_eq!(store.load(Resume::Anew, "j").unwrap(), None);
        publish(&store, 1..=1);
        let refused = message(store.load(Resume::Anew, "j"));
        assert!(refused.contains("holds checkpoints") && refused.contains("--from-checkpoint goes on"), "{refused}");
        assert!(message(store.load(Resume::Epoch(Epoch(7)), "j")).contains("there are: 1"));
    }

    #[test]
    fn a_damaged_one_is_passed_over_unless_it_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        publish(&store, 1..=3);
        let manifest = |epoch: u64| dir.path().join(format!("chk-{epoch}/manifest.json"));
        std::fs::remove_file(manifest(3)).unwrap();
        let text = std::fs::read_to_string(manifest(2)).unwrap();
        std::fs::write(manifest(2), text.replace("\"epoch\":2", "\"epoch\":9")).unwrap();
        assert_eq!(loaded(&store, Resume::Latest), 1);
        assert!(message(store.load(Resume::Epoch(Epoch(2)), "j")).contains("checksum"));
        assert!(message(store.load(Resume::Epoch(Epoch(3)), "j")).contains("cannot be read"));
        // A whole manifest in the place of another.
        std::fs::copy(manifest(1), manifest(3)).unwrap();
        assert!(message(store.load(Resume::Epoch(Epoch(3)), "j")).contains("manifest of checkpoint 1"));
        std::fs::write(manifest(1), "").unwrap();
        assert!(message(store.load(Resume::Latest, "j")).contains("no checkpoint can be used"));
    }

    #[test]
    fn a_newer_version_is_not_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        publish(&store, 1..=2);
        std::fs::write(dir.path().join("chk-2/manifest.json"), "{\"version\":7}").unwrap();
        assert!(message(store.load(Resume::Latest, "j")).contains("version 7"));
        assert_eq!(loaded(&store, Resume::Epoch(Epoch(1))), 1);
    }

    #[test]
    fn two_jobs_do_not_share_a_folder_and_leftovers_of_a_crash_go() {
        let dir = tempfile::tempdir().unwrap();
        let first = store(dir.path());
        let error = CheckpointStore::open(dir.path(), 3).err().unwrap();
        assert!(error.message.contains("another running job"), "{error}");
        for name in [".chk-new-4-a", ".chk-old-1", ".old-photos"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join(".chk-old-1/manifest.json"), "{}").unwrap();
        drop(first);
        let mut names = store(dir.path()).names().unwrap();
        names.sort();
        assert_eq!(names, [".old-photos", "lock"]);
        // What is not ours is not removed, and said.
        std::fs::create_dir(dir.path().join(".chk-old-2")).unwrap();
        std::fs::write(dir.path().join(".chk-old-2/photo"), "").unwrap();
        let error = CheckpointStore::open(dir.path(), 3).err().unwrap();
        assert!(error.message.contains("cannot remove") && error.message.contains(".chk-old-2"), "{error}");
    }

    #[test]
    fn a_folder_that_is_gone_is_not_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("ck");
        let store = store(&folder);
        publish(&store, 1..=1);
        std::fs::remove_dir_all(&folder).unwrap();
        let provenance = Provenance { job: "j".into(), attempt: "a".into(), time: "t".into() };
        let error = store.publish(&Checkpoint { epoch: Epoch(2), operators: vec![] }, &provenance).unwrap_err();
        assert!(error.message.contains("cannot write") && error.domain.exit_code() == 3, "{error}");
        assert!(!folder.exists());
    }
}
