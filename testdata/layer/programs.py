"""Real programs under the Vulkan layer, on lavapipe: what was recorded of each, what became of its pipelines, and whether its picture is
still the same. `./dev layer` runs it; the table is in docs/layer.md.

Each program runs four times: without the layer; recording; after `dovetail populate` of what was recorded, with every pipeline made
by the run time beside the driver's; and with a dispatch or a draw of each pipeline saved, which `dovetail replay` then runs again.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import typing

HERE = pathlib.Path(__file__).resolve().parent
DDNET = pathlib.Path("/usr/share/games/ddnet/data/shader/vulkan")


def ffmpeg(filters):
    source = "testsrc2=size=320x180:rate=5:duration=1"
    chain = f"format=yuv420p,hwupload,{filters},hwdownload,format=yuv420p"
    return [
        *("ffmpeg", "-hide_banner", "-loglevel", "error", "-f", "lavfi", "-i", source),
        *("-init_hw_device", "vulkan=vk:0", "-filter_hw_device", "vk", "-vf", chain, "-f", "framemd5", "-"),
    ]


def ddnet_shaders(home):
    """Debian ships the game's Vulkan shaders as text. The game asks for SPIR-V by names that say which variants these are."""
    words = {
        "push": "TW_PUSH_CONST", "tex": "TW_TEXTURED", "rotationless": "TW_ROTATIONLESS",
        "border": "TW_TILE_BORDER", "line": "TW_TILE_BORDER_LINE",
    }
    textured = {"quad": "TW_QUAD_TEXTURED", "tile": "TW_TILE_TEXTURED"}
    game = pathlib.Path("/usr/games/DDNet").read_bytes()
    out = home / ".local/share/ddnet/shader/vulkan"
    out.mkdir(parents=True, exist_ok=True)
    for name in sorted(set(re.findall(rb"shader/vulkan/([a-z0-9_]+\.(?:vert|frag))\.spv", game))):
        stem, stage = name.decode().split(".")
        base, *suffixes = stem.split("_")
        defines = [textured.get(base, "TW_TEXTURED") if word == "textured" else words[word] for word in suffixes]
        if "line" in suffixes:
            defines.remove("TW_TILE_BORDER")
        command = ["glslangValidator", "--client", "vulkan100", *[f"-D{define}" for define in defines]]
        subprocess.run([*command, DDNET / f"{base}.{stage}", "-o", out / f"{stem}.{stage}.spv"], check=True, capture_output=True)


def neverball_settings(home):
    """A small window."""
    (home / ".neverball").mkdir()
    (home / ".neverball/neverballrc").write_text("fullscreen 0\nwidth 320\nheight 240\n")


def video(home):
    source = "testsrc2=size=320x180:rate=5:duration=2"
    subprocess.run(["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", source, "-c:v", "mpeg4", home / "video.mkv"], check=True)


def mpv(home, environment):
    """mpv takes a driver without a GPU only by its name."""
    devices = subprocess.run(["mpv", "--no-config", "--vulkan-device=help"], env=environment, capture_output=True, text=True).stdout
    device = re.search(r"'(llvmpipe[^']*)'", devices)
    options = ["--vo=gpu", "--gpu-api=vulkan", "--gpu-context=x11vk", "--untimed", "--osc=no", "--no-audio", "--no-config", "--really-quiet"]
    return ["mpv", *options, f"--vulkan-device={device[1] if device else ''}", home / "video.mkv"]


@dataclasses.dataclass
class Program:
    # The command, or what makes it from the home and the environment. `None` in it is a Python with pygfx.
    command: typing.Any
    windowed: bool = False
    # Seconds after which it is ended; `None`: it ends by itself.
    limit: int | None = None
    # What it prints is a digest of its picture.
    prints: bool = False
    # Prepares its home.
    prepare: typing.Callable | None = None
    environment: dict = dataclasses.field(default_factory=dict)


# Mesa's OpenGL driver over Vulkan; without the first it refuses a driver without a GPU.
ZINK = {"LIBGL_ALWAYS_SOFTWARE": "1", "MESA_LOADER_DRIVER_OVERRIDE": "zink"}
SCENES = [
    *("build:use-vbo=true", "texture:texture-filter=mipmap", "shading:shading=phong", "bump:bump-render=normals"),
    *("effect2d:kernel=1,1,1;1,1,1;1,1,1;", "pulsar", "desktop:effect=blur", "buffer:update-method=map", "ideas", "jellyfish"),
    *("refract", "shadow", "conditionals:fragment-steps=5", "loop:fragment-steps=5"),
]
GLMARK2 = ["glmark2", "-s", "256x192", *(word for scene in SCENES for word in ("-b", f"{scene}:duration=0.3"))]
DDNET_ARGUMENTS = ["gfx_backend Vulkan", "gfx_fullscreen 0", "gfx_screen_width 640", "gfx_screen_height 480", "snd_enable 0"]
WARZONE = ["/usr/games/warzone2100", "--window", "--resolution=640x480", "--gfxbackend=vulkan", "--nosound", "--noassert", "--game=CAM_1A"]

PROGRAMS = {
    "vkcube": Program(["vkcube", "--c", "30"], windowed=True),
    "pygfx": Program([None, HERE / "scene.py"], prints=True),
    "wgpu-compute": Program([None, HERE / "compute.py"], prints=True),
    "ffmpeg-libplacebo": Program(ffmpeg("libplacebo=w=480:h=270:upscaler=ewa_lanczos:tonemapping=hable:deband=1"), prints=True),
    "ffmpeg-filters": Program(ffmpeg("gblur_vulkan,hflip_vulkan,transpose_vulkan,scale_vulkan=w=200:h=200"), prints=True),
    "mpv": Program(mpv, windowed=True, prepare=video),
    "vkd3d-triangle": Program(["vkd3d-triangle"], windowed=True, limit=5),
    "vkd3d-gears": Program(["vkd3d-gears"], windowed=True, limit=5),
    "ddnet": Program(["/usr/games/DDNet", *DDNET_ARGUMENTS], windowed=True, limit=8, prepare=ddnet_shaders),
    "warzone2100": Program(WARZONE, windowed=True, limit=60),
    "glmark2": Program(GLMARK2, windowed=True, environment=ZINK),
    "neverball": Program(["/usr/games/neverball"], windowed=True, limit=20, prepare=neverball_settings, environment=ZINK),
}


class Display:
    """A virtual display of our own, with a number that was not used before."""

    used = 0

    def __init__(self):
        Display.used += 1
        self.name = f":{1000 + os.getpid() % 5000 * 10 + Display.used}"
        command = ["Xvfb", self.name, "-screen", "0", "1024x768x24", "-noreset"]
        self.server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(300):
            time.sleep(0.1)
            with socket.socket(socket.AF_UNIX) as client:
                if client.connect_ex(f"/tmp/.X11-unix/X{self.name[1:]}") == 0:
                    return
        raise SystemExit("Xvfb does not start")

    def close(self):
        self.server.terminate()
        self.server.wait()


def run(command, environment, limit):
    """Output, seconds, and how it ended. A program that is to be ended gets ten seconds for it."""
    started = time.monotonic()
    program = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = program.communicate(timeout=limit or 240)
        ended = program.returncode
    except subprocess.TimeoutExpired:
        program.terminate()
        try:
            out, err = program.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            program.kill()
            out, err = program.communicate()
        # Ended by us, as it was to be; anything else is a crash.
        ended = 0 if limit and program.returncode in (0, -signal.SIGTERM, -signal.SIGKILL) else program.returncode
    return out, err, time.monotonic() - started, ended


def run_shown(name, environment, options):
    """In a home and on a display of its own, so that nothing is left of the run before."""
    program = PROGRAMS[name]
    home = options.out / name / "home"
    shutil.rmtree(home, ignore_errors=True)
    (home / "run").mkdir(parents=True, mode=0o700)
    environment = environment | {"HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run")} | program.environment
    if program.prepare:
        program.prepare(home)
    display = Display() if program.windowed else None
    environment |= {"DISPLAY": display.name} if display else {}
    try:
        plain = {key: value for key, value in environment.items() if not key.startswith(("VK_INSTANCE_LAYERS", "DOVETAIL_"))}
        command = program.command(home, plain) if callable(program.command) else program.command
        return run([str(options.python) if word is None else str(word) for word in command], environment, program.limit)
    finally:
        if display:
            display.close()


def is_alike(verdict, changed):
    """Whether 97 % of the changed pixels are within the fixed bound; used where the interpreter has no bounds (docs/proof.md)."""
    answers = [answer for _, answer in verdict["routes"] if answer != "agrees"]
    few = all("differs" in answer and answer["differs"]["count"] * 100 <= 3 * changed for answer in answers)
    return "fails" in verdict["interpreter"] and few


def replayed(folder, options):
    """Counts of a program's dispatches and draws: saved, agreeing, differing, and those that prove nothing."""
    summaries = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    bundles = sorted(path for path in folder.glob("[!.]*") if path.is_dir())
    kinds = {
        kind: {"all": 0, "sampled": 0, "saved": 0, "agree": 0, "bounded": 0, "empty": 0, "alike": [], "differ": [], "reasons": {}}
        for kind in ("dispatches", "draws")
    }
    for bundle in bundles:
        kind = kinds["draws" if "[draw" in (bundle / "inputs.toml").read_text() else "dispatches"]
        replay = subprocess.run([options.dovetail, "replay", bundle, "--json"], capture_output=True)
        kind["saved"] += 1
        verdict = json.loads(replay.stdout) if replay.stdout.startswith(b"{") else {}
        pixels = verdict.get("pixels")
        if replay.returncode == 0:
            kind["agree"] += 1
            kind["bounded"] += verdict["interpreter"] == "agrees"
            kind["empty"] += bool(pixels) and pixels["changed"] == pixels["edges"]
        elif pixels and is_alike(verdict, pixels["changed"]):
            kind["alike"].append(f"{max(a['differs']['count'] for _, a in verdict['routes'] if a != 'agrees')} of {pixels['changed']}")
        else:
            kind["differ"].append(f"{bundle}: {(replay.stdout + replay.stderr).decode(errors='replace')}")
    for summary in summaries:
        for name, kind in kinds.items():
            kind["all"] += summary[name]["all"]
            kind["sampled"] += summary[name]["all"] - summary[name]["passed_over"]
            for reason, count in summary[name]["reasons"].items():
                kind["reasons"][reason] = kind["reasons"].get(reason, 0) + count
    return kinds


def measure(name, options):
    folder = options.out / name
    shutil.rmtree(folder, ignore_errors=True)
    icds = sorted(pathlib.Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("VK_", "DOVETAIL_"))}
    environment["VK_ICD_FILENAMES"] = str(icds[0])
    layered = environment | {"VK_LAYER_PATH": str(options.layer), "VK_INSTANCE_LAYERS": "VK_LAYER_DOVETAIL_capture"}
    recording, cache, times = folder / "recording", folder / "cache", folder / "times.json"
    plain = run_shown(name, environment, options)
    record = run_shown(name, layered | {"DOVETAIL_LAYER_DIR": str(recording)}, options)
    archives = sorted(recording.glob("*.foz"))
    if not archives:
        raise SystemExit(f"{name}: nothing was recorded: {record}")
    populated = subprocess.run([options.dovetail, "populate", *archives, "--cache", cache, "--json"], capture_output=True)
    beside = layered | {"DOVETAIL_LAYER_JSON": str(times), "DOVETAIL_LAYER_CACHE": str(cache)}
    both = run_shown(name, beside, options)
    scenes = {"DOVETAIL_LAYER_SHADOW": str(folder / "shadow"), "DOVETAIL_LAYER_SHADOW_EACH": options.each, "DOVETAIL_LAYER_SHADOW_MIB": "4096"}
    shadow = run_shown(name, layered | scenes, options)
    runs = {"plain": plain, "record": record, "times": both, "shadow": shadow}
    for what, (out, err, _, ended) in runs.items():
        (folder / f"{what}.log").write_bytes(out + err)
        if ended != 0:
            raise SystemExit(f"{name}: {what}: ended with {ended}: {err[-2000:].decode(errors='replace')}")
    pictures = [hashlib.sha256(out).hexdigest() for out, _, _, _ in runs.values()]
    populated = json.loads(populated.stdout)
    made = json.loads(times.read_text())
    results = [pipeline["result"] for pipeline in made["made"]]
    prints = PROGRAMS[name].prints
    return {
        "program": name,
        "modules": made["modules"],
        "pipelines": made["pipelines"],
        "shaders": populated["counts"],
        "populate": populated["pipelines"],
        "made": {result: results.count(result) for result in sorted(set(results))},
        "features": sorted({pipeline["feature"] for pipeline in made["made"] if pipeline["feature"]}),
        "picture": ("the same" if len(set(pictures)) == 1 else "DIFFERS") if prints else "on a display",
        "driver_us": sum(pipeline["driver_us"] for pipeline in made["made"]),
        "shaders_us": sum(pipeline["shaders_us"] for pipeline in made["made"]),
        "link_us": sum(pipeline["link_us"] for pipeline in made["made"]),
        "seconds": [seconds for _, _, seconds, _ in runs.values()],
        "shadow": replayed(folder / "shadow", options),
        "failure": made["failure"],
    }


def table(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def pipelines(rows):
    def line(row):
        made = dict(row["made"])
        linked, whole, waiting, unsupported = (made.pop(kind, 0) for kind in ("linked", "whole", "waiting", "unsupported"))
        rest = ", ".join(f"{n} {kind}" for kind, n in made.items()) or "0"
        features = f" ({', '.join(row['features'])})" if row["features"] else ""
        driver, shaders, links = (row[part] / 1e3 for part in ("driver_us", "shaders_us", "link_us"))
        return [
            *(row["program"], row["modules"], row["pipelines"], linked, whole, waiting, f"{unsupported}{features}", rest, row["picture"]),
            *(f"{driver:.1f} ms", f"{shaders:.1f} ms, {links:.2f} ms"),
        ]

    heads = ["program", "modules", "pipelines", "linked", "whole", "waiting", "unsupported", "other", "picture", "driver, all pipelines", "ours: shaders, links"]
    return table(heads, map(line, rows))


def without(kind):
    return ", ".join(f"{n:,} `{reason}`" for reason, n in sorted(kind["reasons"].items())) or "0"


def draws(rows):
    def line(row):
        kind = row["shadow"]["draws"]
        counts = [f"{kind[part]:,}" for part in ("all", "sampled", "saved", "agree", "bounded", "empty")]
        return [row["program"], *counts, "; ".join(kind["alike"]) or "0", len(kind["differ"]), without(kind)]

    heads = [
        *("program, on lavapipe", "draws", "sampled", "saved", "agree by every route", "of these also within the interpreter's bounds"),
        *("prove nothing", "agree in 97 % of pixels: number that differ", "other", "without a bundle"),
    ]
    return table(heads, [line(row) for row in rows if row["shadow"]["draws"]["all"]])


def dispatches(rows):
    def line(row):
        kind = row["shadow"]["dispatches"]
        counts = [f"{kind[part]:,}" for part in ("all", "sampled", "saved", "agree", "bounded")]
        return [row["program"], *counts, len(kind["differ"]), without(kind)]

    heads = [
        *("program, on lavapipe", "dispatches", "sampled", "saved", "agree by every route", "of these also within the interpreter's bounds"),
        *("other", "without a bundle"),
    ]
    return table(heads, [line(row) for row in rows if row["shadow"]["dispatches"]["all"]])


def renew(doc, tables):
    """Replaces the tables between their marks."""
    text = doc.read_text()
    for name, lines in tables.items():
        marks = [f"<!-- {name}: {end} -->" for end in ("begin", "end")]
        before, rest = text.split(marks[0] + "\n")
        _, after = rest.split(marks[1])
        text = f"{before}{marks[0]}\n{lines}\n{marks[1]}{after}"
    doc.write_text(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dovetail", type=pathlib.Path, required=True)
    parser.add_argument("--layer", type=pathlib.Path, required=True, help="folder with the manifest")
    parser.add_argument("--python", type=pathlib.Path, default=sys.executable, help="a Python with pygfx")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--doc", type=pathlib.Path, help="a document whose tables are renewed")
    parser.add_argument("--each", default="1", help="save at most so many dispatches and draws of a pipeline")
    parser.add_argument("--check", action="store_true", help="fail where a picture or a replay differs, or under 95 % of supported pipelines come to an ELF")
    parser.add_argument("programs", nargs="*", choices=[*PROGRAMS, []])
    options = parser.parse_args()
    options.out, options.layer, options.dovetail = (path.absolute() for path in (options.out, options.layer, options.dovetail))
    rows = [measure(name, options) for name in options.programs or PROGRAMS]
    (options.out / "programs.json").write_text(json.dumps(rows, indent=2) + "\n")
    tables = {"pipelines": pipelines(rows), "draws": draws(rows), "dispatches": dispatches(rows)}
    print("\n\n".join(tables.values()))
    if options.doc:
        renew(options.doc, tables)
    bad = []
    for row in rows:
        supported = row["pipelines"] - row["made"].get("unsupported", 0) - row["made"].get("waiting", 0)
        good = row["made"].get("linked", 0) + row["made"].get("whole", 0)
        if row["pipelines"] == 0 or good < 0.95 * supported or row["picture"] == "DIFFERS" or row["failure"] or any(kind["differ"] for kind in row["shadow"].values()):
            bad.append(f"{row['program']}: {json.dumps(row)}")
    if options.check and bad:
        raise SystemExit("\n".join(bad))


main()
