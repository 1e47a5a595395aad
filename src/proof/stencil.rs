//! The stencil test in the interpreter. Its operands are integers, so its results are exact unless the depth test or the
//! reference is uncertain.

use super::depth::Tested;
use dovetail_emu::draw::{stencil_passes, stencil_result};
use dovetail_emu::inputs::{Draw, StencilFace};
use dovetail_interp::Shadow;
use std::collections::BTreeMap;

/// The stencil attachment of an interpreted draw with a stencil test.
pub(super) struct StencilTest {
    faces: [StencilFace; 2],
    clear: u8,
    width: usize,
    before: Vec<u8>,
    now: BTreeMap<[u32; 2], u8>,
}

impl StencilTest {
    /// The test of a draw; `None` if it has none.
    pub(super) fn of(draw: &Draw) -> Option<Self> {
        Some(Self {
            faces: draw.fixed.stencil?,
            clear: draw.stencil?.clear,
            width: draw.extent[0] as usize,
            before: draw.fixed.before.stencil.0.clone(),
            now: BTreeMap::new(),
        })
    }

    /// The value of a pixel.
    pub(super) fn value(&self, at: [u32; 2]) -> u8 {
        let texel = at[1] as usize * self.width + at[0] as usize;
        self.now.get(&at).or(self.before.get(texel)).copied().unwrap_or(self.clear)
    }

    /// Tests a fragment. `reference` is the stencil reference that its shader exports; `depth` makes the depth test of
    /// a fragment that passes the stencil test.
    pub(super) fn test(
        &mut self,
        at: [u32; 2],
        front: bool,
        reference: Option<(u64, Shadow)>,
        depth: impl FnOnce() -> Tested,
    ) -> Tested {
        let face = self.faces[usize::from(!front)];
        if reference.is_some_and(|(_, shadow)| !shadow.is_exact()) {
            return Tested::Uncertain;
        }
        let reference = reference.map_or(face.reference, |(bits, _)| bits as u8);
        let there = self.value(at);
        let (op, tested) = match stencil_passes(&face, reference, there) {
            false => (face.fail, Tested::Fails),
            true => match depth() {
                Tested::Passes => (face.pass, Tested::Passes),
                Tested::Fails => (face.depth_fail, Tested::Fails),
                Tested::Uncertain => return Tested::Uncertain,
            },
        };
        self.now.insert(at, stencil_result(&face, op, reference, there));
        tested
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dovetail_emu::inputs::{Compare, InputBytes, Stencil, StencilOp, Topology};

    #[test]
    fn each_end_writes_and_an_uncertain_depth_decides_nothing() {
        let mut draw = Draw::new(Topology::TriangleList, 3, [2, 1]);
        draw.stencil = Some(Stencil { clear: 0, reference: 0 });
        draw.fixed.before.stencil = InputBytes(vec![7, 0x81]);
        let face = StencilFace {
            compare: Compare::Equal,
            compare_mask: 0x0f,
            write_mask: 0xff,
            reference: 1,
            fail: StencilOp::Zero,
            depth_fail: StencilOp::Invert,
            pass: StencilOp::IncrementAndWrap,
        };
        draw.fixed.stencil = Some([face, StencilFace { compare: Compare::NotEqual, ..face }]);
        let mut test = StencilTest::of(&draw).expect("a test");
        assert_eq!(test.test([1, 0], true, None, || Tested::Uncertain), Tested::Uncertain);
        assert_eq!((test.test([1, 0], true, None, || Tested::Passes), test.value([1, 0])), (Tested::Passes, 0x82));
        assert_eq!((test.test([1, 0], false, None, || Tested::Fails), test.value([1, 0])), (Tested::Fails, 0x7d));
        assert_eq!((test.test([1, 0], true, None, || Tested::Passes), test.value([1, 0])), (Tested::Fails, 0));
        let exported = Some((7, Shadow::NONE));
        assert_eq!((test.test([0, 0], true, exported, || Tested::Passes), test.value([0, 0])), (Tested::Passes, 8));
        assert_eq!(test.test([0, 0], true, Some((7, Shadow::UNCERTAIN)), || Tested::Passes), Tested::Uncertain);
    }
}
