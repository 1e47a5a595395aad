#!/bin/sh
# Compiles the shaders next to it to the .spv files that tests read. Needs glslangValidator, spirv-as, spirv-val.
set -eu
cd "$(dirname "$0")"
for source in *.vert *.frag *.comp; do
    [ -e "$source" ] || continue
    glslangValidator --quiet -V --target-env vulkan1.3 -o "$source.spv" "$source"
done
for source in *.spvasm; do
    [ -e "$source" ] || continue
    spirv-as --target-env vulkan1.3 --preserve-numeric-ids -o "$source.spv" "$source"
done
for module in *.spv; do
    # Raw words are for what this validator does not know either.
    if grep -q '^!0x' "${module%.spv}"; then continue; fi
    spirv-val --target-env vulkan1.3 --scalar-block-layout "$module"
done
