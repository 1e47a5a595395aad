//! The facts at a point of allocated code: which original values each location holds.

use super::held::HeldValue;
use super::page::{CELLS, Page};
use crate::mir::{Operand, OperandValue, PhysReg, Val};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A location: a register by its code, a scratch dword of all lanes or of the first, or a lane of a vector register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StorageLocation(pub u32);

impl StorageLocation {
    /// A register.
    pub fn reg(reg: PhysReg) -> Self {
        Self(u32::from(reg.0))
    }

    /// A dword of each lane's scratch memory.
    pub fn scratch(offset: u32) -> Self {
        Self(SCRATCH + offset)
    }

    /// A dword of the first lane's scratch memory, for the wave.
    pub fn first_lane(offset: u32) -> Self {
        Self(FIRST_LANE + offset)
    }

    /// A lane of a vector register.
    pub fn lane(reg: PhysReg, lane: u32) -> Self {
        Self(LANES | u32::from(reg.0) << 8 | lane)
    }

    /// The page with facts about it, and its number there, if it belongs to the wave and is no register.
    fn paged(self) -> Option<(u32, u32)> {
        (self.0 >= FIRST_LANE).then_some((self.0 / CELLS, self.0 % CELLS))
    }

    /// Whether facts about it follow logical edges (lanes) rather than linear edges (the wave).
    pub fn is_logical(self) -> bool {
        (u32::from(PhysReg::FIRST_VGPR.0)..FIRST_LANE).contains(&self.0)
    }
}

/// First numbers of scratch dwords, of those of the first lane, and of lanes.
const SCRATCH: u32 = 1 << 16;
const FIRST_LANE: u32 = 1 << 27;
const LANES: u32 = 1 << 28;

/// Facts at a point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointState {
    names: BTreeMap<StorageLocation, Vec<HeldValue>>,
    /// Facts about lanes and about the first lane's memory, which are thousands where masks have left their registers, and of
    /// which a block changes few.
    pages: BTreeMap<u32, Rc<Page>>,
    /// Values of this block that equal a constant which may not be in a register yet.
    equal: Vec<(Val, HeldValue)>,
    /// Values made from something undefined: any register content is accepted.
    undefined: Vec<Val>,
    /// Inserted code has turned all lanes but the first off.
    pub one_lane: bool,
}

impl PointState {
    /// The values that a location holds.
    pub fn at(&self, spot: StorageLocation) -> &[HeldValue] {
        match spot.paged() {
            Some((page, cell)) => self.pages.get(&page).map_or(&[], |page| page.at(cell)),
            None => self.names.get(&spot).map_or(&[], |names| names),
        }
    }

    /// Whether a location holds this content.
    pub fn holds(&self, spot: StorageLocation, name: HeldValue) -> bool {
        self.at(spot).contains(&name) || self.leaves_open(&name)
    }

    /// Replaces the content of a location.
    pub fn set(&mut self, spot: StorageLocation, names: Vec<HeldValue>) {
        if let Some((page, cell)) = spot.paged() {
            if self.at(spot) != names {
                Rc::make_mut(self.pages.entry(page).or_default()).set(cell, names);
            }
        } else if names.is_empty() {
            self.names.remove(&spot);
        } else {
            self.names.insert(spot, names);
        }
    }

    /// Records that an instruction wrote the whole register, so that facts about its lanes no longer hold.
    pub fn overwrite_lanes(&mut self, reg: PhysReg) {
        if let Some((page, _)) = StorageLocation::lane(reg, 0).paged().filter(|_| reg.as_vgpr().is_some()) {
            self.pages.remove(&page);
        }
    }

    /// Adds a content to those that a location holds.
    pub fn add(&mut self, spot: StorageLocation, name: HeldValue) {
        if !self.at(spot).contains(&name) {
            let names = self.at(spot).iter().copied().chain([name]).collect();
            self.set(spot, names);
        }
    }

    /// A constant as a content, together with the values that equal it.
    pub fn constant(&self, name: HeldValue) -> Vec<HeldValue> {
        let equal = self.equal.iter().filter(|(_, to)| *to == name).map(|(val, _)| HeldValue::Val(*val));
        std::iter::once(name).chain(equal).collect()
    }

    /// Renames in parallel: each value becomes its source. `constants`: values that are one constant for their whole
    /// life.
    pub fn rename(&mut self, pairs: &[(Val, Operand)], constants: &[Option<HeldValue>]) {
        let constant = |one: &Operand| one.as_val().and_then(|val| constants[val.index()]);
        let is_new = |name: &HeldValue| matches!(name, HeldValue::Val(val) if pairs.iter().any(|(new, _)| new == val));
        let change = |names: &mut Vec<HeldValue>| {
            let held = |one: &Operand| {
                let both = [HeldValue::of(one), constant(one)];
                both.into_iter().flatten().any(|name| names.contains(&name))
            };
            let new: Vec<HeldValue> =
                pairs.iter().filter(|(_, from)| held(from)).map(|(val, _)| HeldValue::Val(*val)).collect();
            names.retain(|name| !is_new(name));
            names.extend(new);
        };
        let old =
            pairs.iter().flat_map(|(new, from)| [Some(HeldValue::Val(*new)), HeldValue::of(from), constant(from)]);
        self.change(&old.flatten().collect::<Vec<_>>(), change);
        // Values that equal a constant through a renamed value equal it through the new one.
        let (before, undefined) = (self.equal.clone(), self.undefined.clone());
        self.equal.retain(|(val, _)| !pairs.iter().any(|(new, _)| new == val));
        self.undefined.retain(|val| !pairs.iter().any(|(new, _)| new == val));
        for (val, from) in pairs {
            match from.what {
                OperandValue::Const(_) | OperandValue::Reloc(_) => {
                    self.equal.extend(HeldValue::of(from).map(|name| (*val, name)))
                }
                OperandValue::Val(from) => {
                    let same = before.iter().find(|(old, _)| *old == from).map(|(_, name)| *name);
                    self.equal.extend(same.or(constants[from.index()]).map(|name| (*val, name)));
                    self.undefined.extend(undefined.contains(&from).then_some(*val));
                }
                OperandValue::Fixed(reg) => self.add(StorageLocation::reg(reg), HeldValue::Val(*val)),
                OperandValue::Undef => self.undefined.push(*val),
            }
        }
    }

    /// What EXEC was does not matter any more.
    pub fn forget_exec(&mut self) {
        for names in self.names.values_mut() {
            names.retain(|name| *name != HeldValue::Exec);
        }
        self.names.retain(|_, names| !names.is_empty());
    }

    /// These values have new contents: no location holds them any more.
    pub fn forget(&mut self, vals: &[Val]) {
        if vals.is_empty() {
            return;
        }
        let gone = |val: &Val| vals.contains(val);
        let old: Vec<HeldValue> = vals.iter().map(|val| HeldValue::Val(*val)).collect();
        self.change(&old, |names| names.retain(|name| !old.contains(name)));
        self.equal.retain(|(val, _)| !gone(val));
        self.undefined.retain(|val| !gone(val));
    }

    /// Changes what locations hold that hold any of these.
    fn change(&mut self, old: &[HeldValue], change: impl Fn(&mut Vec<HeldValue>)) {
        self.names.values_mut().for_each(&change);
        self.names.retain(|_, names| !names.is_empty());
        for page in self.pages.values_mut().filter(|page| page.has_any(old)) {
            Rc::make_mut(page).change(&change);
        }
    }

    /// Drops facts about constants at the end of a block.
    pub fn forget_constants(&mut self) {
        self.equal.clear();
    }

    /// Whether this is a value of which any content is accepted.
    fn leaves_open(&self, name: &HeldValue) -> bool {
        matches!(name, HeldValue::Val(val) if self.undefined.contains(val))
    }

    /// Keeps only the facts that both have.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        let mut met = Self::default();
        for (spot, names) in &self.names {
            let both: Vec<HeldValue> = names.iter().copied().filter(|name| other.holds(*spot, *name)).collect();
            met.set(*spot, both);
        }
        // A value that is undefined here is where the other state has it.
        for (spot, names) in &other.names {
            names.iter().filter(|name| self.leaves_open(name)).for_each(|name| met.add(*spot, *name));
        }
        for (number, page) in &self.pages {
            let (theirs, none) = (other.pages.get(number), Rc::default());
            let page = match theirs {
                Some(theirs) if page == theirs => page.clone(),
                _ => Rc::new(page.meet(theirs.unwrap_or(&none), |n| self.leaves_open(n), |n| other.leaves_open(n))),
            };
            met.pages.insert(*number, page);
        }
        for (number, page) in other.pages.iter().filter(|(number, _)| !self.pages.contains_key(number)) {
            let none = Page::default();
            met.pages.insert(*number, Rc::new(none.meet(page, |n| self.leaves_open(n), |n| other.leaves_open(n))));
        }
        met.pages.retain(|_, page| !page.is_empty());
        met.equal.extend(self.equal.iter().filter(|one| other.equal.contains(one)));
        met.undefined.extend(self.undefined.iter().filter(|val| other.undefined.contains(val)));
        met
    }

    /// The facts that follow one kind of edges; facts about constants follow logical edges.
    #[must_use]
    pub fn only(&self, logical: bool, is_vector: impl Fn(Val) -> bool) -> Self {
        let names = self.names.iter().filter(|(spot, _)| spot.is_logical() == logical);
        let pages = self.pages.iter().filter(|(_, page)| !logical && !page.is_empty());
        Self {
            names: names.map(|(spot, names)| (*spot, names.clone())).collect(),
            pages: pages.map(|(number, page)| (*number, page.clone())).collect(),
            equal: if logical { self.equal.clone() } else { Vec::new() },
            undefined: self.undefined.iter().copied().filter(|val| is_vector(*val) == logical).collect(),
            one_lane: false,
        }
    }

    /// All facts of both.
    #[must_use]
    pub fn join(mut self, other: Self) -> Self {
        self.names.extend(other.names);
        self.pages.extend(other.pages);
        self.equal.extend(other.equal);
        self.undefined.extend(other.undefined);
        self
    }
}
