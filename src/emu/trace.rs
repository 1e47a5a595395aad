//! Traces one invocation: each executed instruction, its part of the pipeline, and the registers that it changes.
//!
//! [`Follow`] selects the invocation; the code that starts waves tells [`Trace`] the wave and lane. Comparing registers
//! before and after does not count as a read by the instruction.

use super::load::CodePart;
use super::program::Step;
use super::wave::Wave;
use dovetail_base::error::{Error, Result};
use dovetail_base::target::WaveSize;
use dovetail_isa::Scalar;
use serde::Serialize;
use std::str::FromStr;

/// The invocation to trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// In a dispatch: global invocation id.
    Global([u32; 3]),
    /// In a dispatch: workgroup and local id.
    Local {
        /// Workgroup.
        group: [u32; 3],
        /// Local id.
        id: [u32; 3],
    },
    /// A covered pixel, of every primitive or of one primitive in draw order. Each wave follows its first such pixel.
    Pixel {
        /// Column and row.
        at: [u32; 2],
        /// Index of the primitive.
        primitive: Option<u32>,
    },
    /// A vertex, in every instance or in one.
    Vertex {
        /// Vertex number, or index.
        index: u32,
        /// Instance.
        instance: Option<u32>,
    },
}

impl FromStr for Follow {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::malformed(format!(
                "`{text}`: an invocation is global:X,Y,Z, local:GX,GY,GZ:X,Y,Z, pixel:X,Y[:PRIMITIVE] or vertex:INDEX[:INSTANCE]"
            ))
        };
        let parts: Vec<Vec<u32>> = text
            .split(':')
            .skip(1)
            .map(|part| part.split(',').map(|n| n.trim().parse().map_err(|_| bad())).collect())
            .collect::<Result<_>>()?;
        let parts: Vec<&[u32]> = parts.iter().map(Vec::as_slice).collect();
        Ok(match (text.split(':').next().unwrap_or(""), &parts[..]) {
            ("global", [[x, y, z]]) => Self::Global([*x, *y, *z]),
            ("local", [[gx, gy, gz], [x, y, z]]) => Self::Local { group: [*gx, *gy, *gz], id: [*x, *y, *z] },
            ("pixel", [[x, y]]) => Self::Pixel { at: [*x, *y], primitive: None },
            ("pixel", [[x, y], [primitive]]) => Self::Pixel { at: [*x, *y], primitive: Some(*primitive) },
            ("vertex", [[index]]) => Self::Vertex { index: *index, instance: None },
            ("vertex", [[index], [instance]]) => Self::Vertex { index: *index, instance: Some(*instance) },
            _ => return Err(bad()),
        })
    }
}

/// Events of the traced invocation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceEvent {
    /// The invocation begins.
    Invocation {
        /// Name of the invocation, with stage and position.
        name: String,
        /// Its lane.
        lane: usize,
        /// Wave size.
        lanes: usize,
    },
    /// The wave executed an instruction.
    Instruction(Executed),
}

/// An executed instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Executed {
    /// Byte offset in the code of the pipeline.
    pub offset: u64,
    /// Prolog, body or epilog.
    pub part: &'static str,
    /// The part's symbol.
    pub symbol: String,
    /// Disassembly.
    pub text: String,
    /// Whether the lane is active.
    pub active: bool,
    /// Registers changed.
    pub changes: Vec<Change>,
}

/// A changed register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Register name; `exec` and `vcc` are masks, a vector register is that of the traced lane.
    pub register: String,
    /// Old value.
    pub old: u64,
    /// New value.
    pub new: u64,
}

/// The state of a wave that one invocation sees.
struct Snapshot {
    scalars: [u32; 128],
    vector: Vec<u32>,
    scc: bool,
}

impl Snapshot {
    fn of(wave: &Wave, lane: usize) -> Self {
        Self { scalars: *wave.scalars(), vector: wave.column(lane).collect(), scc: wave.scc }
    }

    fn mask(&self, low: Scalar, size: WaveSize) -> u64 {
        let word = |n: usize| self.scalars.get(usize::from(low.index()) + n).copied().map_or(0, u64::from);
        word(0) | if size == WaveSize::W64 { word(1) << 32 } else { 0 }
    }

    fn changes(&self, new: &Self, size: WaveSize) -> Vec<Change> {
        let pairs = self.vector.iter().zip(&new.vector).enumerate();
        let vector = pairs.map(|(n, (old, new))| (format!("v{n}"), u64::from(*old), u64::from(*new)));
        let masks = [("vcc", Scalar::VccLo), ("exec", Scalar::ExecLo)];
        let masks = masks.map(|(name, low)| (name.to_owned(), self.mask(low, size), new.mask(low, size)));
        // In wave32 the high halves are ordinary registers, not part of the mask.
        let in_mask = |s: Scalar| match s {
            Scalar::VccLo | Scalar::ExecLo => true,
            Scalar::VccHi | Scalar::ExecHi => size == WaveSize::W64,
            _ => false,
        };
        let pairs = (0u8..).zip(self.scalars.iter().zip(&new.scalars));
        let scalar = pairs.filter_map(|(code, (old, new))| {
            let register = Scalar::at(code).filter(|s| !in_mask(*s))?;
            Some((register.to_string(), u64::from(*old), u64::from(*new)))
        });
        let scc = ("scc".to_owned(), u64::from(self.scc), u64::from(new.scc));
        let all = vector.chain(scalar).chain(masks).chain([scc]);
        all.filter(|(_, old, new)| old != new).map(|(register, old, new)| Change { register, old, new }).collect()
    }
}

/// Traces one invocation.
pub struct Trace {
    follow: Follow,
    sink: Box<dyn FnMut(TraceEvent) -> Result<()>>,
    parts: Vec<CodePart>,
    /// Wave in the workgroup, and lane.
    target: Option<(usize, usize)>,
    before: Option<Snapshot>,
    followed: usize,
}

impl Trace {
    /// Sends the events of an invocation to `sink`.
    pub fn new(follow: Follow, sink: impl FnMut(TraceEvent) -> Result<()> + 'static) -> Self {
        Self { follow, sink: Box::new(sink), parts: Vec::new(), target: None, before: None, followed: 0 }
    }

    /// The traced invocation.
    pub fn follow(&self) -> Follow {
        self.follow
    }

    /// How many times it ran.
    pub fn followed(&self) -> usize {
        self.followed
    }

    /// Sets the parts of the running pipeline.
    pub(super) fn set_parts(&mut self, parts: &[CodePart]) {
        self.parts = parts.to_vec();
    }

    /// Begins waves; `target` is the wave and lane of the invocation, if it is in these waves.
    ///
    /// # Errors
    /// Errors of the sink.
    pub(super) fn begin(
        &mut self,
        target: Option<(usize, usize)>,
        name: impl Into<String>,
        lanes: usize,
    ) -> Result<()> {
        self.target = target;
        let Some((_, lane)) = target else { return Ok(()) };
        self.followed += 1;
        (self.sink)(TraceEvent::Invocation { name: name.into(), lane, lanes })
    }

    /// Records the state before an instruction.
    pub(super) fn before(&mut self, wave: &Wave, number: usize) {
        self.before = self.target.filter(|(n, _)| *n == number).map(|(_, lane)| Snapshot::of(wave, lane));
    }

    /// Reports an instruction after it ran.
    ///
    /// # Errors
    /// Errors of the sink.
    pub(super) fn after(&mut self, wave: &Wave, address: u64, step: &Step) -> Result<()> {
        let (Some(before), Some((_, lane))) = (self.before.take(), self.target) else { return Ok(()) };
        let part = self.parts.iter().rfind(|part| part.start <= address);
        let active = before.mask(Scalar::ExecLo, wave.size) >> lane & 1 == 1;
        (self.sink)(TraceEvent::Instruction(Executed {
            offset: part.map_or(address, |part| part.offset + (address - part.start)),
            part: part.map_or("", |part| part.role),
            symbol: part.map(|part| part.symbol.clone()).unwrap_or_default(),
            text: step.inst.text(wave.isa, wave.size),
            active,
            changes: before.changes(&Snapshot::of(wave, lane), wave.size),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invocations_have_names() {
        let read = |text: &str| text.parse::<Follow>();
        assert_eq!(read("global:1,2,3"), Ok(Follow::Global([1, 2, 3])));
        assert_eq!(read("local:1,2,3:4,5,6"), Ok(Follow::Local { group: [1, 2, 3], id: [4, 5, 6] }));
        assert_eq!(read("pixel:7,8"), Ok(Follow::Pixel { at: [7, 8], primitive: None }));
        assert_eq!(read("pixel:7,8:1"), Ok(Follow::Pixel { at: [7, 8], primitive: Some(1) }));
        assert_eq!(read("vertex:3:1"), Ok(Follow::Vertex { index: 3, instance: Some(1) }));
        for bad in ["", "pixel", "pixel:1", "pixel:1,2,3", "global:1,2,x", "vertex:-1", "texel:1,2"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
