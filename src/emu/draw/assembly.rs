//! Primitive assembly: lists the vertices of each primitive, provoking vertex first.

use crate::inputs::Topology;

/// The vertices of each primitive that so many vertices make, the provoking vertex first: it is the last one of the
/// primitive if `last_provoking`, otherwise the first. Points and lines repeat a vertex.
pub fn primitives(topology: Topology, vertices: usize, last_provoking: bool) -> Vec<[usize; 3]> {
    let mut all = from_first(topology, vertices);
    if last_provoking {
        for corners in &mut all {
            // Turned, not swapped: the winding stays.
            while corners.iter().any(|n| *n > corners[0]) {
                corners.rotate_right(1);
            }
        }
    }
    all
}

/// [`primitives`] whose first vertex is the provoking one. Every second triangle of a strip swaps the other two, so
/// that all have the same winding.
fn from_first(topology: Topology, vertices: usize) -> Vec<[usize; 3]> {
    let strip = |corners: usize| 0..(vertices + 1).saturating_sub(corners);
    let list = |corners: usize| (0..vertices / corners).map(move |n| n * corners);
    match topology {
        Topology::PointList => (0..vertices).map(|n| [n; 3]).collect(),
        Topology::LineList => list(2).map(|n| [n, n + 1, n + 1]).collect(),
        Topology::LineStrip => strip(2).map(|n| [n, n + 1, n + 1]).collect(),
        Topology::TriangleList => list(3).map(|n| [n, n + 1, n + 2]).collect(),
        Topology::TriangleStrip => strip(3).map(|n| [n, n + 1 + n % 2, n + 2 - n % 2]).collect(),
        // The shared vertex comes last, so that the provoking vertex is the first.
        Topology::TriangleFan => strip(3).map(|n| [n + 1, n + 2, 0]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_vertex_may_provoke() {
        let primitives = |topology| primitives(topology, 5, true);
        assert_eq!(primitives(Topology::TriangleList), [[2, 0, 1]]);
        assert_eq!(primitives(Topology::TriangleStrip), [[2, 0, 1], [3, 2, 1], [4, 2, 3]]);
        assert_eq!(primitives(Topology::TriangleFan), [[2, 0, 1], [3, 0, 2], [4, 0, 3]]);
        assert_eq!(primitives(Topology::LineStrip)[..2], [[1, 0, 1], [2, 1, 2]]);
        assert_eq!(primitives(Topology::PointList)[4], [4; 3]);
    }

    #[test]
    fn lists_and_strips() {
        let primitives = |topology, vertices| primitives(topology, vertices, false);
        assert_eq!(primitives(Topology::TriangleList, 7), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(primitives(Topology::TriangleStrip, 5), [[0, 1, 2], [1, 3, 2], [2, 3, 4]]);
        assert_eq!(primitives(Topology::TriangleFan, 5), [[1, 2, 0], [2, 3, 0], [3, 4, 0]]);
        assert_eq!(primitives(Topology::LineList, 5), [[0, 1, 1], [2, 3, 3]]);
        assert_eq!(primitives(Topology::LineStrip, 3), [[0, 1, 1], [1, 2, 2]]);
        assert_eq!(primitives(Topology::PointList, 1), [[0, 0, 0]]);
        assert!(primitives(Topology::TriangleStrip, 2).is_empty() && primitives(Topology::LineStrip, 0).is_empty());
    }
}
