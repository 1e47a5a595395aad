# RADV as the benchmarks `native` and `link` measure it: `./dev bench` reads this file. It has `run`, `say`, `have` and the like.
# shellcheck shell=bash

# Mesa, by exact version and SHA-256. It is unpacked, not installed.
mesa=25.0.7-2~bpo12+1
mesa_packages="\
mesa-vulkan-drivers $mesa 3899f1800424c60a05df5d6913076a526ca8fdbabec43672cd397563d1ca3263
libdrm2 2.4.123-1~bpo12+1 9cc2f341964286295124a32d3625edb76730500625e54a1e682761f883064d7b
libdrm-amdgpu1 2.4.123-1~bpo12+1 334e2ae389af0e9cb607c2ccfbbf7ae9feb34131ff998550baeffeeae6cda296"

# fetch_mesa DIR: by apt from the backports of Debian bookworm, with lists of its own, from where apt gets Debian anyway.
fetch_mesa() {
    local dir=$1 archive name version sha256 options
    have apt-get && have dpkg-deb || return 1
    archive=$(grep -ohE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list{,.d/debian.sources} 2>/dev/null | head -n 1)
    [ -n "$archive" ] || return 1
    mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/unpacked"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive bookworm-backports main" >"$dir/apt/sources.list"
    options=(-o "Dir::Etc::sourcelist=$dir/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::Lists=$dir/apt/lists" -o "Dir::Cache=$dir/apt/cache" -o APT::Sandbox::User=root)
    run apt-get -qq "${options[@]}" update || return 1
    while read -r name version sha256; do
        (cd "$dir/apt" && run apt-get -qq "${options[@]}" download "$name=$version") || return 1
        archive=$(find "$dir/apt" -maxdepth 1 -name "${name}_*.deb")
        echo "$sha256  $archive" | sha256sum --check --status || return 1
        dpkg-deb -x "$archive" "$dir/unpacked" || return 1
    done <<<"$mesa_packages"
}

# RADV: Mesa as above or, where that cannot be had, the system's. The tables say which it was.
radv() {
    local dir=$PWD/target/mesa-$mesa lib
    run cargo build --quiet --release -p dovetail-bench-radv
    export DOVETAIL_RADV=$PWD/target/release/dovetail-bench-radv
    if [ ! -d "$dir" ]; then
        say "fetching Mesa $mesa"
        rm -rf "$dir.part"
        if fetch_mesa "$dir.part"; then mv "$dir.part" "$dir"; else echo "  not to be had: the system's RADV, if any" >&2; fi
    fi
    lib=$dir/unpacked/usr/lib/x86_64-linux-gnu
    if [ -d "$dir" ]; then
        printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "%s", "api_version": "1.3.0"}}\n' \
            "$lib/libvulkan_radeon.so" >"$dir/radeon.json"
        export DOVETAIL_RADV_ICD=$dir/radeon.json DOVETAIL_RADV_LIBRARIES=$lib
    fi
}
