#!/usr/bin/env python3
"""Single shaders of compilers' test suites and of libraries, to SPIR-V: suites.py SOURCE INPUT... OUT

Where texts.py finds whole programs, these have one stage each. A fragment shader gets a vertex shader that gives each of its
inputs a value, a vertex shader a fragment shader that adds up all of its outputs. OUT is as that of texts.py.
"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor

from spirv import Module

STAGES = {"vert": "vertex", "frag": "fragment", "comp": "compute"}
ASSEMBLER = ["spirv-as", "--target-env", "vulkan1.2"]
PLAIN = ["glslangValidator", "-V", "--amb", "--aml", "--target-env", "vulkan1.2"]
RELAXED = PLAIN + ["-R"]
DIRECT = ["glslangValidator", "-D", "-V", "--amb", "--aml", "--target-env", "vulkan1.2"]


def files(folder, suffixes):
    found = (os.path.join(at, name) for at, _, names in os.walk(folder) for name in names)
    return sorted(path for path in found if path.endswith(suffixes))


def named(path, root):
    return re.sub(r"\W+", "_", os.path.relpath(path, root))


def stage_of(path):
    """The stage by the last suffix that names one."""
    words = os.path.basename(path).split(".")
    return next((word for word in reversed(words) if word in STAGES), None)


def spirv_cross(folder):
    """Its shaders, as text and as assembly; Vulkan's own have `.vk.` in their names."""
    root = next(os.path.join(at, "") for at, names, _ in os.walk(folder) if "shaders-msl" in names)
    for path in files(root, (".vert", ".frag", ".comp")):
        part = os.path.relpath(path, root)
        if part.startswith("shaders") and stage_of(path):
            if ".asm." in path:
                yield named(path, root), stage_of(path), [ASSEMBLER + [path, "-o"]]
            else:
                yield named(path, root), stage_of(path), [PLAIN + [path, "-o"], RELAXED + [path, "-o"]]


def glslang(folder):
    """Its tests in GLSL, and in HLSL with the entry points that its own tests name."""
    root = next(at for at, _, names in os.walk(folder) if "Hlsl.FromFile.cpp" in names)
    with open(os.path.join(root, "Hlsl.FromFile.cpp")) as file:
        entries = dict(re.findall(r'\{"(hlsl[^"]*)",\s*"(\w+)"', file.read()))
    root = os.path.join(os.path.dirname(root), "Test")
    for path in files(root, (".vert", ".frag", ".comp")):
        name = os.path.relpath(path, root)
        if name in entries:
            entry = ["-e", "main", "--source-entrypoint", entries[name]]
            yield named(path, root), stage_of(path), [DIRECT + entry + [path, "-o"]]
        elif not name.startswith("hlsl"):
            yield named(path, root), stage_of(path), [PLAIN + [path, "-o"], RELAXED + [path, "-o"]]


def grilly(folder):
    """Kernels of a library for neural networks."""
    for path in files(folder, ".glsl"):
        yield named(path, folder), "comp", [PLAIN + ["-S", "comp", path, "-o"]]


def expression(ty, n):
    """A value of a type, made of the attribute `a`."""
    scalar = f"fract(a.{'xyzw'[n % 4]} * {1 + n * 0.37:.2f} + {n * 0.11:.2f})"
    if ty.startswith(("i", "u")):
        return f"{ty}({scalar} * 5.0)"
    vector = re.fullmatch(r"d?vec(\d)", ty)
    if vector:
        return f"{ty}(fract(a * {1 + n * 0.37:.2f} + {n * 0.11:.2f}).{'xyzw'[: int(vector[1])]})"
    return f"{ty}({scalar})"


def qualifiers(location, component):
    return f"layout(location = {location}" + (f", component = {component})" if component else ")")


def array(counts):
    return "".join(f"[{count}]" for count in counts)


def places(counts):
    out = [""]
    for count in counts:
        out = [f"{place}[{n}]" for place in out for n in range(count)]
    return out


def partner(module):
    """The other stage of a module, as text: (stage, text); KeyError: an interface that it cannot have."""
    if module.stages == ["fragment"]:
        declared, body = [], []
        for k, (location, component, what) in enumerate(module.of(1)):
            if isinstance(what, list):
                members = []
                for n, ((ty, counts), has) in enumerate(what):
                    at = f"layout(location = {has[30]}) " if 30 in has else ""
                    members.append(f"{at}{ty} m{n}{array(counts)};")
                    body += [f"b{k}.m{n}{place} = {expression(ty, k + n)};" for place in places(counts)]
                at = f"layout(location = {location}) " if location is not None else ""
                declared.append(f"{at}out B{k} {{ {' '.join(members)} }} b{k};")
            else:
                ty, counts = what
                declared.append(f"{qualifiers(location, component)} out {ty} v{k}{array(counts)};")
                body += [f"v{k}{place} = {expression(ty, k + n)};" for n, place in enumerate(places(counts))]
        text = "#version 460\nlayout(location = 0) in vec4 p;\nlayout(location = 1) in vec4 a;\n"
        return "vert", text + "\n".join(declared) + "\nvoid main() { gl_Position = p;\n" + "\n".join(body) + "\n}\n"
    declared, body = [], []
    for k, (location, component, what) in enumerate(module.of(3)):
        if isinstance(what, list):
            members, names = [], []
            for n, ((ty, counts), has) in enumerate(what):
                at = f"layout(location = {has[30]}) " if 30 in has else ""
                flat = "flat " if ty[0] in "iud" else ""
                members.append(f"{at}{flat}{ty} m{n}{array(counts)};")
                names += [(ty, f"b{k}.m{n}{place}") for place in places(counts)]
            at = f"layout(location = {location}) " if location is not None else ""
            declared.append(f"{at}in B{k} {{ {' '.join(members)} }} b{k};")
        else:
            ty, counts = what
            flat = "flat " if ty[0] in "iud" else ""
            declared.append(f"{qualifiers(location, component)} {flat}in {ty} v{k}{array(counts)};")
            names = [(ty, f"v{k}{place}") for place in places(counts)]
        for ty, name in names:
            if "mat" in ty:
                width = int(re.search(r"mat(\d)", ty)[1])
                body += [f"c += vec4({name}[{column}][0], {name}[{column}][1], 0.0, 0.1);" for column in range(width)]
            elif "vec" in ty:
                count = int(ty[-1])
                parts = [f"float({name}[{n}])" if n < count else "0.0" for n in range(4)]
                body.append(f"c += vec4({', '.join(parts)});")
            else:
                body.append(f"c += vec4(float({name}));")
    text = "#version 460\nlayout(location = 0) out vec4 color;\n"
    return "frag", text + "\n".join(declared) + "\nvoid main() { vec4 c = vec4(0.25, 0.5, 0.75, 1.0);\n" + "\n".join(body) + "\ncolor = c; }\n"


def run(command, out):
    done = subprocess.run(command + [out], capture_output=True, text=True, errors="replace", timeout=60)
    good = done.returncode == 0 and os.path.exists(out)
    return (open(out, "rb").read(), "") if good else (None, " | ".join((done.stdout + done.stderr).split("\n"))[:400])


def made(job):
    """Name, modules by stage, or why not."""
    name, stage, commands = job
    with tempfile.TemporaryDirectory() as at:
        why = ""
        for command in commands:
            data, said = run(command, f"{at}/a.spv")
            why = why or said
            if data is not None:
                break
        if data is None:
            return name, {}, why
        try:
            module = Module(data)
        except (IndexError, struct.error) as error:
            return name, {}, f"{error}"
        if module.stages != [STAGES[stage]] or module.entries != ["main"]:
            return name, {}, f"entry points {module.stages} {module.entries}"
        stages = {stage: data}
        if stage != "comp":
            try:
                other, text = partner(module)
            except (KeyError, TypeError) as error:
                return name, stages, f"no partner: {error!r}"
            with open(f"{at}/b.{other}", "w") as file:
                file.write(text)
            data, why = run(PLAIN + [f"{at}/b.{other}", "-o"], f"{at}/b.spv")
            if data is None:
                return name, stages, f"no partner: {why}"
            stages[other] = data
        return name, stages, ""


SOURCES = {"spirv-cross": spirv_cross, "glslang": glslang, "grilly": grilly}


def main():
    source, *inputs, out = sys.argv[1:]
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    with tempfile.TemporaryDirectory() as folder:
        for path in inputs:
            if os.path.isdir(path):
                folder = path
            elif zipfile.is_zipfile(path):
                zipfile.ZipFile(path).extractall(folder)
            else:
                tarfile.open(path).extractall(folder)
        jobs = list(SOURCES[source](folder))
        with ThreadPoolExecutor(os.cpu_count()) as workers:
            done = list(workers.map(made, jobs))
    index, pairs, failed = [], [], []
    for name, stages, why in done:
        if why:
            failed.append(f"{name}: {why}\n")
        for stage, data in stages.items():
            module = Module(data)
            index.append(
                {
                    "name": f"{name}.{stage}",
                    "file": f"{name}.{stage}.spv",
                    "entries": [{"stage": s} for s in module.stages],
                    "cooperative_matrix": module.matrices,
                }
            )
            with open(f"{out}/{name}.{stage}.spv", "wb") as file:
                file.write(data)
        if len(stages) == 2:
            pairs.append(f"{name}\t{name}.vert.spv\t{name}.frag.spv\n")
    for file, text in (("pairs.tsv", "base\tvert\tfrag\n" + "".join(pairs)), ("failed.log", "".join(failed))):
        with open(f"{out}/{file}", "w") as to:
            to.write(text)
    with open(f"{out}/index.json", "w") as file:
        json.dump(index, file, indent=1)
    print(f"{out}: {len(index)} modules, {len(pairs)} vertex+fragment pairs; {len(failed)} of {len(jobs)} with a complaint")


main()
