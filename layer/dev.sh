# What `./dev` does with the layer; it reads this file, and has `run`, `say`, `need` and the like.
# shellcheck shell=bash

# layer_build PROFILE DIR: the layer and its manifests, for loaders and in a folder of their own.
layer_build() {
    local profile=$1 dir=$2 kind
    run cargo build --quiet --profile "$profile" -p dovetail-layer
    mkdir -p "$dir/lib" "$dir/share/vulkan/explicit_layer.d" "$dir/share/vulkan/implicit_layer.d"
    dir=$(cd "$dir" && pwd)
    run install -m 755 "${CARGO_TARGET_DIR:-target}/$profile/libdovetail_layer.so" "$dir/lib/"
    for kind in explicit implicit; do
        sed "s#@LIBRARY@#$dir/lib/libdovetail_layer.so#" "layer/manifests/$kind.json.in" \
            >"$dir/share/vulkan/${kind}_layer.d/VkLayer_DOVETAIL_capture.json"
    done
}

# layer_tools PROGRAM…: what these programs are and need, and a Python with pygfx.
layer_tools() {
    lavapipe || return 1
    need 'have glslangValidator' glslang-tools "glslangValidator" || return 1
    need 'have Xvfb' xvfb "Xvfb, a display" || return 1
    case " $* " in *" vkcube "* | "  ") need 'have vkcube' vulkan-tools "vkcube" || return 1 ;; esac
    case " $* " in *" ffmpeg"* | "  ") need 'have ffmpeg' ffmpeg "ffmpeg with libplacebo" || return 1 ;; esac
    case " $* " in *" vkd3d"* | "  ") need 'have vkd3d-gears' vkd3d-demos "demos of vkd3d" || return 1 ;; esac
    case " $* " in *" mpv "* | "  ") need 'have mpv' mpv "mpv" && need 'have ffmpeg' ffmpeg "ffmpeg" || return 1 ;; esac
    case " $* " in *" warzone2100 "* | "  ") need '[ -x /usr/games/warzone2100 ]' warzone2100 "Warzone 2100" || return 1 ;; esac
    case " $* " in *" glmark2 "* | "  ") need 'have glmark2' glmark2-x11 "glmark2" || return 1 ;; esac
    case " $* " in *" neverball "* | "  ") need '[ -x /usr/games/neverball ]' neverball "Neverball" || return 1 ;; esac
    case " $* " in *" glmark2 "* | *" neverball "* | "  ")
        need 'ls /usr/lib/*/dri/zink_dri.so' libgl1-mesa-dri "zink, OpenGL over Vulkan" || return 1 ;;
    esac
    case " $* " in *" ddnet "* | "  ") need '[ -x /usr/games/DDNet ]' ddnet "DDNet" || return 1 ;; esac
    case " $* " in
    *" pygfx "* | *" wgpu-compute "* | "  ")
        need 'python3 -c "import ensurepip"' python3-venv "Python's venv" || return 1
        if ! target/layer-venv/bin/python -c 'import pygfx, rendercanvas' 2>/dev/null; then
            run python3 -m venv target/layer-venv &&
                run target/layer-venv/bin/pip install --quiet --disable-pip-version-check wgpu==0.32.0 pygfx==0.17.0 \
                    rendercanvas==2.7.2 || return 1
        fi
        ;;
    esac
}

# layer_programs PROFILE ARGUMENTS…
layer_programs() {
    local profile=$1 python
    shift
    python=$(command -v python3)
    [ ! -x target/layer-venv/bin/python ] || python=$PWD/target/layer-venv/bin/python
    layer_build "$profile" target/layer
    run python3 testdata/layer/programs.py --dovetail "target/$profile/dovetail" --python "$python" \
        --layer target/layer/share/vulkan/explicit_layer.d --out target/layer-programs "$@"
}

# layer [--prefix DIR | PROGRAM…]: installs the layer; or runs real programs under it, and prints the tables of docs/layer.md, which it
# writes if it ran all of them.
cmd_layer() {
    need_build
    if [ "${1:-}" = --prefix ]; then
        [ -n "${2:-}" ] || die "layer --prefix DIR"
        layer_build release "$2"
        say "installed in $2; docs/layer.md is the manual"
        return
    fi
    layer_tools "$@" || exit 1
    run cargo build --quiet --release --bin dovetail
    if [ $# = 0 ]; then
        layer_programs release --each 4 --doc docs/layer.md
    else
        layer_programs release --each 4 "$@"
    fi
}

# Real programs under the layer: one that draws to a window, one that prints what it has drawn, and one that computes.
layer_sample() {
    say "three programs under the Vulkan layer"
    if layer_tools vkcube pygfx wgpu-compute; then
        layer_programs checked --check vkcube pygfx wgpu-compute
    else
        echo "layer: vkcube, pygfx, wgpu or what they need cannot be installed here; NO REAL PROGRAM HAS RUN UNDER THE LAYER" >>"$DOVETAIL_SKIPPED"
    fi
}
