//! Whole draws with closures as shaders.

use super::*;
use crate::inputs::{Compare, Depth, Draw, PolygonMode, TargetAttachment, Topology};

/// Vertices given by the test; the fragment colour is the first parameter, interpolated by the test.
struct Given {
    vertices: Vec<Vertex>,
    linear: bool,
    kill: fn([u32; 2]) -> bool,
}

impl Shaders for Given {
    fn vertices(&mut self, ids: &[VertexId]) -> Result<Vec<Vertex>> {
        Ok(ids.iter().map(|id| self.vertices[id.vertex as usize].clone()).collect())
    }

    fn fragments(&mut self, vertices: &[Vertex], primitives: &[Primitive], quads: &[Quad]) -> Result<Vec<[Pixel; 4]>> {
        let shade = |quad: &Quad| {
            let [p0, p1, p2] =
                primitives[quad.primitive].vertices.map(|n| vertices[n].parameters[&0].map(f32::from_bits));
            std::array::from_fn(|n| {
                let [i, j] = if self.linear { quad.lanes[n].centre.linear } else { quad.lanes[n].centre.perspective };
                let color = std::array::from_fn(|c| (p0[c] + i * (p1[c] - p0[c]) + j * (p2[c] - p0[c])).to_bits());
                let alive = !(self.kill)(pixel(quad, n));
                Pixel { alive, colors: vec![(0, color, 15)], ..Pixel::default() }
            })
        };
        Ok(quads.iter().map(shade).collect())
    }
}

fn vertex(position: [f32; 4], color: [f32; 4]) -> Vertex {
    Vertex { position, parameters: [(0, color.map(f32::to_bits))].into(), ..Vertex::default() }
}

fn command(topology: Topology, vertices: u32, depth: bool) -> Draw {
    Draw {
        targets: vec![TargetAttachment { clear: [-1.0; 4], ..TargetAttachment::new(0, "R32G32B32A32_SFLOAT") }],
        depth: depth.then_some(Depth { clear: 1.0, compare: Compare::Less, write: true }),
        ..Draw::new(topology, vertices, [8, 8])
    }
}

fn picture(command: &Draw, vertices: Vec<Vertex>, linear: bool, kill: fn([u32; 2]) -> bool) -> Targets {
    let mut targets = Targets::new(command).expect("targets");
    draw(&mut Given { vertices, linear, kill }, command, &mut targets).expect("draws");
    targets
}

fn at(targets: &Targets, x: u32, y: u32) -> [f32; 4] {
    targets.colors[0].read([x, y]).expect("a pixel").map(f32::from_bits)
}

const NEVER: fn([u32; 2]) -> bool = |_| false;

#[test]
fn a_strip_fills_the_screen_with_a_slope() {
    let corner = |x: f32, y: f32| vertex([x, y, 0.5, 1.0], [(x + 1.0) * 4.0, (y + 1.0) * 4.0, 0.0, 1.0]);
    let vertices = vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(-1.0, 1.0), corner(1.0, 1.0)];
    let mut strip = command(Topology::TriangleStrip, 4, false);
    let targets = picture(&strip, vertices.clone(), false, NEVER);
    for (x, y) in (0..64).map(|n| (n % 8, n / 8)) {
        let [r, g, ..] = at(&targets, x, y);
        assert!((r - (x as f32 + 0.5)).abs() < 1e-4 && (g - (y as f32 + 0.5)).abs() < 1e-4, "{x} {y}: {r} {g}");
    }
    // The same rectangle with indices and killed pixels.
    strip.topology = Topology::TriangleList;
    strip.indices = vec![0, 1, 2, 2, 1, 3];
    strip.vertices = 6;
    let killed = picture(&strip, vertices, false, |[x, y]| (x + y) % 2 == 1);
    for (x, y) in (0..64).map(|n| (n % 8, n / 8)) {
        let expected = if (x + y) % 2 == 1 { [-1.0; 4] } else { at(&targets, x, y) };
        assert!(at(&killed, x, y).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4));
    }
}

#[test]
fn perspective_and_what_is_behind() {
    // A floor from in front of the eye to behind it: it is clipped, and u varies with 1/w.
    let corner = |x: f32, w: f32| vertex([x * w.abs(), w.abs().min(1.0), w * 0.5, w], [w, 0.0, 0.0, 1.0]);
    let floor = vec![corner(-4.0, 1.0), corner(4.0, 1.0), vertex([0.0, 0.0, 2.0, 4.0], [4.0, 0.0, 0.0, 1.0])];
    let list = command(Topology::TriangleList, 3, false);
    let [perspective, linear] = [false, true].map(|linear| picture(&list, floor.clone(), linear, NEVER));
    let mut seen = 0;
    for y in 4..8 {
        // On the screen y = 1 at w = 1 and 0 at w = 4: 1/w is linear between.
        let t = (f64::from(y) + 0.5 - 4.0) / 4.0;
        let w = 1.0 / (t + (1.0 - t) / 4.0);
        let [found, straight] = [&perspective, &linear].map(|p| f64::from(at(p, 4, y)[0]));
        assert!((found - w).abs() < 1e-4, "{y}: {found} is not {w}");
        assert!((straight - (t + (1.0 - t) * 4.0)).abs() < 1e-4, "{y}: {straight}");
        seen += 1;
    }
    assert_eq!(seen, 4);
    // One vertex is behind the eye: the triangle is cut at the near plane, and values stay in range.
    let behind = vec![corner(-1.0, 1.0), corner(1.0, 1.0), vertex([0.0, -4.0, -1.0, -2.0], [-2.0, 0.0, 0.0, 1.0])];
    let cut = picture(&list, behind, false, NEVER);
    let found: Vec<f32> = (0..64).map(|n| at(&cut, n % 8, n / 8)[0]).filter(|r| *r != -1.0).collect();
    assert!(!found.is_empty() && found.iter().all(|w| (-1e-4..=1.0001).contains(w)), "{found:?}");
}

#[test]
fn depth_orders_and_planes_clip() {
    let flat = |z: f32, red: f32| {
        [[-1.0, -1.0], [3.0, -1.0], [-1.0, 3.0]].map(|[x, y]| vertex([x, y, z, 1.0], [red, 0.0, 0.0, 1.0]))
    };
    let mut vertices: Vec<Vertex> = [flat(0.5, 1.0), flat(0.25, 2.0), flat(0.75, 3.0)].concat();
    let targets = picture(&command(Topology::TriangleList, 9, true), vertices.clone(), false, NEVER);
    assert!((0..64).all(|n| at(&targets, n % 8, n / 8)[0] == 2.0));
    assert!(targets.depth.unwrap().data.iter().all(|z| *z == 0.25));
    // Depths above 1 are clipped, so only the left half of the nearer rectangle is drawn.
    vertices.iter_mut().take(3).for_each(|v| v.position[2] = 1.5);
    vertices[3..6].iter_mut().for_each(|v| v.clip = vec![-v.position[0]]);
    vertices[6..9].iter_mut().for_each(|v| v.cull = vec![-1.0]);
    let targets = picture(&command(Topology::TriangleList, 9, true), vertices, false, NEVER);
    for (x, y) in (0..64).map(|n| (n % 8, n / 8)) {
        assert_eq!(at(&targets, x, y)[0], if x < 4 { 2.0 } else { -1.0 });
    }
}

#[test]
fn depths_of_opengl_begin_at_minus_w() {
    for (z, w, expect) in [(-1.0, 1.0, Some(0.0)), (0.0, 2.0, Some(0.5)), (1.0, 2.0, Some(0.75)), (-1.5, 1.0, None)] {
        let corner = |[x, y]: [f32; 2]| vertex([x * w, y * w, z, w], [2.0, 0.0, 0.0, 1.0]);
        let vertices = [[-1.0, -1.0], [3.0, -1.0], [-1.0, 3.0]].map(corner).to_vec();
        let mut command = command(Topology::TriangleList, 3, true);
        command.fixed.negative_one_to_one = true;
        let targets = picture(&command, vertices, false, NEVER);
        assert_eq!(at(&targets, 1, 1)[0], if expect.is_some() { 2.0 } else { -1.0 }, "{z} of {w}");
        assert_eq!(targets.depth.unwrap().data[9], expect.unwrap_or(1.0), "{z} of {w}");
    }
}

#[test]
fn points_and_lines() {
    let mut point = vertex([0.0, 0.0, 0.0, 1.0], [5.0; 4]);
    point.point_size = Some(4.0);
    let outside = vertex([1.5, 0.0, 0.0, 1.0], [6.0; 4]);
    let targets = picture(&command(Topology::PointList, 2, false), vec![point, outside], false, NEVER);
    for (x, y) in (0..64).map(|n| (n % 8, n / 8)) {
        let inside = (2..6).contains(&x) && (2..6).contains(&y);
        assert_eq!(at(&targets, x, y)[0], if inside { 5.0 } else { -1.0 });
    }
    for size in [-4.0, f32::NAN] {
        let mut point = vertex([0.0, 0.0, 0.0, 1.0], [5.0; 4]);
        point.point_size = Some(size);
        let targets = picture(&command(Topology::PointList, 1, false), vec![point], false, NEVER);
        assert!((0..64).all(|n| at(&targets, n % 8, n / 8)[0] == -1.0), "{size}");
    }
    let end = |x: f32, value: f32| vertex([x, 0.125, 0.0, 1.0], [value; 4]);
    let targets = picture(&command(Topology::LineStrip, 2, false), vec![end(-1.0, 0.0), end(1.0, 8.0)], false, NEVER);
    for x in 0..8 {
        assert!((at(&targets, x, 4)[0] - (x as f32 + 0.5)).abs() < 1e-5);
        assert_eq!([at(&targets, x, 3)[0], at(&targets, x, 5)[0]], [-1.0; 2]);
    }
}

#[test]
fn fronts_go_counter_clockwise() {
    struct Facing(Vec<bool>);
    impl Shaders for Facing {
        fn vertices(&mut self, ids: &[VertexId]) -> Result<Vec<Vertex>> {
            let places = [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]];
            let order = [0, 1, 2, 0, 2, 1];
            let place = |id: &VertexId| places[order[id.vertex as usize]];
            Ok(ids.iter().map(place).map(|[x, y]| vertex([x, y, 0.0, 1.0], [0.0; 4])).collect())
        }
        fn fragments(&mut self, _: &[Vertex], primitives: &[Primitive], quads: &[Quad]) -> Result<Vec<[Pixel; 4]>> {
            self.0 = primitives.iter().map(|p| p.front).collect();
            Ok(vec![<[Pixel; 4]>::default(); quads.len()])
        }
    }
    let command = command(Topology::TriangleList, 6, false);
    let mut shaders = Facing(Vec::new());
    draw(&mut shaders, &command, &mut Targets::new(&command).unwrap()).unwrap();
    // Down, then right, with y down.
    assert_eq!(shaders.0, [true, false]);
}

/// Each vertex is at the position of its number, and outputs its primitive id.
struct Numbered;

impl Shaders for Numbered {
    fn vertices(&mut self, ids: &[VertexId]) -> Result<Vec<Vertex>> {
        let place = |id: &VertexId| {
            let x = (id.vertex / 2) as f32 - 1.0;
            let color = [id.primitive as f32, id.vertex as f32, id.instance as f32, 1.0];
            vertex([x, if id.vertex.is_multiple_of(2) { -1.0 } else { 1.0 }, 0.5, 1.0], color)
        };
        Ok(ids.iter().map(place).collect())
    }

    fn fragments(&mut self, vertices: &[Vertex], primitives: &[Primitive], quads: &[Quad]) -> Result<Vec<[Pixel; 4]>> {
        let shade = |quad: &Quad| {
            let Primitive { number, vertices: [first, ..], .. } = primitives[quad.primitive];
            let [primitive, vertex, instance, _] = vertices[first].parameters[&0];
            let color = [primitive, vertex, instance, (number as f32).to_bits()];
            [(); 4].map(|()| Pixel { alive: true, colors: vec![(0, color, 15)], ..Pixel::default() })
        };
        Ok(quads.iter().map(shade).collect())
    }

    fn numbers_primitives(&self) -> bool {
        true
    }
}

#[test]
fn provoking_vertices_know_their_primitive() {
    let mut command = command(Topology::TriangleStrip, 6, false);
    command.instances = 2;
    let mut targets = Targets::new(&command).expect("targets");
    draw(&mut Numbered, &command, &mut targets).expect("draws");
    // Four triangles from left to right, each in a column 2.5 pixels wide; the second instance is on top, and counts anew.
    for (x, y, primitive) in [(0, 0, 0.0), (3, 7, 1.0), (4, 0, 2.0), (7, 7, 3.0)] {
        assert_eq!(at(&targets, x, y), [primitive, primitive, 1.0, primitive], "{x} {y}");
    }
}

#[test]
fn a_draw_has_limits() {
    let refused = |vertices, instances| {
        let mut command = command(Topology::TriangleList, vertices, false);
        command.instances = instances;
        let mut targets = Targets::new(&command).expect("targets");
        draw(&mut Numbered, &command, &mut targets).err().map(|e| e.to_string())
    };
    assert!(refused((1 << 20) + 1, 1).is_some_and(|why| why.contains("vertices")));
    // Without vertices too, since the instances would take hours.
    for (vertices, instances) in [(0, u32::MAX), (3, 1 << 24)] {
        assert!(refused(vertices, instances).is_some_and(|why| why.contains("instances")));
    }
    let mut twice = command(Topology::TriangleList, 3, false);
    twice.targets.extend_from_within(..);
    assert!(Targets::new(&twice).is_err_and(|e| e.to_string().contains("two targets of location 0")));
}

#[test]
fn polygons_are_drawn_as_lines_or_points() {
    let corner = |x: f32, y: f32| vertex([x, y, 0.5, 1.0], [1.0; 4]);
    let mut list = command(Topology::TriangleList, 3, false);
    let mut seen = |mode, width, vertices| {
        (list.fixed.polygon_mode, list.fixed.line_width) = (mode, width);
        let targets = picture(&list, vertices, false, NEVER);
        (0..64).filter(|n| at(&targets, n % 8, n / 8)[0] != -1.0).collect::<Vec<u32>>()
    };
    // From pixel (1, 1) to (6, 1) and (1, 6).
    let [near, far] = [-0.625, 0.625];
    let three = || vec![corner(near, near), corner(far, near), corner(near, far)];
    let lines = seen(PolygonMode::Line, None, three());
    for n in [8 + 2, 8 + 4, 16 + 1, 32 + 1, 4 * 8 + 3, 3 * 8 + 4] {
        assert!(lines.contains(&n), "{n}: {lines:?}");
    }
    assert!(![18, 19, 26].iter().any(|n| lines.contains(n)), "the inside is empty: {lines:?}");
    assert!(seen(PolygonMode::Line, Some(3.0), three()).len() > 2 * lines.len());
    let mut vertices = three();
    (vertices[1].point_size, vertices[2].point_size) = (Some(3.0), Some(0.0));
    assert_eq!(seen(PolygonMode::Point, None, vertices), [5, 6, 7, 9, 13, 14, 15, 21, 22, 23]);
    // The right half is clipped away: the edge that clipping adds is not drawn.
    let mut vertices = three();
    vertices.iter_mut().for_each(|vertex| vertex.clip = vec![-vertex.position[0]]);
    let cut = seen(PolygonMode::Line, None, vertices);
    assert!(cut.contains(&10) && cut.contains(&41) && ![19, 20, 27, 14].iter().any(|n| cut.contains(n)), "{cut:?}");
}
