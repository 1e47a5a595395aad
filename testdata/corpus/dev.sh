# How `./dev corpus` fetches packages and extracts their shaders; it reads this file, and has `run`, `say`, `need` and the like.
# shellcheck shell=bash

# fetch CLIENT PACKAGE VERSION DIR: downloads the archive with the ordinary client to the empty DIR. Installs nothing.
fetch() {
    local client=$1 package=$2 version=$3 dir=$4
    case $client in
    npm)
        need 'have npm' npm "npm, to fetch $package" || return 1
        (cd "$dir" && run npm pack --silent "$package@$version" >/dev/null)
        ;;
    pip)
        need 'python3 -m pip --version' python3-pip "pip, to fetch $package" || return 1
        local platform platforms=()
        for platform in manylinux_2_34 manylinux_2_28 manylinux_2_27 manylinux2014; do
            platforms+=(--platform "${platform}_x86_64")
        done
        # Platform and interpreter are fixed, so that every host gets the archive whose digest is in the table.
        run python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: "${platforms[@]}" \
            --implementation cp --python-version 3.11 --abi cp311 --abi abi3 --abi none --dest "$dir" "$package==$version"
        ;;
    apt)
        have apt-get && have dpkg-deb || {
            echo "  needs apt" >&2
            return 1
        }
        # Package lists may be old or, in a fresh container, missing.
        apt-cache show "$package=$version" >/dev/null 2>&1 || ! can_install || apt_update || true
        local offered
        offered=$(apt-cache madison "$package" 2>/dev/null | awk '{print $3}' | sort -u | paste -sd' ' -)
        case " $offered " in
        *" $version "*) ;;
        *)
            echo "  this system's archive has ${offered:-no version}, the table requires $version" >&2
            return 1
            ;;
        esac
        (cd "$dir" && run apt-get download -qq -o APT::Sandbox::User=root "$package=$version")
        ;;
    apt-source)
        have apt-get || {
            echo "  needs apt" >&2
            return 1
        }
        fetch_source "$package" "$version" "$dir"
        ;;
    cargo)
        # Showing a crate's metadata fetches it. Run outside our workspace, so that its lock file is not used.
        (cd "$dir" && run cargo info --quiet "$package@$version" >/dev/null) &&
            cp "${CARGO_HOME:-$HOME/.cargo}"/registry/cache/*/"$package-$version.crate" "$dir"
        ;;
    *) die "corpus.lock: unknown client $client" ;;
    esac
}

# fetch_source PACKAGE VERSION DIR: what Debian has as the upstream source of a package. Lists of sources are kept apart, since
# most systems have none.
fetch_source() {
    local at=$PWD/corpus/.archives/lists options
    options=(-o "Dir::Etc::SourceList=$at/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$at/lists")
    options+=(-o APT::Sandbox::User=root -qq)
    if [ ! -s "$at/sources.list" ]; then
        mkdir -p "$at/lists/partial"
        apt-get indextargets --format 'deb-src $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
            sort -u >"$at/sources.list"
        run apt-get "${options[@]}" update || return 1
    fi
    (cd "$3" && run apt-get "${options[@]}" source --download-only "$1=$2" && find . -type f ! -name '*.orig.tar.*' -delete)
}

# corpus_archive CLIENT PACKAGE VERSION SHA256: prints the package's path: the archive, or an unpacked copy if `corpus extract`
# cannot open it. Fetched archives stay in corpus/.archives under their digests.
corpus_archive() {
    local client=$1 package=$2 version=$3 sha256=$4 held=corpus/.archives/$4 fetching=corpus/.archives/fetching file
    if [ ! -d "$held" ]; then
        rm -rf "$fetching"
        mkdir -p "$fetching"
        fetch "$client" "$package" "$version" "$fetching" >&2 || return 1
        file=$(find "$fetching" -type f | head -n 1)
        [ -n "$file" ] || return 1
        if ! echo "$sha256  $file" | sha256sum --check --status; then
            echo "  SHA-256 is $(sha256sum "$file" | cut -d' ' -f1), the table requires $sha256" >&2
            return 1
        fi
        if [ "$client" = apt ]; then
            dpkg-deb -x "$file" "$fetching/unpacked" && rm "$file" || return 1
        fi
        mv -T "$fetching" "$held" || return 1
    fi
    if [ -d "$held/unpacked" ]; then echo "$held/unpacked"; else find "$held" -type f; fi
}

# The program that extracts; it is built if it does not exist.
extractor=

# corpus FILTER: fetches and extracts the sources for which the shell function FILTER SET CLIENT holds.
corpus() {
    local filter=$1 set source client package version sha256 left_out=() sources=() held
    declare -A inputs=()
    need_build
    mkdir -p corpus/.archives
    while IFS=$'\t' read -r set source client package version sha256; do
        case $set in '' | '#'*) continue ;; esac
        "$filter" "$set" "$client" || continue
        say "$source: $package $version ($client)"
        if held=$(corpus_archive "$client" "$package" "$version" "$sha256"); then
            [ -n "${inputs[$source]:-}" ] || sources+=("$source")
            inputs[$source]+=" $held"
        else
            left_out+=("$package $version")
        fi
    done <corpus.lock
    [ ${#sources[@]} != 0 ] || die "no source of the corpus could be fetched"
    say "extracting"
    if [ -z "$extractor" ]; then
        run cargo build --quiet --release
        extractor=target/release/dovetail
    fi
    for source in "${sources[@]}"; do
        rm -rf "corpus/$source"
        case $source in
        piglit | slang | three | transitions)
            need 'have glslangValidator' glslang-tools "glslangValidator, for shaders that are text" || continue
            # shellcheck disable=SC2086  # one path with a space before it
            run python3 testdata/corpus/texts.py "$source" ${inputs[$source]} "corpus/$source"
            ;;
        glslang | grilly | spirv-cross)
            need 'have glslangValidator' glslang-tools "glslangValidator, for shaders that are text" || continue
            need 'have spirv-as' spirv-tools "spirv-as, for shaders that are assembly" || continue
            # shellcheck disable=SC2086  # one path with a space before it
            run python3 testdata/corpus/suites.py "$source" ${inputs[$source]} "corpus/$source"
            ;;
        *)
            # shellcheck disable=SC2086  # several paths, none with spaces
            run "$extractor" corpus extract ${inputs[$source]} -o "corpus/$source"
            ;;
        esac
        [ ! -e "testdata/corpus/$source-spec.toml" ] || cat "testdata/corpus/$source-spec.toml" >>"corpus/$source/spec.toml"
    done
    [ ${#left_out[@]} = 0 ] || say "left out (see above): $(printf '%s; ' "${left_out[@]}")"
}

small() { [ "$1" = small ]; }
full() { true; }
small_apt() { [ "$1" = small ] && [ "$2" = apt ]; }
