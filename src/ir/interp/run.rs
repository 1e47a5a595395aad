//! Runs shaders: grids of workgroups, and quads of single invocations.

use super::machine::Machine;
use super::wave::{Stop, Wave};
use super::world::{InterpreterStats, Invocation, Options, World};
use dovetail_base::error::{Error, Result};
use dovetail_ir::{Op, Scope, Shader};

/// Runs a grid of workgroups of a compute shader, one after the other.
///
/// # Errors
/// Unsupported: an operation that is not implemented, by name. Malformed: the limit is reached, or it is another stage.
pub fn dispatch(shader: &Shader, world: &mut World, grid: [u32; 3], options: Options) -> Result<InterpreterStats> {
    if !shader.stage.is_dispatched() {
        return Err(Error::malformed("only compute shaders are dispatched"));
    }
    let [x, y, z] = shader.modes.local_size.map(|n| n.max(1));
    let size = x.checked_mul(y).and_then(|n| n.checked_mul(z)).filter(|n| *n <= 4096);
    let size = size.ok_or_else(|| Error::malformed("a workgroup of more than 4096 invocations"))?;
    let mut machine = Machine::new(shader, world, options)?;
    // What such a fence orders is not followed.
    let beyond = |op: &Op| matches!(op, Op::Fence { scope, .. } | Op::Barrier { memory: scope, .. } if *scope > Scope::Workgroup);
    if let Some(races) = &mut machine.world.races {
        races.within = shader.insts.iter().any(|inst| beyond(&inst.op));
    }
    let groups = u64::from(grid[0]) * u64::from(grid[1]) * u64::from(grid[2]);
    for n in 0..groups {
        let group = if options.backwards { groups - 1 - n } else { n };
        let (gx, gy) = (u64::from(grid[0]), u64::from(grid[1]));
        let id = [group % gx, group / gx % gy, group / gx / gy].map(|n| n as u32);
        machine.start_group(id, grid);
        let waves = size.div_ceil(options.subgroup_size);
        let mut waves: Vec<Wave> = (0..waves)
            .map(|n| {
                let first = n * options.subgroup_size;
                Wave::new(&machine, n, first, (size - first).min(options.subgroup_size))
            })
            .collect();
        if options.backwards {
            waves.reverse();
        }
        machine.stats.waves += waves.len() as u64;
        run_together(&mut machine, &mut waves).map_err(|e| e.at(format!("workgroup {id:?}")))?;
    }
    Ok(machine.stats)
}

/// Runs vertices, or fragments in quads (top left, top right, bottom left, bottom right), and fills in their outputs.
///
/// # Errors
/// As [`dispatch`]; also fragments that do not form whole quads.
pub fn invoke(
    shader: &Shader,
    world: &mut World,
    invocations: &mut [Invocation],
    options: Options,
) -> Result<InterpreterStats> {
    if shader.stage.shades_pixels() && !invocations.len().is_multiple_of(4) {
        return Err(Error::malformed("fragments come in quads"));
    }
    let mut machine = Machine::new(shader, world, options)?;
    for chunk in invocations.chunks_mut(options.subgroup_size as usize) {
        machine.start_group([0; 3], [1; 3]);
        let mut wave = Wave::new(&machine, 0, 0, chunk.len() as u32);
        wave.helpers = chunk.iter().enumerate().fold(0, |mask, (n, i)| mask | u64::from(i.helper) << n);
        wave.tainted = chunk.iter().enumerate().fold(0, |mask, (n, i)| mask | u64::from(i.doubtful) << n);
        wave.invocations = chunk.to_vec();
        machine.stats.waves += 1;
        let mut waves = [wave];
        run_together(&mut machine, &mut waves)?;
        let [wave] = waves;
        chunk.clone_from_slice(&wave.invocations);
        for (lane, invocation) in chunk.iter_mut().enumerate() {
            invocation.helper = wave.helpers >> lane & 1 != 0;
            invocation.doubtful = wave.tainted >> lane & 1 != 0;
        }
    }
    Ok(machine.stats)
}

/// Runs each wave to its next barrier, in turn, until all have ended.
fn run_together(machine: &mut Machine<'_>, waves: &mut [Wave]) -> Result<()> {
    loop {
        let mut running = false;
        for wave in waves.iter_mut() {
            if machine.run(wave)? == Stop::Barrier {
                running = true;
            }
        }
        if !running {
            return Ok(());
        }
        machine.phase += 1;
    }
}
