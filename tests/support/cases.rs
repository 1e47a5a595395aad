//! Coverage cases: a shader (GLSL or SPIR-V assembly) whose comment header describes its inputs.
//!
//! `// grid X Y Z` workgroups (1 1 1), `// floor N` ulps by which any float may differ besides its bound (2), `// at N
//! RANGE` storage buffer at binding N of set 0, `// uniform N RANGE` uniform buffer likewise, `// push RANGE`, `//
//! physical N RANGE` a buffer without a descriptor, `// pointer push|N BYTE M OFFSET` stores the address of M plus
//! OFFSET there, `// sampler N linear|nearest`, `// texels N FORMAT WIDTH HEIGHT storage|sampled|combined|shadow …`
//! (see [`texels`]), `// texel_buffer N FORMAT COUNT storage|uniform`, `// absent N LEVEL` the level of the image at N
//! has no memory, `// spec ID VALUE BYTES`, `// subgroups` the result depends on the subgroup size, `// target ENV`
//! (vulkan1.1), `// unjudged WHY` lavapipe cannot run it, and the interpreter is the only reference. An array element
//! is `N.E`. RANGE: `floats COUNT LOW HIGH`, `doubles …`, `halves …`, `bits COUNT` (dwords), `below COUNT N` (dwords),
//! `zeros COUNT`, `dwords N…` literally; several ranges, separated by `,`, are concatenated.

#![allow(dead_code, reason = "each test program uses its own part of this")]

use dovetail::emu::NamedFormat;
use dovetail::emu::inputs::{
    AbsentLevel, Address, BindingElement, Blend, BlendEquation, BlendFactor, BlendOp, Bound, Compare, Depth, Draw,
    Image, InputBytes, Inputs, Sampler, Slot, Stencil, StoredPointer, TargetAttachment, Texels, Topology, ViewShape,
};
use dovetail::ir::Bits;
use dovetail::ir::interp::encode;
use dovetail::proof::Random;
use dovetail::state::Swizzle;

/// A parsed case.
pub struct Case {
    /// File name.
    pub name: String,
    /// Ulps by which any float may differ.
    pub floor: f64,
    /// Whether the result depends on the subgroup size.
    pub subgroups: bool,
    /// Whether lavapipe cannot run it.
    pub unjudged: bool,
    /// Target environment for glslangValidator.
    pub target: String,
    /// Specialization: id, value, bytes.
    pub spec: Vec<(u32, u64, usize)>,
    /// Colour attachments of a fragment shader: `// attachment FORMAT`, by location.
    pub targets: Vec<String>,
    lines: Vec<Vec<String>>,
}

impl Case {
    /// Reads the header of a shader's source.
    pub fn new(name: &str, source: &str) -> Self {
        let header = source.lines().filter_map(|l| l.strip_prefix("// ").or(l.strip_prefix("; ")));
        let lines: Vec<Vec<String>> = header.map(|l| l.split_whitespace().map(str::to_owned).collect()).collect();
        let find = |key: &'static str| lines.iter().filter(move |l| l[0] == key);
        let spec = find("spec").map(|l| (number(&l[1]) as u32, number(&l[2]) as u64, number(&l[3]) as usize));
        Self {
            name: name.to_owned(),
            floor: find("floor").next().map_or(2.0, |l| number(&l[1])),
            subgroups: find("subgroups").next().is_some(),
            unjudged: find("unjudged").next().is_some(),
            target: find("target").next().map_or("vulkan1.1", |l| &l[1]).to_owned(),
            spec: spec.collect(),
            targets: find("attachment").map(|l| l[1].clone()).collect(),
            lines,
        }
    }

    /// Whether the header has a line with this key.
    pub fn has(&self, key: &str) -> bool {
        self.lines.iter().any(|l| l[0] == key)
    }

    /// The number after a key in the header.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.lines.iter().find(|l| l[0] == key).map(|l| number(&l[1]))
    }

    /// The draw that the header describes, to attachments cleared to 0 with an alpha of 1.
    pub fn draw(&self) -> Draw {
        let find = |key: &str| self.lines.iter().find(|l| l[0] == key);
        let usual = ["draw", "triangles", "3"].map(str::to_owned).to_vec();
        let line = find("draw").unwrap_or(&usual);
        let nth = |n: usize, other: f64| line.get(n).map_or(other, |n| number(n));
        let extent = find("extent").map_or([32, 32], |l| [number(&l[1]) as u32, number(&l[2]) as u32]);
        let target = |(location, format): (usize, &String)| TargetAttachment {
            location: location as u32,
            format: format.clone(),
            clear: [0.0, 0.0, 0.0, 1.0],
            write_mask: 15,
            blend: find("blend").map(|l| blend(&l[1])),
        };
        Draw {
            topology: match line[1].as_str() {
                "points" => Topology::PointList,
                "lines" => Topology::LineList,
                "strip" => Topology::TriangleStrip,
                _ => Topology::TriangleList,
            },
            vertices: nth(2, 3.0) as u32,
            instances: nth(3, 1.0) as u32,
            first_vertex: nth(4, 0.0) as u32,
            first_instance: nth(5, 0.0) as u32,
            indices: find("indices").map_or(Vec::new(), |l| l[1..].iter().map(|n| number(n) as u32).collect()),
            vertex_buffers: Vec::new(),
            extent,
            samples: find("samples").map_or(1, |l| number(&l[1]) as u32),
            sample_shading: find("samples").is_some_and(|l| l.len() > 2 && l[2] == "shaded"),
            alpha_to_one: find("alpha_to_one").is_some(),
            view_mask: 0,
            targets: self.targets.iter().enumerate().map(target).collect(),
            depth: find("depth").map(|l| Depth {
                clear: number(&l[2]) as f32,
                compare: if l[1] == "less" { Compare::Less } else { Compare::LessOrEqual },
                write: true,
            }),
            stencil: find("stencil").map(|l| Stencil { clear: number(&l[1]) as u8, reference: number(&l[2]) as u8 }),
            fixed: Default::default(),
        }
    }

    /// Inputs generated from a seed.
    pub fn inputs(&self, seed: u64) -> Inputs {
        let mut random = Random::new(seed);
        let mut inputs = Inputs { grid: [1; 3], ..Default::default() };
        for line in &self.lines {
            let line: Vec<&str> = line.iter().map(String::as_str).collect();
            // An array element is written `N.E`.
            let place = || {
                let (binding, element) = line[1].split_once('.').unwrap_or((line[1], "0"));
                (number(binding) as u32, number(element) as u32)
            };
            let mut bind =
                |(binding, element), bound| inputs.bindings.push(BindingElement { set: 0, binding, element, bound });
            match line[0] {
                "grid" => inputs.grid = [1, 2, 3].map(|n| number(line[n]) as u32),
                "at" => bind(place(), Bound::StorageBuffer(range(&mut random, &line[2..]))),
                "uniform" => bind(place(), Bound::UniformBuffer(range(&mut random, &line[2..]))),
                "physical" => bind(place(), Bound::PhysicalStorageBuffer(range(&mut random, &line[2..]))),
                "pointer" => {
                    let slot = |n: &str| Slot { set: 0, binding: number(n) as u32, element: 0 };
                    let within = (line[1] != "push").then(|| slot(line[1]));
                    let [byte, offset] = [2, 4].map(|n| number(line[n]) as u32);
                    inputs.pointers.push(StoredPointer { within, byte, to: slot(line[3]), offset });
                }
                "absent" => {
                    let image = Slot { set: 0, binding: number(line[1]) as u32, element: 0 };
                    inputs.absent.push(AbsentLevel { image, level: number(line[2]) as u32 });
                }
                "push" => inputs.push_constants = range(&mut random, &line[1..]),
                "sampler" => bind(place(), Bound::Sampler(filtered(line[2] == "linear"))),
                "texels" => bind(place(), texels(&mut random, &line[2..])),
                "texel_buffer" => {
                    let count = number(line[3]) as usize;
                    let texels = Texels { format: line[2].to_owned(), data: pixels(&mut random, line[2], count) };
                    let storage = line[4] == "storage";
                    bind(
                        place(),
                        if storage { Bound::StorageTexelBuffer(texels) } else { Bound::UniformTexelBuffer(texels) },
                    );
                }
                _ => {}
            }
        }
        inputs
    }
}

/// Blending of a dual-source output: the product of both colours, or the old value weighted by the second colour.
fn blend(name: &str) -> Blend {
    let through = |destination| BlendEquation { source: BlendFactor::One, destination, op: BlendOp::Add };
    match name {
        "product" => Blend::PRODUCT,
        "through" => Blend { color: through(BlendFactor::OneMinusSrc1Color), alpha: through(BlendFactor::Src1Alpha) },
        _ => panic!("blend {name}"),
    }
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("a number, not `{text}`"))
}

fn range(random: &mut Random, words: &[&str]) -> InputBytes {
    InputBytes(words.split(|w| *w == ",").flat_map(|words| one_range(random, words)).collect())
}

fn one_range(random: &mut Random, words: &[&str]) -> Vec<u8> {
    if words[0] == "dwords" {
        return words[1..].iter().flat_map(|n| (number(n) as u32).to_le_bytes()).collect();
    }
    let count = number(words[1]) as usize;
    let limits = || (number(words[2]), number(words[3]));
    let mut out = Vec::new();
    for _ in 0..count {
        match words[0] {
            "floats" => out.extend((random.between(limits().0, limits().1) as f32).to_le_bytes()),
            "doubles" => out.extend(random.between(limits().0, limits().1).to_le_bytes()),
            "halves" => {
                let half = encode(random.between(limits().0, limits().1), Bits::B16) as u16;
                out.extend(half.to_le_bytes());
            }
            "bits" => out.extend((random.bits() as u32).to_le_bytes()),
            "below" => out.extend((random.bits() as u32 % number(words[2]) as u32).to_le_bytes()),
            "zeros" => out.extend([0; 4]),
            other => panic!("a range, not `{other}`"),
        }
    }
    out
}

fn filtered(linear: bool) -> Sampler {
    Sampler {
        mag_linear: linear,
        min_linear: linear,
        mip_linear: linear,
        address: [Address::Repeat, Address::ClampToEdge, Address::MirroredRepeat],
        ..Default::default()
    }
}

fn pixels(random: &mut Random, format: &str, count: usize) -> InputBytes {
    if format.ends_with("_BLOCK") {
        let bytes = NamedFormat::new(format).expect("a format").format.bytes();
        return range(random, &["bits", &(count * bytes / 4).to_string()]);
    }
    if matches!(format, "S8_UINT" | "D16_UNORM") {
        let bytes = count * NamedFormat::new(format).expect("a format").format.bytes();
        let mut words = range(random, &["bits", &bytes.div_ceil(4).to_string()]);
        words.0.truncate(bytes);
        return words;
    }
    if format == "X8_D24_UNORM_PACK32" {
        // The highest byte is undefined.
        return range(random, &["below", &count.to_string(), "16777216"]);
    }
    let channels = match format {
        _ if format.starts_with("R32G32B32A32") => 4,
        _ if format.starts_with("R32G32_") => 2,
        _ => 1,
    };
    match format.rsplit('_').next() {
        Some("SFLOAT") if format.starts_with('D') => range(random, &["floats", &count.to_string(), "0", "1"]),
        Some("SFLOAT") if format.starts_with("R16") => range(random, &["halves", &(count * 4).to_string(), "1", "2"]),
        Some("SFLOAT") => range(random, &["floats", &(count * channels).to_string(), "1", "2"]),
        _ => range(random, &["bits", &(count * channels).to_string()]),
    }
}

/// The sources of a view's components.
fn swizzle(parts: &str) -> [Swizzle; 4] {
    let mut letters = parts.chars();
    std::array::from_fn(|_| match letters.next().expect("four components") {
        '0' => Swizzle::Zero,
        '1' => Swizzle::One,
        'r' => Swizzle::R,
        'g' => Swizzle::G,
        'b' => Swizzle::B,
        'a' => Swizzle::A,
        other => panic!("no component {other}"),
    })
}

/// `FORMAT WIDTH HEIGHT KIND [FILTER [LEVELS [SHAPE [DEPTH-OR-LAYERS [SWIZZLE]]]]]`. A swizzle has a letter or digit for each
/// component: `bg01`.
fn texels(random: &mut Random, words: &[&str]) -> Bound {
    let [width, height] = [1, 2].map(|n| number(words[n]) as u32);
    let count_of = |n: usize| words.get(n).map_or(1, |n| number(n) as u32);
    let (levels, more) = (count_of(5), count_of(7));
    let shape = words.get(6).copied().unwrap_or("2d");
    let (depth, layers) = if shape == "3d" { (more, 1) } else { (1, more) };
    let extent = [width, height, depth];
    let elements = |extent| match words[0].ends_with("_BLOCK") {
        true => NamedFormat::new(words[0]).expect("a format").format.elements(extent),
        false => extent,
    };
    let level = |l: u32| {
        let [width, height, depth] = extent.map(|n| (n >> l).max(1));
        elements([width, height]).iter().product::<u32>() * depth * layers
    };
    let count: u32 = (0..levels).map(level).sum();
    let image = Image {
        format: words[0].to_owned(),
        shape: match shape.trim_end_matches("_array") {
            "1d" => ViewShape::D1,
            "3d" => ViewShape::D3,
            "cube" => ViewShape::Cube,
            _ => ViewShape::D2,
        },
        extent,
        layers,
        arrayed: shape.ends_with("_array"),
        levels,
        samples: 1,
        swizzle: words.get(8).map(|parts| swizzle(parts)).unwrap_or_default(),
        data: pixels(random, words[0], count as usize),
    };
    let sampler = Sampler {
        max_lod: levels as f32 - 1.0,
        compare: (words[3] == "shadow").then_some(Compare::LessOrEqual),
        ..filtered(words.get(4) == Some(&"linear"))
    };
    match words[3] {
        "storage" => Bound::StorageImage(image),
        "sampled" => Bound::SampledImage(image),
        _ => Bound::CombinedImageSampler(image, sampler),
    }
}
