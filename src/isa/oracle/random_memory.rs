//! Random valid operands of memory accesses and exports.

use super::random::Random;
use crate::instruction::*;
use crate::layout::{CacheLayout, CodeField};
use crate::*;
use dovetail_base::target::WaveSize;

fn cache(random: &mut Random, layout: &CacheLayout, entry: &OpcodeRow) -> CachePolicy {
    let mut set = |field: CodeField| field != CodeField::NONE && random.chance(3);
    let [glc, slc, dlc] = [layout.glc, layout.slc, layout.dlc].map(&mut set);
    let scope = random.below(layout.scope.largest() + 1) as u8;
    let hints = match () {
        // The tool does not read what it writes of atomics that go on at another GPU, and of returning ones of the system.
        () if entry.is(Traits::ATOMIC) => 3 + u32::from(scope != 3),
        () if entry.is(Traits::STORES) => 8,
        () => 7,
    };
    let hint = random.below(hints.min(layout.hint.largest() + 1)) as u8;
    CachePolicy { glc, slc, dlc, scope, hint }
}

pub(super) fn smem_fields(random: &mut Random, isa: &Isa, entry: &'static OpcodeRow) -> Fields {
    let data = match entry.data_registers() {
        // A number, of which gfx12 has five bits.
        0 => Scalar::Sgpr(Sgpr::new(random.below(32) as u8).expect("in range")),
        count => random.sgpr(count),
    };
    if entry.is(Traits::INVALIDATES) {
        let none = Scalar::Null;
        let cache = CachePolicy::default();
        return Fields::Smem(SmemFields { data: none, base: none, offset: 0, soffset: None, cache });
    }
    if entry.is(Traits::TIMER) {
        let cache = CachePolicy::default();
        return Fields::Smem(SmemFields { data, base: Scalar::Null, offset: 0, soffset: None, cache });
    }
    if entry.is(Traits::PREFETCHES) {
        let none = entry.is(Traits::NO_ADDRESS);
        let base = if none { Scalar::Null } else { random.sgpr(if entry.is(Traits::DESCRIPTOR) { 4 } else { 2 }) };
        let data = Scalar::Sgpr(Sgpr::new(random.below(32) as u8).expect("in range"));
        let soffset = random.chance(2).then(|| random.sgpr(1));
        let (offset, cache) = (random.below(1 << 20) as i32, CachePolicy::default());
        return Fields::Smem(SmemFields { data, base, offset, soffset, cache });
    }
    let base = random.sgpr(if entry.is(Traits::DESCRIPTOR) { 4 } else { 2 });
    let soffset = random.chance(2).then(|| if random.chance(4) { Scalar::M0 } else { random.sgpr(1) });
    let negative = !entry.is(Traits::DESCRIPTOR) && random.chance(3);
    let magnitude = (random.bits() & 0xf_ffff) as i32;
    let offset = if negative { -magnitude } else { magnitude };
    let mut cache = cache(random, &isa.layout.smem.cache, entry);
    if entry.dst.is_empty() {
        cache = CachePolicy::default();
    }
    Fields::Smem(SmemFields { data, base, offset, soffset, cache })
}

pub(super) fn ds_fields(random: &mut Random, isa: &Isa, entry: &'static OpcodeRow) -> Fields {
    let zero = Vgpr(0);
    let own = entry.is(Traits::OWN_ADDRESS.or(Traits::NO_ADDRESS));
    let mut registers = entry.src.iter().map(|kind| kind.registers());
    let mut next = || registers.next().map_or(zero, |count| random.vgpr(count));
    let addr = if own { zero } else { next() };
    let data = [next(), next()];
    let dst = entry.dst.first().map_or(zero, |kind| random.vgpr(kind.registers()));
    let has = isa.layout.ds.gds != CodeField::NONE;
    let gds = entry.is(Traits::GDS) || has && !entry.is(Traits::NO_MEMORY.or(Traits::STACK)) && random.chance(4);
    let offsets = if entry.op == Op::DsNop { [0; 2] } else { [0; 2].map(|_: u8| random.bits() as u8) };
    Fields::Ds(DsFields { dst, addr, data, offsets, gds: gds && entry.op != Op::DsNop })
}

pub(super) fn flat_fields(random: &mut Random, isa: &Isa, entry: &'static OpcodeRow) -> Fields {
    let zero = Vgpr(0);
    let (scratch, flat) = (entry.format == Format::Scratch, entry.format == Format::Flat);
    let own = entry.is(Traits::OWN_ADDRESS);
    let saddr = (!flat && random.chance(2)).then(|| random.sgpr(if scratch { 1 } else { 2 }));
    let layout = isa.layout.flat(entry.format);
    let both = layout.vaddr_enabled != CodeField::NONE && random.chance(2);
    let no_vaddr = scratch && (saddr.is_some() && !both || random.chance(3));
    let mut cache = cache(random, &layout.cache, entry);
    if entry.is(Traits::INVALIDATES) {
        let cache = CachePolicy { hint: 0, ..cache };
        let (v, none) = (zero, None);
        return Fields::Flat(FlatFields {
            dst: v,
            addr: v,
            data: v,
            saddr: none,
            no_vaddr: false,
            offset: 0,
            lds: false,
            cache,
        });
    }
    if entry.op == Op::GlobalAtomicCsub && layout.cache.glc != CodeField::NONE {
        cache.glc = true;
    }
    let data = if entry.dst.is_empty() { random.vgpr(entry.data_registers()) } else { zero };
    let returns = entry.is(Traits::ATOMIC) && cache.returns();
    let most = entry.data_registers_in(WaveSize::W32);
    let dst = if !entry.dst.is_empty() || returns { random.vgpr(most) } else { zero };
    let wide = saddr.is_none() && !scratch;
    let addr = if own || no_vaddr { zero } else { random.vgpr(if wide { 2 } else { 1 }) };
    let field = layout.offset;
    let offset = field.put(random.bits() & ((1 << field.width()) - 1)).map_or(0, |word| field.number(word));
    Fields::Flat(FlatFields { dst, addr, data, saddr, no_vaddr, offset, lds: false, cache })
}

pub(super) fn buffer_fields(random: &mut Random, isa: &Isa, entry: &'static OpcodeRow) -> Fields {
    let zero = Vgpr(0);
    if entry.is(Traits::INVALIDATES) {
        let (resource, soffset) =
            (Scalar::Sgpr(Sgpr::new(0).expect("s0")), Src::Scalar(Scalar::Sgpr(Sgpr::new(0).expect("s0"))));
        return Fields::Buffer(BufferFields {
            data: zero,
            vaddr: zero,
            idxen: false,
            offen: false,
            resource,
            soffset,
            offset: 0,
            format: None,
            lds: false,
            tfe: false,
            cache: CachePolicy::default(),
        });
    }
    let (idxen, offen) = (random.chance(2), random.chance(2));
    // The tool has no `tfe` on typed accesses.
    let tfe = entry.format == Format::Mubuf && entry.is(Traits::LOADS) && random.chance(4);
    let lds = isa.layout.mubuf.lds != CodeField::NONE && entry.op == Op::BufferLoadDword && !tfe && random.chance(4);
    let soffset = match random.below(4) {
        // Some encodings have room for registers only.
        0 if isa.layout.mubuf.soffset.largest() < 128 => Src::Scalar(Scalar::Null),
        0 => Src::Int(random.below(81) as i8 - 16),
        1 => Src::Scalar(Scalar::M0),
        _ => Src::Scalar(random.sgpr(1)),
    };
    let mut cache = cache(random, &isa.layout.mubuf.cache, entry);
    // The tool has no `dlc` on buffer atomics.
    cache.dlc &= !entry.is(Traits::ATOMIC);
    if entry.op == Op::BufferAtomicCsub && isa.layout.mubuf.cache.glc != CodeField::NONE {
        cache.glc = true;
    }
    Fields::Buffer(BufferFields {
        data: if lds { zero } else { random.vgpr(entry.data_registers() + u8::from(tfe)) },
        vaddr: if idxen || offen { random.vgpr(u8::from(idxen) + u8::from(offen)) } else { zero },
        idxen,
        offen,
        resource: random.sgpr(4),
        soffset,
        offset: random.bits() & isa.limits.buffer_offset,
        format: (entry.format == Format::Mtbuf).then(|| random.below(128) as u8),
        lds,
        tfe,
        cache,
    })
}

pub(super) fn image_fields(random: &mut Random, isa: &Isa, entry: &'static OpcodeRow) -> Fields {
    let zero = Vgpr(0);
    let s0 = Scalar::Sgpr(Sgpr::new(0).expect("s0"));
    let ray = entry.is(Traits::RAY);
    let atomic = entry.is(Traits::ATOMIC);
    let width = if entry.is(Traits::COMPARES) { 2 } else { 1 };
    let stores = entry.is(Traits::STORES);
    let layout = isa.layout.image(entry.format);
    let separate = layout.more_addresses[0] != CodeField::NONE;
    let mut f = ImageFields {
        data: zero,
        addresses: Addresses::new(&[zero]),
        nsa: separate || random.chance(2),
        resource: s0,
        sampler: if entry.is(Traits::SAMPLES) { random.sgpr(4) } else { s0 },
        dim: match () {
            () if ray => 0,
            // Multisampled images are loaded, never filtered.
            () if entry.is(Traits::SAMPLES.or(Traits::LEVEL)) => random.below(6) as u8,
            () if entry.is(Traits::FOUR) => 6 + random.below(2) as u8,
            () => random.below(8) as u8,
        },
        // For an atomic, the mask gives the width of the memory cell.
        dmask: match () {
            () if ray => 15,
            () if atomic => (1 << width) - 1,
            // The tool counts the mask's components, the hardware returns four samples of one component.
            () if entry.op == Op::ImageMsaaLoad && !layout.groups => 15,
            () if entry.is(Traits::FOUR) => 1 << random.below(4),
            () => random.below(15) as u8 + 1,
        },
        unorm: !ray && layout.unorm != CodeField::NONE && random.chance(2),
        r128: ray || random.chance(12),
        a16: !matches!(entry.op, Op::ImageBvhDualIntersectRay | Op::ImageBvh8IntersectRay) && random.chance(3),
        d16: !ray
            && !atomic
            && entry.op != Op::ImageGetLod
            && !entry.is(Traits::SIZE_QUERY)
            && !entry.is(Traits::RAW)
            && random.chance(4),
        tfe: !ray && !stores && random.chance(5),
        lwe: !ray && !stores && layout.lwe != CodeField::NONE && random.chance(12),
        cache: if ray { CachePolicy::default() } else { cache(random, &layout.cache, entry) },
    };
    if ray && layout.unorm != CodeField::NONE {
        f.unorm = true;
    }
    if entry.is(Traits::COMPARES) || entry.is(Traits::FOUR) && f.d16 {
        // The tool lacks a size of three registers.
        f.tfe = false;
    }
    f.resource = random.sgpr(if ray { 4 } else { 8 });
    // Four 16-bit components take four registers until the tool has parsed the flag.
    let most = if entry.is(Traits::FOUR) { 4 } else { f.data_registers(entry) };
    f.data = random.vgpr(most + f.status_registers());
    let count = f.address_registers(entry);
    f.nsa &= separate || count > 1;
    let list: Vec<Vgpr> = (0..count).map(|_| random.vgpr(1)).collect();
    let groups = f.address_groups(entry, layout.groups, isa.image_addresses(entry));
    f.addresses = match groups {
        Some(groups) => {
            Addresses::grouped(&groups.iter().map(|length| (random.vgpr(*length), *length)).collect::<Vec<_>>())
        }
        None if f.nsa => Addresses::new(&list),
        None => Addresses::new(&[random.vgpr(count)]),
    };
    Fields::Image(f)
}

pub(super) fn export_fields(random: &mut Random, isa: &Isa) -> Fields {
    let layout = &isa.layout.exp;
    let targets: Vec<u8> = (0..64).filter(|target| layout.targets >> target & 1 == 1).collect();
    let mut set = |field: CodeField, of: u32| field != CodeField::NONE && random.chance(of);
    let (compr, vm, row) = (set(layout.compr, 3), set(layout.vm, 2), set(layout.row, 2));
    let enabled = if compr { [0, 3, 12, 15][random.below(4) as usize] } else { random.below(16) as u8 };
    // An unsent register is not printed.
    let sent = |i: usize| if compr { i < 2 && enabled >> (2 * i) & 3 != 0 } else { enabled >> i & 1 == 1 };
    let data = [0, 1, 2, 3].map(|i| if sent(i) { random.vgpr(1) } else { Vgpr(0) });
    let target = targets[random.below(targets.len() as u32) as usize];
    Fields::Export(ExportFields { target, enabled, data, compr, done: random.chance(2), vm, row })
}

pub(super) fn lds_direct_fields(random: &mut Random, isa: &Isa, entry: &'static OpcodeRow) -> Fields {
    let memory = isa.layout.ldsdir.memory != CodeField::NONE && random.chance(2);
    let (dst, wait) = (random.vgpr(1), random.below(16) as u8);
    let (attribute, channel) = match entry.op {
        Op::LdsParamLoad => (random.below(33) as u8, random.below(4) as u8),
        _ => (0, 0),
    };
    Fields::LdsDirect(LdsDirectFields { dst, attribute, channel, wait, memory })
}
