//! Lists of lists in two vectors: all items in a row, and where each list ends.

/// Lists by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<T> {
    /// End of each list in `items`; it starts where the one before ends.
    ends: Vec<u32>,
    items: Vec<T>,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { ends: Vec::new(), items: Vec::new() }
    }
}

impl<T> Rows<T> {
    /// Removes all lists and keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.items.clear();
    }

    /// Adds a list.
    pub fn push(&mut self, items: impl IntoIterator<Item = T>) {
        self.items.extend(items);
        self.end();
    }

    /// Adds an item to the list that [`Rows::end`] ends.
    pub fn add(&mut self, item: T) {
        self.items.push(item);
    }

    /// The items of the list that [`Rows::end`] ends.
    pub fn open_mut(&mut self) -> &mut [T] {
        let start = self.ends.last().map_or(0, |end| *end as usize);
        &mut self.items[start..]
    }

    /// Ends a list of the items added since the last one.
    pub fn end(&mut self) {
        self.ends.push(self.items.len() as u32);
    }

    /// Removes the lists from this one on.
    pub fn truncate(&mut self, rows: usize) {
        self.items.truncate(self.range(rows).start);
        self.ends.truncate(rows);
    }

    /// Number of lists.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The items of all lists.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// A list; none has no items.
    pub fn of(&self, row: usize) -> &[T] {
        self.items.get(self.range(row)).unwrap_or(&[])
    }

    /// A list, to change its items.
    pub fn of_mut(&mut self, row: usize) -> &mut [T] {
        let range = self.range(row);
        self.items.get_mut(range).unwrap_or(&mut [])
    }

    fn range(&self, row: usize) -> std::ops::Range<usize> {
        let end = |row: usize| self.ends.get(row).map_or(0, |end| *end as usize);
        row.checked_sub(1).map_or(0, end)..end(row)
    }
}

impl<T: Copy> Rows<T> {
    /// Makes `count` lists anew: of the items that are paired with each number, in their order.
    pub fn group(&mut self, count: usize, pairs: impl Iterator<Item = (usize, T)> + Clone) {
        self.clear();
        self.ends.resize(count, 0);
        pairs.clone().for_each(|(row, _)| self.ends[row] += 1);
        // Each place gets its own item below. Large lists of liveness would take twice the memory if they grew by doubling.
        self.items.reserve(self.ends.iter().map(|count| *count as usize).sum());
        self.items.extend(pairs.clone().map(|(_, item)| item));
        // Counts become starts, and each item moves the start of its list towards the end.
        let mut sum = 0;
        for end in &mut self.ends {
            sum += std::mem::replace(end, sum);
        }
        for (row, item) in pairs {
            self.items[self.ends[row] as usize] = item;
            self.ends[row] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_those_that_were_added() {
        let mut rows = Rows::default();
        rows.push([1, 2]);
        rows.push([]);
        rows.add(3);
        rows.end();
        let lists = |rows: &Rows<u32>| (0..4).map(|n| rows.of(n).to_vec()).collect::<Vec<_>>();
        assert_eq!(lists(&rows), [vec![1, 2], vec![], vec![3], vec![]]);
        rows.group(3, [(2, 7), (0, 8), (2, 6)].into_iter());
        assert_eq!((rows.len(), lists(&rows)), (3, vec![vec![8], vec![], vec![7, 6], vec![]]));
        rows.push([5]);
        rows.truncate(3);
        assert_eq!((rows.len(), rows.items().len()), (3, 3));
        rows.group(1, std::iter::empty());
        assert_eq!(lists(&rows), [const { Vec::<u32>::new() }; 4]);
    }
}
