//! A status in the text format of Prometheus, for a collector that reads files.

use crate::wire::ServiceStatus;
use std::fmt::Write as _;

/// The metrics of a service.
pub fn text(status: &ServiceStatus) -> String {
    let mut out = String::new();
    let mut metric = |kind: &str, name: &str, help: &str, values: &[(String, u64)]| {
        // Writing to a string does not fail.
        let _ = writeln!(out, "# HELP dovetail_{name} {help}\n# TYPE dovetail_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(out, "dovetail_{name}{labels} {value}");
        }
    };
    let one = |value: u64| [(String::new(), value)];
    for (name, help, value) in [
        ("requests_total", "Requests of all kinds.", status.requests),
        ("hits_total", "Requests answered from the cache, without those that joined them.", status.hits),
        ("coalesced_total", "Requests that joined a job of another one.", status.coalesced),
        ("compiled_total", "Stages compiled.", status.compiled),
        ("failed_total", "Requests that ended with an error.", status.failed),
        ("cancelled_total", "Requests given up by their client.", status.cancelled),
        ("refused_total", "Requests refused at a limit.", status.refused),
        ("worker_deaths_total", "Workers that ended within a job.", status.worker_deaths),
        ("poison_hits_total", "Requests refused because they kill workers.", status.poison_hits),
        ("unkept_total", "Results that the cache could not keep.", status.unkept),
        ("optimized_total", "Pipelines compiled whole that are better.", status.optimized),
        ("kept_linked_total", "Pipelines compiled whole that are not better.", status.kept_linked),
    ] {
        metric("counter", name, help, &one(value));
    }
    for (name, help, value) in [
        ("uptime_seconds", "Time since the start.", status.uptime_s),
        ("clients", "Connections.", status.clients.into()),
        ("workers", "Worker processes that may run at once.", status.workers.into()),
        ("workers_busy", "Worker processes that compile.", status.busy.into()),
        ("worker_memory_bytes", "Resident memory of all workers.", status.worker_memory),
        ("poisoned", "Requests that kill workers.", status.poisoned),
        ("paused", "Background jobs are not begun.", (!status.paused_because.is_empty()).into()),
        ("keeping_paused", "Nothing is put into the cache.", status.not_kept_because.is_some().into()),
    ] {
        metric("gauge", name, help, &one(value));
    }
    let by_class = |value: fn(&crate::wire::ClassStatus) -> u64| -> Vec<(String, u64)> {
        let label = |class| format!("{{class=\"{}\"}}", format!("{class:?}").to_lowercase());
        status.classes.iter().map(|of| (label(of.class), value(of))).collect()
    };
    metric("gauge", "jobs_queued", "Jobs that wait for a worker.", &by_class(|of| of.queued.into()));
    metric("gauge", "jobs_running", "Jobs that a worker has.", &by_class(|of| of.running.into()));
    metric("counter", "jobs_done_total", "Requests answered by a compile.", &by_class(|of| of.done));
    let waited = by_class(|of| of.mean_wait_us.saturating_mul(of.done));
    metric("counter", "jobs_wait_microseconds_total", "Their time from request to answer.", &waited);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Class, ClassStatus};

    #[test]
    fn every_line_is_a_sample_or_a_comment() {
        let waits = ClassStatus { class: Class::Waits, queued: 3, running: 1, done: 10, mean_wait_us: 20 };
        let status = ServiceStatus { requests: 7, classes: vec![waits], ..ServiceStatus::default() };
        let text = text(&status);
        assert!(text.contains("dovetail_requests_total 7\n"), "{text}");
        assert!(text.contains("dovetail_jobs_queued{class=\"waits\"} 3\n"), "{text}");
        assert!(text.contains("dovetail_jobs_wait_microseconds_total{class=\"waits\"} 200\n"), "{text}");
        for line in text.lines().filter(|line| !line.starts_with("# ")) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with("dovetail_") && value.parse::<u64>().is_ok(), "{line}");
        }
    }
}
