//! A queue between the thread that reads inputs and those that process them, with a limit on queued and processed
//! bytes.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Limits the bytes in flight.
struct Gate {
    all: u64,
    left: Mutex<u64>,
    freed: Condvar,
}

/// An item in flight. Its bytes are released when this is dropped.
pub struct Fed<T> {
    pub item: T,
    /// Its number, from 0, in the order in which inputs were read.
    pub number: usize,
    bytes: u64,
    gate: Arc<Gate>,
}

impl<T> Drop for Fed<T> {
    fn drop(&mut self) {
        let mut left = self.gate.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left = left.saturating_add(self.bytes);
        self.gate.freed.notify_one();
    }
}

/// The sending end.
pub struct Feeder<T> {
    gate: Arc<Gate>,
    queue: Sender<Fed<T>>,
    number: usize,
}

/// Creates a queue with at most this many bytes in flight; a single larger item goes alone.
pub fn feed<T>(bytes: u64) -> (Feeder<T>, Receiver<Fed<T>>) {
    let gate = Gate { all: bytes, left: Mutex::new(bytes), freed: Condvar::new() };
    let (queue, receiver) = mpsc::channel();
    (Feeder { gate: Arc::new(gate), queue, number: 0 }, receiver)
}

impl<T> Feeder<T> {
    /// Queues an item of this size, as soon as there is room for it.
    pub fn put(&mut self, item: T, bytes: u64) {
        let bytes = bytes.min(self.gate.all);
        let left = self.gate.left.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.gate.freed.wait_while(left, |left| *left < bytes);
        *waited.unwrap_or_else(PoisonError::into_inner) -= bytes;
        let fed = Fed { item, number: self.number, bytes, gate: self.gate.clone() };
        self.number += 1;
        // If the receivers are gone, the item is dropped, which releases its bytes.
        let _ = self.queue.send(fed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn no_more_than_the_limit_is_on_its_way() {
        let (mut feeder, queue) = feed(100);
        let queue = Mutex::new(queue);
        let way = AtomicU64::new(0);
        let most = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..200u64 {
                    // Every tenth is larger than the limit and goes alone.
                    let bytes = if n % 10 == 0 { 1000 } else { 30 };
                    feeder.put(bytes, bytes);
                }
                drop(feeder);
            });
            for (queue, way, most) in [(&queue, &way, &most); 3] {
                scope.spawn(move || {
                    loop {
                        let Ok(fed) = queue.lock().unwrap().recv() else { break };
                        let now = way.fetch_add(fed.item.min(100), Ordering::SeqCst) + fed.item.min(100);
                        most.fetch_max(now, Ordering::SeqCst);
                        std::thread::yield_now();
                        way.fetch_sub(fed.item.min(100), Ordering::SeqCst);
                        drop(fed);
                    }
                });
            }
        });
        assert!((90..=100).contains(&most.load(Ordering::SeqCst)), "{most:?}");
    }
}
