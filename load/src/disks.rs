//! A small disk of its own for each node, so that one can be full. Linux, as root, with `mkfs.ext4`.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use crate::Error;
use crate::tools::tool;

/// How large a disk is, in bytes; what is not written takes no space.
const DISK_BYTES: u64 = 4 << 30;
/// What takes up the space of a full disk.
const FILLER: &str = "filler";

/// The disks. They are unmounted when this is dropped.
pub struct Disks {
    folders: Vec<PathBuf>,
}

impl Disks {
    /// Makes disks in a folder. Fails where that is not permitted.
    pub fn new(data: &Path, nodes: usize) -> Result<Self, Error> {
        let mut disks = Self { folders: Vec::new() };
        for node in 0..nodes {
            let (image, folder) = (data.join(format!("disk-{node}.img")), data.join(format!("disk-{node}")));
            File::create(&image)?.set_len(DISK_BYTES)?;
            let at = image.to_string_lossy();
            tool("mkfs.ext4", &["-q", "-m", "0", "-F", &at])?;
            std::fs::create_dir(&folder)?;
            tool("mount", &["-o", "loop,discard", &at, &folder.to_string_lossy()])?;
            disks.folders.push(folder);
        }
        Ok(disks)
    }

    /// Where a node's disk is.
    pub fn folder(&self, node: usize) -> &Path {
        &self.folders[node]
    }

    /// Takes all space of a node's disk.
    pub fn fill(&self, node: usize) -> Result<(), Error> {
        let filler = File::create(self.folder(node).join(FILLER))?;
        let (mut from, mut step) = (0, DISK_BYTES);
        while step >= 4096 {
            match fallocate(&filler, FallocateFlags::empty(), from, step) {
                Ok(()) => from += step,
                Err(Errno::NOSPC) => step /= 2,
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Gives it back.
    pub fn free(&self, node: usize) -> Result<(), Error> {
        Ok(std::fs::remove_file(self.folder(node).join(FILLER))?)
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        for folder in &self.folders {
            // Lazily: a process that hangs in the kernel may still hold it.
            if let Err(e) = tool("umount", &["-l", &folder.to_string_lossy()]) {
                eprintln!("{e}");
            }
        }
    }
}
