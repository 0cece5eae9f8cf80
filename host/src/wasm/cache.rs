//! Compiled code on disk. Loading compiled code runs whatever the file says, so only files that we wrote into a
//! folder of our own are ever loaded: the folder belongs to this user and nobody else may write or read it.

use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use wasmtime::{Engine, Module};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const MAGIC: &[u8; 8] = b"wasmill1";
const HEADER: usize = 16;
/// The folder is pruned to these, oldest use first.
const MAX_FILES: usize = 256;
const MAX_BYTES: u64 = 1 << 30;

/// SHA-256 of a module's bytes.
pub(super) type ModuleDigest = [u8; 32];

pub(super) fn digest(bytes: &[u8]) -> ModuleDigest {
    Sha256::digest(bytes).into()
}

/// A folder of compiled modules.
#[derive(Debug)]
pub(super) struct CompileCache {
    folder: PathBuf,
}

impl CompileCache {
    /// `$WASMILL_CACHE`, `$XDG_CACHE_HOME/wasmill` or `~/.cache/wasmill`; None and a warning if it cannot be used.
    pub(super) fn from_environment() -> Option<CompileCache> {
        let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let base = var("WASMILL_CACHE")
            .or_else(|| var("XDG_CACHE_HOME").map(|p| p.join("wasmill")))
            .or_else(|| var("HOME").map(|p| p.join(".cache/wasmill")))?;
        match Self::open(&base) {
            Ok(cache) => Some(cache),
            Err(why) => {
                tracing::warn!("plugins are compiled anew at each start, {why}");
                None
            }
        }
    }

    /// The folder for compiled modules below `base`, made if need be. The error says why it is not trusted.
    pub(super) fn open(base: &Path) -> Result<CompileCache, String> {
        let folder = base.join("modules");
        let unusable = |why: String| format!("the cache folder {} cannot be used: {why}", folder.display());
        fs::create_dir_all(base).map_err(|e| unusable(e.to_string()))?;
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(unusable(e.to_string())),
            _ => {}
        }
        let meta = fs::symlink_metadata(&folder).map_err(|e| unusable(e.to_string()))?;
        // SAFETY: geteuid has no preconditions and cannot fail.
        let me = unsafe { libc::geteuid() };
        if !meta.is_dir() {
            return Err(unusable("it is not a folder".into()));
        }
        if meta.uid() != me {
            return Err(unusable(format!("it belongs to user {}, not to {me}", meta.uid())));
        }
        if meta.mode() & 0o077 != 0 {
            return Err(unusable(format!("its mode is {:o}, 700 is needed (chmod 700)", meta.mode() & 0o777)));
        }
        Ok(CompileCache { folder })
    }

    /// The key holds everything that decides the code: the module's bytes, wasmtime's version and settings.
    fn path(&self, engine: &Engine, digest: &ModuleDigest) -> PathBuf {
        let mut settings = Xxh3::new();
        engine.precompile_compatibility_hash().hash(&mut settings);
        let name: String = digest.iter().map(|b| format!("{b:02x}")).collect();
        self.folder.join(format!("{name}-{:016x}.cwasm", settings.finish()))
    }

    pub(super) fn load(&self, engine: &Engine, digest: &ModuleDigest) -> Option<Module> {
        let path = self.path(engine, digest);
        let bytes = fs::read(&path).ok()?;
        let (head, code) = bytes.split_at_checked(HEADER)?;
        let intact = head[..8] == *MAGIC && head[8..] == xxh3_64(code).to_le_bytes();
        if !intact {
            tracing::warn!("{} is damaged and is written anew", path.display());
            return None;
        }
        // SAFETY: the bytes were written by `store` (checksum), into a folder that only this user can write to
        // (checked in `open`); wasmtime itself refuses code of another version or of other settings.
        let module = unsafe { Module::deserialize(engine, code) }.ok()?;
        // The time of last use decides what is pruned.
        let _ = File::open(&path).and_then(|f| f.set_modified(SystemTime::now()));
        Some(module)
    }

    /// Keeps compiled code. A failure costs time at the next start, nothing else.
    pub(super) fn store(&self, engine: &Engine, digest: &ModuleDigest, module: &Module) {
        if let Err(e) = self.try_store(engine, digest, module) {
            tracing::warn!("a compiled plugin could not be kept in {}: {e}", self.folder.display());
        }
    }

    fn try_store(&self, engine: &Engine, digest: &ModuleDigest, module: &Module) -> Result<(), String> {
        let code = module.serialize().map_err(|e| e.to_string())?;
        let path = self.path(engine, digest);
        // A name of this process, then a rename: readers see a whole file or none, writers never meet.
        let temporary = path.with_extension(format!("{}-{:?}.tmp", std::process::id(), std::thread::current().id()));
        let write = || -> std::io::Result<()> {
            let mut file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
            file.write_all(MAGIC)?;
            file.write_all(&xxh3_64(&code).to_le_bytes())?;
            file.write_all(&code)?;
            fs::rename(&temporary, &path)
        };
        write().map_err(|e| {
            let _ = fs::remove_file(&temporary);
            e.to_string()
        })?;
        self.prune();
        Ok(())
    }

    fn prune(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut files: Vec<_> = entries
            .flatten()
            .filter_map(|e| {
                e.metadata().ok().map(|m| (m.modified().unwrap_or(SystemTime::UNIX_EPOCH), m.len(), e.path()))
            })
            .collect();
        files.sort_by_key(|f| std::cmp::Reverse(f.0));
        let mut bytes = 0;
        for (index, (_, len, path)) in files.into_iter().enumerate() {
            bytes += len;
            if index >= MAX_FILES || bytes > MAX_BYTES {
                let _ = fs::remove_file(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn module(engine: &Engine) -> (ModuleDigest, Module) {
        let bytes = wat::parse_str("(module (func (export \"f\")))").unwrap();
        (digest(&bytes), Module::new(engine, &bytes).unwrap())
    }

    #[test]
    fn stored_code_is_found_again_but_not_under_other_settings() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache::open(folder.path()).unwrap();
        let engine = Engine::default();
        let (digest, module) = module(&engine);
        assert!(cache.load(&engine, &digest).is_none());
        cache.store(&engine, &digest, &module);
        assert!(cache.load(&engine, &digest).is_some());
        let metered = Engine::new(wasmtime::Config::new().epoch_interruption(true)).unwrap();
        assert!(cache.load(&metered, &digest).is_none());
    }

    #[test]
    fn damaged_code_is_never_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache::open(folder.path()).unwrap();
        let engine = Engine::default();
        let (digest, module) = module(&engine);
        cache.store(&engine, &digest, &module);
        let path = cache.path(&engine, &digest);
        let whole = fs::read(&path).unwrap();
        for damaged in [&whole[..whole.len() - 1], &whole[..10], b""] {
            fs::write(&path, damaged).unwrap();
            assert!(cache.load(&engine, &digest).is_none());
        }
        let mut flipped = whole.clone();
        flipped[HEADER + 100] ^= 1;
        fs::write(&path, flipped).unwrap();
        assert!(cache.load(&engine, &digest).is_none());
    }

    #[test]
    fn a_folder_that_others_can_enter_is_not_used() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("modules");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let why = CompileCache::open(base.path()).unwrap_err();
        assert!(why.ends_with("its mode is 755, 700 is needed (chmod 700)"), "{why}");
        fs::remove_dir(&folder).unwrap();
        std::os::unix::fs::symlink("/tmp", &folder).unwrap();
        assert!(CompileCache::open(base.path()).unwrap_err().ends_with("it is not a folder"));
    }
}
