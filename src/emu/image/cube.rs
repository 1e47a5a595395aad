//! The faces of a cube, and texels beyond their edges.
//!
//! Faces 0 to 5 are +X −X +Y −Y +Z −Z. Coordinates on a face run from −1 to 1.

/// The direction of a point on a face.
pub fn direction(face: u32, [s, t]: [f64; 2]) -> [f64; 3] {
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// The face that a direction hits, and the coordinates on that face.
pub fn project([x, y, z]: [f64; 3]) -> (u32, [f64; 2]) {
    let [ax, ay, az] = [x.abs(), y.abs(), z.abs()];
    let (face, s, t, major) = if az >= ax && az >= ay {
        if z < 0.0 { (5, -x, -y, az) } else { (4, x, -y, az) }
    } else if ay >= ax {
        if y < 0.0 { (3, x, -z, ay) } else { (2, x, z, ay) }
    } else if x < 0.0 {
        (1, z, -y, ax)
    } else {
        (0, -z, -y, ax)
    };
    (face, [s / major, t / major])
}

/// Maps a texel on or beside a face of `n` by `n` to the face that has it; `None` beyond a corner.
pub fn texel(face: u32, [x, y]: [i32; 2], n: u32) -> Option<(u32, [u32; 2])> {
    let inside = |i: i32| u32::try_from(i).ok().filter(|i| *i < n);
    if let (Some(x), Some(y)) = (inside(x), inside(y)) {
        return Some((face, [x, y]));
    }
    if inside(x).is_none() && inside(y).is_none() {
        return None;
    }
    // Projecting the texel's centre from the cube's centre, in the plane of this face, hits the neighbour face.
    let place = |i: i32| (2.0 * f64::from(i.clamp(-1, n.cast_signed())) + 1.0) / f64::from(n) - 1.0;
    let (face, at) = project(direction(face, [place(x), place(y)]));
    let texel = at.map(|at| (((at + 1.0) / 2.0 * f64::from(n)) as u32).min(n.saturating_sub(1)));
    Some((face, texel))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_projects_to_itself() {
        for face in 0..6 {
            let (found, at) = project(direction(face, [0.25, -0.75]));
            assert_eq!((found, at), (face, [0.25, -0.75]));
        }
    }

    #[test]
    fn neighbours_touch() {
        let n = 4;
        let centre =
            |face, [x, y]: [u32; 2]| direction(face, [x, y].map(|i| (2.0 * f64::from(i) + 1.0) / f64::from(n) - 1.0));
        for face in 0..6 {
            for i in 0..4 {
                for (from, to) in [([0, i], [-1, i]), ([3, i], [4, i]), ([i, 0], [i, -1]), ([i, 3], [i, 4])] {
                    let (other, there) = texel(face, to, n).expect("not a corner");
                    assert_ne!(other, face);
                    let here = centre(face, from.map(i32::cast_unsigned));
                    let across = centre(other, there);
                    let distance: f64 = here.iter().zip(across).map(|(a, b)| (a - b).powi(2)).sum();
                    // Half a texel in each of two planes.
                    assert!((distance - 2.0 * 0.25f64.powi(2)).abs() < 1e-12, "{face} {to:?}: {distance}");
                }
            }
        }
        assert_eq!(texel(0, [-1, -1], n), None);
    }
}
