//! C's and C++'s headers: the file that a path names.
//!
//! Which folders are searched is up to whoever builds the sources, and written nowhere that all projects have in
//! common. So a path leads to the file that it names from the includer's folder, else to the only file of the
//! repository whose path ends with it. Of several nobody knows which one.

use std::collections::BTreeMap;

use crate::{
    SourceLanguage,
    resolve::{ImportTarget, NamedTarget, index::PathIndex, place},
    source_facts::Import,
};

/// The headers of the C library (ISO/IEC 9899:2024, 7.1.2) and those of POSIX.1-2017, sorted: a path of theirs
/// between angle brackets means the system's, whatever the repository has beside it.
const SYSTEM: [&[u8]; 89] = [
    b"aio.h",
    b"arpa/inet.h",
    b"assert.h",
    b"complex.h",
    b"cpio.h",
    b"ctype.h",
    b"dirent.h",
    b"dlfcn.h",
    b"errno.h",
    b"fcntl.h",
    b"fenv.h",
    b"float.h",
    b"fmtmsg.h",
    b"fnmatch.h",
    b"ftw.h",
    b"glob.h",
    b"grp.h",
    b"iconv.h",
    b"inttypes.h",
    b"iso646.h",
    b"langinfo.h",
    b"libgen.h",
    b"limits.h",
    b"locale.h",
    b"math.h",
    b"monetary.h",
    b"mqueue.h",
    b"ndbm.h",
    b"net/if.h",
    b"netdb.h",
    b"netinet/in.h",
    b"netinet/tcp.h",
    b"nl_types.h",
    b"poll.h",
    b"pthread.h",
    b"pwd.h",
    b"regex.h",
    b"sched.h",
    b"search.h",
    b"semaphore.h",
    b"setjmp.h",
    b"signal.h",
    b"spawn.h",
    b"stdalign.h",
    b"stdarg.h",
    b"stdatomic.h",
    b"stdbit.h",
    b"stdbool.h",
    b"stdckdint.h",
    b"stddef.h",
    b"stdint.h",
    b"stdio.h",
    b"stdlib.h",
    b"stdnoreturn.h",
    b"string.h",
    b"strings.h",
    b"stropts.h",
    b"sys/ipc.h",
    b"sys/mman.h",
    b"sys/msg.h",
    b"sys/resource.h",
    b"sys/select.h",
    b"sys/sem.h",
    b"sys/shm.h",
    b"sys/socket.h",
    b"sys/stat.h",
    b"sys/statvfs.h",
    b"sys/time.h",
    b"sys/times.h",
    b"sys/types.h",
    b"sys/uio.h",
    b"sys/un.h",
    b"sys/utsname.h",
    b"sys/wait.h",
    b"syslog.h",
    b"tar.h",
    b"termios.h",
    b"tgmath.h",
    b"threads.h",
    b"time.h",
    b"trace.h",
    b"uchar.h",
    b"ulimit.h",
    b"unistd.h",
    b"utime.h",
    b"utmpx.h",
    b"wchar.h",
    b"wctype.h",
    b"wordexp.h",
];

/// The files that may be included.
#[derive(Debug)]
pub(super) struct HeaderIndex<'a> {
    index: &'a PathIndex<'a>,
    /// All files, by their names. Empty if nothing includes any.
    named: BTreeMap<&'a [u8], Vec<u32>>,
}

impl<'a> HeaderIndex<'a> {
    pub(super) fn new(index: &'a PathIndex<'a>) -> Self {
        let mut named: BTreeMap<&[u8], Vec<u32>> = BTreeMap::new();
        if index.with_facts().any(|(_, _, facts)| matches!(facts.language, SourceLanguage::C | SourceLanguage::Cpp)) {
            for (at, file) in index.all() {
                named.entry(place::last_component(file.path)).or_default().push(at);
            }
        }
        Self { index, named }
    }

    pub(super) fn step(&self, from: u32, import: &Import) -> ImportTarget {
        let (name, is_quoted) = match import.path.as_bytes() {
            [b'"', name @ .., b'"'] => (name, true),
            [b'<', name @ .., b'>'] => (name, false),
            // A macro, which only the build can expand.
            _ => return ImportTarget::Missing,
        };
        if name.starts_with(b"/") {
            return ImportTarget::External;
        }
        // Some compilers take either separator.
        let name: Vec<u8> = name.iter().map(|&byte| if byte == b'\\' { b'/' } else { byte }).collect();
        let beside = || self.index.find(&place::join_relative(place::folder_of(self.index.path(from)), &name)?);
        if let Some(file) = is_quoted.then(beside).flatten() {
            return ImportTarget::To(vec![NamedTarget::whole(file)]);
        }
        let is_system = SYSTEM.binary_search(&name.as_slice()).is_ok() || (!is_quoted && !name.contains(&b'.'));
        match (self.ending_with(from, &name).as_slice(), is_system) {
            ([], true) => ImportTarget::External,
            ([], false) => {
                if is_quoted {
                    ImportTarget::Missing
                } else {
                    ImportTarget::External
                }
            }
            ([file], false) => ImportTarget::To(vec![NamedTarget::whole(*file)]),
            _ => ImportTarget::Missing,
        }
    }

    /// The other files whose paths end with `name`, or are it.
    fn ending_with(&self, from: u32, name: &[u8]) -> Vec<u32> {
        // A path that leaves its folder has no end that is known.
        let Some(name) = place::join_relative(b"", name) else { return Vec::new() };
        let named = self.named.get(place::last_component(&name)).map(Vec::as_slice).unwrap_or_default();
        let ends = |file: &u32| {
            let before = self.index.path(*file).strip_suffix(name.as_slice());
            before.is_some_and(|before| before.is_empty() || before.ends_with(b"/"))
        };
        named.iter().copied().filter(|file| *file != from && ends(file)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::SYSTEM;

    #[test]
    fn the_headers_of_the_system_are_sorted() {
        assert!(SYSTEM.is_sorted());
    }
}
