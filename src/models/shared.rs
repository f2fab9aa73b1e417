//! Directories that others can write into: they could have planted what teda trusts there.

use std::path::Path;

use teda_core::plain;

/// Warns if others than its owner can write into a directory. Returns whether there was a warning. A directory that
/// does not exist yet will belong to its owner.
pub fn said(directory: &Path, say: &dyn Fn(&str)) -> bool {
    let shared = is_shared(directory);
    if shared {
        say(&format!(
            "note: others can write into {}, and change what is kept there: chmod go-w it, or take another directory",
            plain(&directory.display().to_string())
        ));
    }
    shared
}

/// Whether others than the owner of a directory may write into it. A group with the same number as the owner counts as
/// the owner's own, as most systems set users up this way.
#[cfg(unix)]
fn is_shared(directory: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    const GROUP: u32 = 0o020;
    const OTHERS: u32 = 0o002;
    directory.metadata().is_ok_and(|directory| {
        let (mode, alone) = (directory.mode(), directory.gid() == directory.uid());
        mode & OTHERS != 0 || (mode & GROUP != 0 && !alone)
    })
}

/// Other systems express permissions differently.
#[cfg(not(unix))]
fn is_shared(_: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_directory_of_everybody_is_told_and_an_own_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let notes = Mutex::new(Vec::new());
        let say = |note: &str| notes.lock().unwrap().push(note.to_owned());
        assert!(!said(directory.path(), &say));
        set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
        assert!(said(directory.path(), &say));
        assert!(!said(&directory.path().join("later"), &say));
        let notes = notes.into_inner().unwrap();
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains(&directory.path().display().to_string()));
    }
}
