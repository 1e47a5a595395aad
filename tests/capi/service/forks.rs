//! A child of a fork that uses a context of its parent.

use super::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// A lock that a thread of the parent held at the fork is held for ever in the child.
#[test]
fn a_child_of_a_fork_can_set_priorities() {
    if !crate::support::alone("service::forks::a_child_of_a_fork_can_set_priorities") {
        return;
    }
    let folder = Folder::new();
    let service = folder.serve(silent);
    let context = folder.context();
    let [vs, fs] = [shader(&context, Stage::Vertex, 1), shader(&context, Stage::Fragment, 2)];
    let made = pipeline(&context, &[&vs, &fs], PipelineFlags::default());
    service.until(2, is_stage);
    let (over, mut statuses) = (AtomicBool::new(false), Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    made.set_priority(0);
                    vs.set_priority(1);
                }
            });
        }
        while statuses.len() < 100 && statuses.last().is_none_or(|status| *status == 0) {
            let mut status = -1;
            // SAFETY: the child calls only what a child may call, and then exits or is ended by the alarm.
            unsafe {
                let child = libc::fork();
                if child == 0 {
                    libc::alarm(5);
                    dovetail::runtime::note_fork();
                    made.set_priority(1);
                    vs.set_priority(0);
                    libc::_exit(0);
                }
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
            }
            statuses.push(status);
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(statuses, [0; 100]);
}
