//! Many threads at once, and the context's own thread.

use super::*;

#[test]
fn many_threads_create_wait_and_destroy() {
    // A service for each context: an answer that is held must not go to another one, whose ids are its own.
    let folders = [Folder::new(), Folder::new()];
    let _services = folders.each_ref().map(|folder| {
        // Each third request is answered after the next one.
        let held = std::sync::Mutex::new(None);
        folder.serve(move |ask| match ask {
            Ask::Stage(StageAsk { id, .. }) if id % 3 == 0 => {
                let mut held = held.lock().unwrap();
                held.replace(honest(ask)).unwrap_or_default()
            }
            Ask::Stage(_) => held.lock().unwrap().take().into_iter().flatten().chain(honest(ask)).collect(),
            ask => silent(ask),
        })
    });
    let contexts = folders.each_ref().map(|folder| folder.context());
    std::thread::scope(|scope| {
        for thread in 0..16u32 {
            let contexts = &contexts;
            scope.spawn(move || {
                for n in 0..20 {
                    let context = &contexts[(n % 2) as usize];
                    let vs = shader(context, Stage::Vertex, 100 + 20 * thread + n);
                    let fs = shader(context, Stage::Fragment, 2);
                    let made = pipeline(context, &[&vs, &fs], PipelineFlags::NO_OPTIMIZE);
                    drop((vs, fs));
                    let status = made.wait(1, Duration::from_millis(u64::from(n % 4) * 20)).unwrap();
                    assert!(
                        matches!(status.phase, Phase::Pending(_) | Phase::Done(PipelineRoute::Linked)),
                        "{status:?}"
                    );
                    assert_eq!(made.generation() == 1, status.phase == Phase::Done(PipelineRoute::Linked));
                }
            });
        }
    });
}

#[test]
fn contexts_come_and_go_while_they_ask() {
    let folder = Folder::new();
    let _service = folder.serve(honest);
    for n in 0..50 {
        let context = folder.context();
        let vs = shader(&context, Stage::Vertex, n);
        if n % 2 == 0 {
            vs.wait(Duration::from_millis(u64::from(n))).unwrap();
        }
        // In either order.
        if n % 3 == 0 {
            drop(context);
            drop(vs);
        } else {
            drop(vs);
            drop(context);
        }
    }
    until("no thread is left", || threads_named("dvt-io") == 0);
}

fn threads_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let named = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok().filter(|comm| comm.trim() == name)
    };
    tasks.filter_map(named).count()
}

/// Signals are left to the application's threads.
#[test]
fn the_thread_takes_no_signals() {
    if !crate::support::alone("service::threads::the_thread_takes_no_signals") {
        return;
    }
    let folder = Folder::new();
    let service = folder.serve(silent);
    let context = folder.context();
    let before = mask_of("self");
    let vs = shader(&context, Stage::Vertex, 1);
    service.until(1, is_stage);
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().file_name());
    let io = tasks
        .map(|task| task.into_string().unwrap())
        .find(|task| std::fs::read_to_string(format!("/proc/self/task/{task}/comm")).unwrap().trim() == "dvt-io");
    // All signals except the two that cannot be blocked and the C library's own two.
    assert_eq!(mask_of(&format!("self/task/{}", io.unwrap())) | 0x1_8004_0100, 0xffff_ffff_ffff_ffff);
    assert_eq!(mask_of("self"), before);
    drop((vs, context));
    assert_eq!(threads_named("dvt-io"), 0, "it is joined");
}

fn mask_of(process: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap()
}
