//! User data of a draw besides descriptor sets: the vertex buffer table, the sample positions, and the draw's
//! parameters.

use super::samples;
use crate::dispatch::Tables;
use crate::inputs::Draw;
use crate::machine::Machine;
use crate::memory::Memory;
use dovetail_base::error::{Error, Result};
use dovetail_metadata::user_data::pal;

/// Dword 3 of a vertex buffer without the range rule: 32_UINT, all components, resource level 1.
const WORD3: u32 = 0xfac | 20 << 12 | 1 << 24;
/// Range checks in records, and in bytes.
const BY_RECORDS: u32 = 1 << 28;
const BY_BYTES: u32 = 3 << 28;

/// Byte offset of the entry for sample positions in the global table (pal-abi 4).
const SAMPLE_POSITIONS: u64 = 48 * 4;

/// Adds the vertex buffer table, and other user data of a draw.
pub fn add_tables(machine: &mut Machine, draw: &Draw, tables: &mut Tables) -> Result<()> {
    let entries = draw.vertex_buffers.iter().map(|b| b.binding as usize + 1).max().unwrap_or(0);
    if entries > 64 {
        return Err(Error::malformed(format!("{entries} vertex buffers")));
    }
    let table = machine.alloc(16 * entries.max(1))?;
    for b in &draw.vertex_buffers {
        if b.stride > 0x3fff {
            return Err(Error::malformed(format!("vertex buffer {}: a stride of {} bytes", b.binding, b.stride)));
        }
        // The last element may be shorter than the stride: pad it, since attributes may read its missing bytes.
        let records = b.data.0.len().div_ceil(b.stride.max(1) as usize);
        let mut data = b.data.0.clone();
        data.resize(data.len().max(records * b.stride.max(1) as usize), 0);
        let address = machine.alloc_with(&data)?;
        let range = if b.stride <= 1 { BY_BYTES } else { BY_RECORDS };
        let words = [address as u32, (address >> 32) as u32 | b.stride << 16, records as u32, WORD3 | range];
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        machine.write(table + 16 * u64::from(b.binding), &bytes)?;
    }
    let places = samples::table();
    let address = machine.alloc_with(&places)?;
    let words = [address as u32, (address >> 32) as u32, places.len() as u32, WORD3 | BY_BYTES];
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    machine.write((u64::from(Memory::HIGH) << 32 | u64::from(tables.global)) + SAMPLE_POSITIONS, &bytes)?;
    tables.others.extend([
        (pal::VERTEX_BUFFER_TABLE, table as u32),
        (pal::BASE_VERTEX, draw.first_vertex),
        (pal::BASE_INSTANCE, draw.first_instance),
        (pal::DRAW_INDEX, 0),
        (pal::VIEW_ID, 0),
    ]);
    Ok(())
}
