//! Who may connect, and what connections may hold.
//!
//! Connections are limited in total and by process, so that no program locks out the others; if the service is full,
//! there is still room to ask for its status. Frames that have not arrived completely are limited the same way, by their
//! bytes.

use super::locked::lock;
use dovetail_base::error::{Error, Result};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Largest number of connections.
const MOST: usize = 256;
/// Of one process.
const MOST_OF_PROCESS: usize = 64;
/// Connections beyond [`MOST`] that get the service's status and nothing else; one for each process.
const MOST_FOR_STATUS: usize = 8;
/// Bytes of buffers for frames.
const FRAMES: usize = 256 << 20;
/// Of one process.
const FRAMES_OF_PROCESS: usize = 128 << 20;
/// Bytes of a connection's buffer that are not counted.
const SMALL: usize = 128 << 10;

/// The connections that are open, for [`Place`]s.
#[derive(Default)]
pub(super) struct Door(Mutex<Open>);

#[derive(Default)]
struct Open {
    /// By process id; 0 stands for all processes that this one cannot see.
    processes: BTreeMap<i32, Held>,
    all: Held,
}

/// What connections hold.
#[derive(Clone, Copy, Default)]
struct Held {
    places: usize,
    for_status: usize,
    frames: usize,
}

/// The right to one connection. Dropping it makes room for another.
pub struct Place {
    door: Arc<Door>,
    process: i32,
    only_status: bool,
    frames: usize,
}

impl Door {
    /// Admits a connection of a process.
    ///
    /// # Errors
    /// Environment: there are too many.
    pub(super) fn admit(self: &Arc<Self>, process: i32) -> Result<Place> {
        let mut open = lock(&self.0);
        let (all, own) = (open.all, open.processes.get(&process).copied().unwrap_or_default());
        if own.places >= MOST_OF_PROCESS {
            let many = format!("process {process} has {MOST_OF_PROCESS} connections, the most that one may have");
            return Err(Error::environment(many));
        }
        let only_status = all.places >= MOST;
        if only_status && (all.for_status >= MOST_FOR_STATUS || own.for_status > 0) {
            return Err(Error::environment(format!("the service has {MOST} connections, the most that it admits")));
        }
        open.change(process, |held| *(if only_status { &mut held.for_status } else { &mut held.places }) += 1);
        drop(open);
        Ok(Place { door: self.clone(), process, only_status, frames: 0 })
    }
}

impl Open {
    /// Changes the counts of all and those of a process, which are forgotten when they are zero.
    fn change(&mut self, process: i32, change: impl Fn(&mut Held)) {
        change(&mut self.all);
        let own = self.processes.entry(process).or_default();
        change(own);
        if own.places + own.for_status + own.frames == 0 {
            self.processes.remove(&process);
        }
    }
}

impl Place {
    /// Whether this connection gets only the service's status, because there are too many others.
    pub(super) fn only_status(&self) -> bool {
        self.only_status
    }

    /// Takes this many bytes for the connection's buffer, instead of what it had.
    ///
    /// # Errors
    /// Environment: too many bytes are taken.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<()> {
        let frames = if bytes <= SMALL { 0 } else { bytes };
        if frames == self.frames {
            return Ok(());
        }
        let mut open = lock(&self.door.0);
        let own = open.processes.get(&self.process).map_or(0, |own| own.frames);
        for (who, held, most) in [("this process", own, FRAMES_OF_PROCESS), ("all clients", open.all.frames, FRAMES)] {
            if frames > self.frames && held - self.frames + frames > most {
                let mib = most >> 20;
                return Err(Error::environment(format!("unfinished messages of {who} have more than {mib} MiB")));
            }
        }
        let before = std::mem::replace(&mut self.frames, frames);
        open.change(self.process, |held| held.frames = held.frames - before + frames);
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (only_status, frames) = (self.only_status, self.frames);
        lock(&self.door.0).change(self.process, |held| {
            held.frames -= frames;
            *(if only_status { &mut held.for_status } else { &mut held.places }) -= 1;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(door: &Arc<Door>, process: i32, count: usize) -> Vec<Place> {
        (0..count).map_while(|_| door.admit(process).ok()).collect()
    }

    #[test]
    fn a_process_takes_no_more_than_its_share() {
        let door = Arc::new(Door::default());
        let greedy = places(&door, 1, 1000);
        assert_eq!(greedy.len(), MOST_OF_PROCESS);
        let why = door.admit(1).map(|_| ()).unwrap_err().to_string();
        assert!(why.contains("process 1 has 64 connections"), "{why}");
        assert!(!door.admit(2).unwrap().only_status());
        drop(greedy);
        assert!(door.admit(1).is_ok());
    }

    #[test]
    fn a_full_service_has_room_for_questions_about_its_status() {
        let door = Arc::new(Door::default());
        let full: Vec<Place> = (1..=4).flat_map(|process| places(&door, process, MOST_OF_PROCESS)).collect();
        assert_eq!(full.len(), MOST);
        let questions: Vec<Place> = (11..30).flat_map(|process| places(&door, process, 2)).collect();
        assert_eq!(questions.len(), MOST_FOR_STATUS);
        assert!(questions.iter().all(Place::only_status));
        drop(questions);
        assert!(door.admit(11).unwrap().only_status());
        drop(full);
        assert!(!door.admit(11).unwrap().only_status());
        assert!(lock(&door.0).processes.is_empty());
    }

    #[test]
    fn the_bytes_of_unfinished_frames_are_limited_in_total_and_by_process() {
        let door = Arc::new(Door::default());
        let mut held: Vec<Place> = (1..=3).flat_map(|process| places(&door, process, 2)).collect();
        let mut taken = Vec::new();
        for place in &mut held {
            taken.push(place.hold(100 << 20).is_ok());
        }
        // One for each process, and no third.
        assert_eq!(taken, [true, false, true, false, false, false]);
        held[4].hold(SMALL).unwrap();
        held[0].hold(0).unwrap();
        held[5].hold(100 << 20).unwrap();
    }
}
