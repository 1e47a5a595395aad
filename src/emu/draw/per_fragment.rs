//! Stencil and depth tests of a fragment, and their writes to the attachments.

use super::Targets;
use super::target::passes;
use crate::inputs::{StencilFace, StencilOp};

/// Tests a fragment at a texel. Returns whether its colour is written. `reference` is the stencil reference that the
/// shader exported.
///
/// The stencil test comes first. An attachment without a stencil test is written by [`replace`] instead, because only a
/// fragment that passes all tests writes it.
pub fn test(targets: &mut Targets, at: [u32; 2], front: bool, depth: f32, reference: Option<u8>) -> bool {
    let face = targets.stencil_faces.map(|[of_front, of_back]| if front { of_front } else { of_back });
    let Some((face, stencil)) = face.zip(targets.stencil.as_mut()) else {
        return targets.depth.as_mut().is_none_or(|target| target.test(at, depth));
    };
    let reference = reference.unwrap_or(face.reference);
    let Some(there) = stencil.texel(at).copied() else { return false };
    let passed = stencil_passes(&face, reference, there);
    let seen = passed && targets.depth.as_mut().is_none_or(|target| target.test(at, depth));
    let op = match (passed, seen) {
        (false, _) => face.fail,
        (true, false) => face.depth_fail,
        (true, true) => face.pass,
    };
    if let Some(texel) = stencil.texel(at) {
        *texel = stencil_result(&face, op, reference, there);
    }
    seen
}

/// Writes the stencil value of a fragment that passed, if there is no stencil test.
pub fn replace(targets: &mut Targets, at: [u32; 2], reference: Option<u8>) {
    if let Some(stencil) = targets.stencil.as_mut().filter(|_| targets.stencil_faces.is_none()) {
        stencil.replace(at, reference);
    }
}

/// Whether a fragment passes the stencil test.
pub fn stencil_passes(face: &StencilFace, reference: u8, there: u8) -> bool {
    let masked = |value: u8| f32::from(value & face.compare_mask);
    passes(face.compare, masked(reference), masked(there))
}

/// What an operation makes of a stencil value.
pub fn stencil_result(face: &StencilFace, op: StencilOp, reference: u8, there: u8) -> u8 {
    let new = match op {
        StencilOp::Keep => there,
        StencilOp::Zero => 0,
        StencilOp::Replace => reference,
        StencilOp::IncrementAndClamp => there.saturating_add(1),
        StencilOp::DecrementAndClamp => there.saturating_sub(1),
        StencilOp::Invert => !there,
        StencilOp::IncrementAndWrap => there.wrapping_add(1),
        StencilOp::DecrementAndWrap => there.wrapping_sub(1),
    };
    there & !face.write_mask | new & face.write_mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::{Compare, Depth, Draw, FixedFunction, Stencil, Topology};

    fn face(compare: Compare) -> StencilFace {
        StencilFace {
            compare,
            compare_mask: 0x0f,
            write_mask: 0x7f,
            reference: 0x32,
            fail: StencilOp::DecrementAndClamp,
            depth_fail: StencilOp::IncrementAndWrap,
            pass: StencilOp::Replace,
        }
    }

    fn targets(faces: [StencilFace; 2]) -> Targets {
        let mut draw = Draw::new(Topology::TriangleList, 3, [1, 1]);
        draw.depth = Some(Depth { clear: 0.5, compare: Compare::Less, write: true });
        draw.stencil = Some(Stencil { clear: 0x82, reference: 1 });
        draw.fixed = FixedFunction { stencil: Some(faces), ..FixedFunction::default() };
        Targets::new(&draw).expect("targets")
    }

    #[test]
    fn each_end_has_its_operation() {
        let left = |front, depth, reference| {
            let mut targets = targets([face(Compare::Equal), face(Compare::NotEqual)]);
            let seen = test(&mut targets, [0, 0], front, depth, reference);
            replace(&mut targets, [0, 0], Some(9));
            let [Some(z), Some(s)] = [targets.depth.map(|d| d.data[0]), targets.stencil.map(|s| f32::from(s.data[0]))]
            else {
                panic!("no attachments")
            };
            (seen, z, s as u8)
        };
        assert_eq!(left(true, 0.25, None), (true, 0.25, 0xb2), "both pass; the highest bit is not written");
        assert_eq!(left(true, 0.75, None), (false, 0.5, 0x83), "hidden");
        assert_eq!(left(true, 0.25, Some(1)), (false, 0.5, 0x81), "another reference");
        assert_eq!(left(false, 0.25, None), (false, 0.5, 0x81), "the other side");
        assert!(!test(&mut targets([face(Compare::Always); 2]), [0, 1], true, 0.0, None), "outside");
    }

    #[test]
    fn operations() {
        let all = StencilFace { write_mask: 0xff, ..face(Compare::Always) };
        let of = |op, there| stencil_result(&all, op, 7, there);
        assert_eq!([StencilOp::Keep, StencilOp::Zero, StencilOp::Invert].map(|op| of(op, 0x0f)), [0x0f, 0, 0xf0]);
        assert_eq!([of(StencilOp::IncrementAndClamp, 255), of(StencilOp::IncrementAndWrap, 255)], [255, 0]);
        assert_eq!([of(StencilOp::DecrementAndClamp, 0), of(StencilOp::DecrementAndWrap, 0)], [0, 255]);
    }
}
