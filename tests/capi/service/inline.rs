//! Answers that carry their ELFs: how many may be outstanding.

use super::*;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

#[test]
fn requests_whose_answers_carry_elfs_are_limited() {
    let folder = Folder::new();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let service = folder.serve({
        let asked = asked.clone();
        move |ask| match ask {
            Ask::Stage(StageAsk { id, request, .. }) => {
                asked.lock().unwrap().push((*id, request.clone()));
                vec![]
            }
            ask => silent(ask),
        }
    });
    let context = folder.context_of(None);
    let shaders: Vec<Shader> = (0..200).map(|n| shader(&context, Stage::Vertex, 100 + n)).collect();
    let mut answered = 0;
    while answered < 200 {
        service.until((answered + 64).min(200), is_stage);
        // More would come at once.
        std::thread::sleep(Duration::from_millis(2));
        let now = std::mem::take(&mut *asked.lock().unwrap());
        assert_eq!(service.count(is_stage), (answered + 64).min(200));
        for (id, request) in now {
            service.tell(&Tell::Stage { id, part: Some(part_of(&request)) });
            answered += 1;
        }
    }
    assert!(shaders.iter().all(|shader| shader.wait(LONG).unwrap() == ShaderStatus::Ready));
    let ids: BTreeSet<u64> = service
        .heard()
        .iter()
        .filter_map(|ask| match &**ask {
            Ask::Stage(StageAsk { id, .. }) => Some(*id),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), 200);
}

#[test]
fn one_that_a_thread_waits_for_is_sent_at_once() {
    let folder = Folder::new();
    let service = folder.serve(silent);
    let context = folder.context_of(None);
    let shaders: Vec<Shader> = (0..100).map(|n| shader(&context, Stage::Vertex, 100 + n)).collect();
    service.until(64, is_stage);
    assert_eq!(shaders[99].wait(Duration::from_millis(20)).unwrap(), ShaderStatus::Pending);
    let Ask::Stage(StageAsk { request, class: Priority::Waits, .. }) = &*service.until(65, is_stage) else {
        panic!("it was held back")
    };
    assert_eq!(request.module, cache::request(Stage::Vertex, module(199)).module);
    assert_eq!(service.count(is_stage), 65);
    drop(shaders);
    service.until(65, |ask| matches!(ask, Ask::Cancel { .. }));
}
