//! Rasterizes triangles on the screen to quads of pixels.
//!
//! Vertices are rounded to 1/256 of a pixel; everything after that is exact. A sample is covered if it is inside, or on
//! a top or left edge, so two triangles that share an edge cover each sample exactly once. With one sample per pixel,
//! the sample is the pixel's centre.

use crate::inputs::Scissor;

/// Vertex position in pixels.
pub type Point = [f64; 2];

/// 2 × 2 pixels with at least one covered. Pixels are numbered row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// The first pixel; both coordinates are even.
    pub at: [u32; 2],
    /// Covered samples per pixel, one bit per sample.
    pub covered: [u32; 4],
    /// Fully covered pixels, one bit per pixel.
    pub fully: u8,
    /// Screen-linear weights of the vertices at each pixel's centre, also outside the triangle.
    pub weights: [[f64; 3]; 4],
    /// `weights` at each sample.
    pub at_samples: Vec<[[f64; 3]; 4]>,
}

/// Pixel `n` of a quad, relative to its first.
pub const PIXELS: [[u32; 2]; 4] = [[0, 0], [1, 0], [0, 1], [1, 1]];

/// Subpixels per pixel.
const ONE: i64 = 256;

struct Edge {
    from: [i64; 2],
    to: [i64; 2],
}

impl Edge {
    /// Edge function: twice the signed area; positive right of the edge, with y down.
    fn side(&self, [x, y]: [i64; 2]) -> i64 {
        let [dx, dy] = [self.to[0] - self.from[0], self.to[1] - self.from[1]];
        dx * (y - self.from[1]) - dy * (x - self.from[0])
    }

    /// Whether this is a top or left edge.
    fn top_or_left(&self) -> bool {
        let [dx, dy] = [self.to[0] - self.from[0], self.to[1] - self.from[1]];
        dy < 0 || dy == 0 && dx > 0
    }
}

/// Twice the signed area of a triangle in pixels: positive if clockwise on the screen.
pub fn area(corners: &[Point; 3]) -> f64 {
    let [a, b, c] = corners.map(fixed);
    Edge { from: a, to: b }.side(c) as f64 / (ONE * ONE) as f64
}

fn fixed(point: Point) -> [i64; 2] {
    // The limit is far beyond any screen, and keeps the products exact.
    point.map(|x| (x * ONE as f64).round_ties_even().clamp(-1e9, 1e9) as i64)
}

/// Calls `each` with the quads that a triangle covers in a part of the screen, row by row; `samples` are the sample
/// positions in a pixel.
pub fn triangle(corners: &[Point; 3], part: Scissor, samples: &[Point], mut each: impl FnMut(Coverage)) {
    let mut points = corners.map(fixed);
    let turned = Edge { from: points[0], to: points[1] }.side(points[2]) < 0;
    if turned {
        points.swap(1, 2);
    }
    let [a, b, c] = points;
    // The edge opposite each vertex.
    let edges = [Edge { from: b, to: c }, Edge { from: c, to: a }, Edge { from: a, to: b }];
    let area = edges[2].side(c);
    if area == 0 {
        return;
    }
    let range = |n: usize| {
        let [least, most] = [points.iter().map(|p| p[n]).min(), points.iter().map(|p| p[n]).max()];
        let [first, last] = [i64::from(part.from[n]), i64::from(part.from[n]) + i64::from(part.extent[n])];
        let from = least.unwrap_or(0).div_euclid(ONE).clamp(first, last) as u32 & !1;
        (from, (most.unwrap_or(0).div_euclid(ONE) + 1).clamp(first, last) as u32)
    };
    let ((left, right), (top, bottom)) = (range(0), range(1));
    let samples: Vec<[i64; 2]> = samples.iter().map(|place| place.map(|x| (x * ONE as f64) as i64)).collect();
    let sides = |[px, py]: [u32; 2], [x, y]: [i64; 2]| {
        [0, 1, 2].map(|e: usize| edges[e].side([i64::from(px) * ONE + x, i64::from(py) * ONE + y]))
    };
    let weights = |sides: [i64; 3]| {
        let [wa, wb, wc] = sides.map(|side| side as f64 / area as f64);
        if turned { [wa, wc, wb] } else { [wa, wb, wc] }
    };
    let inside = |sides: &[i64; 3]| sides.iter().zip(&edges).all(|(s, edge)| *s > 0 || *s == 0 && edge.top_or_left());
    for y in (top..bottom).step_by(2) {
        for x in (left..right).step_by(2) {
            let pixels = PIXELS.map(|[dx, dy]| [x + dx, y + dy]);
            let covered = pixels.map(|at| {
                let drawn = part.contains(at);
                let bits = samples.iter().enumerate().filter(|(_, place)| drawn && inside(&sides(at, **place)));
                bits.fold(0, |mask, (n, _)| mask | 1u32 << n)
            });
            if covered == [0; 4] {
                continue;
            }
            let full = |at: [u32; 2]| {
                [[0, 0], [ONE, 0], [0, ONE], [ONE, ONE]].iter().all(|c| sides(at, *c).iter().all(|s| *s >= 0))
            };
            each(Coverage {
                at: [x, y],
                covered,
                fully: (0..4).filter(|n| full(pixels[*n])).fold(0, |mask, n| mask | 1 << n),
                weights: pixels.map(|at| weights(sides(at, [ONE / 2; 2]))),
                at_samples: samples.iter().map(|place| pixels.map(|at| weights(sides(at, *place)))).collect(),
            });
        }
    }
}

/// The rectangle of a line, or by Bresenham's rule the parallelogram whose ends are columns or rows: two vertices at its
/// first end, two at its second.
pub fn line([from, to]: [Point; 2], width: f64, bresenham: bool) -> [Point; 4] {
    let [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    let length = dx.hypot(dy);
    let [nx, ny] = match bresenham {
        _ if length == 0.0 => [0.0, 0.0],
        false => [-dy * width / length / 2.0, dx * width / length / 2.0],
        true if dx.abs() >= dy.abs() => [0.0, width / 2.0],
        true => [width / 2.0, 0.0],
    };
    [[from[0] + nx, from[1] + ny], [from[0] - nx, from[1] - ny], [to[0] + nx, to[1] + ny], [to[0] - nx, to[1] - ny]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: u32 = 12;
    const SCREEN: Scissor = Scissor { from: [0; 2], extent: [SIZE; 2] };

    fn count(triangles: &[[Point; 3]]) -> Vec<u32> {
        let mut hits = vec![0; (SIZE * SIZE) as usize];
        for corners in triangles {
            triangle(corners, SCREEN, &[[0.5; 2]], |quad| {
                for (n, [dx, dy]) in PIXELS.into_iter().enumerate() {
                    if quad.covered[n] == 1 {
                        hits[((quad.at[1] + dy) * SIZE + quad.at[0] + dx) as usize] += 1;
                    }
                }
            });
        }
        hits
    }

    #[test]
    fn centres_on_edges_belong_to_top_and_left() {
        // The four edges run through pixel centres: columns 1 and 2, rows 1 and 2 are inside.
        let [a, b, c, d] = [[1.5, 1.5], [3.5, 1.5], [1.5, 3.5], [3.5, 3.5]];
        let hits = count(&[[a, b, c], [b, d, c]]);
        let inside: Vec<usize> = (0..hits.len()).filter(|n| hits[*n] != 0).collect();
        let at = |x: usize, y: usize| y * SIZE as usize + x;
        assert_eq!(inside, [at(1, 1), at(2, 1), at(1, 2), at(2, 2)]);
    }

    #[test]
    fn only_a_part_is_drawn() {
        let part = Scissor { from: [3, 5], extent: [4, 9] };
        let (mut hits, corners) = (Vec::new(), [[-40.0, -40.0], [60.0, -40.0], [-40.0, 60.0]]);
        triangle(&corners, part.and(SCREEN), &[[0.5; 2]], |quad| {
            let covered = PIXELS.into_iter().enumerate().filter(|(n, _)| quad.covered[*n] == 1);
            hits.extend(covered.map(|(_, [dx, dy])| [quad.at[0] + dx, quad.at[1] + dy]));
        });
        hits.sort_unstable();
        let inside: Vec<[u32; 2]> = (3..7).flat_map(|x| (5..12).map(move |y| [x, y])).collect();
        assert_eq!(hits, inside.into_iter().filter(|[x, y]| x + y < 20).collect::<Vec<_>>());
    }

    #[test]
    fn weights_are_those_of_the_centre() {
        let corners = [[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]];
        for corners in [corners, [corners[0], corners[2], corners[1]]] {
            let mut quads = 0;
            triangle(&corners, SCREEN, &[[0.5; 2]], |quad| {
                quads += 1;
                for (n, [dx, dy]) in PIXELS.into_iter().enumerate() {
                    let centre = [quad.at[0] + dx, quad.at[1] + dy].map(|p| f64::from(p) + 0.5);
                    for axis in 0..2 {
                        let found: f64 = quad.weights[n].iter().zip(&corners).map(|(w, c)| w * c[axis]).sum();
                        assert!((found - centre[axis]).abs() < 1e-9);
                    }
                }
            });
            assert_eq!(quads, 10);
        }
        assert!(area(&corners) > 0.0 && area(&[corners[0], corners[2], corners[1]]) < 0.0);
    }

    #[test]
    fn a_line_has_a_width() {
        let [a, b, c, d] = line([[1.0, 4.5], [9.0, 4.5]], 3.0, false);
        assert_eq!(count(&[[a, b, c], [b, d, c]]).iter().sum::<u32>(), 24);
        let [a, b, c, d] = line([[1.0, 4.5], [9.0, 4.5]], 1.0, false);
        let hits = count(&[[a, b, c], [b, d, c]]);
        assert_eq!(hits.iter().sum::<u32>(), 8);
        assert!(hits[(4 * SIZE + 1) as usize] == 1 && hits[(4 * SIZE + 9) as usize] == 0);
    }

    #[test]
    fn a_line_by_bresenham_has_one_pixel_in_each_column_or_row() {
        for (ends, axis) in [([[1.0, 2.2], [11.0, 6.7]], 0), ([[6.7, 11.0], [2.2, 1.0]], 1)] {
            let [a, b, c, d] = line(ends, 1.0, true);
            let hits = count(&[[a, b, c], [b, d, c]]);
            let of = |n: usize, at: usize| [at % SIZE as usize, at / SIZE as usize][axis] == n;
            let lines =
                (1..11).map(|n| hits.iter().enumerate().filter(|(at, _)| of(n, *at)).map(|(_, hits)| *hits).sum());
            assert_eq!(lines.collect::<Vec<u32>>(), [1; 10], "{ends:?}");
            assert_eq!(hits.iter().sum::<u32>(), 10);
        }
    }

    proptest! {
        /// A fan around a point inside a square covers the same pixels as the square, each once.
        #[test]
        fn shared_edges_are_hit_exactly_once(
            x in 2.0..10.0f64, y in 2.0..10.0f64, snap: bool,
            mut around in proptest::collection::vec(0.0..1.0f64, 0..9),
        ) {
            // The result must not change if edges run through pixel centres.
            let at = |p: f64| if snap { p.floor() + 0.5 } else { p };
            let centre = [at(x), at(y)];
            around.extend([0.0, 0.25, 0.5, 0.75]);
            around.sort_by(f64::total_cmp);
            around.push(0.0);
            let rim: Vec<Point> = around.iter().map(|t| {
                let [low, along, back, high] =
                    [1.0, 1.0 + (t * 4.0).fract() * 10.0, 11.0 - (t * 4.0).fract() * 10.0, 11.0].map(at);
                [[along, low], [high, along], [back, high], [low, back]][(t * 4.0) as usize]
            }).collect();
            let fan: Vec<[Point; 3]> = rim.windows(2).map(|w| [centre, w[0], w[1]]).collect();
            let turned: Vec<[Point; 3]> = rim.windows(2).map(|w| [w[1], centre, w[0]]).collect();
            let hits = count(&fan);
            for (n, hits) in hits.iter().enumerate() {
                let inside = [n as u32 % SIZE, n as u32 / SIZE].into_iter().all(|p| (1..11).contains(&p));
                prop_assert_eq!(*hits, u32::from(inside), "pixel {}", n);
            }
            prop_assert_eq!(hits, count(&turned));
        }

        /// Cutting a triangle in two changes only which triangle covers a pixel.
        #[test]
        fn a_cut_loses_nothing(corners in proptest::array::uniform3(proptest::array::uniform2(0i32..12 * 4))) {
            // Multiples of 1/2 pixel, so that the middle of an edge is exact.
            let corners = corners.map(|c| c.map(|x| f64::from(x) / 4.0));
            let [a, b, c] = corners;
            let middle = [(a[0] + b[0]) / 2.0, (a[1] + b[1]) / 2.0];
            prop_assert_eq!(count(&[[a, b, c]]), count(&[[a, middle, c], [middle, b, c]]));
        }
    }
}
