//! The constants of a shader by type and bits. They are in the entry block, which dominates all others.

use super::ids::Value;
use super::types::Type;
use dovetail_base::workspace::Reusable;

/// Constants by type and bits; emptied without being freed.
#[derive(Debug, Default)]
pub(super) struct ConstPool {
    /// Open addressing; the length is 0 or a power of two, and at least half of the slots are free.
    slots: Vec<Slot>,
    /// Slots in use.
    live: usize,
    /// Slots of another generation are free.
    generation: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    generation: u64,
    bits: u64,
    ty: Type,
    value: Value,
}

impl ConstPool {
    /// The value of a constant.
    pub(super) fn get(&self, ty: Type, bits: u64) -> Option<Value> {
        self.probe(ty, bits).map(|n| self.slots[n]).take_while(|s| s.generation == self.generation).find_map(|s| {
            let same = (s.ty, s.bits) == (ty, bits);
            same.then_some(s.value)
        })
    }

    /// Adds a constant that is not in the pool.
    pub(super) fn insert(&mut self, ty: Type, bits: u64, value: Value) {
        if 2 * (self.live + 1) > self.slots.len() {
            self.grow();
        }
        let free = self.probe(ty, bits).find(|n| self.slots[*n].generation != self.generation);
        if let Some(n) = free {
            self.slots[n] = Slot { generation: self.generation, bits, ty, value };
            self.live += 1;
        }
    }

    /// Slots in which a constant may be, in probe order.
    fn probe(&self, ty: Type, bits: u64) -> impl Iterator<Item = usize> + use<> {
        let len = self.slots.len();
        let key = bits ^ u64::from(ty.total_bits()) << 32;
        // The middle bits of the product depend on all of the key.
        let first = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        (0..len).map(move |n| (first + n) & (len - 1))
    }

    fn grow(&mut self) {
        let free = Slot { generation: u64::MAX, bits: 0, ty: Type::B1, value: Value(0) };
        let new = vec![free; (2 * self.slots.len()).max(64)];
        let old = std::mem::replace(&mut self.slots, new);
        self.live = 0;
        let now = self.generation;
        old.iter().filter(|s| s.generation == now).for_each(|s| self.insert(s.ty, s.bits, s.value));
    }
}

impl Reusable for ConstPool {
    /// Forgets all constants.
    fn clear(&mut self) {
        self.generation += 1;
        self.live = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_found_until_they_are_forgotten() {
        let mut pool = ConstPool::default();
        for n in 0..1000 {
            assert_eq!(pool.get(Type::B32, u64::from(n) << 20), None);
            pool.insert(Type::B32, u64::from(n) << 20, Value(n));
        }
        assert_eq!(pool.get(Type::B32, 7 << 20), Some(Value(7)));
        assert_eq!(pool.get(Type::B64, 7 << 20), None);
        pool.clear();
        assert_eq!(pool.get(Type::B32, 7 << 20), None);
    }
}
