//! Pseudo-random numbers, the same on every machine (SplitMix64).

/// A stream of numbers.
pub struct Random(u64);

impl Random {
    /// The stream with this pair of seeds.
    pub fn new(a: u64, b: u64) -> Self {
        let mut this = Self(a ^ 0x9e37_79b9_7f4a_7c15);
        let first = this.next();
        Self(first ^ b.wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.next() % n as u64) as usize }
    }

    /// One of these items.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}
