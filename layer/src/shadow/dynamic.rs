//! Dynamic state that a command buffer has set, and the state of a draw that follows from it.

use super::reason::Reason;
use super::state;
use ash::vk;
use dovetail_capture::{BlendAttachment, FixedState, LateState, Rect, StencilOps, Viewport};
use std::collections::{BTreeMap, BTreeSet};

/// Dynamic state with its last values, in Vulkan's numbers.
#[derive(Clone, Default)]
pub struct Dynamic {
    /// States that are one number, by `VkDynamicState`.
    pub numbers: BTreeMap<u32, u32>,
    /// The first viewport and the first scissor.
    pub viewport: Option<Viewport>,
    pub scissor: Option<Rect>,
    /// The numbers of viewports and scissors, if they were set with a count.
    pub counts: [Option<u32>; 2],
    /// What decides code.
    pub late: LateState,
    pub line_width: Option<f32>,
    /// Constant, clamp, slope.
    pub depth_bias: Option<[f32; 3]>,
    pub blend_constants: Option<[f32; 4]>,
    /// The first word.
    pub sample_mask: Option<u32>,
    /// Of front and back faces.
    pub stencil: [Stencil; 2],
    /// By attachment.
    pub blend_enables: BTreeMap<u32, u32>,
    pub write_masks: BTreeMap<u32, u32>,
    pub write_enables: BTreeMap<u32, u32>,
    /// By vertex buffer.
    pub strides: BTreeMap<u32, u64>,
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

/// The state of a draw.
pub struct Effective {
    /// A pipeline's state, with what commands have set in place of what it makes dynamic; see [`Self::attachment`] for
    /// attachments.
    pub state: FixedState,
    /// The dynamic states that no command has set.
    unset: BTreeSet<u32>,
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

    /// The state of a draw with a pipeline of this state.
    ///
    /// # Errors
    /// A state that is not followed.
    pub fn over(&self, given: &FixedState) -> Result<Effective, Reason> {
        let mut effective = Effective { state: given.clone(), unset: BTreeSet::new() };
        for number in given.dynamic.iter().copied() {
            if !state::is_followed(number) {
                return Err(Reason::Dynamic(number));
            }
            if self.apply(number, &mut effective.state).is_none() {
                effective.unset.insert(number);
            }
        }
        Ok(effective)
    }

    /// Applies one state; `None`: no command has set it.
    fn apply(&self, number: u32, all: &mut FixedState) -> Option<()> {
        if let Some((_, place)) = state::NUMBERS.iter().find(|(one, _)| *one == number) {
            *place(all) = *self.numbers.get(&number)?;
            return Some(());
        }
        match number {
            state::VIEWPORT => state::viewport(all).viewports = Some(vec![self.viewport.clone()?]),
            state::SCISSOR => state::viewport(all).scissors = Some(vec![self.scissor.clone()?]),
            state::VIEWPORT_WITH_COUNT => {
                state::viewport(all).viewport_count = self.counts[0]?;
                state::viewport(all).viewports = Some(vec![self.viewport.clone()?]);
            }
            state::SCISSOR_WITH_COUNT => {
                state::viewport(all).scissor_count = self.counts[1]?;
                state::viewport(all).scissors = Some(vec![self.scissor.clone()?]);
            }
            state::DEPTH_BIAS => {
                let own = state::rasterization(all);
                [own.depth_bias_constant_factor, own.depth_bias_clamp, own.depth_bias_slope_factor] = self.depth_bias?;
            }
            state::LINE_WIDTH => state::rasterization(all).line_width = self.line_width?,
            state::BLEND_CONSTANTS => state::blend(all).blend_constants = self.blend_constants?,
            state::SAMPLE_MASK => state::multisample(all).sample_mask = vec![self.sample_mask?],
            state::STENCIL_COMPARE_MASK | state::STENCIL_WRITE_MASK | state::STENCIL_REFERENCE | state::STENCIL_OP => {
                let own = state::depth_stencil(all);
                for (face, set) in [&mut own.front, &mut own.back].into_iter().zip(&self.stencil) {
                    set.apply(number, face)?;
                }
            }
            // Of attachments and vertex buffers, or not needed.
            _ => {}
        }
        Some(())
    }
}

impl Stencil {
    /// Applies one state; `None`: no command has set it.
    fn apply(&self, number: u32, face: &mut StencilOps) -> Option<()> {
        match number {
            state::STENCIL_COMPARE_MASK => face.compare_mask = self.compare_mask?,
            state::STENCIL_WRITE_MASK => face.write_mask = self.write_mask?,
            state::STENCIL_REFERENCE => face.reference = self.reference?,
            state::STENCIL_OP => {
                let Ops { fail, pass, depth_fail, compare } = self.ops?;
                (face.fail_op, face.pass_op, face.depth_fail_op, face.compare_op) = (fail, pass, depth_fail, compare);
            }
            _ => {}
        }
        Some(())
    }
}

impl Effective {
    /// # Errors
    /// One of these states is dynamic, and no command has set it.
    pub fn need(&self, states: &[u32]) -> Result<(), Reason> {
        states.iter().find(|number| self.unset.contains(number)).map_or(Ok(()), |number| Err(Reason::Unset(*number)))
    }

    /// The blending of an attachment, whose write mask also has the enable of `VK_EXT_color_write_enable`.
    ///
    /// # Errors
    /// A dynamic state that no command has set.
    pub fn attachment(&self, n: u32, dynamic: &Dynamic) -> Result<BlendAttachment, Reason> {
        let own = self.state.blend.as_ref().and_then(|blend| blend.attachments.get(n as usize));
        let mut new = own.cloned().unwrap_or_default();
        let set = |number, values: &BTreeMap<u32, u32>, own| match self.state.dynamic.contains(&number) {
            true => values.get(&n).copied().ok_or(Reason::Unset(number)),
            false => Ok(own),
        };
        new.blend_enable = set(state::BLEND_ENABLE, &dynamic.blend_enables, new.blend_enable)?;
        new.color_write_mask = set(state::WRITE_MASK, &dynamic.write_masks, new.color_write_mask)?;
        if set(state::COLOR_WRITE_ENABLE, &dynamic.write_enables, 1)? == 0 {
            new.color_write_mask = 0;
        }
        Ok(new)
    }
}
