//! Dynamic state that a command buffer has set.

use ash::vk;
use dovetail::capture::{LateState, Rect, StencilOps, Viewport};

/// Dynamic state with its last values, in Vulkan's numbers.
#[derive(Clone, Default)]
pub struct Dynamic {
    /// The first viewport and the first scissor.
    pub viewport: Option<Viewport>,
    pub scissor: Option<Rect>,
    /// The numbers of viewports and scissors, if they were set with a count.
    pub counts: [Option<u32>; 2],
    /// What decides code.
    pub late: LateState,
    pub line_width: Option<f32>,
    pub blend_constants: Option<[f32; 4]>,
    pub depth_bias_enable: Option<u32>,
    pub cull_mode: Option<u32>,
    pub front_face: Option<u32>,
    pub topology: Option<u32>,
    pub restart: Option<u32>,
    pub depth_test: Option<u32>,
    pub depth_write: Option<u32>,
    pub depth_compare: Option<u32>,
    pub depth_bounds_test: Option<u32>,
    pub stencil_test: Option<u32>,
    /// Of front and back faces.
    pub stencil: [Stencil; 2],
}

/// The stencil state of one face.
#[derive(Clone, Copy, Default)]
pub struct Stencil {
    pub compare_mask: Option<u32>,
    pub write_mask: Option<u32>,
    pub reference: Option<u32>,
    pub ops: Option<Ops>,
}

/// `vkCmdSetStencilOp`.
#[derive(Clone, Copy)]
pub struct Ops {
    pub fail: u32,
    pub pass: u32,
    pub depth_fail: u32,
    pub compare: u32,
}

impl Dynamic {
    /// Sets viewports from index `first` on.
    pub fn set_viewports(&mut self, first: u32, given: &[vk::Viewport]) {
        if let (0, Some(one)) = (first, given.first()) {
            let vk::Viewport { x, y, width, height, min_depth, max_depth } = *one;
            self.viewport = Some(Viewport { x, y, width, height, min_depth, max_depth });
        }
    }

    /// Sets scissors from index `first` on.
    pub fn set_scissors(&mut self, first: u32, given: &[vk::Rect2D]) {
        if let (0, Some(vk::Rect2D { offset, extent })) = (first, given.first()) {
            self.scissor = Some(Rect { x: offset.x, y: offset.y, width: extent.width, height: extent.height });
        }
    }

    /// Changes the state of some faces.
    pub fn set_stencil(&mut self, faces: vk::StencilFaceFlags, set: impl Fn(&mut Stencil)) {
        let bits = [vk::StencilFaceFlags::FRONT, vk::StencilFaceFlags::BACK];
        self.stencil.iter_mut().zip(bits).filter(|(_, bit)| faces.contains(*bit)).for_each(|(face, _)| set(face));
    }
}

impl Stencil {
    /// The effective state of one face, from dynamic and static state. The flags tell which are dynamic: masks,
    /// reference, operations. `None`: a dynamic value was not set.
    pub fn over(&self, own: &StencilOps, [compare_mask, write_mask, reference, ops]: [bool; 4]) -> Option<StencilOps> {
        let number = |dynamic, set: Option<u32>, own| if dynamic { set } else { Some(own) };
        let Ops { fail, pass, depth_fail, compare } = match (ops, self.ops) {
            (true, set) => set?,
            (false, _) => {
                Ops { fail: own.fail_op, pass: own.pass_op, depth_fail: own.depth_fail_op, compare: own.compare_op }
            }
        };
        Some(StencilOps {
            compare_op: compare,
            write_mask: number(write_mask, self.write_mask, own.write_mask)?,
            reference: number(reference, self.reference, own.reference)?,
            compare_mask: number(compare_mask, self.compare_mask, own.compare_mask)?,
            pass_op: pass,
            fail_op: fail,
            depth_fail_op: depth_fail,
        })
    }
}
