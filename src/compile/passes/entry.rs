//! Makes the entry block's parameters the registers that the hardware (and a fetch prolog) set.
//!
//! | stage | SGPRs after user data | VGPRs |
//! |---|---|---|
//! | vertex | none | vertex id, relative vertex id, primitive id, instance id; then, if the vertex state is unknown, the fetched dwords |
//! | vertex, as a primitive shader | none; before user data, eight with numbers of the group and the wave | the primitive, its id, vertex id, instance id, and values between them that nothing uses; then the fetched dwords |
//! | fragment | primitive mask; provoking vertices, if [`interpolate`] needs them | the sixteen inputs of pal-abi 2.4, each a parameter of its own |
//! | compute | workgroup id x y z, group size | local id x y z; where they are packed, in one register |
//!
//! The code generator drops fragment inputs that nothing uses. Every other SGPR is declared, used or not, because the scratch
//! offset follows the last.

use super::context::{PassContext, place_of, push_dwords, resource};
use super::entry_values::{Entry, System, systems_of, vertex_inputs};
use super::{hardware, interpolate};
use dovetail_abi::fetch::MAX_FETCHED;
use dovetail_abi::user_data;
use dovetail_abi::user_data::UserDataNeeds;
use dovetail_base::error::{Error, FullCompile, Result};
use dovetail_base::workspace::List;
use dovetail_ir::{ArgRole, BuiltIn, DescriptorPart, EntryArg, LowerInfo, Name, Op, RegClass, Shader, Type};
use dovetail_state::Known;

/// Creates the parameters of the entry block.
pub(super) fn run(shader: &mut Shader, cx: &mut PassContext<'_>) -> Result<()> {
    if !shader.block(Shader::ENTRY).params.is_empty() {
        return Err(Error::bug("the entry block has parameters before the entry is lowered"));
    }
    hardware::check(shader, cx.request.target)?;
    let inputs = if shader.stage.fetches_attributes() { vertex_inputs(shader)? } else { Vec::new() };
    let fetch_in_prolog = cx.request.known.vertex == Known::Unknown && !inputs.is_empty();
    let mut needs = needs(shader, cx)?;
    if !inputs.is_empty() {
        needs.vertex_buffers = true;
        needs.base = true;
    }
    let mut args = List::default();
    let mut entry = Entry::default();
    let mut add = |shader: &mut Shader, class, ty, role| {
        args.push(EntryArg { class, ty, role });
        shader.add_param(Shader::ENTRY, ty)
    };

    let provoking = interpolate::reads_weights(shader);
    let systems = systems_of(shader.stage, cx.request.target);
    let before = systems.iter().take_while(|s| **s == System::GroupAndWave).count();
    for &s in &systems[..before] {
        entry.system.push((s, add(shader, s.class(), s.ty(), ArgRole::System(s.name()))));
    }
    let hardware = cx.request.target.hardware_stage(shader.stage);
    let mut user = user_data::plan(hardware, &needs);
    user_data::pad(&mut user, cx.request.target.facts().least_user_sgprs(hardware, cx.request.wave));
    for which in user {
        let role = ArgRole::UserData(Name::of(format_args!("{which:?}")));
        entry.user.push((which, add(shader, RegClass::Sgpr, Type::B32, role)));
    }
    for &s in systems[before..].iter().filter(|s| **s != System::ProvokingVertex || provoking) {
        let v = add(shader, s.class(), s.ty(), ArgRole::System(s.name()));
        entry.system.push((s, v));
    }
    if fetch_in_prolog {
        for input in &inputs {
            for component in input.component..input.component + input.count {
                let dwords = (0..input.ty.dwords())
                    .map(|_| {
                        let role = ArgRole::VertexInput { location: input.location, component };
                        add(shader, RegClass::Vgpr, Type::B32, role)
                    })
                    .collect();
                entry.fetched.insert((input.location, component, input.ty), dwords);
            }
        }
    }

    let fetched = args.iter().filter(|a| matches!(a.role, ArgRole::VertexInput { .. })).count() as u32;
    if fetched > MAX_FETCHED {
        return Err(Error::needs_full(FullCompile::TooManyValues { what: "vertex inputs".into(), count: fetched }));
    }
    let sgprs = args.iter().skip(before).filter(|a| a.class == RegClass::Sgpr).count() as u32;

    cx.interface.user_data.reserve(entry.user.len());
    for &(which, _) in &entry.user {
        let placed = cx.placed(which)?;
        cx.interface.user_data.push(placed);
    }
    cx.interface.entry_sgprs = sgprs;
    cx.interface.prolog = fetch_in_prolog;
    if let Some(fetch) = cx.interface.kind.fetch_mut() {
        fetch.inputs = if fetch_in_prolog { inputs } else { Vec::new() };
    }
    cx.entry = entry;
    shader.lower = Some(LowerInfo {
        wave: cx.request.wave,
        args,
        returns: List::default(),
        epilog: false,
        symbol: cx.interface.body_symbol().into(),
        color_export: false,
        depth_export: false,
    });
    Ok(())
}

/// User data that the shader reads.
fn needs(shader: &Shader, cx: &PassContext<'_>) -> Result<UserDataNeeds> {
    let mut n = UserDataNeeds::default();
    for inst in shader.live_insts() {
        match inst.op {
            Op::Descriptor { resource: id, part, .. } => {
                let r = resource(shader, id)?;
                match &cx.layout {
                    // The buffer may be in the root table; the code then reads it through the spill table.
                    None => {
                        n.sets.insert(r.set);
                        n.spill |= part == DescriptorPart::Buffer;
                    }
                    Some(layout) => {
                        if place_of(layout, r)?.in_root {
                            n.spill = true;
                        } else {
                            n.sets.insert(r.set);
                        }
                    }
                }
            }
            Op::PushConstant { .. } => match push_dwords(shader, inst) {
                Some(load) => {
                    n.push_constants.insert(load);
                }
                None => n.spill = true,
            },
            Op::LoadBuiltIn { builtin, .. } => match builtin {
                BuiltIn::VertexIndex | BuiltIn::InstanceIndex | BuiltIn::BaseVertex | BuiltIn::BaseInstance => {
                    n.base = true;
                }
                BuiltIn::DrawIndex => n.draw = true,
                BuiltIn::ViewIndex => n.view = true,
                BuiltIn::NumWorkgroups => n.workgroup_count = true,
                _ => {}
            },
            _ => {}
        }
    }
    Ok(n)
}
