//! Screen-space vertices, and how far apart correct drivers may place them.

use dovetail_emu::inputs::Viewport;

/// Rounding unit of vertices in pixels; drivers may round vertices to it, or not.
pub(super) const ROUNDED: f64 = 1.0 / 256.0;

/// Largest change of a number by rounding if the number itself has an error of up to `off`.
fn moved(n: f64, off: f64) -> f64 {
    let away = (n - (n / ROUNDED).round() * ROUNDED).abs();
    if away + off < ROUNDED / 2.0 { away + off } else { ROUNDED / 2.0 + off }
}

/// A vertex on the screen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Corner {
    /// Position in pixels.
    pub at: [f64; 2],
    /// Error bound in pixels.
    pub off: f64,
    /// Depth, and its error bound.
    pub depth: (f64, f64),
    /// w of the clip-space position.
    pub w: f64,
    /// Relative error bound of w.
    pub w_off: f64,
    /// Whether the vertex is inside the view volume.
    pub inside: bool,
    /// Edge length in pixels of the square that the vertex covers as a point.
    pub size: f64,
    /// Error bound of the edge length in pixels.
    pub size_off: f64,
}

impl Corner {
    /// Makes a vertex from its clip-space position and its size as a point; each number comes with its error bound.
    pub fn new([x, y, z, w]: [(f64, f64); 4], size: (f64, f64), view: &Viewport) -> Self {
        let w_off = w.1 / w.0.abs();
        let project = |(v, off): (f64, f64)| (v / w.0, off / w.0.abs() + (v / w.0).abs() * (w_off + 2f64.powi(-22)));
        let [x, y, z] = [x, y, z].map(project);
        let scale = [view.width, view.height].map(|n| f64::from(n) / 2.0);
        let at = [f64::from(view.x) + (x.0 + 1.0) * scale[0], f64::from(view.y) + (y.0 + 1.0) * scale[1]];
        let off = moved(at[0], x.1 * scale[0].abs()).max(moved(at[1], y.1 * scale[1].abs()));
        let [near, far] = view.depth.map(f64::from);
        Self {
            at,
            off: if off.is_finite() { off } else { f64::INFINITY },
            depth: (near + z.0 * (far - near), z.1 * (far - near).abs()),
            w: w.0,
            w_off,
            inside: w.0 > 1e-3 && x.0.abs() <= 1.0 && y.0.abs() <= 1.0 && (0.0..=1.0).contains(&z.0),
            size: size.0.max(0.0),
            size_off: size.1,
        }
    }

    /// The corners of a point's square.
    pub fn square(&self) -> [[f64; 2]; 4] {
        let half = self.size / 2.0;
        [[-half, -half], [half, -half], [half, half], [-half, half]].map(|[x, y]| [self.at[0] + x, self.at[1] + y])
    }

    /// Error bound of an edge of that square in pixels: the edge is rounded, or computed from a rounded centre and
    /// size.
    pub fn square_off(&self) -> f64 {
        self.off.max(ROUNDED / 2.0) + ROUNDED / 4.0 + self.size_off / 2.0
    }

    /// Whether the square may reach a column (axis 0) or a row (1) of pixels; true if the position is NaN.
    pub fn may_cover(&self, pixel: u32, axis: usize) -> bool {
        let square = self.square();
        let n = f64::from(pixel) + 0.5;
        let margin = 1.0 + self.off + self.size_off;
        let beside = square[0][axis] - margin >= n || square[2][axis] + margin <= n;
        !beside
    }
}

/// Whether a point is within `slack` of the line segment between two vertices, or of the infinite line.
pub(super) fn near(place: [f64; 2], [from, to]: [[f64; 2]; 2], slack: f64, endless: bool) -> bool {
    let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    let [px, py] = [place[0] - from[0], place[1] - from[1]];
    let length = dx.hypot(dy);
    let along = if length == 0.0 { 0.0 } else { (px * dx + py * dy) / (length * length) };
    let along = if endless { along } else { along.clamp(0.0, 1.0) };
    let distance = (px - along * dx).hypot(py - along * dy);
    // A vertex with NaN is near everything.
    distance <= slack || distance.is_nan()
}

/// Whether a point is inside a convex outline.
pub(super) fn contains(outline: &[[f64; 2]], [x, y]: [f64; 2]) -> bool {
    let sides = outline.iter().zip(outline.iter().cycle().skip(1)).map(|([x0, y0], [x1, y1])| {
        let side = (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0);
        (side >= 0.0, side <= 0.0)
    });
    let all = sides.fold((true, true), |all, one| (all.0 && one.0, all.1 && one.1));
    all.0 || all.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_near_a_line_are_near() {
        let line = [[0.0, 1.0], [4.0, 1.0]];
        assert!(near([2.0, 1.001], line, 0.01, false));
        assert!(!near([2.0, 1.1], line, 0.01, false));
        assert!(!near([5.0, 1.0], line, 0.01, false) && near([5.0, 1.0], line, 0.01, true));
        assert!(near([0.0, 0.0], [[f64::NAN, 1.0], [4.0, 1.0]], 0.01, false));
    }

    #[test]
    fn outlines_contain_what_is_inside() {
        let outline = [[1.0, 1.0], [5.0, 1.0], [5.0, 3.0], [1.0, 3.0]];
        let mut turned = outline;
        turned.reverse();
        for outline in [outline, turned] {
            assert!(
                contains(&outline, [2.0, 2.0]) && !contains(&outline, [2.0, 3.5]) && !contains(&outline, [0.0, 2.0])
            );
        }
    }

    const VIEW: Viewport = Viewport { x: 0.0, y: 0.0, width: 8.0, height: 8.0, depth: [0.0, 1.0] };

    #[test]
    fn a_position_has_its_place() {
        let exact = |x: f64| (x, 0.0);
        let corner = Corner::new([exact(1.0), exact(-1.0), exact(0.5), exact(2.0)], exact(4.0), &VIEW);
        assert_eq!((corner.at, corner.depth.0, corner.inside), ([6.0, 2.0], 0.25, true));
        assert_eq!(corner.square()[2], [8.0, 4.0]);
        assert_eq!([2, 3, 8, 9].map(|x| corner.may_cover(x, 0)), [false, true, true, false]);
        let nowhere = Corner::new([(0.0, f64::INFINITY); 4], exact(0.0), &VIEW);
        assert!(!nowhere.inside && nowhere.may_cover(0, 0) && nowhere.may_cover(7, 1));
        assert!(corner.off < 1e-4);
        let between = Corner::new([exact(0.3), exact(0.3), exact(0.5), exact(1.0)], exact(1.0), &VIEW);
        assert!(between.off > 1e-4 && between.off <= ROUNDED);
        let turned = Viewport { x: 1.0, y: 8.0, height: -4.0, depth: [0.5, 0.0], ..VIEW };
        let corner = Corner::new([exact(1.0), exact(-1.0), exact(0.5), exact(2.0)], exact(4.0), &turned);
        assert_eq!((corner.at, corner.depth.0, corner.off >= 0.0), ([7.0, 7.0], 0.375, true));
    }
}
