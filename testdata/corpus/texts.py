#!/usr/bin/env python3
"""Shaders that packages hold as text, to SPIR-V: texts.py SOURCE INPUT... OUT

SOURCE says what the packages are. Inputs are folders or archives. OUT gets the modules, `pairs.tsv` and `index.json` as
`dovetail corpus extract` writes them, and `failed.log`: what the compiler did not take, and why.
"""
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor

from spirv import consistent

# Of piglit's generated tests, one in so many.
GENERATED = 40
# Combinations of features of each material of three.js.
COMBINATIONS = 24
SUFFIX = {"vertex": "vert", "fragment": "frag", "pixel": "frag", "compute": "comp"}


def files(folder, suffixes):
    found = (os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)
    return sorted(path for path in found if path.endswith(suffixes))


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


def without(text, *patterns):
    for pattern in patterns:
        text = re.sub(pattern, "", text, flags=re.M)
    return text


def modern(text, stage, version):
    """OpenGL's GLSL of any version as that of Vulkan with relaxed rules."""
    extensions = re.findall(r"^\s*#extension.*$", text, flags=re.M)
    text = without(text, r"^\s*#version.*$", r"^\s*precision .*$", r"^\s*#extension.*$")
    known = ("GL_ARB_gpu_shader_int64", "GL_EXT_shader_explicit", "GL_ARB_shader_ballot", "GL_ARB_sparse")
    head = ["#version 450"] + [e for e in extensions if any(k in e for k in known)]
    uses = lambda name: re.search(r"\b%s\b" % name, text)
    if version < 130:
        for kind in ("1D", "2D", "3D", "Cube"):
            head.append(f"#define texture{kind} texture")
        head += [
            "#define texture2DLod textureLod",
            "#define texture2DProj textureProj",
            "#define texture2DLodEXT textureLod",
            "#define texture2DGradEXT textureGrad",
            "#define textureCubeGradEXT textureGrad",
            "#define shadow2D(s, c) vec4(texture(s, c))",
            "#define varying " + ("out" if stage == "vert" else "in"),
        ]
        between = "out" if stage == "vert" else "in"
        replaced = [("gl_TexCoord", f"{between} vec4 tex_coord[4];", "tex_coord")]
        if stage == "vert":
            head.append("#define attribute in")
            if uses("gl_Vertex") or uses("ftransform"):
                head += ["in vec4 gl_vertex_;", "#define gl_Vertex gl_vertex_", "#define ftransform() gl_vertex_"]
            replaced += [
                ("gl_Color", "in vec4 in_color;", "in_color"),
                ("gl_Normal", "in vec3 in_normal;", "in_normal"),
                ("gl_ModelViewProjectionMatrix", "uniform mat4 transform_;", "transform_"),
                ("gl_FrontColor", "out vec4 front_color;", "front_color"),
            ]
            replaced += [(f"gl_MultiTexCoord{n}", f"in vec4 in_tex_coord{n};", f"in_tex_coord{n}") for n in range(4)]
        else:
            replaced += [("gl_Color", "in vec4 front_color;", "front_color")]
        for name, declaration, other in replaced:
            if uses(name):
                head += [declaration, f"#define {name} {other}"]
    if stage == "frag":
        if uses("gl_FragColor"):
            head += ["out vec4 frag_color_;", "#define gl_FragColor frag_color_"]
        if uses("gl_FragData"):
            head += ["out vec4 frag_data_[4];", "#define gl_FragData frag_data_"]
    return "\n".join(head) + "\n" + text


def piglit(folder):
    """Tests: several shaders in a file, in sections."""
    tests = files(folder, ".shader_test")
    generated = [path for path in tests if "/generated_tests/" in path]
    tests = [path for path in tests if "/generated_tests/" not in path] + generated[::GENERATED]
    for path in tests:
        parts = re.split(r"^\[(.*)\]\s*$", read(path), flags=re.M)
        sections = dict(zip(parts[1::2], parts[2::2]))
        if any(name.startswith(("tess", "geometry")) or "spirv" in name for name in sections):
            continue
        required = re.search(r"GLSL\s*>=\s*(\d)\.(\d+)", sections.get("require", ""))
        version = int(required[1] + required[2]) if required else 110
        own = lambda text: int((re.search(r"#version (\d+)", text) or [0, version])[1])
        name = path.split("piglit/")[-1].replace(".shader_test", "").replace("tests/spec/", "")
        name = re.sub(r"\W+", "_", name)
        vertex, fragment = (sections.get(f"{stage} shader") for stage in ("vertex", "fragment"))
        if "compute shader" in sections:
            yield name, {"comp": modern(sections["compute shader"], "comp", 430)}
        elif fragment is not None:
            passthrough = "#version 450\nin vec4 vertex_;\nvoid main() { gl_Position = vertex_; }\n"
            vertex = vertex if vertex is not None else passthrough
            yield name, {"vert": modern(vertex, "vert", own(vertex)), "frag": modern(fragment, "frag", own(fragment))}
        elif vertex is not None:
            green = "#version 450\nout vec4 color;\nvoid main() { color = vec4(0, 1, 0, 1); }\n"
            yield name, {"vert": modern(vertex, "vert", own(vertex)), "frag": green}


def transitions(folder):
    """Functions from one picture to another, each in a fragment shader of its own."""
    vertex = """#version 450
in vec2 position;
out vec2 uv_;
void main() { gl_Position = vec4(position, 0.0, 1.0); uv_ = position * 0.5 + 0.5; }
"""
    head = """#version 450
in vec2 uv_;
out vec4 color_;
uniform sampler2D from_, to_;
uniform float progress, ratio;
#define texture2D texture
vec4 getFromColor(vec2 uv) { return texture(from_, uv); }
vec4 getToColor(vec2 uv) { return texture(to_, uv); }
"""
    for path in files(os.path.join(folder, "package/transitions"), ".glsl"):
        name = re.sub(r"\W+", "_", os.path.basename(path)[:-5])
        body = without(read(path), r"^\s*#version.*$")
        yield name, {"vert": vertex, "frag": head + body + "\nvoid main() { color_ = transition(uv_); }\n"}


def three(folder):
    """Materials, which are text with features, each with some of them."""
    shaders = os.path.join(folder, "package/src/renderers/shaders")
    literals = lambda path: re.findall(r"`(.*?)`", read(path), flags=re.S)
    chunks = {os.path.basename(p)[:-8]: literals(p)[0] for p in files(shaders + "/ShaderChunk", ".glsl.js")}

    def included(text):
        return re.sub(r"^[ \t]*#include +<([\w\d./]+)>", lambda m: included(chunks[m[1]]), text, flags=re.M)

    def unrolled(text):
        loop = r"#pragma unroll_loop_start\s+for\s*\(\s*int\s+i\s*=\s*(\d+)\s*;\s*i\s*<\s*(\d+)\s*;\s*i\s*\+\+\s*\)"
        loop += r"\s*{([\s\S]+?)}\s+#pragma unroll_loop_end"
        turn = lambda m, i: m[3].replace("[ i ]", f"[ {i} ]").replace("UNROLLED_LOOP_INDEX", str(i))
        return re.sub(loop, lambda m: "".join(turn(m, i) for i in range(int(m[1]), int(m[2]))), text)

    layered = "SHEEN_COLOR SHEEN_ROUGHNESS CLEARCOAT CLEARCOAT_NORMAL CLEARCOAT_ROUGHNESS IRIDESCENCE"
    layered = (layered + " IRIDESCENCE_THICKNESS ANISOTROPY").split()
    maps = "MAP LIGHTMAP AOMAP BUMPMAP NORMALMAP EMISSIVEMAP DISPLACEMENTMAP ALPHAMAP METALNESSMAP ROUGHNESSMAP"
    maps += " SPECULARMAP SPECULAR_COLORMAP SPECULAR_INTENSITYMAP TRANSMISSIONMAP THICKNESSMAP"
    maps = maps.split() + [f"{name}MAP" for name in layered]
    needs = {f"{name}MAP": name.split("_")[0] for name in layered}
    needs.update(TRANSMISSIONMAP="TRANSMISSION", THICKNESSMAP="TRANSMISSION")
    flags = "FOG ALPHATEST ALPHAHASH COLOR INSTANCING INSTANCING_COLOR SKINNING TANGENT SHEEN CLEARCOAT IRIDESCENCE"
    flags += " TRANSMISSION DISPERSION LOGARITHMIC_DEPTH_BUFFER SIZEATTENUATION CLIP_DISTANCE LIGHT_PROBES ANISOTROPY"
    flags = [f"USE_{name}" for name in (flags + " BATCHING").split()]
    flags += "DOUBLE_SIDED FLAT_SHADED PREMULTIPLIED_ALPHA DITHERING FOG_EXP2 OPAQUE".split()
    declared = "uniform mat4 viewMatrix;\nuniform vec3 cameraPosition;\nuniform bool isOrthographic;\n"
    attributes = """#define attribute in
#define varying out
#define texture2D texture
uniform mat4 modelMatrix, modelViewMatrix, projectionMatrix;
uniform mat3 normalMatrix;
#ifdef USE_INSTANCING
attribute mat4 instanceMatrix;
#endif
#ifdef USE_INSTANCING_COLOR
attribute vec3 instanceColor;
#endif
attribute vec3 position;
attribute vec3 normal;
attribute vec2 uv;
#ifdef USE_UV1
attribute vec2 uv1;
#endif
#ifdef USE_TANGENT
attribute vec4 tangent;
#endif
#ifdef USE_COLOR
attribute vec3 color;
#endif
#ifdef USE_SKINNING
attribute vec4 skinIndex;
attribute vec4 skinWeight;
#endif
"""
    targets = """#define varying in
layout(location = 0) out vec4 pc_fragColor;
#define gl_FragColor pc_fragColor
#define gl_FragDepthEXT gl_FragDepth
#define texture2D texture
#define textureCube texture
#define texture2DProj textureProj
#define texture2DLodEXT textureLod
#define texture2DProjLodEXT textureProjLod
#define textureCubeLodEXT textureLod
#define texture2DGradEXT textureGrad
#define textureCubeGradEXT textureGrad
"""
    tones = ["", "ACESFilmicToneMapping", "ReinhardToneMapping", "AgXToneMapping"]
    chance = random.Random(7)
    for path in files(shaders + "/ShaderLib", ".glsl.js"):
        name = os.path.basename(path)[:-8]
        vertex, fragment = literals(path)[:2]
        for n in range(COMBINATIONS):
            on = {"HAS_NORMAL": "", "SHADER_TYPE": "Mesh", "VSM_SAMPLES": "8", "POINTS_UV": "uv"}
            on["DEPTH_PACKING"] = "3200" if n % 2 else "3201"
            for used in chance.sample(maps, n % 7):
                on["USE_" + used], on[used + "_UV"] = "", "uv"
                if used in needs:
                    on["USE_" + needs[used]] = ""
            on.update({flag: "" for flag in chance.sample(flags, n % 6)})
            if "USE_NORMALMAP" in on:
                on["USE_NORMALMAP_TANGENTSPACE"] = ""
            if n % 4 == 1:
                kind = "CUBE_UV" if "physical" in name or n % 8 == 1 else "CUBE"
                on.update({"USE_ENVMAP": "", "ENVMAP_MODE_REFLECTION": "", "ENVMAP_BLENDING_MULTIPLY": ""})
                on.update({f"ENVMAP_TYPE_{kind}": "", "CUBEUV_TEXEL_WIDTH": "0.001", "CUBEUV_TEXEL_HEIGHT": "0.001"})
                on["CUBEUV_MAX_MIP"] = "8.0"
            shadows = n % 3 == 2
            if shadows:
                on.update({"USE_SHADOWMAP": "", "SHADOWMAP_TYPE_" + ["PCF", "VSM", "BASIC"][n % 9 // 3]: ""})
            if n % 5 == 4:
                on["USE_UV1"] = ""
            if name == "meshphysical" and n % 2:
                on.update(IOR="", USE_SPECULAR="")
            counts = {"DIR_LIGHTS": n % 3, "SPOT_LIGHTS": n % 2, "POINT_LIGHTS": n % 4, "HEMI_LIGHTS": n % 2}
            counts["RECT_AREA_LIGHTS"] = n % 2 if "physical" in name else 0
            counts["DIR_LIGHT_SHADOWS"] = counts["DIR_LIGHTS"] if shadows else 0
            counts["POINT_LIGHT_SHADOWS"] = counts["POINT_LIGHTS"] if shadows else 0
            for none in ("SHADOWS", "MAPS", "COORDS", "SHADOWS_WITH_MAPS"):
                counts[f"SPOT_LIGHT_{none}"] = 0
            counts = {f"NUM_{key}": count for key, count in counts.items()}
            counts.update(NUM_CLIPPING_PLANES=n % 3, UNION_CLIPPING_PLANES=n % 3)
            head = "#version 450\n#define highp\n#define mediump\n#define lowp\n"
            head += "".join(f"#define {key} {value}\n" for key, value in on.items())
            output = ""
            if tones[n % 4]:
                output += "#define TONE_MAPPING\n" + chunks["tonemapping_pars_fragment"]
                output += "vec3 toneMapping(vec3 color) { return %s(color); }\n" % tones[n % 4]
            transfer = ["sRGBTransferOETF", "LinearTransferOETF"][n % 2]
            output += chunks["colorspace_pars_fragment"]
            output += "vec4 linearToOutputTexel(vec4 value) { return %s(value); }\n" % transfer
            output += "float luminance(const in vec3 rgb) { return dot(rgb, vec3(0.2126, 0.7152, 0.0722)); }\n"

            def whole(text):
                text = included(text)
                for key, count in counts.items():
                    text = re.sub(r"\b%s\b" % key, str(count), text)
                return unrolled(text)

            stages = {"vert": head + declared + attributes + vertex, "frag": head + targets + declared + output + fragment}
            yield f"{name}_{n}", {stage: whole(text) for stage, text in stages.items()}


def glsl(job):
    """Compiles and links the stages of a job with Vulkan's relaxed rules: name, modules by stage, or why not."""
    name, stages = job
    with tempfile.TemporaryDirectory() as at:
        for stage, text in stages.items():
            with open(f"{at}/a.{stage}", "w") as file:
                file.write(text)
        options = ["-V", "-R", "--aml", "--amb", "--target-env", "vulkan1.2", "-l"]
        inputs = [f"a.{stage}" for stage in sorted(stages, reverse=True)]
        done = subprocess.run(["glslangValidator", *options, *inputs], cwd=at, capture_output=True, text=True, errors="replace")
        if done.returncode != 0:
            return name, {}, " | ".join(done.stdout.split("\n"))[:600]
        return name, consistent({stage: open(f"{at}/{stage}.spv", "rb").read() for stage in stages}), ""


# What a program's build may choose: optimization, the order of matrices, the layout of buffers.
SLANG_OPTIONS = {
    "": [],
    "-O0": ["-O0"],
    "-row": ["-matrix-layout-row-major", "-O3"],
    "-scalar": ["-fvk-use-scalar-layout"],
}
ENTRY = r'\[shader\("(\w+)"\)\](?:\s*\[[^\]]*\]+)*\s*(?:public\s+)?[\w<>, .:\[\]]+?\s+(\w+)\s*\('


def slang(folder):
    """Entry points of Slang by the compiler of one package and the library of another: name, modules by stage, or why not."""
    tools = os.path.join(folder, "tools")
    os.makedirs(tools)
    for path in files(folder, ("bin/slangc",)) + [p for p in files(folder, "") if "/bin/libslang-" in p]:
        shutil.copy(path, tools)
    # slangpy has the library that optimizes; the compiler asks for it by its own version.
    version = re.search(r"so\.0\.(.*)", next(n for n in os.listdir(tools) if "compiler.so" in n))[1]
    optimizer = next(path for path in files(folder, ".so") if "libslang-glslang-" in path)
    shutil.copy(optimizer, f"{tools}/libslang-glslang-{version}.so")
    os.chmod(f"{tools}/slangc", 0o755)
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slang")
    package = os.path.join(folder, "slangpy")
    includes = [package + "/" + at for at in ("shaders", "slang", "tests/device", "tests/slangpy_tests")]
    jobs = []
    for root in (own, package):
        for path in files(root, ".slang"):
            base = re.sub(r"\W+", "_", os.path.relpath(path, root)[:-6])
            for entry in re.finditer(ENTRY, read(path)):
                if entry[1] in SUFFIX:
                    jobs += [(path, base, entry[2], entry[1], kind) for kind in SLANG_OPTIONS]

    def compiled(job):
        path, base, entry, stage, kind = job
        name = f"{base}-{entry}{kind}"
        command = [f"{tools}/slangc", path, "-entry", entry, "-stage", stage, "-target", "spirv"] + SLANG_OPTIONS[kind]
        command += [word for at in includes for word in ("-I", at)]
        with tempfile.TemporaryDirectory() as at:
            done = subprocess.run(
                command + ["-o", f"{at}/a.spv"],
                env=dict(os.environ, LD_LIBRARY_PATH=tools),
                capture_output=True,
                text=True,
                errors="replace",
            )
            if done.returncode != 0 or not os.path.exists(f"{at}/a.spv"):
                return name, {}, " | ".join(done.stderr.split("\n"))[:600]
            return name, {SUFFIX[stage]: open(f"{at}/a.spv", "rb").read()}, ""

    return compiled, jobs


def interface(module):
    """Stages and whether it has cooperative matrices; locations that the module reads and writes."""
    words = struct.unpack(f"<{len(module) // 4}I", module)
    at, stages, matrices, location, variables = 5, [], False, {}, {}
    while at < len(words):
        count, op = words[at] >> 16, words[at] & 0xFFFF
        if op == 15:
            stages.append({0: "vertex", 4: "fragment", 5: "compute"}.get(words[at + 1], "other"))
        matrices |= op == 17 and words[at + 1] in (5357, 6022)
        if op == 71 and words[at + 2] == 30:
            location[words[at + 1]] = words[at + 3]
        if op == 59:
            variables[words[at + 2]] = words[at + 3]
        if op == 54:
            break
        at += count
    of = lambda storage: {location[v] for v, s in variables.items() if s == storage and v in location}
    return stages, matrices, of(1), of(3)


def by_locations(modules):
    """Fragment modules and the vertex module of the most alike name that writes what each reads."""
    of = lambda stage: {name: i for name, i in modules.items() if i[0] == [stage]}
    alike = lambda a, b: len(os.path.commonprefix([a, b]))
    for fragment, read_by in of("fragment").items():
        fitting = [(-alike(v, fragment), v) for v, written in of("vertex").items() if read_by[2] <= written[3]]
        if fitting:
            yield fragment, min(fitting)[1], fragment


def main():
    source, *inputs, out = sys.argv[1:]
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    with tempfile.TemporaryDirectory() as folder:
        for path in inputs:
            if zipfile.is_zipfile(path):
                zipfile.ZipFile(path).extractall(folder)
            elif os.path.isfile(path):
                tarfile.open(path).extractall(folder)
        if source == "slang":
            compiled, jobs = slang(folder)
        else:
            texts = {"piglit": piglit, "three": three, "transitions": transitions}[source]
            compiled, jobs = glsl, list(texts(inputs[0] if os.path.isdir(inputs[0]) else folder))
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            done = list(workers.map(compiled, jobs))
    pairs, modules, failed = [], {}, []
    for name, stages, why in done:
        if why:
            failed.append(f"{name}: {why}\n")
        for stage, module in stages.items():
            modules[f"{name}.{stage}"] = interface(module)
            with open(f"{out}/{name}.{stage}.spv", "wb") as file:
                file.write(module)
        if len(stages) == 2:
            pairs.append((name, f"{name}.vert", f"{name}.frag"))
    pairs += by_locations(modules) if source == "slang" else []
    with open(f"{out}/pairs.tsv", "w") as file:
        file.write("base\tvert\tfrag\n" + "".join(f"{base}\t{v}.spv\t{f}.spv\n" for base, v, f in pairs))
    with open(f"{out}/failed.log", "w") as file:
        file.write("".join(failed))
    index = [
        {"name": n, "file": n + ".spv", "entries": [{"stage": s} for s in i[0]], "cooperative_matrix": i[1]}
        for n, i in sorted(modules.items())
    ]
    with open(f"{out}/index.json", "w") as file:
        json.dump(index, file, indent=1)
    print(f"{out}: {len(modules)} modules, {len(pairs)} vertex+fragment pairs; {len(failed)} of {len(jobs)} not compiled")


main()
