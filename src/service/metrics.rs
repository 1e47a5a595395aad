//! The status in Prometheus's text format, for the textfile collector.

use dovetail_wire::{ClassStatus, ServiceStatus, Times};
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
        ("optimized_total", "Pipelines compiled as a whole that were better.", status.optimized),
        ("kept_linked_total", "Pipelines compiled as a whole that were not better.", status.kept_linked),
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
        ("lookups_paused", "Nothing is looked up in the cache.", status.not_read_because.is_some().into()),
    ] {
        metric("gauge", name, help, &one(value));
    }
    let by_class = |value: fn(&ClassStatus) -> u64| -> Vec<(String, u64)> {
        status.classes.iter().map(|of| (format!("{{class=\"{}\"}}", of.class), value(of))).collect()
    };
    metric("gauge", "jobs_queued", "Jobs that wait for a worker.", &by_class(|of| of.queued.into()));
    metric("gauge", "jobs_running", "Jobs that a worker has.", &by_class(|of| of.running.into()));
    metric("counter", "jobs_done_total", "Requests answered by a compile.", &by_class(|of| of.done));
    let of_classes = |times: fn(&ClassStatus) -> &Times| -> Vec<(String, &Times)> {
        status.classes.iter().map(|of| (format!("class=\"{}\"", of.class), times(of))).collect()
    };
    histogram(&mut out, "request_seconds", "From request to answer.", &of_classes(|of| &of.answer));
    histogram(
        &mut out,
        "queue_seconds",
        "From when a job could be compiled until a worker had it.",
        &of_classes(|of| &of.queue),
    );
    histogram(&mut out, "compile_cpu_seconds", "Processor time of a compile.", &[(String::new(), &status.compile)]);
    out
}

/// A histogram per label, as cumulative counts.
fn histogram(out: &mut String, name: &str, help: &str, values: &[(String, &Times)]) {
    let _ = writeln!(out, "# HELP dovetail_{name} {help}\n# TYPE dovetail_{name} histogram");
    for (label, times) in values {
        let comma = if label.is_empty() { "" } else { "," };
        for (bound, count) in &times.buckets {
            let seconds = *bound as f64 / 1e6;
            let _ = writeln!(out, "dovetail_{name}_bucket{{{label}{comma}le=\"{seconds}\"}} {count}");
        }
        let Times { count, sum_us, .. } = times;
        let labels = if label.is_empty() { String::new() } else { format!("{{{label}}}") };
        let _ = writeln!(out, "dovetail_{name}_bucket{{{label}{comma}le=\"+Inf\"}} {count}");
        let _ = writeln!(out, "dovetail_{name}_sum{labels} {}", *sum_us as f64 / 1e6);
        let _ = writeln!(out, "dovetail_{name}_count{labels} {count}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_wire::Priority;

    #[test]
    fn every_line_is_a_sample_or_a_comment() {
        let buckets = vec![(500, 4), (2_000_000, 9)];
        let answer = Times { count: 10, sum_us: 2_500_000, buckets, ..Times::default() };
        let waits = ClassStatus { class: Priority::Waits, queued: 3, answer: answer.clone(), ..ClassStatus::default() };
        let status = ServiceStatus { requests: 7, classes: vec![waits], compile: answer, ..ServiceStatus::default() };
        let text = text(&status);
        assert!(text.contains("dovetail_requests_total 7\n"), "{text}");
        assert!(text.contains("dovetail_jobs_queued{class=\"waits\"} 3\n"), "{text}");
        for line in [
            "# TYPE dovetail_request_seconds histogram",
            "dovetail_request_seconds_bucket{class=\"waits\",le=\"0.0005\"} 4",
            "dovetail_request_seconds_bucket{class=\"waits\",le=\"2\"} 9",
            "dovetail_request_seconds_bucket{class=\"waits\",le=\"+Inf\"} 10",
            "dovetail_request_seconds_sum{class=\"waits\"} 2.5",
            "dovetail_request_seconds_count{class=\"waits\"} 10",
            "dovetail_queue_seconds_count{class=\"waits\"} 0",
            "dovetail_compile_cpu_seconds_bucket{le=\"0.0005\"} 4",
            "dovetail_compile_cpu_seconds_sum 2.5",
        ] {
            assert!(text.lines().any(|has| has == line), "{line}: {text}");
        }
        for line in text.lines().filter(|line| !line.starts_with("# ")) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with("dovetail_") && value.parse::<f64>().is_ok(), "{line}");
        }
    }
}
